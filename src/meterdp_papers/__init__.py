"""Each paper whole: settings, experiments, figures, claims and errata."""
