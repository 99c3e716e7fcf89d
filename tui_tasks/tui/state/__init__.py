"""The screen's state: the link to the database, and what panes share."""
