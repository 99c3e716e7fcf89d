"""Reads of the journal for people, by pages, and of the numbers that tasks had."""
