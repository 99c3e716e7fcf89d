"""Links of a task to its work: what git reports on them, and opening them."""
