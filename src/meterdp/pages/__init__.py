"""What all HTML pages are made of: style, templates, how numbers are written, small drawings."""
