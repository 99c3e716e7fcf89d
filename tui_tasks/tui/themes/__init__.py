"""Themes: TOML files, the variables they set, and the shipped themes."""
