"""The fleet: all agents, one in each line, those that need attention first, with actions on each."""
