"""Shared parts of all panes: frame, lines, styles, scrolling."""
