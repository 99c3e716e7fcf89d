"""The rules of agents: their sessions, what they ask, what is told to them, being stuck."""
