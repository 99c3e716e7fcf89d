"""What each agent does: its state, its task and its last word, most urgent first. `agent_line` lays them out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

import msgspec

from tui_tasks.core.read import work_queries
from tui_tasks.core.read.agents import agent_states
from tui_tasks.core.read.agents.agent_views import AgentView
from tui_tasks.core.read.agents.session_queries import AgentSession, asked_for
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.work_queries import SILENT_AFTER
from tui_tasks.core.unjournaled.local_values import key_of_agent, key_of_left
from tui_tasks.text.glyphs import AGENT_LOOKS, look
from tui_tasks.text.safe import cell_len, safe_ends, safe_line
from tui_tasks.text.times import SECOND, age_lasts
from tui_tasks.text.word_cuts import cut_said, safe_words
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.painting.styles import Part

if TYPE_CHECKING:
    from tui_tasks.core.read.pages.list_pages import TaskLine
    from tui_tasks.tui.state.context import Context

WHO: Final = 16
"""The longest name of an agent, in cells."""
TROUBLE: Final = ("stuck", "gone", "stopped", "failed", "quiet")
"""The states of agents that need attention, most urgent first."""
AT_WORK: Final = ("working", "paused")
_TOLD: Final = ("stuck", "stopped", "failed")
# The states that a mark says alone; the words that say no more than such a mark.
_BY_MARK: Final = ("failed", "waiting", "ready", "idle")
_SAID_BY_MARK: Final = ("failed", "to review", "idle")
_LATER: Final = "later"
_RANKS: Final = (*TROUBLE, "waiting", "ready", *AT_WORK, _LATER, "idle")
LEAST_WORD: Final = 10
"""In cells: what is worth showing of the last words of an agent at work, and of the name of its task."""
# In cells: the longest name of a task.
_MAX_NAME: Final = 40
# In cells: the longest reason of a failure beside an agent's name.
_MAX_WHY: Final = 16
_MAX_WORDS: Final = 200
_ASKS: Final = " asks"
# The looks of states that have no looks of their own.
_LOOKS: Final = {"gone": "left", _LATER: "waiting"}
_FOR_TOOL: Final = "waiting: "


class AgentEntry(msgspec.Struct, frozen=True):
    """What an agent does: a word for its state, its task, and its last word.

    `reason` is why one in trouble is so, `since` from when on; `prompt` what one was asked for that has failed without
    a task. `asks` says that one asks though it works on, and about which task. `act` is performed by a click on it.
    """

    state: str
    member: AgentView
    mark: str
    color: str
    act: Callable[[], None]
    word: str = ""
    number: str = ""
    name: str = ""
    said: str = ""
    reason: str = ""
    since: int | None = None
    asks: str = ""
    prompt: str = ""

    @property
    def trouble(self) -> str:
        """Why it is in trouble, behind its prompt if it has one: `Fix the docs: overloaded`."""
        return f"{self.prompt}: {self.reason.removeprefix('failed: ')}" if self.prompt else self.reason

    @property
    def is_trouble(self) -> bool:
        """Whether it needs attention."""
        return self.state in TROUBLE

    @property
    def at(self) -> int:
        """Since when it is so."""
        member = self.member
        return next((at for at in (self.since, member.since) if at is not None), member.last_seen)

    @property
    def is_at_work(self) -> bool:
        """Whether it works, or would if the human had not paused it."""
        return self.state in AT_WORK

    @property
    def who(self) -> str:
        """The name of the agent as it is shown."""
        return safe_ends(agent_text.who(self.member.name), WHO)

    @property
    def fixed(self) -> str:
        """What is cut last: its name, the word for its state, the number of its task."""
        return " ".join(filter(None, (self.who, self.word, self.number)))

    def size(self, words: int) -> int:
        """Return its width in cells without the name of its task, with so many for its last words if it works."""
        ends = (words if self.is_at_work else 0, cell_len(self.asks))
        return 2 + cell_len(self.fixed) + sum(1 + end for end in ends if end)

    @property
    def brief(self) -> AgentEntry:
        """The entry without the words that its mark says already."""
        word = "" if self.word in _SAID_BY_MARK else self.word.removeprefix(_FOR_TOOL)
        return msgspec.structs.replace(self, word=word)

    @property
    def bare(self) -> AgentEntry:
        """The entry without why it has failed or what it asks for."""
        return msgspec.structs.replace(self, word="") if self.state in _BY_MARK else self

    @property
    def least(self) -> AgentEntry:
        """The entry with neither these nor what it asks though it works on."""
        return msgspec.structs.replace(self.bare, asks="")

    @property
    def with_reason(self) -> AgentEntry:
        """The entry with why it is stuck, has stopped or failed, instead of the name of its task."""
        _, _, why = self.reason.partition(": ")
        is_told = self.state in _TOLD and why and why != self.word
        return msgspec.structs.replace(self, name="", said=why) if is_told else self

    def parts(self, name: int, said: int, room: int, *, ascii_only: bool) -> list[Part]:
        """Return it with so many cells for the name of its task and for its last word, in `room` cells."""
        who = safe_ends(self.who, max(1, room - 2), ascii_only=ascii_only)
        left, shown = room - 2 - cell_len(who), ""
        word = f" {self.word}" if self.word and cell_len(self.word) < left else ""
        left -= cell_len(word)
        asks = f" {self.asks}" if self.asks and cell_len(self.asks) < left else ""
        left -= cell_len(asks)
        for text in (
            self.number,
            safe_words(self.name, name, ascii_only=ascii_only),
            cut_said(self.said, said, ascii_only=ascii_only),
        ):
            if text and cell_len(text) < left:
                shown += f" {text}"
                left -= cell_len(text) + 1
        calm = "$muted" if self.state == "idle" else ""
        verb, about = asks[: len(_ASKS)], asks[len(_ASKS) :]
        looks = look("needs_you").color
        parts = ((f"{self.mark} ", self.color), (who, ""), (word, calm), (shown, ""), (verb, looks), (about, ""))
        return [part for part in parts if part[0]]


class AgentEntries:
    """Makes the entries from the state. It calls `lasts` with how many microseconds they stay true."""

    def __init__(self, context: Context, lasts: Callable[[int], None]) -> None:
        self.context = context
        self.lasts = lasts

    def entries(self) -> list[AgentEntry]:
        """Return an entry for each agent that is there, is in trouble or has work, most urgent first."""
        now = self.context.clock.now()
        found = (
            self._in_trouble(member, shown, now) or self._calm(member, shown, now)
            for member, shown in self._states(now)
        )
        away = self._left_dismissed()
        return sorted((entry for entry in found if entry and not self._is_dismissed(entry, away)), key=_order)

    def dismissed(self) -> set[str]:
        """Return the names of the agents whose trouble the human has dismissed."""
        if not self.context.state.seen.dismissed:
            return set()
        away = self._left_dismissed()
        return {entry.member.name for entry in self.in_trouble() if self._is_dismissed(entry, away)}

    def _is_dismissed(self, entry: AgentEntry, away: set[str]) -> bool:
        if entry.state == "gone":
            return entry.member.name in away
        return entry.is_trouble and entry.at <= self.context.state.seen.dismissed.get(
            key_of_agent(entry.member.name), -1
        )

    def _left_dismissed(self) -> set[str]:
        """Return the agents that are gone and of which the human has dismissed each task that they left."""
        state = self.context.state
        away: set[str] = set()
        open_: set[str] = set()
        for uid, one in (state.lapsed | state.left).items() if state.seen.dismissed else ():
            (away if one.at <= state.seen.dismissed.get(key_of_left(uid), -1) else open_).add(one.agent)
        return away - open_

    def in_trouble(self) -> Iterator[AgentEntry]:
        """Yield the entries of those in trouble, whose last words are not read."""
        now = self.context.clock.now()
        for member, shown in self._states(now):
            if entry := self._in_trouble(member, shown, now):
                yield entry

    def finished(self) -> Iterator[AgentEntry]:
        """Yield the entries of those that have finished since the human last looked, the last one first."""
        since, states = self.context.state.seen.since, self._states(self.context.clock.now())
        left = (member for member, shown in states if shown != "ready" and (member.left_at or 0) > since)
        for member in sorted(left, key=lambda member: -(member.left_at or 0)):
            if agent_states.has_finished(member):
                yield self._entry(member, "idle", "finished", has_task=False)

    def _states(self, now: int) -> Iterator[tuple[AgentView, str]]:
        quiet_after = self.context.config.quiet_after * SECOND
        for member in self.context.state.present:
            shown = agent_states.state_of(member, now, quiet_after)
            if member.session is None and shown == "working":
                self.lasts(max(1, member.last_seen + quiet_after + 1 - now))
            yield member, shown

    def said(self, member: AgentView) -> str:
        """Return the last word of an agent at work: its tool, else what it said, about its task if it has one."""
        session, word, task = member.session, member.word, member.task
        if session is not None and member.tool is not None:
            return one_line(member.tool_use, agent_text.MAX_TOOL_USE)
        if session is not None and (said := session.last_message or (asked_for(session) if task is None else "")):
            return _quoted(said)
        # A question that is answered stands nowhere as its last words.
        is_over = word is not None and agent_text.is_closed(word, self.context)
        if task is not None and (word is None or is_over or word.task != task.uid):
            return _quoted(agent_text.said_of_task(member, self.context))
        is_said = word is not None and word.kind in ("logged", "asked", "ran") and not is_over
        return _quoted(word.text) if word is not None and is_said else ""

    def _in_trouble(self, member: AgentView, shown: str, now: int) -> AgentEntry | None:
        if shown == "left":
            return self._entry(member, "gone", "gone", reason=f"gone: {_left(member)}", since=member.left_at)
        if shown == "stuck" and member.stuck is not None:
            return self._entry(member, shown, shown, reason=f"stuck: {one_line(member.stuck.text)}", since=member.since)
        if shown == "stuck" and (claim := member.refused_claim) is not None:
            self.lasts(age_lasts(claim.at, now))
            why = agent_states.lapsed_text(member, now)
            return self._entry(member, shown, shown, has_task=False, reason=f"stuck: {why}", since=claim.at)
        if shown == "stopped":
            why, _ = agent_text.matter(member, self.context, shown)
            return self._entry(member, shown, "stuck", reason=f"stuck: {one_line(why)}")
        if shown == "quiet":
            about = _left(member)
            return self._entry(member, shown, shown, reason=f"quiet{': ' * bool(about)}{about}", since=member.last_seen)
        if shown == "failed" and not agent_states.is_over(member, now, self.context.state.seen.dismissed_at):
            why, _ = agent_text.matter(member, self.context, shown)
            about = one_line(member.failed_task.name, _MAX_NAME) if member.failed_task is not None else shown
            short = one_line(why) if 0 < cell_len(one_line(why)) <= _MAX_WHY else shown
            entry = self._entry(member, shown, short, reason=f"{about}{': ' * bool(why)}{one_line(why)}")
            prompt = one_line(asked_for(member.session), _MAX_NAME) if member.failed_task is None else ""
            return msgspec.structs.replace(entry, prompt=prompt)
        if shown != "idle" or member.session is None:
            return None
        if agent_states.is_starting(member.session):
            return self._not_started(member, member.session, now)
        if member.task is not None:
            return self._at_prompt(member, member.session, now)
        return None

    def _not_started(self, member: AgentView, session: AgentSession, now: int) -> AgentEntry | None:
        """Return the entry of an agent that was started here and has reported nothing for long."""
        if not agent_states.is_silent(session, now):
            return None
        word = one_line(member.near or "may ask something in its terminal")
        return self._entry(member, "quiet", said=word, has_task=False, reason=word)

    def _at_prompt(self, member: AgentView, session: AgentSession, now: int) -> AgentEntry | None:
        """Return the entry of an agent that was started here and has ended its turn with nothing to review."""
        work = work_queries.of_agent(self.context.db, member.name)
        if work is None or work.state != "working":
            return None
        rests_at = (member.since or now) + SILENT_AFTER
        if now <= rests_at:  # what it has changed is looked at
            self.lasts(rests_at + 1 - now)
            return None
        said = _quoted(session.last_message or "")
        words = "waits at its prompt"
        return self._entry(member, "quiet", words, said=said, reason=" ".join(filter(None, (words, said))))

    def _calm(self, member: AgentView, shown: str, now: int) -> AgentEntry | None:
        """Return the entry of an agent that works, waits or does nothing; None of one that is not there."""
        if shown == "idle" and agent_states.is_starting(member.session):
            assert member.session is not None
            self.lasts(member.session.started_at + SILENT_AFTER + 1 - now)
            return self._entry(member, "working", said="starts")
        is_there = member.is_there or shown in ("waiting", "asking", "working", "ready")
        if not is_there:
            return None
        if shown == "ended":
            return self._entry(member, "working", said=f"ended, {member.between}")
        if shown == "paused":
            return self._entry(member, "paused", "paused")
        if shown == "working" or (shown == "asking" and member.task is not None):
            return self._at_work(member)
        if shown == "waiting":
            from tui_tasks.tui.asks import ask_text  # few screens begin with a question

            if self._is_put_off(member):
                return self._entry(member, _LATER, _LATER, has_task=False, about=self._asked_about(member))
            word = ask_text.tool_asked_for(member.ask) if member.ask is not None else ""
            word = f"{_FOR_TOOL}{word}" if word else "waiting"
            return self._entry(member, "waiting", word, has_task=False, about=self._asked_about(member))
        if shown == "ready":
            return self._entry(member, "ready", "to review")
        return self._entry(member, "idle", "idle", has_task=False)

    def _at_work(self, member: AgentView) -> AgentEntry:
        said = self.said(member)
        if member.task is None:
            prompt = asked_for(member.session) if member.tool is not None else ""
            said = " ".join(filter(None, (said or "at work", _quoted(prompt))))
        entry = self._entry(member, "working", said=said)
        if member.ask is None or self._is_put_off(member):
            return entry
        task = self._asked_about(member)
        about = f" #{task.number}" if task is not None else ""
        return msgspec.structs.replace(entry, asks=f"{_ASKS.strip()}{about}")

    def _is_put_off(self, member: AgentView) -> bool:
        """Return whether the human has put off all that an agent asks."""
        now, put_off = self.context.clock.now(), self.context.state.seen.put_off
        left = [put_off.get(ask.uid, now) - now for ask in self.context.state.asks if ask.agent == member.name]
        if not left or min(left) <= 0:
            return False
        self.lasts(min(left))
        return True

    def _asked_about(self, member: AgentView) -> TaskLine | None:
        """Return the task that an agent's question is about."""
        about = self.context.state.asked_about.get(member.ask.uid) if member.ask is not None else None
        return list_pages.line(self.context.db, about) if about is not None else None

    def _entry(
        self,
        member: AgentView,
        state: str,
        word: str = "",
        *,
        said: str = "",
        reason: str = "",
        since: int | None = None,
        has_task: bool = True,
        about: TaskLine | None = None,
    ) -> AgentEntry:
        """`about`: the task to name, else, with `has_task`, the agent's own, and a click goes to that. A paused one has
        only a task in progress."""
        looks = AGENT_LOOKS[_LOOKS.get(state, "finished" if word == "finished" else state)]
        mark = looks.mark(ascii_only=self.context.ascii_only)
        own = member.task if state == "paused" else member.last_task
        task, act = own if has_task else about, self._agents
        if has_task and task is not None and state in ("gone", *AT_WORK):
            act = self._go_to(task.uid)
        number, name = _about(task) or ("", "")
        if state in ("waiting", "ready", _LATER):
            name = ""
        color = "$muted" if state == _LATER else looks.color
        return AgentEntry(state, member, mark, color, act, word, number, name, said, reason, since)

    def _agents(self) -> None:
        self.context.do("agents")

    def _go_to(self, uid: str) -> Callable[[], None]:
        return lambda: go_to(self.context, uid)


