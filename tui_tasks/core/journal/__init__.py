"""The journal, its chain of hashes, and dropping its old entries (compaction)."""
