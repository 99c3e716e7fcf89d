"""Agents, jobs, events and long lists as JSON in replies."""
