"""Point forecasts of many kinds, one file a kind, to compare with what a study releases."""
