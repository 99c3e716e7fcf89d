"""The state for programs in Python, and how every front end opens it."""
