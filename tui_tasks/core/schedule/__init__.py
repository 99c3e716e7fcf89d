"""Scheduling: when jobs are due, their settings, the output of their runs, and the processes that hold runs."""
