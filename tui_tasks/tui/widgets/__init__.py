"""What every pane and screen has: its base, and the lines around it."""
