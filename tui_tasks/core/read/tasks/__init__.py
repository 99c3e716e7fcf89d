"""Reads of lists and of single tasks: by name and uid, what to take up next, what matches, as JSON."""
