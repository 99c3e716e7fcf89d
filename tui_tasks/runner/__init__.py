"""Starts jobs: one supervisor process a run. Knows no screen."""
