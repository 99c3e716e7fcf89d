"""Reads of lists and tasks: by name and uid, the next task, matches, JSON."""
