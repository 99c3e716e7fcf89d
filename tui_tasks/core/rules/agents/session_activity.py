"""What a session is doing, as it changes many times a minute: its pulse, and the tool that runs."""

from __future__ import annotations

from typing import Final

from tui_tasks.core.session_snapshots import SessionActivity

MINUTE: Final = 60_000_000
PULSE_MINUTES: Final = 12
"""For so many minutes it is counted how often a session tells something."""
MAX_TIMES: Final = 20
"""How often it is kept how long a tool took."""


def count_pulse(activity: SessionActivity, at: int) -> None:
    """Count a payload in the minute of its instant (microseconds)."""
    at = max(activity.last_seen, at)
    later = min(at // MINUTE - activity.last_seen // MINUTE, PULSE_MINUTES)
    pulse = [*(activity.pulse or [0]), *[0] * later]
    pulse[-1] += 1
    activity.pulse, activity.last_seen = pulse[-PULSE_MINUTES:], at


def begin_tool(activity: SessionActivity, tool: str, call: str | None, at: int) -> None:
    """Note that a tool runs since an instant; `call` is the program's id of this use of it."""
    activity.tool, activity.tool_since, activity.call = tool, at, call


def end_tool(activity: SessionActivity, at: int) -> None:
    """Note that the running tool has ended at an instant, and how long it took."""
    if activity.tool is not None and activity.tool_since is not None:
        times = [*activity.tool_times.get(activity.tool, []), max(0, at - activity.tool_since)]
        activity.tool_times = {**activity.tool_times, activity.tool: times[-MAX_TIMES:]}
    forget_tool(activity)


def forget_tool(activity: SessionActivity) -> None:
    """Note that no tool runs; how long the last one took is unknown."""
    activity.tool = activity.tool_since = activity.call = None


def is_running(activity: SessionActivity, tool: str, call: str | None) -> bool:
    """Return whether this use of a tool is the one that runs, by its id where both have one."""
    if activity.tool is None:
        return False
    return call == activity.call if call and activity.call else tool == activity.tool
