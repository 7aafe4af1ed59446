"""What all reproduced papers share: claims and verdicts, findings of errata, data sets, batches of trials."""
