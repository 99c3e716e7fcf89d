"""Requests, which all dialects share: strict JSON, arguments, task references, identity; and the words that people type
for tasks, filters and jobs.
"""
