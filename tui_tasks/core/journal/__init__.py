"""The journal, its hash chain, and dropping its old entries (compaction)."""
