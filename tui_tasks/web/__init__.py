"""The screen in a browser: a page, and for each tab a process that draws the screen."""
