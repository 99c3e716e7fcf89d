"""Links of a task to its work: what git tells of them, and opening them."""
