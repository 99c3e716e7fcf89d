"""The parts of a commit: rows, the journal and its hash chain, changes in steps, cached lookups; compaction."""
