"""How `--help` is laid out."""

from __future__ import annotations

import argparse
import os


class _HelpFormatter(argparse.HelpFormatter):
    """Wraps each line of a text separately, so that examples keep their lines."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        fill = super()._fill_text
        return "\n".join(
            fill(line, width, indent + " " * (len(line) - len(line.lstrip()))) for line in text.splitlines()
        )


def help_format(prog: str) -> argparse.HelpFormatter:
    """Return a formatter as wide as the terminal, without importing shutil as argparse does for the width."""
    columns = os.environ.get("COLUMNS", "")
    try:
        width = int(columns) if columns.isdecimal() else os.get_terminal_size().columns
    except OSError:
        width = 80
    return _HelpFormatter(prog, width=max(width, 40) - 2)
