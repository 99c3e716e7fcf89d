"""Forms that fill the screen: their base, the form of a task, conflicts with what others saved meanwhile."""
