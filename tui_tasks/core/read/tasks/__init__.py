"""Reads of tasks for lists, boards, filters and searches, by pages."""
