"""What is released as files: declared tables and names, manifests, folders, converters. No noise is drawn here."""
