"""What every pane and screen has: its base, and the lines around it, with what needs the human."""
