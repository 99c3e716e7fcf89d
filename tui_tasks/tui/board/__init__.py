"""The board pane."""
