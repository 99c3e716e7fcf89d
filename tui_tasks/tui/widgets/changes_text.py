"""What agents have done to tasks since the human last looked, in words: how many, which, and what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final

from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.unseen_changes import ASK, MAX_NEW, WORDS

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context

# The most changed tasks that are named by their numbers.
_MAX_NAMED: Final = 12


def changed_words(context: Context, *, is_long: bool) -> str:
    """Return `4 tasks changed, 1 deleted`, or `4 changed, 1 deleted`: how many tasks agents have changed that the human
    has not seen; empty for none.
    """
    words: list[str] = []
    for number, word in ((context.state.change_counts().total(), "changed"), (len(context.state.deleted), "deleted")):
        if number:
            what = f"task{'s' * (number != 1)} " if is_long and not words else ""
            words.append(f"{number:,}{'+' * (number >= MAX_NEW)} {what}{word}")
    return ", ".join(words)


def what_changed(context: Context) -> list[str]:
    """Return what has happened, in fewer and fewer words: `#3 failed, #4 #7 ask, #5 started, 1 deleted`, down to
    `#3 failed +4`; of many tasks `3 failed, 20 done`. Empty where more have changed than are noted.
    """
    counts, named = context.state.change_counts(), _numbers(context)
    if counts.total() >= MAX_NEW:
        return []
    parts: list[tuple[int, str]] = []
    for word in WORDS:
        if number := counts[word]:
            verb = f"{word}s" if word == ASK and number == 1 else word
            parts.append((number, f"{_listed(context, named[word]) if named else f'{number:,}'} {verb}"))
    if deleted := len(context.state.deleted):
        parts.append((deleted, f"{deleted:,} deleted"))
    return [_first(parts, most) for most in range(len(parts), 0, -1)]


def _first(parts: Sequence[tuple[int, str]], most: int) -> str:
    """Return the first words, and how many tasks the others are about."""
    others = sum(number for number, _ in parts[most:])
    return ", ".join(words for _, words in parts[:most]) + (f" +{others:,}" if others else "")


def _numbers(context: Context) -> dict[str, list[int]]:
    """Return the numbers of the changed tasks by what has happened to them; none of more than a line can name."""
    if not 0 < context.state.change_counts().total() <= _MAX_NAMED:
        return {}
    numbers: dict[str, list[int]] = {}
    for uid, word in context.state.named_changes():
        if (task := list_pages.line(context.db, uid)) is not None:
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
