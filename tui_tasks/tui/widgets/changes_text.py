"""What agents have done to tasks since the human last looked, in words: how many, which, and what."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final

from tui_tasks.core.read import job_lines
from tui_tasks.core.read.overview import FAILED_WORDS, MAX_NEW, WORDS
from tui_tasks.core.read.pages import list_pages
from tui_tasks.text.safe import safe_ends
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.widgets.agent_line import WHO
from tui_tasks.tui.widgets.open_needs import AGENTS, ASKS, CHECKS, HELD, JOBS, Need, is_new

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context

# The most changed tasks, agents and jobs that are named.
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


def what_changed(context: Context, needs: Sequence[Need]) -> tuple[int, list[str]]:
    """Return how many tasks, agents and jobs have something new, and what has happened, in shorter and shorter words:
    `#3 failed, #5 started, #6 #8 commented`, then `#3 failed, #5 started, 2 commented`, `#3 failed, #5 started, 2 more`
    and `#3 failed, 3 more`; no words where more than can be noted have changed.

    `needs`: what needs the human, of which an agent, a job or a failed check of a changed task is new.
    """
    seen = context.state.seen
    counts, others = seen.change_counts(), _others(context, needs)
    deleted = len(seen.deleted)
    total = counts.total() + sum(map(len, others.values()))
    if counts.total() >= MAX_NEW:
        return total + deleted, []
    checked = {
        need.task for need in needs if need.kind == CHECKS and need.task in seen.new and is_new(context.state, need)
    }
    counts.subtract(seen.word_of(uid) for uid in checked if uid is not None)
    counts["check failed"] += len(checked)
    tasks = _numbers(context, checked) if 0 < total <= _MAX_NAMED else {}
    long, numbers, failed = [], [], 0
    for word in WORDS:
        if number := counts[word] + len(others.get(word, ())):
            numbers.append((number, word))
            names = " ".join((*others.get(word, ()), *_ranges(sorted(tasks.get(word, ())), _dash(context))))
            long.append(f"{names} {word}")
            failed += word in FAILED_WORDS
    if deleted:
        numbers.append((deleted, "deleted"))
    if not 0 < total <= _MAX_NAMED:
        long, failed = [], 0
    return total + deleted, list(_ways(long, numbers, failed))


def _ways(long: Sequence[str], numbers: Sequence[tuple[int, str]], failed: int) -> Iterator[str]:
    """Yield the words with fewer and fewer names: all of `numbers`, then the first ones and how many more there are.
    Names of what has `failed`, which are the first, give way last.
    """
    short, last = [f"{number:,} {word}" for number, word in numbers], len(numbers)
    some = [
        (named, shown)
        for named in range(len(long), -1, -1)
        for shown in range(last if named < failed else last - 1, max(named, 1) - 1, -1)
    ]
    for named, shown in [*((named, last) for named in range(len(long), failed - 1, -1)), *some]:
        rest = sum(number for number, _ in numbers[shown:])
        yield ", ".join((*long[:named], *short[named:shown], *([f"{rest:,} more"] if rest else [])))


def _others(context: Context, needs: Iterable[Need]) -> dict[str, list[str]]:
    """Return by what has happened the new agents and jobs, with which no changed task stands for them."""
    found: dict[str, list[str]] = {}
    for need in needs:
        is_told = need.task in context.state.seen.new and (need.kind == ASKS or need.word == "failed")
        is_job = need.kind == JOBS or (need.kind == HELD and need.job is not None)
        if not (is_job or need.kind in (ASKS, AGENTS)) or is_told or not is_new(context.state, need):
            continue
        word = {ASKS: "asked", HELD: "new"}.get(need.kind, need.word)
        place = f"S{job_lines.place(context.db, need.row.id)}" if is_job else agent_text.who(need.agent)
        names = found.setdefault(word, [])
        if (name := safe_ends(place, WHO)) not in names:
            names.append(name)
    return found


def _numbers(context: Context, checked: Collection[str | None]) -> dict[str, list[int]]:
    """Return the numbers of the changed tasks by what has happened to them; a check of those `checked` has failed."""
    numbers: dict[str, list[int]] = {}
    for uid, word in context.state.seen.named_changes():
        if (task := list_pages.line(context.db, uid)) is not None:
            numbers.setdefault("check failed" if uid in checked else word, []).append(task.number)
    return numbers


def _dash(context: Context) -> str:
    return "-" if context.ascii_only else "–"


def _ranges(numbers: Sequence[int], dash: str) -> Iterator[str]:
    """Yield `#3–#5` and `#7` for ascending numbers."""
    for _, run in groupby(enumerate(numbers), lambda place: place[1] - place[0]):
        found = [number for _, number in run]
        if len(found) > 2:
            yield f"#{found[0]}{dash}#{found[-1]}"
        else:
            yield from (f"#{number}" for number in found)
