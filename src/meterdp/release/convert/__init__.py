"""Released files in the formats of tools that use load profiles (``meterdp release convert``).

Only folders that a release handed over are read, so this is post-processing: it draws no noise and costs nothing.
Each tool is one file and one line of ``registry``.
"""
