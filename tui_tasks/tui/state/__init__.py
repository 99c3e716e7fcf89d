"""What the screen knows of the state and how it changes it: the link to the database, and what is shared."""
