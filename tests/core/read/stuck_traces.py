"""What agents did, and whether they were stuck and why: labelled by hand, before the program was asked.

Each begins some minutes ago. The ordinary ones are the harder half: builds that take long, tests that fail on the way
to passing, agents that think, and agents that are done.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tui_tasks.core.read.agents.stuck_causes import AgentActivity, Sign
from tui_tasks.text.times import SECOND

NOW = 1_767_352_934 * SECOND


class Trace(NamedTuple):
    """`label` is the kind of cause of the first of the activities; None: it is not stuck."""

    name: str
    label: str | None
    activities: Sequence[AgentActivity]


def minutes(count: float) -> int:
    return int(count * 60 * SECOND)


def sign(ago: float, kind: Any = "act", what: str = "", text: str = "") -> Sign:
    """A sign so many minutes ago."""
    return Sign(NOW - minutes(ago), kind, what, text)


def acts(*ago: float) -> tuple[Sign, ...]:
    return tuple(sign(each) for each in ago)


def agent(*signs: Sign, **known: Any) -> AgentActivity:
    ordered = tuple(sorted(signs, key=lambda each: each.at))
    return AgentActivity(agent="a", signs=ordered, last_seen=ordered[-1].at if ordered else 0, **known)


def running(tool: str, since: float, times: Sequence[float] = (), *signs: Sign, **known: Any) -> AgentActivity:
    """One whose tool has run for so many minutes; `times` are the minutes that it took before."""
    spans = tuple(minutes(each) for each in times)
    return agent(*signs, tool=tool, tool_since=NOW - minutes(since), tool_times=spans, **known)


def waiting(what: str, since: float, about: str = "") -> AgentActivity:
    return agent(sign(since), waits_for=what, waits_since=NOW - minutes(since), waits_about=about)


def failing(tool: str, *errors: tuple[float, str]) -> list[Sign]:
    return [sign(ago, "fail", tool, text) for ago, text in errors]


STEADY = acts(40, 38, 36, 34, 32, 30, 28, 26)
SLOW = acts(95, 80, 66, 50, 36, 21)
MISSING = "ModuleNotFoundError: No module named 'yaml'"
REFUSED = "connect ECONNREFUSED 127.0.0.1:5432"
OTHER = AgentActivity(agent="b", signs=(sign(50),))
BUSY = AgentActivity(agent="b", signs=acts(5, 3, 1))
FLIPS = [
    sign(ago, kind, "t1") for ago, kind in ((30, "start"), (28, "stop"), (20, "start"), (15, "stop"), (4, "start"))
]

STUCK = [
    Trace("waits for a permission since a quarter of an hour", "human", [waiting("human", 15, "Bash: rm -rf build")]),
    Trace("has asked a question an hour ago", "human", [waiting("human", 60, "which port?")]),
    Trace("waits for a permission since three minutes", "human", [waiting("human", 3)]),
    Trace("waits for a permission over night", "human", [waiting("human", 700, "Write: .env")]),
    Trace("has run into the limit of its plan", "limit", [waiting("limit", 30, "resets at 17:00")]),
    Trace("is told overloaded since five minutes", "limit", [waiting("limit", 5, "overloaded")]),
    Trace("a command waits for a password", "tool", [running("Bash", 40, [], *STEADY)]),
    Trace(
        "a test run that takes seconds hangs", "tool", [running("Bash", 3, [0.1, 0.2, 0.1, 0.15, 0.1, 0.2], sign(3))]
    ),
    Trace("a server was started in the foreground", "tool", [running("Bash", 20, [0.3, 0.1, 0.5, 1, 0.2], sign(20))]),
    Trace("a search of the whole disk", "tool", [running("Grep", 6, [0.01] * 8, sign(6))]),
    Trace("a fetch that never ends", "tool", [running("WebFetch", 9, [0.1, 0.2, 0.1, 0.1, 0.3], sign(9))]),
    Trace("the first tool of a session hangs", "tool", [running("Bash", 25, [], sign(25, "prompt"))]),
    Trace(
        "a build that takes two minutes since half an hour",
        "tool",
        [running("make", 30, [2, 2.5, 2, 1.8, 2.2], sign(31))],
    ),
    Trace(
        "a module is missing, three times",
        "failure",
        [agent(*failing("Bash", (9, MISSING), (6, MISSING), (2, MISSING)))],
    ),
    Trace(
        "the same refusal with other numbers each time",
        "failure",
        [
            agent(
                *failing(
                    "Bash",
                    (9, "pid 311: port 8080 in use"),
                    (6, "pid 398: port 8080 in use"),
                    (2, "pid 402: port 8080 in use"),
                )
            )
        ],
    ),
    Trace(
        "a database that is not there, with edits between",
        "failure",
        [agent(*failing("Bash", (20, REFUSED), (15, REFUSED), (10, REFUSED), (5, REFUSED)), *acts(18, 12, 7, 1))],
    ),
    Trace(
        "an edit whose text is not found",
        "failure",
        [
            agent(
                *failing(
                    "Edit",
                    (5, "String to replace not found in file."),
                    (4, "String to replace not found in file."),
                    (3, "String to replace not found in file."),
                ),
                sign(1),
            )
        ],
    ),
    Trace(
        "a test that fails alike after each of four edits",
        "failure",
        [
            agent(
                *failing("pytest", *((ago, "E  assert 3 == 4\n1 failed in 0.3s") for ago in (25, 18, 11, 3))),
                *acts(22, 15, 8, 1),
            )
        ],
    ),
    Trace(
        "permission denied by the system",
        "failure",
        [agent(*failing("Write", *((ago, "EACCES: permission denied, open '/etc/hosts'") for ago in (12, 8, 2))))],
    ),
    Trace(
        "a failure that differs in its time alone",
        "failure",
        [
            agent(
                *failing(
                    "Bash",
                    (30, "12:00:01 timeout after 30.1s"),
                    (20, "12:10:07 timeout after 30.0s"),
                    (9, "12:21:55 timeout after 30.3s"),
                )
            )
        ],
    ),
    Trace("one task begun three times and put back", "flip", [agent(*FLIPS, sign(1))]),
    Trace(
        "one task begun four times",
        "flip",
        [
            agent(
                *[
                    sign(ago, kind, "t1")
                    for ago, kind in (
                        (50, "start"),
                        (45, "stop"),
                        (40, "start"),
                        (30, "stop"),
                        (25, "start"),
                        (20, "stop"),
                        (8, "start"),
                    )
                ],
                sign(2),
            )
        ],
    ),
    Trace(
        "two tasks in turns",
        "flip",
        [
            agent(
                *[
                    sign(30 - number * 3, kind, what)
                    for number, (kind, what) in enumerate(
                        [
                            ("start", "t1"),
                            ("stop", "t1"),
                            ("start", "t2"),
                            ("stop", "t2"),
                            ("start", "t1"),
                            ("stop", "t1"),
                            ("start", "t2"),
                            ("stop", "t2"),
                            ("start", "t1"),
                        ]
                    )
                ]
            )
        ],
    ),
    Trace(
        "keeps a claim and does nothing",
        "lease",
        [agent(*acts(60, 55), *(sign(ago, "renew") for ago in range(50, 0, -5)))],
    ),
    Trace(
        "has claimed, and renews every minute since",
        "lease",
        [agent(sign(30, "start", "t1"), *(sign(ago, "renew") for ago in range(29, 0, -1)))],
    ),
    Trace(
        "renews since before anything else is known",
        "lease",
        [agent(*(sign(ago, "renew") for ago in range(40, 0, -4)))],
    ),
    Trace(
        "waits for one that is stuck",
        "agent",
        [
            AgentActivity(
                agent="a", signs=acts(9), last_seen=NOW - minutes(9), waits_for="b", waits_since=NOW - minutes(9)
            ),
            OTHER,
        ],
    ),
    Trace(
        "waits for one that waits for the human",
        "agent",
        [
            AgentActivity(agent="a", signs=acts(4), waits_for="b", waits_since=NOW - minutes(4)),
            AgentActivity(agent="b", signs=acts(20), waits_for="human", waits_since=NOW - minutes(20)),
        ],
    ),
    Trace("was steady and has fallen silent", "silent", [agent(*STEADY)]),
    Trace("has begun a task and was not heard of since", "silent", [agent(sign(45, "start", "t1"))]),
    Trace("its process hangs after a tool went well", "silent", [agent(*acts(35, 33, 31, 30), sign(29, "ok", "Bash"))]),
    Trace(
        "was slow all the time, and is silent for much longer",
        "silent",
        [agent(*acts(300, 290, 281, 270, 262, 251, 240))],
    ),
    Trace("silent since yesterday with a task in progress", "silent", [agent(*acts(1500, 1490, 1482))]),
    Trace("silent though it was quick", "silent", [agent(*acts(15, 14.5, 14, 13.7, 13.2, 13, 12.5, 12))]),
    # Not told from one that makes progress: three different errors of the same mistake.
    Trace(
        "goes round in circles with another error each time",
        "failure",
        [agent(*failing("tsc", (9, "TS2322: A"), (6, "TS2345: B"), (2, "TS2322: A, again")), sign(1))],
    ),
]

ORDINARY = [
    Trace("works steadily", None, [agent(*acts(10, 8, 6, 5, 3, 1))]),
    Trace("has just begun", None, [agent(sign(0.5, "prompt"))]),
    Trace("has nothing to do since an hour", None, [agent(*acts(70, 65), at_work=False)]),
    Trace("is done, and silent over night", None, [agent(sign(600, "finish", "t1"), at_work=False)]),
    Trace("thinks for five minutes", None, [agent(*acts(12, 9, 7, 5))]),
    Trace("thinks for eight minutes", None, [agent(*acts(30, 22, 15, 8))]),
    Trace("is slow, and was always", None, [agent(*SLOW)]),
    Trace("pauses of twenty minutes are usual with it", None, [agent(*acts(130, 110, 90, 71, 50, 30, 12))]),
    Trace("a build that takes long every time", None, [running("make", 12, [9, 11, 10, 12, 10], *acts(30, 20))]),
    Trace("a build that takes twice as long as usual", None, [running("make", 20, [9, 11, 10, 12, 10], *acts(40, 30))]),
    Trace("a first long build", None, [running("make", 10, [], sign(11))]),
    Trace("a quick tool that takes ten seconds", None, [running("Read", 0.17, [0.001] * 9, sign(1))]),
    Trace("a test run within what is usual", None, [running("pytest", 4, [3, 4, 5, 3, 4], sign(4))]),
    Trace(
        "a tool has just begun after a long silence", None, [running("Bash", 0.1, [1, 1, 1, 1, 1], sign(50), sign(0.1))]
    ),
    Trace("a subagent works for a while", None, [running("Task", 14, [], *acts(20, 16))]),
    Trace("fails twice alike, and goes on", None, [agent(*failing("Bash", (9, MISSING), (6, MISSING)), *acts(4, 1))]),
    Trace(
        "fails three times, each time otherwise",
        None,
        [agent(*failing("pytest", (9, "E assert a"), (6, "E KeyError: 'b'"), (2, "E TypeError: c")), sign(1))],
    ),
    Trace(
        "three failures, then it passes",
        None,
        [agent(*failing("pytest", (9, "1 failed"), (7, "1 failed"), (5, "1 failed")), sign(2, "ok", "pytest"))],
    ),
    Trace(
        "as many failures long ago",
        None,
        [agent(*failing("Bash", (300, MISSING), (290, MISSING), (280, MISSING)), *acts(20, 15, 10, 5, 2))],
    ),
    Trace(
        "failures before a new prompt",
        None,
        [agent(*failing("Bash", (9, MISSING), (8, MISSING), (7, MISSING)), sign(3, "prompt"), sign(1))],
    ),
    Trace(
        "failures of a task that it has finished since",
        None,
        [agent(*failing("Bash", (9, MISSING), (8, MISSING), (7, MISSING)), sign(3, "finish", "t1"), sign(1))],
    ),
    Trace(
        "another tool fails alike",
        None,
        [
            agent(
                *failing("Read", (9, "File does not exist.")),
                *failing("Edit", (7, "File does not exist.")),
                *failing("Write", (5, "File does not exist.")),
                sign(1),
            )
        ],
    ),
    Trace(
        "begun twice, put back once",
        None,
        [agent(sign(20, "start", "t1"), sign(15, "stop", "t1"), sign(4, "start", "t1"), sign(2))],
    ),
    Trace(
        "three tasks begun one after the other",
        None,
        [
            agent(
                *[
                    sign(30 - 3 * number, kind, f"t{number // 2}")
                    for number, kind in enumerate(["start", "finish"] * 3)
                ],
                sign(1),
            )
        ],
    ),
    Trace(
        "a task taken up again after it was done",
        None,
        [
            agent(
                sign(50, "start", "t1"),
                sign(40, "finish", "t1"),
                sign(30, "start", "t1"),
                sign(20, "finish", "t1"),
                sign(9, "start", "t1"),
                sign(2),
            )
        ],
    ),
    Trace(
        "renews its lease while it works",
        None,
        [agent(*acts(20, 15, 10, 4), *(sign(ago, "renew") for ago in (18, 12, 6, 1)))],
    ),
    Trace(
        "renews its lease while a long tool runs",
        None,
        [running("make", 12, [9, 11, 10, 12, 10], sign(14), *(sign(ago, "renew") for ago in (10, 8, 6, 4, 2)))],
    ),
    Trace(
        "has renewed its lease for ten minutes", None, [agent(sign(11), *(sign(ago, "renew") for ago in (9, 6, 3, 1)))]
    ),
    Trace("was asked for a permission a moment ago", None, [waiting("human", 0.5, "Bash: ls")]),
    Trace("is told to slow down for a minute", None, [waiting("limit", 1)]),
    Trace(
        "waits for one that works",
        None,
        [
            AgentActivity(
                agent="a", signs=acts(6), last_seen=NOW - minutes(6), waits_for="b", waits_since=NOW - minutes(6)
            ),
            BUSY,
        ],
    ),
    Trace("nothing is known of it", None, [AgentActivity(agent="a")]),
    Trace("a human is quick to answer all the time", None, [agent(*acts(9, 7, 6, 2))]),
    Trace("is idle beside one that is stuck", None, [agent(*acts(50), at_work=False), OTHER]),
    # Looks like one that hangs: a release build that was never run before.
    Trace("a first build of twenty minutes", None, [running("make", 18, [], sign(19))]),
]

TRACES = [*STUCK, *ORDINARY]
