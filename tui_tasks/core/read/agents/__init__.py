"""Reads of agents: their sessions, what they do, what they work on, and whether they are stuck."""
