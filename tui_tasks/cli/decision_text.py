"""What a person at a terminal decides about, written out whole: for that terminal, and for the screen that is asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from tui_tasks.core import names
from tui_tasks.core.rules.agents.request_text import decided_line

if TYPE_CHECKING:
    from tui_tasks.core.agent_snapshots import Check
    from tui_tasks.core.engine.database import Database
    from tui_tasks.core.snapshots import Task
    from tui_tasks.work.git.reviewing import Review

_BAR: Final = "│ "
_MAX_DIFF_CHARS: Final = 10_000
"""Diffs are shown up to this; files beyond are counted."""


def quoted(text: str, *, is_prose: bool = True) -> list[str]:
    """Return the lines of a text of others, each behind a bar: none can pass for a line of this program."""
    return [f"{_BAR}{decided_line(line, is_prose=is_prose)}" for line in text.split("\n")]


def task_lines(db: Database, task: Task, *, with_log: bool = True) -> list[str]:
    """Return all that is accepted with a task, and its log."""
    from tui_tasks.core.read.tasks import task_queries, task_records
    from tui_tasks.core.rules.tasks.held_rules import ACCEPTED
    from tui_tasks.core.vocab import priority_word

    lines = quoted(task.name)
    if task.description:
        lines += ["Description:", *quoted(task.description)]
    values = {name: getattr(task, name) for name in ACCEPTED if name not in ("name", "description", "depends_on")}
    values["priority"] = priority_word(task.priority)
    for name, value in values.items():
        if value is not None and value != ():
            text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
            lines += [f"{name.capitalize()}: {decided_line(text)}"]
    for uid in task.depends_on:
        dependency = task_queries.any_task(db, uid)
        lines += [
            f"After #{dependency.number}:" if dependency is not None else "After:",
            *quoted(dependency.name if dependency else uid),
        ]
    for entry in task_records.logs(db, task.uid) if with_log else ():
        lines += [f"Logged by {names.shown(entry.agent)}:", *quoted(entry.message)]
    return lines


def review_lines(review: Review, checks: Sequence[Check]) -> list[str]:
    """Return the files, commits, conflicts and checks of a work, without the content of the files."""
    where = decided_line(review.branch or str(review.folder))
    lines = [f"{where}  {review.ahead} ahead of {decided_line(review.base)}, {review.behind} behind"]
    for one in review.files:
        counted = "binary" if one.is_binary else f"+{one.insertions} -{one.deletions}"
        lines.append(f"{' ' if one.is_committed else '?'}{one.status}  {decided_line(one.path)}  {counted}")
    lines += [
        f"{commit.id[:9]}  {decided_line(commit.author)}  {decided_line(commit.title)}" for commit in review.commits
    ]
    lines += [f"conflict  {decided_line(path)}" for path in review.conflicts]
    lines += [f"{decided_line(one.name)} {one.state} on these files{', gate' * one.gate}" for one in checks]
    return [*lines, *(decided_line(note) for note in review.notes)]


def diff_lines(review: Review) -> Iterator[str]:
    """Yield the diffs of the files, as far as there is room, and how many files have none here."""
    from tui_tasks.work.git import reviewing

    left, hidden = _MAX_DIFF_CHARS, 0
    for change in review.files:
        if (change.insertions or 0) + (change.deletions or 0) > left:
            hidden += 1  # git is not asked for what has no room
            continue
        diff = reviewing.file_diff(review.folder, review.merge_base, review.tree, change)
        lines = quoted(diff.text.rstrip("\n"), is_prose=False)
        size = sum(map(len, lines)) + len(lines)
        if diff.is_binary or diff.is_cut or size > left:
            hidden += 1
            continue
        left -= size
        yield from lines
    if hidden:
        yield f"Not shown here: the content of {hidden} of {len(review.files)} file{'s' * (len(review.files) != 1)}."
