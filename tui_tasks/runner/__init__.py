"""Runs jobs and checks: the scheduler, and one supervisor process for each run. Knows no screen."""
