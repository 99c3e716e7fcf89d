"""Every claim of speed, measured: `python -m tests.benchmarks [NAME ...] [--quick] [--peers] [--json FILE]`.

Each figure is a ratio against a yardstick of the same run, so that it means something on any machine. Prints a table
in Markdown. Without a name all are done, on the disk of `--folder` (the working directory's), which should be idle.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tests.benchmarks.figures import HEAD, Figure, Place

# Modules of this package; each has `measure(place) -> Iterable[Figure]`.
BENCHMARKS = (
    "writes",
    "turns",
    "reads_and_changes",
    "commands",
    "growth",
    "long_answers",
    "entries",
    "digests",
    "past",
    "screen",
    "keys",
    "stalls",
    "live",
    "boards",
    "memory",
    "hooks",
    "postgres",
)
# Other programs that do the like, where they are installed.
PEERS = "peers"


def main() -> int:
    """Measure, print, and return 1 where a wanted ratio was missed."""
    options = _options()
    folder = Path(tempfile.mkdtemp(prefix=".benchmarks-", dir=options.folder))
    print(f"{_machine()}\n\n{HEAD}", flush=True)
    figures: list[Figure] = []
    try:
        place = Place(folder, options.quick, options.many)
        for name in options.names or [*BENCHMARKS, *([PEERS] if options.peers else [])]:
            for figure in _measured(name, place):
                figures.append(figure)
                print(figure.as_row(), flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if options.json:
        told = {"machine": _machine(), "figures": [figure.as_dict() for figure in figures]}
        options.json.write_text(json.dumps(told, indent=2) + "\n")
    return 0 if all(figure.is_reached for figure in figures) else 1


def _measured(name: str, place: Place) -> Iterable[Figure]:
    figures: Iterable[Figure] = importlib.import_module(f"tests.benchmarks.{name}").measure(place)
    return figures


def _machine() -> str:
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=(__doc__ or "").partition("\n")[0])
    names = [*BENCHMARKS, PEERS]
    parser.add_argument("names", nargs="*", choices=[*names, []], metavar="NAME", help=f"which of {', '.join(names)}")
    parser.add_argument("--quick", action="store_true", help="a first look, in place of figures to rely on")
    parser.add_argument("--many", type=int, default=1_000_000, metavar="N", help="how many tasks are many (a million)")
    parser.add_argument("--peers", action="store_true", help="measure other programs too, where they are installed")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    parser.add_argument("--folder", type=Path, default=Path(), help="on which disk to work (here)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
