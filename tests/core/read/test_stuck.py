"""Why an agent is stuck: how often the answer is right on traces of agents that are, and of agents that are not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.core.read.stuck_traces import NOW, TRACES, Trace, minutes, sign
from tui_tasks.core.read.agents import stuck_causes
from tui_tasks.core.read.agents.stuck_causes import AgentActivity, Thresholds
from tui_tasks.text.times import SECOND


def judged(trace: Trace) -> str | None:
    found = stuck_causes.causes(trace.activities, NOW, Thresholds())
    cause = found.get(trace.activities[0].agent)
    return cause.kind if cause is not None else None


@pytest.mark.parametrize("trace", TRACES, ids=lambda trace: trace.name)
def test_a_cause_is_a_line_with_the_instant_since_when(trace: Trace) -> None:
    for cause in stuck_causes.causes(trace.activities, NOW, Thresholds()).values():
        assert 0 < cause.since <= NOW
        assert cause.text.strip()
        assert "\n" not in cause.text


def test_nine_of_ten_that_are_called_stuck_are_and_eight_of_ten_that_are_stuck_are_found() -> None:
    said = [(trace.label, judged(trace)) for trace in TRACES]
    right = sum(label == found for label, found in said if found is not None)
    called = sum(found is not None for _, found in said)
    are_stuck = sum(label is not None for label, _ in said)
    assert len(TRACES) >= 60
    assert are_stuck >= 30
    wrong = [trace.name for trace in TRACES if trace.label != judged(trace)]
    assert right / called >= 0.9, wrong
    assert right / are_stuck >= 0.8, wrong


def test_every_cause_is_found_in_a_trace() -> None:
    assert {trace.label for trace in TRACES} - {None} == {judged(trace) for trace in TRACES} - {None}


def thresholds() -> Iterator[tuple[Thresholds, AgentActivity]]:
    """For each threshold, twice what it is in the default, and an activity that is stuck by the default alone."""
    idle = AgentActivity(agent="a", signs=(sign(15),))
    yield Thresholds(silent=1_200), idle
    steady = tuple(sign(13 + 4 * back) for back in range(9, -1, -1))
    yield Thresholds(pauses=6), AgentActivity(agent="a", signs=steady)
    yield Thresholds(tool=1_800), AgentActivity(agent="a", tool="Bash", tool_since=NOW - minutes(16))
    times = (6 * SECOND,) * 5
    yield (
        Thresholds(tool_times=20),
        AgentActivity(agent="a", tool="Bash", tool_since=NOW - 70 * SECOND, tool_times=times),
    )
    failing = tuple(sign(back, "fail", "make", f"error {back}") for back in (9, 5, 1))
    yield Thresholds(failures=6), AgentActivity(agent="a", signs=failing)
    flipping = tuple(sign(back, kind, "t") for back in (9, 5, 1) for kind in ("start", "stop"))
    yield Thresholds(starts=6), AgentActivity(agent="a", signs=flipping)
    renewing = (sign(25), *(sign(back, "renew") for back in range(20, 0, -4)))
    yield Thresholds(lease=2_400), AgentActivity(agent="a", signs=renewing)
    yield Thresholds(waiting=240), AgentActivity(agent="a", waits_for="human", waits_since=NOW - minutes(3))
    yield Thresholds(within=300), AgentActivity(agent="a", signs=failing)


@pytest.mark.parametrize(("changed", "activity"), thresholds())
def test_each_threshold_is_the_humans_to_set(changed: Thresholds, activity: AgentActivity) -> None:
    assert "a" in stuck_causes.causes([activity], NOW, Thresholds())
    assert stuck_causes.causes([activity], NOW, changed) == {}


def test_who_waits_for_one_that_is_stuck_is_stuck_along_the_line() -> None:
    first = AgentActivity(agent="a", signs=(sign(30),))
    second = AgentActivity(agent="b", signs=(sign(3),), waits_for="a", waits_since=NOW - minutes(40))
    third = AgentActivity(agent="c", signs=(sign(2),), waits_for="b", waits_since=NOW - minutes(2))
    found = stuck_causes.causes([third, second, first], NOW, Thresholds())
    assert {name: cause.kind for name, cause in found.items()} == {"a": "silent", "b": "agent", "c": "agent"}
    assert found["b"].since == NOW - minutes(30)
    assert found["c"].text == "waits for b, which is stuck"


def test_two_that_wait_for_each_other_end_the_search() -> None:
    one = AgentActivity(agent="a", signs=(sign(1),), waits_for="b", waits_since=NOW - minutes(9))
    two = AgentActivity(agent="b", signs=(sign(1),), waits_for="a", waits_since=NOW - minutes(9))
    assert stuck_causes.causes([one, two], NOW, Thresholds()) == {}
