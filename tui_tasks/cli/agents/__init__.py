"""The commands for agents: one call, and what sets an agent program up."""
