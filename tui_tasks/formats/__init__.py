"""Tasks as files that other programs read and write: pure functions between rows and text."""
