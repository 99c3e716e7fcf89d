"""Hooks of agent programs: the payloads they send, and what is returned to them (docs: protocol, section 10)."""

import os


def hooks_folder(database: str) -> str:
    """The folder in which hooks and the other processes exchange files; for a link, beside the database itself."""
    return f"{os.path.realpath(database)}-hooks"
