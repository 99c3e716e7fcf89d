"""What agent programs write down of their sessions: what was spent, and how a turn ended of which no hook tells."""
