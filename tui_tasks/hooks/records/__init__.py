"""The records (transcripts) that agent programs write of their sessions: usage, and ends of turns that no hook
reports.
"""
