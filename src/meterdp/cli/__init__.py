"""What the command ``meterdp`` does: one module per command, found by :mod:`meterdp.__main__`.

A module has ``EXAMPLES``, ``add_arguments(parser)`` and ``run(arguments)``, which returns the exit code, and may have
``NEEDLESS``: packages that others import if they can and this command never uses. Only a command that is run is
imported, and what takes long to import it imports in ``run``.
"""
