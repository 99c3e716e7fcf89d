"""Why an agent is stuck: a cause in one line, found from its actions, never from its own words.

Nothing is read here: `stuck_signs` collects what is known of agents. Instants and durations are microseconds.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from tui_tasks.text.times import SECOND

_MANY: Final = 5  # with fewer pauses, or runs of a tool, no usual length is known
_Seconds = Annotated[int, Meta(ge=1)]
_Times = Annotated[int, Meta(ge=2)]


class Thresholds(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The `[stuck]` table of the settings; seconds and counts."""

    silent: _Seconds = 600  # no sign of life, at the least
    pauses: _Times = 3  # how many times its own usual pause
    tool: _Seconds = 900  # one tool running, where it is not known how long it takes
    tool_times: _Times = 10  # how many times its median
    failures: _Times = 3  # the same failure
    starts: _Times = 3  # one task taken into progress
    lease: _Seconds = 1_200  # a lease renewed and nothing else
    waiting: _Seconds = 120  # for the human, or for a limit
    within: _Seconds = 3_600  # how far back failures and starts count


class Sign(msgspec.Struct, frozen=True, gc=False):
    """One thing that an agent did, or that happened to it.

    `kind`: `fail` (`what` is the tool or command, `text` the error; of a task, `task` is its uid, `text` the reason),
    `ok` (`what` went well), `start`, `stop` and `finish` (`what` is the uid of a task taken into progress, put back, or
    ended), `renew` (a lease was renewed), `prompt` (a person gave it something new to do), `act` (anything else).
    """

    at: int
    kind: Literal["act", "fail", "ok", "start", "stop", "finish", "renew", "prompt"]
    what: str = ""
    text: str = ""
    task: str = ""


