"""The state for Python programs, and how every front end opens it."""
