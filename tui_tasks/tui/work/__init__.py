"""Starting agents on tasks from the screen, and going to their terminals."""
