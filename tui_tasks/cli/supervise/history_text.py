"""What happens and what happened, as plain text: `watch --plain`, a sentence for each event, for screen readers, logs
and pipes; and `digest`, what happened while the human was away.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

from tui_tasks import clock
from tui_tasks.cli.options import USAGE, left_now, open_store, require_database
from tui_tasks.cli.streams import print_json
from tui_tasks.core import agent_names
from tui_tasks.core.commit import journal
from tui_tasks.core.engine.commit_watch import Watch
from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import StorageFailed
from tui_tasks.core.read.digest import Digest, digest
from tui_tasks.core.read.digest_lines import GROUPS, DigestLine
from tui_tasks.core.read.tasks import task_records
from tui_tasks.core.snapshots import Entry, iso
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import HUMAN
from tui_tasks.text import times
from tui_tasks.text.safe import in_quotes, safe_line, title_text
from tui_tasks.text.times import ago, count, moment

TITLES: Final = {group: group.replace("_", " ").capitalize() for group in GROUPS}
_WORDS: Final = 100
# The most entries named in a line; `--json` has all.
_NAMED: Final = 3
PAGE: Final = 200
CELLS: Final = 200
LOOK_AGAIN: Final = 1.0
"""Seconds between two attempts to read a database that cannot be read."""


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
    return {**head, "is_cut": found.is_cut, "needed_before": found.needed_before, **parts}


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
    if found.needed_before:
        yield f"{found.needed_before:,} more need{'s' * (found.needed_before == 1)} you since before."
    for group, of_group in found.groups.items():
        yield f"\n{TITLES[group]}"
        for line in of_group:
            entries = ", ".join(f"{seq}" for seq in line.entries[:_NAMED])
            more = f" and {len(line.entries) - _NAMED:,} more" if len(line.entries) > _NAMED else ""
            where = f"  [{entries}{more}]" if entries else ""
            name = "" if line.name == line.who else f"{title_text(line.title, _WORDS)}: "
            whose = "you" if line.who == HUMAN else agent_names.display_name(line.who, 30)
            who = f"{whose}  " if line.who else ""
            text = line.words(lambda at: moment(at, None))
            if line.kind == "ask":
                about = f" about #{line.number}" if line.number is not None else ""
                later = "put off: " * line.is_later
                name, text = "", f"{later}asks{about}: {in_quotes(safe_line(line.name, _WORDS - 20))}"
            yield f"  {who}{name}{safe_line(text, _WORDS)}  {ago(line.at, now)}{where}"
    if not found.lines:
        yield "\nNothing has come to need you, and nothing was done: --since 7d looks further back."


def follow(store: Store, since: int, failed: Callable[[StorageFailed], None]) -> Iterator[str]:
    """Yield a sentence for each event after `since`, as it happens, without end.

    When the database can no longer be read, `failed` is called once, and it continues when it can be read again.

    Raises:
        StorageFailed: the database cannot be read at the start.
    """
    watch, is_lost = Watch(store.db), False
    store.db.follow()
    try:
        while True:
            try:
                if is_lost:
                    store.db.open_again()
                since, entries = _page(store.db, since)
                is_lost = False
            except StorageFailed as failure:
                if not is_lost:
                    failed(failure)
                is_lost = True
                time.sleep(LOOK_AGAIN)  # nothing announces that a disk is back
                continue
            if not entries:
                _wait(watch)
            for entry in entries:
                since = entry.seq
                yield sentence(store.db, entry)
    finally:
        watch.close()


def _page(db: Database, since: int) -> tuple[int, list[Entry]]:
    """Return the entries after `since`, or after the nearest one that there is."""
    with db.transaction(write=False):
        since = min(max(since, journal.oldest(db) - 1), journal.newest(db))
        return since, journal.since(db, since, PAGE)


def _wait(watch: Watch) -> None:
    while not (watch.changed(time.monotonic()) or watch.is_lost):
        watch.sleep()


def sentence(db: Database, entry: Entry) -> str:
    """Return one journal entry in plain words, with the local time."""
    who = "You" if entry.actor == HUMAN else agent_names.display_name(entry.actor, CELLS)
    return f"{times.clock(entry.at, None, seconds=True)} {who} {_deed_text(entry)}{_holder_text(db, entry)}."


def _quoted(text: Any) -> str:
    return in_quotes(safe_line(str(text), CELLS))


def _deed_text(entry: Entry) -> str:
    tell = _DEED_TEXTS.get(entry.kind)
    if tell is not None:
        return tell(entry)
    return f"{entry.kind.partition('.')[2].replace('_', ' ')} the {entry.kind.partition('.')[0]} {_name(entry)}"


def _holder_text(db: Database, entry: Entry) -> str:
    """Return whose claim has lapsed; empty for other entries."""
    claim = task_records.find(db, entry.uid) if entry.kind == "claim.lapsed" else None
    return f" of {agent_names.display_name(claim.agent, CELLS)}" if claim is not None else ""


def _name(entry: Entry) -> str:
    new = entry.new or {}
    image = entry.image or {}
    return _quoted(image.get("name") or new.get("name") or new.get("title") or entry.uid)


def _update_text(entry: Entry) -> str:
    changes = entry.changes
    if "status" in changes:
        was, now = (str(word).replace("_", " ") for word in changes.pop("status"))
        more = f" and changed its {_fields(changes)}" if changes else ""
        return f"set {_name(entry)} from {was} to {now}{more}"
    return f"changed the {_fields(changes)} of {_name(entry)}"


def _fields(changes: dict[str, Any]) -> str:
    return " and ".join(name.replace("_", " ") for name in changes)


def _value_text(entry: Entry, field: str) -> str:
    return _quoted((entry.new or {}).get(field, ""))


def _by_rule(entry: Entry) -> str:
    return f" by rule: {_value_text(entry, 'rule')}" if (entry.new or {}).get("rule") else ""


_DEED_TEXTS: Final[dict[str, Callable[[Entry], str]]] = {
    "task.created": lambda entry: f"added {_name(entry)}",
    "task.updated": _update_text,
    "task.accepted": lambda entry: f"accepted {_name(entry)}",
    "task.declined": lambda entry: f"declined {_name(entry)}: {_value_text(entry, 'decline_reason')}",
    "agent.stuck": lambda entry: f"noticed that {_quoted(entry.uid)} is stuck: {_value_text(entry, 'text')}",
    "agent.unstuck": lambda entry: f"noticed that {_quoted(entry.uid)} is not stuck now",
    "check.requested": lambda entry: f"asked for the checks of {_name(entry)}",
    "check.queued": lambda entry: "queued a check",
    "check.started": lambda entry: "began a check",
    "check.ended": lambda entry: f"ended a check: {_value_text(entry, 'state')}",
    "check.finished": lambda entry: (
        f"checked {_name(entry)} by {_value_text(entry, 'name')}: {_value_text(entry, 'state')}"
    ),
    "check.stale": lambda entry: "noticed that an input of a passed check has changed",
    "check.waived": lambda entry: f"set {_name(entry)} done though its checks had not passed",
    "check.pruned": lambda entry: "dropped old runs of a check",
    "settings.recorded": lambda entry: "recorded other settings",
    "list.auto": lambda entry: "set whether agents start on a list by themselves, and how",
    "check.defined": lambda entry: "read the checks of the configuration",
    "task.logged": lambda entry: f"logged to {_name(entry)}: {_value_text(entry, 'message')}",
    "task.linked": lambda entry: f"linked {_name(entry)} to graph nodes",
    "state.saved": lambda entry: f"saved the state of {_name(entry)}",
    "memory.saved": lambda entry: f"left a memory of {_name(entry)}",
    "claim.taken": lambda entry: f"claimed {_name(entry)}",
    "claim.extended": lambda entry: f"extended the claim on {_name(entry)}",
    "claim.released": lambda entry: f"gave {_name(entry)} back",
    "claim.finished": lambda entry: f"ended the claim on {_name(entry)}",
    "claim.restored": lambda entry: f"gave {_name(entry)} back to its holder",
    "claim.lapsed": lambda entry: f"took {_name(entry)} back at the end of the claim",
    "ask.opened": lambda entry: f"asks: {_value_text(entry, 'question')}",
    "ask.answered": lambda entry: f"answered: {_value_text(entry, 'answer')}{_by_rule(entry)}",
    "ask.timeout": lambda entry: "no longer waits for an answer",
    "ask.withdrawn": lambda entry: "withdrew a question",
    "message.sent": lambda entry: f"wrote to {_value_text(entry, 'agent')}: {_value_text(entry, 'text')}",
    "message.delivered": lambda entry: "was given the message",
    "message.withdrawn": lambda entry: "took a message back",
    "message.returned": lambda entry: "did not get the message, which waits again",
    "message": lambda entry: f"wrote to {_value_text(entry, 'to')}: {_value_text(entry, 'text')}",
    "journal.compacted": lambda entry: "dropped old entries of the journal",
    "agent.paused": lambda entry: f"paused {_quoted(entry.uid)}: {_value_text(entry, 'message')}",
    "agent.resumed": lambda entry: f"resumed {_quoted(entry.uid)}",
    "agent.refused": lambda entry: f"was refused {_value_text(entry, 'tool')}: {_value_text(entry, 'message')}",
    "terminal.used": lambda entry: f"used {_value_text(entry, 'command')} at {_value_text(entry, 'terminal')}",
    "run.requested": lambda entry: "requested a job in the conversation",
}
