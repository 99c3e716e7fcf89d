"""Hooks of agent programs: the payloads they send, and what is returned to them (docs: protocol, section 10)."""

import os

# `work_settings.PROGRAM_NAMES` again: a hook starts without the settings, whose import takes long.
PROGRAM_NAMES = ("claude", "codex", "gemini", "opencode")
# The folder in which each writable screen has a file; see `screen_presence`.
SCREENS = "screens"


def hooks_folder(database: str) -> str:
    """Return the folder in which hooks and other processes exchange files: beside the database, not beside a link."""
    return f"{os.path.realpath(database)}-hooks"
