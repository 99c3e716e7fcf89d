"""What agents have done to tasks since the human last looked, in words: how many, which, and what."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.unseen_changes import LAPSED, MAX_NEW, WORDS
from tui_tasks.core.snapshots import verified
from tui_tasks.text.glyphs import PROOF_LOOKS
from tui_tasks.tui.widgets.open_needs import Need, is_new

if TYPE_CHECKING:
    from tui_tasks.core.read.pages.list_pages import TaskLine
    from tui_tasks.tui.state.context import Context

# The most changed tasks that are named, and the most that are read for that.
_MAX_NAMED: Final = 12
_MAX_READ: Final = 60
_DELETED: Final = "deleted"
# The words, the most important first, with those that say how a task that was checked or created is now.
_NOW: Final = {"done": ("stale", "proposed"), "checked": ("unproven", "being checked", "proven")}
_ORDER: Final = tuple(word for before in WORDS for word in (*_NOW.get(before, ()), before))


def changed_words(context: Context, needs: Iterable[Need]) -> str:
    """Return `4 changed, 1 deleted`: how many tasks agents have changed that the human has not seen, with those of
    `needs` that are new though no task has changed; empty for none.
    """
    seen = context.state.seen
    others = _others(context, needs)
    numbers = ((seen.change_counts().total() + others, "changed"), (len(seen.deleted), _DELETED))
    return ", ".join(f"{number:,}{'+' * (number >= MAX_NEW)} {word}" for number, word in numbers if number)


def _others(context: Context, needs: Iterable[Need]) -> int:
    """Return how many of `needs` are new though no task has changed, as a question about no task."""
    return sum(need.task not in context.state.seen.new and is_new(context.state, need) for need in needs)


class News(NamedTuple):
    """What has happened to some tasks: a word, how many they are, and the numbers of the first of them, each with how
    many it stands for (`#3–#5`: three). Without a word, these are others.
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
        """`started #4, #7`; `19 new` where not all are named; `+1` of others."""
        if not self.word:
            return f"+{self.number:,}"
        if not self.are_all_named:
            return f"{self.number:,} {'claims lapsed' if self.word == LAPSED and self.number > 1 else self.word}"
        return f"{self.word} {', '.join(name for name, _ in self.names)}"


def what_changed(context: Context, needs: Iterable[Need]) -> list[News]:
    """Return what has happened to tasks that the human has not seen, the most important first, then how many of `needs`
    are new besides.
    """
    seen = context.state.seen
    counts = seen.change_counts()
    others = _others(context, needs)
    last = [News(word, number) for word, number in ((_DELETED, len(seen.deleted)), ("", others)) if number]
    if counts.total() >= MAX_NEW:
        return [News("changed", counts.total()), *last]
    tasks: dict[str, list[int]] = {}
    if counts.total() <= _MAX_READ:
        for uid, word in seen.named_changes():
            if (task := list_pages.line(context.db, uid)) is not None:
                now = _word_now(context, task, word)
                counts[word] -= 1
                counts[now] += 1
                tasks.setdefault(now, []).append(task.number)
    found, left = [], _MAX_NAMED
    for word in _ORDER:
        if (number := counts[word]) > 0:
            names = list(_ranges(sorted(tasks.get(word, ())), context))
            found.append(News(word, number, names[:left]))
            left -= len(found[-1].names)
    return [*found, *last] if found or seen.deleted else []


def news_ways(news: Sequence[News], since: str, *, ascii_only: bool) -> Iterator[str]:
    """Yield the words for news, those that name the most first: `since 19:58: started #5 · logged #6, #8`, the same
    without when, then `since 19:58: started #5 · +2` and `started #5 · +2` with the most important names. Where not all
    have names, they are counted.
    """
    total, dot = sum(one.number for one in news), "; " if ascii_only else " · "
    ways = [dot.join(one.text for one in news)] if news else []
    named = sum(len(one.names) for one in news)
    for words in (*ways, *(_some(news, shown, total, dot) for shown in range(named - 1, 0, -1))):
        yield from (f"since {since}: {words}", words)


def _some(news: Sequence[News], shown: int, total: int, dot: str) -> str:
    """Return `failed #3 · started #4 · +2`: so many names, and how many there are more."""
    texts: list[str] = []
    for one in news:
        if names := one.names[:shown]:
            part = News(one.word, sum(number for _, number in names), names)
            texts.append(part.text)
            shown, total = shown - len(names), total - part.number
    return dot.join([*texts, *([f"+{total:,}"] if total else [])])


def _word_now(context: Context, task: TaskLine, word: str) -> str:
    if word == "new":
        return "proposed" if task.held else word
    if word not in ("checked", "done"):
        return word
    from tui_tasks.tui.tasks import task_text  # few tasks have been checked when a screen begins

    state = verified(check.state for check in task_text.checks_of(context, task))
    return PROOF_LOOKS[state].word if state == "failed" or (state is not None and word == "checked") else word


def _ranges(numbers: Sequence[int], context: Context) -> Iterator[tuple[str, int]]:
    """Yield `#3–#5` and `#7` for ascending numbers, each with how many it stands for."""
    for _, run in groupby(enumerate(numbers), lambda place: place[1] - place[0]):
        found = [number for _, number in run]
        if len(found) > 2:
            yield f"#{found[0]}{'-' if context.ascii_only else '–'}#{found[-1]}", len(found)
        else:
            yield from ((f"#{number}", 1) for number in found)
