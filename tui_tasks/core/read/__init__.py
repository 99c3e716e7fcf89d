"""Reads for people and agents: pages, searches, statistics, exports. They write nothing of the state."""
