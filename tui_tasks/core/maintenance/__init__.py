"""What is done to a whole database: backup, restore, compaction in steps, the comparison with a replay."""
