"""tui_tasks: a human and AI agents work on the same live tasks, in a terminal."""

__version__ = "0.1.0"
