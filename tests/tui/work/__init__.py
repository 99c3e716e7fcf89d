"""Tests of work on the screen."""
