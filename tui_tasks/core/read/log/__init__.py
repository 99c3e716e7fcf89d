"""The journal as people read it, by pages, and the numbers that tasks had."""
