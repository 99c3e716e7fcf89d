"""The process of a run: its command, output, descendants, and whether it is alive."""
