"""Work on a whole database: backup, restore, compaction, and comparison with a replay of the journal."""
