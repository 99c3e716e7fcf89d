"""Runs jobs and checks: the scheduler, one supervisor process for each run, and git. Knows no screen."""
