"""`digest`: what happened while the human was away."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import Any, Final

from tui_tasks import clock
from tui_tasks.cli.options import USAGE, left_now, open_store, require_database
from tui_tasks.cli.streams import print_json
from tui_tasks.core import names
from tui_tasks.core.read.digest import Digest, digest
from tui_tasks.core.read.digest_entries import PARTS, DigestLine
from tui_tasks.core.snapshots import iso
from tui_tasks.text import times
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import ago, count, moment

TITLES: Final = {part: part.replace("_", " ").capitalize() for part in PARTS}
_WORDS: Final = 100
# The most entries named in a line; `--json` has all.
_NAMED: Final = 3


def declare(name: str, command: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    command.add_argument(
        "--since", metavar="WHEN", default="8h", help="8h, 2d, 18:00, `yesterday 18:00` or a date (default: 8h)"
    )
    command.add_argument("--json", action="store_true", help="print JSON")


def run(name: str, options: argparse.Namespace) -> int:
    """Print the digest; return the exit status."""
    now = clock.now()
    try:
        since = times.past(options.since, now)
    except ValueError as refused:
        print(f"tui-tasks digest: --since: {safe_line(str(refused))}", file=sys.stderr)
        return USAGE
    require_database(options)
    with open_store(options) as store:
        content = digest(store.db, since, now, left_now(store.db, now))
    if options.json:
        print_json(to_json(content), indent=2)
    else:
        print("\n".join(lines(content, now)))
    return 0


def to_json(found: Digest) -> dict[str, Any]:
    """Return the digest as JSON."""
    head = {"since": iso(found.since), "until": iso(found.until), "after": found.after, "newest": found.newest}
    parts = {part: [_line_to_json(line) for line in lines] for part, lines in found.parts.items()}
    return {**head, "is_cut": found.is_cut, **parts}


def _line_to_json(line: DigestLine) -> dict[str, Any]:
    return {
        "kind": line.kind,
        "name": line.name,
        "agent": line.who,
        "text": line.text,
        "at": iso(line.at),
        "task": line.task,
        "number": line.number,
        "count": line.count,
        "entries": list(line.entries),
    }


def lines(found: Digest, now: int) -> Iterator[str]:
    """Return the digest as lines for people."""
    yield f"Since {moment(found.since, None)}: {count(found.newest - found.after, 'entry', 'entries')} of the journal"
    if found.is_cut:
        yield "Older entries of that time were compacted away."
    for part, of_part in found.parts.items():
        if of_part:
            yield f"\n{TITLES[part]}"
        for line in of_part:
            entries = ", ".join(f"{seq}" for seq in line.entries[:_NAMED])
            more = f" and {len(line.entries) - _NAMED:,} more" if len(line.entries) > _NAMED else ""
            where = f"  [{entries}{more}]" if entries else ""
            name = "" if line.name == line.who else f"{safe_line(line.title, _WORDS)}: "
            who = f"{names.shown(line.who, 30)}  " if line.who else ""
            yield f"  {who}{name}{safe_line(line.text, _WORDS)}  {ago(line.at, now)}{where}"
    if not found.lines:
        yield "\nNothing needs you, and nothing was done."
