"""Texts about jobs and runs: states, schedules and times. Pure; instants are microseconds, UTC."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import tzinfo
from typing import Final

from msgspec.structs import replace

from tui_tasks.core.errors import Refusal
from tui_tasks.core.job_snapshots import ON_TIME, Job, is_late
from tui_tasks.core.read import job_lines
from tui_tasks.core.read.job_lines import JobLine, RunLine, slow_from
from tui_tasks.core.schedule import fire_times, policy
from tui_tasks.core.schedule.cron import ScheduleError, describe
from tui_tasks.core.schedule.fire_times import zone_of
from tui_tasks.text.glyphs import LOOKS, Look, look, sign
from tui_tasks.text.times import DAY, SECOND, YEAR, age, age_lasts, ago, count, duration, moment, spent
from tui_tasks.text.times import due as due_words
from tui_tasks.tui.agents import agent_text

_BY_HAND: Final = replace(LOOKS["skipped"], word="by hand", letter="-")
_OVER: Final = replace(LOOKS["done"], word="over")
_LOOKS: Final = {
    "adhoc": _BY_HAND,
    "over": _OVER,
    "waits": replace(LOOKS["running"], word="waits to start"),
    "missed": replace(LOOKS["skipped"], word="missed", letter="m"),
    "coalesced": replace(LOOKS["skipped"], glyph="·", word="coalesced", letter="."),
}
_FAR: Final = 100 * YEAR
# Up to here a weekday is not that of today.
_ANOTHER_WEEKDAY: Final = 6 * DAY
_OVERLAPS: Final = "times that come meanwhile are skipped"


def is_overdue(job: Job, now: int) -> bool:
    """Return whether a job is so late that no scheduler seems to run."""
    return job.next_run is not None and is_late(job.next_run, now)


def state(line: JobLine, now: int) -> str:
    """Return a job's state: running, waits, overdue, disabled, held, error, interrupted, adhoc, over (no date is left)
    or idle.
    """
    job = line.job
    if line.running is not None:
        return "running" if line.running.state == "running" else "waits"
    if not job.enabled:
        return "held" if job.held else "disabled"
    if is_overdue(job, now):
        return "overdue"
    if line.in_a_row:
        return "error"
    if job.last_outcome == "interrupted":
        return "interrupted"
    if job.type == "adhoc":
        return "adhoc"
    return "over" if job.next_run is None else "idle"


def is_slow(line: JobLine, now: int) -> bool:
    """Return whether a job runs for much longer than it usually does."""
    at = slow_from(line.running, line.usual)
    return at is not None and now >= at


def _usually(line: JobLine) -> str:
    """Return `, usually 9s`; empty where that is not known."""
    return f", usually {duration(line.usual, 1)}" if line.usual is not None else ""


def job_look(state: str) -> Look:
    """Return how a state of a job is shown."""
    return _LOOKS.get(state) or look(state)


def run_state(run: RunLine) -> str:
    """Return the state of a run: its result, running, waiting, or why it was not run."""
    if run.decision != "ran":
        return run.decision
    return run.outcome or ("running" if run.state == "running" else "waits")


def run_look(run: RunLine) -> Look:
    """Return how the state of a run is shown."""
    return job_look(run_state(run))


def went(run: RunLine, now: int) -> str:
    """Return how a run went: `ok in 41s`, `failed after 3s`, `running for 2m`, `missed`."""
    word = run_look(run).word
    if run.started_at is not None and run.ended_at is None:
        return f"{word}{_for(run.started_at, now, 1)}"
    if run.took is None:
        return word
    return f"{word} {'in' if run.outcome == 'success' else 'after'} {duration(run.took, 1)}"


def _for(since: int, now: int, most: int = 2) -> str:
    """Return ` for 41s`, of at most so many units; empty in the first second."""
    return f" for {duration(now - since, most)}" if now - since >= SECOND else ""


def used(run: RunLine) -> str:
    """Return what a run's agent has spent: `12 turns  34k $0.42`; empty when unknown."""
    turns = count(run.turns, "turn") if run.turns is not None else ""
    return "  ".join(part for part in (turns, spent(run.tokens, run.cost_usd)) if part)


