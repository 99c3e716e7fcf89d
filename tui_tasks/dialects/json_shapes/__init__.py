"""The JSON of agents, jobs, events and long lists in replies."""
