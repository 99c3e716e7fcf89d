"""Tasks as lists, boards, filters and searches read them, by pages."""
