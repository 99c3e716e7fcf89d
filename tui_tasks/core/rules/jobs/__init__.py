"""The rules of jobs, of their runs, and of checks."""
