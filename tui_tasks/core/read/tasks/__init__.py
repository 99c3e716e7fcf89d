"""Reads of lists and of single tasks: by name and uid, what comes next, what matches, as JSON."""
