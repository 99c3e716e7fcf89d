"""Tests of work: agents that the human starts on tasks."""
