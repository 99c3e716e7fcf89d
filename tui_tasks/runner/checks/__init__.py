"""Checks: which are configured, running them, and noticing that their inputs have changed."""
