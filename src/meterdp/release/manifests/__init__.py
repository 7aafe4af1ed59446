"""The manifest beside every file: what it holds, what is hidden and what is not."""
