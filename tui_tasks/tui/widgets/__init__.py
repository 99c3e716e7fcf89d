"""What every pane and screen has: the lines around it, its base, the sizes of the layout."""
