"""The one place where noise is drawn. Today it knows the study mode only.

Study mode is seeded, its files say "not for release", and nothing it writes may leave the building. The release mode
(operating-system entropy, ledger, gate) is not built: the ``release`` target refuses to run.
"""
