"""Projects on the screen: what belongs to which, and the switcher between them."""
