"""Themes: files in TOML, the variables they give, the shipped ones."""
