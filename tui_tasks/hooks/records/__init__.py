"""The records that agent programs write of their sessions: spending, and ends of turns that no hook reports."""
