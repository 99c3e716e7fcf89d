"""The process of a run: its command, output and descendants, and whether it is alive."""
