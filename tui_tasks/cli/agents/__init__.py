"""The commands for agents: single calls, and the servers that agent programs use."""
