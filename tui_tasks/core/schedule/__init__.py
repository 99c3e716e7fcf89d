"""Scheduling: when jobs are due, their settings, and what becomes of a due time."""
