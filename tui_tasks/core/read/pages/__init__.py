"""Pages for screens: of a list, a board, the log, or by due date; filters, the search index, changes to undo."""
