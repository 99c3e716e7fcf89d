"""Where the database is unless it is named; imports next to nothing, since every hook of an agent asks it."""

import os
import sys

NAME = "tui-tasks"


def default_database() -> str:
    """A file in the user's data directory of the platform."""
    if sys.platform == "linux" and "ANDROID_DATA" not in os.environ:
        # What platformdirs says, without the time that importing it takes (a test compares them).
        data, home = os.environ.get("XDG_DATA_HOME", ""), os.environ.get("HOME", "")
        if data.startswith("/") and data.isprintable():
            return f"{data.rstrip('/')}/{NAME}/tasks.db"
        if not data and home.startswith("/"):
            return f"{home.rstrip('/')}/.local/share/{NAME}/tasks.db"
    import platformdirs

    return str(platformdirs.user_data_path(NAME, appauthor=False) / "tasks.db")
