"""What ``import meterdp`` offers; everything else in the package is for the workflow and may change."""
