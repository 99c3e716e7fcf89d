"""Work on a whole database: backup, restore, compaction, comparison with a replay of the journal, earlier states."""
