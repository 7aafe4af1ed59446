"""The sound forecast: the private mean forecast of a household's group."""
