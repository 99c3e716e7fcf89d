"""Serves the screen to a browser: a page, and a process for each tab that draws the screen."""
