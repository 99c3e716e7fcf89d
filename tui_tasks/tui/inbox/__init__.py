"""The inbox: one list of all that waits for the human. Questions stand in it directly; each other kind has a source."""
