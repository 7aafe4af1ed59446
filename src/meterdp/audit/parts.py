"""The parts of the audit by name: one job of the workflow each. A plan reads this, so it imports nothing."""

CANARIES = "canaries"
NAMES = (
    "primitives",
    "sound",
    "sound_mutants",
    "sound_ball",
    "sound_label_flip",
    "sound_shared",
    "group_forecast",
    "label_forecast",
    "feeder_totals",
    "published",
    "published_dpem",
    CANARIES,
)
# Sections of the configuration that canaries, in a simulated export of their own, are sent through.
SETTINGS = ("seed", "export", "quality", "profiles", "mixture", "mechanisms", "release", "audit")
