"""The rules of agents: sessions, questions, messages, being stuck."""
