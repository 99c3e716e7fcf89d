"""Screens over the panes: inbox, agents, statistics, runs, palette and help, search."""
