"""The list pane."""
