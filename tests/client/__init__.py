"""The clients in Python, against real servers."""
