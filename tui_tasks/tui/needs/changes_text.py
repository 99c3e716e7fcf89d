"""What agents have done to tasks since the human last looked, in words: how many, which, and what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from tui_tasks.core.read import job_queries
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.unseen_changes import FAILED_WORDS, LAPSED, MAX_NEW, WORDS
from tui_tasks.core.snapshots import verified
from tui_tasks.text.glyphs import LOOKS, PROOF_LOOKS
from tui_tasks.text.safe import safe_ends
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.needs.open_needs import Kind, Need, came_by_time, is_new

if TYPE_CHECKING:
    from tui_tasks.core.read.pages.list_pages import TaskLine
    from tui_tasks.tui.painting.styles import Part
    from tui_tasks.tui.state.context import Context

# The most changed tasks that are named, and the most that are read for that.
_MAX_NAMED: Final = 12
_MAX_READ: Final = 60
# In cells: the longest name of an agent.
_WHO: Final = 12
_BY: Final = "by "
# What the numbers of tasks and jobs begin with.
_NUMBERED: Final = ("#", "S")
_NO_MARKS: Final[Mapping[str, str]] = MappingProxyType({})
Way = tuple[str, ...]
"""What has changed in words, a text for each kind of change: `("failed #3", "started #5")`. A name of an agent may have
a comma, so a line of them cannot be split again.
"""
_LOGGED: Final = "logged"
# The words for which the mark of the count above stands where there is little room.
_MARKED: Final = {
    **dict.fromkeys(FAILED_WORDS, "failed"),
    "stuck": "stuck",
    "gone": "left",
    "quiet": "quiet",
    "asked": "needs_you",
    "late": "overdue",
    "to review": "reviewable",
    "proposed": "held",
}
_DELETED: Final = "deleted"
# The words, the most important first, with those that say how a task that was checked or created is now.
_NOW: Final = {"done": ("stale", "proposed"), "checked": ("unproven", "being checked", "proven")}
_BY_TIME: Final = ("slow", "late")
_ORDER: Final = tuple(
    word for before in WORDS for word in (*_BY_TIME * (before == "to review"), *_NOW.get(before, ()), before)
)


def changed_words(context: Context, needs: Iterable[Need]) -> str:
    """Return `4 changed, 1 deleted`: how many tasks agents have changed that the human has not seen, with those of
    `needs` that are new though no task has changed; empty for none.
    """
    needs = list(needs)
    seen = context.state.seen
    besides = [*_others(context, needs), *came_by_time(context, needs)]
    numbers = ((seen.change_counts().total() + len(besides), "changed"), (len(seen.deleted), _DELETED))
    return ", ".join(f"{number:,}{'+' * (number >= MAX_NEW)} {word}" for number, word in numbers if number)


def _others(context: Context, needs: Iterable[Need]) -> list[Need]:
    """Return those of `needs` that are new though no task has changed, as a question about no task."""
    return [need for need in needs if need.task not in context.state.seen.new and is_new(context.state, need)]


class News(NamedTuple):
    """What has happened to some tasks: a word, how many they are, and the numbers of the first of them, each with how
    many it stands for (`#3–5`: three).
    """

    word: str
    number: int
    names: Sequence[tuple[str, int]] = ()

    @property
    def are_all_named(self) -> bool:
        """Whether the names say it all."""
        return sum(number for _, number in self.names) == self.number

    def said(self, marks: Mapping[str, str] = _NO_MARKS) -> str:
        """Return `started #4 #7`; `19 new` where not all are named. `marks`: the marks that stand for words."""
        if not self.are_all_named:
            return f"{self.number:,} {'claims lapsed' if self.word == LAPSED and self.number > 1 else self.word}"
        word = marks.get(self.word, self.word)
        names = (name.removeprefix(_BY) if at or word != self.word else name for at, (name, _) in enumerate(self.names))
        return f"{word} {' '.join(names)}"

    @property
    def counted(self) -> News:
        """The same as a number: `2 logged`."""
        return News(self.word, self.number)

    @property
    def without_agents(self) -> News:
        """The same with a number for the agents that it names: `asked #4 #7 +1`."""
        tasks = [(name, number) for name, number in self.names if name.startswith(_NUMBERED)]
        others = self.number - sum(number for _, number in tasks)
        if not tasks or not others:
            return self if tasks else self.counted
        return News(self.word, self.number, [*tasks, (f"+{others}", others)])


def what_changed(context: Context, needs: Iterable[Need]) -> list[News]:
    """Return what has happened to tasks that the human has not seen, which of `needs` are new besides, and what
    time has made late or slow, the most important first.
    """
    needs = list(needs)
    seen = context.state.seen
    counts = seen.change_counts()
    others = _others(context, needs)
    last = [News(_DELETED, len(seen.deleted))] if seen.deleted else []
    if counts.total() >= MAX_NEW:
        return [News("changed", counts.total() + len(others)), *last]
    tasks: dict[str, list[int]] = {}
    if counts.total() <= _MAX_READ:
        for uid, word in seen.named_changes():
            if (task := list_pages.line(context.db, uid)) is not None:
                now = _word_now(context, task, word)
                counts[word] -= 1
                counts[now] += 1
                tasks.setdefault(now, []).append(task.number)
    besides: dict[str, Counter[str]] = {}
    for need in others:
        word = "asked" if need.kind == Kind.ASKS else need.counted_as
        besides.setdefault(word, Counter())[_name(context, need)] += 1
    for need in came_by_time(context, needs):
        besides.setdefault(need.word, Counter())[_name(context, need)] += 1
    found, left = [], _MAX_NAMED
    for word in dict.fromkeys((*_ORDER, *besides)):
        more = besides.get(word, Counter())
        if (number := max(0, counts[word]) + more.total()) > 0:
            names = [*_ranges(sorted(tasks.get(word, ())), context), *((name, n) for name, n in more.items() if name)]
            found.append(News(word, number, names[:left]))
            left -= len(found[-1].names)
    return [*found, *last]


def _name(context: Context, need: Need) -> str:
    """Return how one of `_others` is named: by its job, its task or its agent; empty without."""
    if need.job is not None:
        job = job_queries.job_named(context.db, need.job)
        return f"S{job.number}" if job is not None else ""
    if need.kind not in (Kind.ASKS, Kind.AGENTS):
        task = list_pages.line(context.db, need.task) if need.task is not None else None
        return f"#{task.number}" if task is not None else ""
    return _BY * (need.kind == Kind.ASKS) + safe_ends(agent_text.who(need.agent), _WHO, ascii_only=context.ascii_only)


def change_ways(context: Context, needs: Iterable[Need]) -> list[Way]:
    """Return what has changed in words, the longest first: as `news_ways` has it, down to `4 changed` and `4`."""
    number = changed_words(context, needs)
    marks = {word: mark for word, (mark, _) in _marks(context).items()}
    return [*news_ways(what_changed(context, needs), marks), (number,), (number.partition(" ")[0],)]


def _marks(context: Context) -> dict[str, Part]:
    """Return the marks that stand for words; what is slow runs, and has the colour of what is late."""
    looks = {word: (LOOKS[kind], LOOKS[kind].color) for word, kind in _MARKED.items()}
    looks["slow"] = LOOKS["running"], LOOKS["overdue"].color
    return {word: (shown.mark(ascii_only=context.ascii_only), color) for word, (shown, color) in looks.items()}


def toned(context: Context, way: Iterable[str]) -> list[Part]:
    """Return one of the ways with the marks that stand for words in their colours; no comma parts two of these."""
    colors = dict(_marks(context).values())
    parts: list[Part] = []
    is_after_mark = False
    for at, each in enumerate(way):
        mark, _, names = each.partition(" ")
        is_mark = mark in colors
        if at:
            parts.append((" " if is_mark and is_after_mark else ", ", ""))
        parts += [(mark, colors[mark]), (f" {names}", "")] if is_mark else [(each, "")]
        is_after_mark = is_mark
    return parts


def news_ways(news: Sequence[News], marks: Mapping[str, str] = _NO_MARKS) -> list[Way]:
    """Return `failed #3, started #5, logged #6 #8`, then in less room the same with `marks` for words, with `2 logged`,
    with numbers for agents, with numbers for all without a mark, and last with fewer names: `✗ #3, +3`. The least
    important give way first. Where not all have names, they are counted.
    """
    calm = [one.counted if one.word == _LOGGED and one.number > 1 else one for one in news]
    words = [one.word for one in news if one.word in marks]
    ways: list[tuple[Sequence[News], Mapping[str, str]]] = [
        *((news, {word: marks[word] for word in words[at:]}) for at in range(len(words), -1, -1)),
        (calm, marks),
    ]
    least = [one.without_agents for one in calm]
    ways.append((least, marks))
    for at in reversed([at for at, one in enumerate(news) if one.word not in marks]):
        least = [*least[:at], least[at].counted, *least[at + 1 :]]
        ways += [(least, marks)] if marks else []
    named = sum(len(one.names) for one in news)
    texts = [tuple(one.said(some) for one in way) for way, some in ways]
    return list(dict.fromkeys([*texts, *(_some(news, shown, marks) for shown in range(named - 1, 0, -1))]))


def _some(news: Sequence[News], shown: int, marks: Mapping[str, str]) -> Way:
    """Return `✗ #3, started #4, +2`: so many names, and how many there are more."""
    found: list[str] = []
    total = sum(one.number for one in news)
    for one in news:
        if names := one.names[:shown]:
            number = sum(number for _, number in names)
            found.append(News(one.word, number, names).said(marks))
            shown, total = shown - len(names), total - number
    return (*found, *([f"+{total:,}"] if total else []))


def _word_now(context: Context, task: TaskLine, word: str) -> str:
    if word == "new":
        return "proposed" if task.held else word
    if word not in ("checked", "done"):
        return word
    from tui_tasks.tui.tasks import task_text  # few tasks have been checked when a screen begins

    state = verified(check.state for check in task_text.checks_of(context, task))
    return PROOF_LOOKS[state].word if state == "failed" or (state is not None and word == "checked") else word


def _ranges(numbers: Sequence[int], context: Context) -> Iterator[tuple[str, int]]:
    """Yield `#3–5` and `#7` for ascending numbers, each with how many it stands for."""
    for _, run in groupby(enumerate(numbers), lambda place: place[1] - place[0]):
        found = [number for _, number in run]
        if len(found) > 2:
            yield f"#{found[0]}{'-' if context.ascii_only else '–'}{found[-1]}", len(found)
        else:
            yield from ((f"#{number}", 1) for number in found)
