"""Presence: the agent's process, screens that could answer, and processes that have ended."""
