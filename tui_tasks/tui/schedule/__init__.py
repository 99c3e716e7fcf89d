"""The schedule pane, and the form of a job."""