def when(job: Job) -> str:
    """Return a job's schedule in words: `09:00 Mon–Fri`, `3 dates`, `run by hand`."""
    cron = fire_times.cron_of(job)
    if cron is not None:
        return describe(cron)
    if job.type == "adhoc":
        return "run by hand"
    plan = job.plan or ()
    return count(len(plan), "date")


def last(line: JobLine, now: int, *, with_reason: bool = False) -> str:
    """Return how the last run went: `running 41s, usually 9s`, `2m ago ok 41s`, `failed 4h ago`, `never`.

    `with_reason`: with why it did not succeed, as in `failed 4h ago: no answer`.
    """
    run = line.running
    if run is not None:
        if run.state == "running" and run.started_at is not None:
            span = now - run.started_at
            return f"running {duration(span, 1)}{_usually(line)}" if span >= SECOND else "running"
        if run.not_before is not None and run.not_before > now:
            return f"starts {age(run.not_before, now)}"
        return "waits to start"
    run = line.last
    if run is None or run.ended_at is None:
        return "never"
    if run.outcome == "success":
        took = f" {duration(run.took)}" if run.took is not None and run.took >= SECOND else ""
        return f"{ago(run.ended_at, now)} ok{took}"
    why = f": {run.why}" if with_reason and run.why else ""
    return f"{look(run.outcome or '').word} {ago(run.ended_at, now)}{why}"


def next_(job: Job, now: int, *, ascii_only: bool = False) -> str:
    """Return when a job runs next: `in 9m`, `Mon 09:00` after a day, `now`, `late 25m`, `off`, `—`."""
    if not job.enabled:
        return "off"
    if job.next_run is None:
        return sign("none", ascii_only=ascii_only)
    if DAY <= job.next_run - now < _ANOTHER_WEEKDAY:
        try:
            day, *_, time = moment(job.next_run, place(job)).split()
        except (ScheduleError, Refusal):
            return due_words(job.next_run, now)
        return f"{day} {time}"
    return due_words(job.next_run, now)


def lasts(line: JobLine, now: int) -> int:
    """Return for how many microseconds the texts about a job stay true."""
    job, run = line.job, line.running
    spans = [DAY]
    if job.enabled and job.next_run is not None:
        late = job.next_run <= now < job.next_run + ON_TIME
        spans.append(job.next_run + ON_TIME - now if late else age_lasts(job.next_run, now))
    if run is not None and run.started_at is not None:
        spans.append(age_lasts(run.started_at, now))
        slow_at = slow_from(run, line.usual)
        spans += [slow_at - now] if slow_at is not None and slow_at > now else []
    elif run is not None and run.not_before is not None:
        spans.append(age_lasts(run.not_before, now))
    elif line.last is not None and line.last.ended_at is not None:
        spans.append(age_lasts(line.last.ended_at, now))
    return min(spans)


def upcoming(job: Job, now: int, most: int) -> list[int]:
    """Return the next instants at which a job is due; none when it is disabled."""
    return fire_times.due_between(job, max(now, job.decided_until), now + _FAR, most) if job.enabled else []


def place(job: Job) -> tzinfo:
    """Return the time zone of a job's times."""
    return zone_of(job.timezone)


def date(instant: int, zone: tzinfo, now: int) -> str:
    """Return `Sun 22 Nov 08:00`, with the year when it is far off."""
    text = moment(instant, zone)
    if abs(instant - now) < YEAR - 30 * DAY:
        return text
    from datetime import datetime

    try:
        return f"{text[:-6]} {datetime.fromtimestamp(instant // SECOND, zone):%Y %H:%M}"
    except (OverflowError, ValueError, OSError):
        return text


def dates(instants: Sequence[int], zone: tzinfo, now: int) -> str:
    """Return `Sun 22 Nov 08:00, 09:00, Mon 23 Nov 08:00`: each day once."""
    texts: list[str] = []
    day = ""
    for instant in instants:
        full = date(instant, zone, now)
        on, time = full[:-5], full[-5:]
        texts.append(time if on == day else full)
        day = on
    return ", ".join(texts)


