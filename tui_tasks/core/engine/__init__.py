"""What is SQLite's own: drivers, opening and refusing files, locks, turns of writers, statements, waking readers."""
