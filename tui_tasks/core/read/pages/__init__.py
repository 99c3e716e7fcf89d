"""Pages of tasks for screens: of a list, a board, or by due date; filters, and the search index."""
