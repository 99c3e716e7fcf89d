"""How questions of agents are shown and answered, in the inbox and in Agents."""
