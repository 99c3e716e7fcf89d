"""Lines that are typed in, dialogs, and the syntax of filters."""
