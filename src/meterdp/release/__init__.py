"""The one place where noise is drawn: seeded in a study, whose files say "not for release", and fresh in a release.

A release passes the gate and is charged to the ledger before its noise is drawn, from the operating system's entropy
and by exact samplers; what was drawn is stored, so that a rerun publishes the same files (:mod:`meterdp.publish`).
"""