def _order(entry: AgentEntry) -> tuple[int, int]:
    """Return what agents, which are in the order of their names, are sorted by: urgency, then since when they wait."""
    ask = entry.member.ask
    since = ask.opened_at if ask is not None else entry.member.since or 0
    return _RANKS.index(entry.state), since if entry.state == "waiting" else 0


def _left(member: AgentView) -> str:
    """Return the name of the task of an agent that does not go on, and whether its claim has lapsed."""
    about = "".join(_about(member.last_task)[1:])
    return about + ", its claim lapsed" * (member.lapsed_task is not None and member.task is None)


def go_to(context: Context, uid: str) -> None:
    """Show a task in the list, whatever screen is shown."""
    context.navigation.close_overlays()
    context.navigation.go_to(uid)


def one_line(text: str, cells: int = _MAX_WORDS, *, ascii_only: bool = False) -> str:
    """Return a text as one safe line with single spaces: the parts of a line stand apart by more."""
    return re.sub(" {2,}", " ", safe_line(text, cells, ascii_only=ascii_only))


def _about(task: TaskLine | None) -> tuple[str, ...]:
    return (f"#{task.number}", one_line(task.name, _MAX_NAME)) if task is not None else ()


def _quoted(text: str | None) -> str:
    return f'"{one_line(text)}"' if text else ""
