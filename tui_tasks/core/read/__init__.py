"""Reads for people and agents: pages, searches, statistics, exports. They do not write the state."""
