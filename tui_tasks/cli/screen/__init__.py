"""The commands that show the state: the screen, the plain monitor and the demo."""
