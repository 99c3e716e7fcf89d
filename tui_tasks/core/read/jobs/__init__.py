"""Reads of jobs and runs for the scheduler, the dialects and the screens."""
