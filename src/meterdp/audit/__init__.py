"""The audit: lower bounds on epsilon from what mechanisms give out, mutants, canaries, and the leak scan."""

# A plan reads these, so this file imports nothing.

# The part of the audit that is not in ``meterdp.audit.study.PARTS``.
CANARIES = "canaries"
# Sections of the configuration that canaries, in another simulated export, are sent through.
SETTINGS = ("seed", "export", "quality", "profiles", "mixture", "mechanisms", "release", "audit")
