"""`schema`: the JSON Schemas of every request, reply and event of the channel."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Final

FILE: Final = Path(__file__).parents[2] / "docs" / "schema.json"


def declare(name: str, command: argparse.ArgumentParser) -> None:
    """Declare no arguments."""


def run(name: str, options: argparse.Namespace) -> int:
    """Print them as one JSON object. Exit status 0."""
    sys.stdout.write(FILE.read_text(encoding="utf-8"))
    return 0
