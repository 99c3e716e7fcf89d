"""What agents have done to tasks since the human last looked, in words: how many, which, and what."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from tui_tasks.core.read import job_lines
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.unseen_changes import CLOSED, FAILED_WORDS, LAPSED, MAX_NEW, WORDS
from tui_tasks.core.snapshots import verified
from tui_tasks.text.glyphs import PROOF_LOOKS, look
from tui_tasks.text.safe import safe_ends
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.widgets.agent_entries import WHO
from tui_tasks.tui.widgets.open_needs import AGENTS, ASKS, CHECKS, HELD, JOBS, REVIEW, Need, is_new

if TYPE_CHECKING:
    from tui_tasks.core.read.pages.list_pages import TaskLine
    from tui_tasks.tui.painting.styles import Part
    from tui_tasks.tui.state.context import Context

# The most changed tasks, agents and jobs that are named, and the most tasks that are read for that. Where not all have
# room, the time gives way to so many of them.
_MAX_NAMED: Final = 12
_MAX_READ: Final = 60
_LEAST_NAMED: Final = 3
_DELETED: Final = "deleted"
# The words, the most important first, with those that say how a task that was checked or created is now.
_NOW: Final = {"stuck": ("stale",), "done": ("proposed",), "checked": ("unproven", "being checked", "proven")}
_ORDER: Final = tuple(word for before in WORDS for word in (*_NOW.get(before, ()), before))
# The states whose marks stand for words.
_STATES: Final = {
    **dict.fromkeys(FAILED_WORDS, "failed"),
    **dict.fromkeys(("stuck", "gone", "quiet", LAPSED), "stuck"),
    "asked": "needs_you",
    "to review": "reviewable",
    "proposed": "held",
    "done": "done",
    "started": "in_progress",
    "reopened": "pending",
    "skipped": "skipped",
    "cancelled": "cancelled",
}
# What a question of its agent is named beside.
_BEGINNINGS: Final = ("new", "started")
# What stands for the words without a mark.
_SHORT: Final = {"checked": "check", "logged": "log", "edited": "edit", CLOSED: "closed"}


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


class News(NamedTuple):
    """What has happened to some tasks, agents or jobs: a word, how many they are, and the names of the first of them,
    each with how many it stands for (`#3–#5`: three).
    """

    word: str
    number: int
    names: Sequence[tuple[str, int]] = ()

    @property
    def are_all_named(self) -> bool:
        """Whether the names say it all."""
        return sum(number for _, number in self.names) == self.number

    @property
    def text(self) -> str:
        """`asked #4, #7`, `failed claude-5, #3`; `19 new` where not all are named."""
        if not self.are_all_named:
            return f"{self.number:,} {'claims lapsed' if self.word == LAPSED and self.number > 1 else self.word}"
        return f"{self.word} {', '.join(name for name, _ in self.names)}"


def what_changed(context: Context, needs: Sequence[Need]) -> list[News]:
    """Return what has happened to tasks, agents and jobs that the human has not seen, the most important first.

    `needs`: what needs the human, of which an agent, a job or a failed check of a changed task is new.
    """
    seen = context.state.seen
    counts, others = seen.change_counts(), _others(context, needs)
    deleted = [News(_DELETED, len(seen.deleted))] if seen.deleted else []
    if counts.total() >= MAX_NEW:
        return [News("changed", counts.total() + sum(map(len, others.values()))), *deleted]
    checked = {
        need.task for need in needs if need.kind == CHECKS and need.task in seen.new and is_new(context.state, need)
    }
    counts.subtract(seen.word_of(uid) for uid in checked if uid is not None)
    counts["check failed"] += len(checked)
    tasks: dict[str, list[int]] = {}
    if counts.total() <= _MAX_READ:
        for word, now, number in _words_now(context, checked):
            counts[word] -= 1
            counts[now] += 1
            tasks.setdefault(now, []).append(number)
    found, left = [], _MAX_NAMED
    for word in _ORDER:
        if number := counts[word] + len(others.get(word, ())):
            named = [(name, 1) for name in others.get(word, ()) if isinstance(name, str)]
            numbers = {*tasks.get(word, ()), *(name for name in others.get(word, ()) if isinstance(name, int))}
            names = [*named, *_ranges(sorted(numbers), context)]
            found.append(News(word, number, names[:left]))
            left -= len(found[-1].names)
    return [*found, *deleted]


def news_ways(news: Sequence[News], since: str, *, has_words: bool, ascii_only: bool) -> Iterator[Sequence[Part]]:
    """Yield the words for news, the longest first: `since 19:58: failed #3 · asked #4, #7 · 2 new`, then
    `since 19:58: failed #3 · asked #4, #7 · +2` with the most important names, the same without the time, and `6`.
    Without `has_words` marks stand for words where not all has room: `since 19:58 ✗ #3  ? #4, #7`, then
    `since 19:58 ✗#3 ?#4,7 +2`.
    """
    total, dot = sum(one.number for one in news), "; " if ascii_only else " · "
    head = f"since {since}{':' * has_words} "
    yield [(f"since {since}: {dot.join(one.text for one in news)}", "")]
    names = [(_looks(one.word, ascii_only=ascii_only), *name) for one in news for name in one.names]
    most = [
        _worded(news, shown, total, dot) if has_words else _marked(names[:shown], total)
        for shown in range(len(names), 0, -1)
    ]
    if names and not has_words:
        yield [(head, ""), *_roomy(news, ascii_only=ascii_only)]
    yield from ([(head, ""), *parts] for parts in most[: max(1, len(most) - _LEAST_NAMED + 1)])
    yield from most
    number = f"{total:,}{'+' * (total >= MAX_NEW)}"
    if not names:
        for shown in range(len(news) - 1, 0, -1):
            rest = sum(one.number for one in news[shown:])
            first = dot.join(one.text for one in news[:shown])
            yield [(f"since {since}: {first}{dot}{rest:,} more", "")]
        yield from ([(text, "")] for text in (f"{number} changed since {since}", f"{number} since {since}"))
    yield [(number, "")]


def _worded(news: Sequence[News], shown: int, total: int, dot: str) -> Sequence[Part]:
    """Return `failed #3 · asked #4, #7 · +2`: so many names with words, and how many there are more."""
    texts: list[str] = []
    for one in news:
        if names := one.names[:shown]:
            part = News(one.word, sum(number for _, number in names), names)
            texts.append(part.text)
            shown, total = shown - len(names), total - part.number
    return [(dot.join([*texts, *([f"+{total:,}"] if total else [])]), "")]


def _roomy(news: Sequence[News], *, ascii_only: bool) -> Sequence[Part]:
    """Return `✗ #3  ? #4, #7  1 deleted`: all, by marks where all have names."""
    parts: list[Part] = []
    for one in news:
        names = ", ".join(name for name, _ in one.names)
        said = [_looks(one.word, ascii_only=ascii_only), (f" {names}", "")] if one.are_all_named else [(one.text, "")]
        parts += [("  ", ""), *said] if parts else said
    return parts


def _marked(names: Sequence[tuple[Part, str, int]], total: int) -> Sequence[Part]:
    """Return `✗#3 ?#4,7 +2`: the names behind the mark of what has happened to them, and how many there are more."""
    parts: list[Part] = []
    for mark, found in groupby(names, lambda name: name[0]):
        group = list(found)
        total -= sum(number for *_, number in group)
        parts += [(" ", "")] * bool(parts) + [mark, (_short_list([name for _, name, _ in group]), "")]
    return [*parts, *([(f" +{total:,}", "")] if total else [])]


def _short_list(names: Sequence[str]) -> str:
    """Return `claude-5,#3,7`: a number behind another has no sign."""
    ends = (name[1:] if name[0] == before[0] == "#" else name for before, name in pairwise(names))
    return ",".join([names[0], *ends])


def _looks(word: str, *, ascii_only: bool) -> Part:
    """Return the mark that stands for a word, else a short word."""
    if word not in _STATES:
        return _SHORT.get(word, word), PROOF_LOOKS["stale"].color if word == "stale" else "$muted"
    looks = look(_STATES[word])
    return looks.mark(ascii_only=ascii_only), looks.color


def _others(context: Context, needs: Iterable[Need]) -> dict[str, list[str | int]]:
    """Return by what has happened the new agents, jobs, works and failed checks for which no changed task stands; of
    works and checks the number of the task.
    """
    found: dict[str, list[str | int]] = {}
    for need in needs:
        of_task = need.kind in (CHECKS, REVIEW)
        seen = context.state.seen
        is_changed = need.task is not None and need.task in seen.new
        is_asked = need.kind == ASKS and is_changed and seen.word_of(need.task or "") not in _BEGINNINGS
        is_told = is_changed and (of_task or is_asked or need.word == "failed")
        is_job = need.kind == JOBS or (need.kind == HELD and need.job is not None)
        if not (is_job or of_task or need.kind in (ASKS, AGENTS)) or is_told or not is_new(context.state, need):
            continue
        word = {ASKS: "asked"}.get(need.kind, need.word)
        place = f"S{job_lines.place(context.db, need.row.id)}" if is_job else agent_text.who(need.agent)
        name: str | int = safe_ends(place, WHO)
        if of_task and need.task is not None and (task := list_pages.line(context.db, need.task)) is not None:
            name = task.number
        names = found.setdefault(word, [])
        if name not in names:
            names.append(name)
    return found


def _words_now(context: Context, checked: Collection[str | None]) -> Iterator[tuple[str, str, int]]:
    """Yield of each changed task the word of what has happened to it, the word of how it is now, and its number. A
    check of those `checked` has failed.
    """
    for uid, noted in context.state.seen.named_changes():
        if (task := list_pages.line(context.db, uid)) is not None:
            word = "check failed" if uid in checked else noted
            yield word, _word_now(context, task, word), task.number


def _word_now(context: Context, task: TaskLine, word: str) -> str:
    if word == "new":
        return "proposed" if task.held else word
    if word != "checked":
        return word
    from tui_tasks.tui.tasks import task_text  # few tasks have been checked when a screen begins

    state = verified(check.state for check in task_text.checks_of(context, task))
    return PROOF_LOOKS[state].word if state is not None else word


def _ranges(numbers: Sequence[int], context: Context) -> Iterator[tuple[str, int]]:
    """Yield `#3–#5` and `#7` for ascending numbers, each with how many it stands for."""
    for _, run in groupby(enumerate(numbers), lambda place: place[1] - place[0]):
        found = [number for _, number in run]
        if len(found) > 2:
            yield f"#{found[0]}{'-' if context.ascii_only else '–'}#{found[-1]}", len(found)
        else:
            yield from ((f"#{number}", 1) for number in found)
