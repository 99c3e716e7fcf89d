"""Screens over the panes: the digest, statistics, palette and help, search."""