class AgentActivity(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of an agent: its signs (oldest first), the tool that runs, and what it waits for.

    `at_work`: it has a prompt or a task to work on. `has_failed`: a task of its own has failed. `pauses` are earlier
    silences between signs, and `tool_times` earlier durations of the tool that runs. `waits_for` is `human`, `limit`,
    or the name of another agent.
    """

    agent: str
    at_work: bool = True
    has_failed: bool = False
    signs: tuple[Sign, ...] = ()
    last_seen: int = 0
    tool: str | None = None
    tool_since: int = 0
    tool_times: tuple[int, ...] = ()
    pauses: tuple[int, ...] = ()
    waits_for: str | None = None
    waits_since: int = 0
    waits_about: str = ""


class Cause(msgspec.Struct, frozen=True):
    """Why an agent is stuck: the kind, since when, and a line about it without the agent's name and the time."""

    kind: Literal["human", "limit", "agent", "tool", "failure", "flip", "lease", "silent"]
    since: int
    text: str


def causes(activities: Sequence[AgentActivity], now: int, thresholds: Thresholds) -> dict[str, Cause]:
    """Return the cause of each agent that is stuck, by its name."""
    own = {one.agent: cause for one in activities if (cause := _own_cause(one, now, thresholds)) is not None}
    waiting = {one.agent: one for one in activities if one.waits_for is not None and one.agent not in own}
    # An agent that waits for a stuck agent is stuck as well, and so on along the line.
    while more := {name: _behind(one, own) for name, one in waiting.items() if one.waits_for in own}:
        own |= more
        waiting = {name: one for name, one in waiting.items() if name not in more}
    return own


def _behind(activity: AgentActivity, causes: Mapping[str, Cause]) -> Cause:
    other = str(activity.waits_for)
    return Cause("agent", max(activity.waits_since, causes[other].since), f"waits for {other}, which is stuck")


def _own_cause(activity: AgentActivity, now: int, limits: Thresholds) -> Cause | None:
    """Return why an agent is stuck by itself, or None; waiting is a cause before repetition is."""
    if activity.waits_for in ("human", "limit"):
        return _waiting(activity, now, limits)
    if not activity.at_work:
        return _same_failure(activity, now, limits) if activity.has_failed else None
    return (
        _slow_tool(activity, now, limits)
        or _same_failure(activity, now, limits)
        or _flip(activity, now, limits)
        or _lease_alone(activity, now, limits)
        or _silent(activity, now, limits)
    )


def _waiting(activity: AgentActivity, now: int, limits: Thresholds) -> Cause | None:
    if now - activity.waits_since < limits.waiting * SECOND:
        return None
    about = f": {activity.waits_about}" if activity.waits_about else ""
    if activity.waits_for == "human":
        return Cause("human", activity.waits_since, f"waits for you{about}")
    return Cause("limit", activity.waits_since, f"waits for a limit{about}")


def _slow_tool(activity: AgentActivity, now: int, limits: Thresholds) -> Cause | None:
    if activity.tool is None:
        return None
    times = sorted(activity.tool_times)
    allowed, usual = limits.tool * SECOND, ""
    if len(times) >= _MANY:
        median = times[len(times) // 2]
        # A short tool may take many times its usual duration without being stuck.
        allowed = max(limits.tool_times * median, 30 * SECOND)
        usual = f" (usually {_span(median)})"
    if now - activity.tool_since < allowed:
        return None
    return Cause("tool", activity.tool_since, f"{activity.tool} runs unusually long{usual}")


def _same_failure(activity: AgentActivity, now: int, limits: Thresholds) -> Cause | None:
    """Return the failure that has repeated too often, or None; a later success or a new prompt resets the count. That
    of a task has the same reason, if any, and counts until the agent begins another.
    """
    failed: dict[tuple[str, str, str], list[Sign]] = {}
    for sign in _recent(activity, now, limits):
        if sign.kind in ("prompt", "finish"):
            failed.clear()
        elif sign.kind == "ok":
            failed = {same: signs for same, signs in failed.items() if same[0] != sign.what}
        elif sign.kind == "start":
            failed = {same: signs for same, signs in failed.items() if same[1] in ("", sign.what)}
        elif sign.kind == "fail":
            failed.setdefault(_failure(sign), []).append(sign)
    often = [signs for signs in failed.values() if len(signs) >= limits.failures]
    if not often:
        return None
    signs = max(often, key=lambda signs: signs[-1].at)
    what = f"{signs[-1].what}: " if signs[-1].what else ""
    line = next(iter(signs[-1].text.strip().splitlines()), "")
    text = f"{what}{line}"
    return Cause("failure", signs[0].at, f"the same failure {len(signs)} times{': ' * bool(text)}{text}")


def repeated(signs: Sequence[Sign], since: int) -> list[Sign]:
    """Return the failures that a cause of the kind `failure` rests on, oldest first: those like one of that instant."""
    failed = [sign for sign in signs if sign.kind == "fail" and sign.at >= since]
    first = {_failure(sign) for sign in failed if sign.at == since}
    same = ([sign for sign in failed if _failure(sign) == one] for one in first)
    return max(same, key=len, default=[])


def _failure(sign: Sign) -> tuple[str, str, str]:
    return sign.what, sign.task, _normalized(sign.text)


_VARYING: Final = r"(?i)0x[0-9a-f]+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d+(?:[.:]\d+)*"


def _normalized(text: str) -> str:
    """Return an error without the parts that differ each time: numbers, times, addresses, ids."""
    return " ".join(re.sub(_VARYING, "N", text[:2_000]).split()).casefold()


def _flip(activity: AgentActivity, now: int, limits: Thresholds) -> Cause | None:
    starts: Counter[str] = Counter()
    begun: dict[str, int] = {}
    for sign in _recent(activity, now, limits):
        if sign.kind == "start":
            starts[sign.what] += 1
            begun.setdefault(sign.what, sign.at)
        elif sign.kind == "finish" or (sign.kind == "fail" and sign.task):
            ended = sign.task or sign.what
            starts.pop(ended, None)
            begun.pop(ended, None)
        elif sign.kind == "prompt":
            starts.clear()
            begun.clear()
    for uid, count in starts.most_common(1):
        if count >= limits.starts:
            return Cause("flip", begun[uid], f"has started the same task {count} times")
    return None


def _lease_alone(activity: AgentActivity, now: int, limits: Thresholds) -> Cause | None:
    if activity.tool is not None or not activity.signs or activity.signs[-1].kind != "renew":
        return None
    other = [sign.at for sign in activity.signs if sign.kind != "renew"]
    since = other[-1] if other else activity.signs[0].at
    renewals = sum(sign.at > since for sign in activity.signs)
    if now - since < max(limits.lease * SECOND, _usual(activity, limits)) or renewals < 2:
        return None
    return Cause("lease", since, f"renews its lease and does nothing else ({renewals} times)")


def _silent(activity: AgentActivity, now: int, limits: Thresholds) -> Cause | None:
    if activity.tool is not None:
        return None
    last = max(activity.last_seen, activity.signs[-1].at if activity.signs else 0)
    if not last or now - last < max(limits.silent * SECOND, _usual(activity, limits)):
        return None
    return Cause("silent", last, "gives no sign of life")


def _usual(activity: AgentActivity, limits: Thresholds) -> int:
    """Return the length from which a silence is unusual for the agent; 0 if that is unknown."""
    acts = [sign.at for sign in activity.signs if sign.kind != "renew"]
    pauses = sorted([*activity.pauses, *(late - early for early, late in pairwise(acts))])
    if len(pauses) < _MANY:
        return 0
    # Nine of ten pauses are shorter.
    return limits.pauses * pauses[len(pauses) * 9 // 10]


def _recent(activity: AgentActivity, now: int, limits: Thresholds) -> list[Sign]:
    return [sign for sign in activity.signs if now - sign.at <= limits.within * SECOND]


def _span(span: int) -> str:
    seconds = max(1, round(span / SECOND))
    return f"{seconds} s" if seconds < 120 else f"{round(seconds / 60)} min"
