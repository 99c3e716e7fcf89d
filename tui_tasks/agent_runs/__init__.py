"""Agent programs that jobs start: their own protocols spoken over their standard streams (docs: scheduling)."""
