"""The log pane."""
