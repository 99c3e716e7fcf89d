"""Checks: the configured ones, running them, and noticing changes of their inputs."""