def next_words(job: Job, now: int, most: int) -> str:
    """Return `next: Sun 22 Nov 08:00, Mon 23 Nov 08:00 (Europe/Berlin)`; `then:` where it is late before."""
    if job.held:
        return "off until you accept it"
    if not job.enabled:
        return "it does not run until you switch it on"
    if job.type == "adhoc":
        return ""
    try:
        times = dates(upcoming(job, now, most), place(job), now)
    except (ScheduleError, Refusal):
        return f"next: unknown, there is no zone {job.timezone}"
    return f"{'then' if is_overdue(job, now) else 'next'}: {times} ({job.timezone})" if times else "no date is left"


def raw(job: Job) -> str:
    """Return the schedule as it was written: `cron 0 8 * * *`."""
    cron = fire_times.cron_of(job)
    return "" if cron is None else f"cron {cron}"


def settings(job: Job) -> str:
    """Return the settings that differ from their default, as they are typed: `retries=2 timeout=300`."""
    return " ".join(f"{name}={value}" for name, value in job.settings.items() if value != "") if job.settings else ""


def story(line: JobLine, now: int, why: Callable[[], str]) -> tuple[str, str]:
    """Return how a job is doing in a sentence, and the state that gives its colour.

    `why` returns why nothing has started it, or its run; or what keeps the agent of its run from it.
    """
    now_state, failure = state(line, now), line.failure
    if now_state == "running" and line.running is not None:
        said = [
            _running(line.running, now, _usually(line)),
            why(),
            *(_OVERLAPS for mark in line.history[-1:] if mark == "skipped"),
        ]
        return "; ".join(filter(None, said)), "running"
    if now_state == "waits":
        return f"{last(line, now)}: {why()}", "running"
    if now_state == "overdue" and line.job.next_run is not None:
        return f"{due_words(line.job.next_run, now)}: {why()}", "overdue"
    limit = policy.read_settings(line.job.settings).pause_after
    if now_state == "disabled" and 0 < limit <= line.in_a_row:
        return f"off after {count(line.in_a_row, 'failure')} in a row: {last(line, now, with_reason=True)}", "failed"
    if failure is not None and failure.ended_at is not None:
        in_a_row = f", {line.in_a_row} in a row" if line.in_a_row > 1 else ""
        reason = f": {failure.why}" if failure.why else ""
        return f"failed {ago(failure.ended_at, now)}{in_a_row}{reason}", "failed"
    if line.last is None:
        return f"{job_look(now_state).word}; it has never run", now_state
    if now_state == "interrupted":
        return last(line, now, with_reason=True), now_state
    return f"{job_look(now_state).word}; last run {last(line, now)}", now_state


def _running(run: RunLine, now: int, usually: str) -> str:
    since = f"{_for(run.started_at, now)}{usually}" if run.started_at is not None else ""
    if run.stop_reason:
        return f"is being ended: {job_lines.for_people(run.stop_reason)}"
    if not run.dedicated:
        asked = f"its agent was asked {ago(run.started_at or now, now)}"
        if run.deadline is None:
            return asked
        left = run.deadline - now
        return f"{asked} and has {duration(left, 1)} to answer" if left > 0 else f"{asked} and has not answered in time"
    by = f", by {agent_text.who(run.agent)}" if run.agent is not None else ""
    return f"running{since}, {trigger(run)}{by}"


def trigger(run: RunLine) -> str:
    """Return what has started a run: `by hand`, or its times in a word."""
    return "by hand" if run.trigger == "manual" else run.trigger


def who_runs(job: Job) -> str:
    """Return who does what a job asks for."""
    if not job.dedicated_context:
        who = agent_text.who(job.created_by)
        return "in your conversation" if who == "you" else f"in the conversation of {who}"
    return f"by the runner {policy.read_settings(job.settings).runner}".rstrip()
