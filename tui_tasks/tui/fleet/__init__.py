"""The fleet: every agent in a line, worst first, and what the human can do about each."""
