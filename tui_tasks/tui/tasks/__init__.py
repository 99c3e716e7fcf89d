"""One task in list and board: its detail, its notes, quick add, filter, and actions."""
