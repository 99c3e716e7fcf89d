"""What agents have done to tasks since the human last looked, in words: how many, which, and what. `in_rows`: the
tasks whose row says it already, with the mark of what is new.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final

from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.unseen_changes import MAX_NEW, WORDS

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context

# The most changed tasks that are named by their numbers.
_MAX_NAMED: Final = 12


def changed_words(context: Context, *, is_long: bool) -> str:
    """Return `4 tasks changed, 1 deleted`, or `4 changed, 1 deleted`: how many tasks agents have changed that the human
    has not seen; empty for none.
    """
    words: list[str] = []
    for number, word in (
        (context.state.seen.change_counts().total(), "changed"),
        (len(context.state.seen.deleted), "deleted"),
    ):
        if number:
            what = f"task{'s' * (number != 1)} " if is_long and not words else ""
            words.append(f"{number:,}{'+' * (number >= MAX_NEW)} {what}{word}")
    return ", ".join(words)


def what_changed(context: Context, in_rows: Collection[str]) -> list[str]:
    """Return what has happened, in shorter and shorter words: `#5 started, #6 #8 commented, 1 deleted`, then
    `#5 started, 2 commented, 1 deleted`, then `1 started, 2 commented, 1 deleted`. Empty where more than can be noted,
    or nothing, has changed.
    """
    counts = context.state.seen.change_counts(in_rows)
    if counts.total() >= MAX_NEW:
        return []
    named = _numbers(context, in_rows) if 0 < counts.total() <= _MAX_NAMED else {}
    deleted = len(context.state.seen.deleted)
    short = [f"{counts[word]:,} {word}" for word in WORDS if counts[word]] + [f"{deleted:,} deleted"] * bool(deleted)
    long = [f"{_listed(context, numbers)} {word}" for word in WORDS if (numbers := named.get(word))]
    ways = (", ".join([*long[:most], *short[most:]]) for most in range(len(long), -1, -1))
    return list(filter(None, ways))


def _numbers(context: Context, in_rows: Collection[str]) -> dict[str, list[int]]:
    """Return the numbers of the changed tasks by what has happened to them."""
    numbers: dict[str, list[int]] = {}
    for uid, word in context.state.seen.named_changes():
        if uid not in in_rows and (task := list_pages.line(context.db, uid)) is not None:
            numbers.setdefault(word, []).append(task.number)
    return numbers


def _listed(context: Context, numbers: Sequence[int]) -> str:
    return " ".join(_ranges(sorted(numbers), "-" if context.ascii_only else "–"))


def _ranges(numbers: Sequence[int], dash: str) -> Iterator[str]:
    """Yield `#3–#5` and `#7` for ascending numbers."""
    for _, run in groupby(enumerate(numbers), lambda place: place[1] - place[0]):
        found = [number for _, number in run]
        if len(found) > 2:
            yield f"#{found[0]}{dash}#{found[-1]}"
        else:
            yield from (f"#{number}" for number in found)
