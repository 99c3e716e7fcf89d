"""What is decided about each due time of a job (run, missed, skipped, coalesced), and the settings that decide it.

Instants are microseconds since 1970-01-01T00:00Z, and durations are seconds, of which 0 means "none" where that is
allowed. The rules are those of the `scheduler` tools (docs: scheduling).
"""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from hashlib import blake2b
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from tui_tasks.core.errors import InvalidArgument
from tui_tasks.core.job_snapshots import ON_TIME
from tui_tasks.core.schedule.cron import DAY_SECONDS
from tui_tasks.text.times import SECOND

CatchUp = Literal["none", "one", "all"]
Overlap = Literal["skip", "queue", "allow"]
Verdict = Literal["ran", "missed", "skipped", "coalesced"]

YEAR_SECONDS: Final = 366 * DAY_SECONDS
# The longest wait between a failed attempt and the next, in seconds.
MAX_RETRY_DELAY: Final = 3600


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A job's settings. Those at their default are not stored, so that a better default reaches every job.

    Tools that set them are made of these fields, so each says its default unless that is 0.
    """

    catch_up: Annotated[CatchUp, Meta(description="Start times missed while nothing ran (one: the latest).")] = "one"
    catch_up_cap: Annotated[int, Meta(ge=1, le=1_000, description="Of all, at most (10).")] = 10
    stagger: Annotated[int, Meta(ge=0, le=DAY_SECONDS, description="Seconds between those (10).")] = 10
    start_deadline: Annotated[
        int, Meta(ge=0, le=YEAR_SECONDS, description="Seconds until a due time is given up; 0: never.")
    ] = 0
    overlap: Annotated[Overlap, Meta(description="When due while it runs (skip).")] = "skip"
    starts_per_hour: Annotated[int, Meta(ge=0, le=10_000, description="At most; 0: no limit.")] = 0
    jitter: Annotated[int, Meta(ge=0, le=DAY_SECONDS, description="Seconds to spread starts over.")] = 0
    timeout: Annotated[int, Meta(ge=0, le=YEAR_SECONDS, description="Seconds a run may take; 0: as configured.")] = 0
    retries: Annotated[int, Meta(ge=0, le=100)] = 0
    retry_delay: Annotated[int, Meta(ge=1, le=DAY_SECONDS, description="Seconds, doubled each time (60).")] = 60
    pause_after: Annotated[int, Meta(ge=0, le=1_000, description="Failures in a row until disabled; 0: never.")] = 0
    keep_runs: Annotated[int, Meta(ge=1, le=10_000, description="(100); only the human lowers it.")] = 100
    runner: Annotated[str, Meta(max_length=200, description="One of the human's configured runners.")] = ""


@dataclass(frozen=True, slots=True)
class Load:
    """What a job has running.

    Attributes:
        active: active runs.
        queued: queued runs.
        started: runs started in the last hour.
    """

    active: int = 0
    queued: int = 0
    started: int = 0


IDLE = Load()


@dataclass(frozen=True, slots=True)
class Decision:
    """The final decision about one due time.

    Attributes:
        scheduled_for: the due time.
        decision: "ran", "missed", "skipped", or "coalesced" (the next time that ran stands for it).
        reason: why, for a human; "" for a run on time.
        start_at: only with "ran": when to start.
        queued: only with "ran": whether the job's other runs must end first.
    """

    scheduled_for: int
    decision: Verdict
    reason: str = ""
    start_at: int | None = None
    queued: bool = False


def decide(
    due: Sequence[int], now: int, settings: Settings, load: Load = IDLE, *, job: str = "", later: int = 0
) -> list[Decision]:
    """Return one Decision for each due time of one job, in their order.

    `due` are the instants since the last decided one, ascending, up to `now`. Those past the start deadline, and with
    `catch_up` "none" the late ones, are missed. Of the rest the last runs, or with `catch_up` "all" the last
    `catch_up_cap`; those before are coalesced into the first that runs. Runs that overlap or the hourly limit forbids
    are skipped; if every run is forbidden, all are skipped and none is coalesced. Runs started together wait for each
    other unless overlap is "allow".

    `job` is the job's uid, for its jitter. A backlog too long for one list is decided in parts, oldest first; `later`
    is how many due times are known to follow this part. A count of `catch_up_cap` is enough, as then nothing of this
    part runs.

    Raises:
        ValueError: a time is not due yet.
    """
    if due and due[-1] > now:
        raise ValueError("what is not due yet cannot be decided")
    missed = _missed(due, now, settings)
    rest = due[len(missed) :]
    room, refusal = _room(settings, load, len(rest))
    if room == 0:
        return missed + [Decision(instant, "skipped", refusal) for instant in rest]
    wanted = settings.catch_up_cap if settings.catch_up == "all" else 1
    over, kept = _split(rest, wanted - later)
    refused, runs = _split(kept, room)
    coalesced = [Decision(instant, "coalesced", "a later run replaces it") for instant in over]
    skipped = [Decision(instant, "skipped", refusal) for instant in refused]
    return missed + coalesced + skipped + _runs(runs, now, settings, load, job)


def retry_delay(attempt: int, base: float, cap: float) -> float:
    """Return the seconds before retry number `attempt` (1 is the first): `base`, doubled each time, up to `cap`.

    Raises:
        ValueError: `attempt` is less than 1.
    """
    if attempt < 1:
        raise ValueError("retries count from 1")
    return min(cap, base * 2.0 ** min(attempt - 1, 64))


def jitter(job: str, scheduled_for: int, spread: int) -> int:
    """Return by how many microseconds to delay a start, from 0 to `spread` seconds.

    It depends only on the job's uid and the due time, so that all processes agree.
    """
    digest = blake2b(f"{job} {scheduled_for}".encode(errors="surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") * spread * SECOND >> 64


def _missed(due: Sequence[int], now: int, settings: Settings) -> list[Decision]:
    """Return the decisions for the oldest of `due`, which are too late to run."""
    given_up = late = 0
    if settings.start_deadline:
        given_up = bisect_left(due, now - settings.start_deadline * SECOND)
    if settings.catch_up == "none":
        late = bisect_right(due, now - ON_TIME)
    deadline = f"the start deadline of {settings.start_deadline} s had passed"
    away = "noticed too late: catch_up is none"
    decisions = [Decision(instant, "missed", deadline) for instant in due[:given_up]]
    return decisions + [Decision(instant, "missed", away) for instant in due[given_up:late]]


def _room(settings: Settings, load: Load, most: int) -> tuple[int, str]:
    """Return how many of `most` runs may be started or queued now, and why not more."""
    room, refusal = most, ""
    if load.active + load.queued and settings.overlap == "skip":
        return 0, "the previous run is still active"
    if load.active + load.queued and settings.overlap == "queue":
        room, refusal = max(0, 1 - load.queued), "a run is already queued"
    if settings.starts_per_hour and settings.starts_per_hour - load.started < room:
        room = max(0, settings.starts_per_hour - load.started)
        refusal = f"the limit of {settings.starts_per_hour} starts an hour is reached"
    return room, refusal


def _split(times: Sequence[int], last: int) -> tuple[Sequence[int], Sequence[int]]:
    """Return the times before the last `last` ones, and those."""
    at = max(0, len(times) - max(0, last))
    return times[:at], times[at:]


def _runs(runs: Sequence[int], now: int, settings: Settings, load: Load, job: str) -> list[Decision]:
    decisions = []
    for place, instant in enumerate(runs):
        late = (now - instant) // SECOND
        on_time = now - instant < ON_TIME
        delay = jitter(job, instant, settings.jitter) + place * settings.stagger * SECOND
        start_at = max(now, (instant if on_time else now) + delay)
        queued = settings.overlap != "allow" and bool(place or load.active + load.queued)
        reasons = ([] if on_time else [f"caught up, {timedelta(seconds=late)} late"]) + ["queued"] * queued
        decisions.append(Decision(instant, "ran", ", ".join(reasons), start_at, queued))
    return decisions


def read_settings(stored: Mapping[str, Any]) -> Settings:
    """Return a job's settings from those that are stored."""
    return msgspec.convert(stored, Settings)


def changed_settings(stored: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings to store after some were changed.

    Raises:
        InvalidArgument: there is no such setting, or a value is out of its bounds.
    """
    for name, value in changes.items():
        try:
            msgspec.convert({name: value}, Settings)
        except msgspec.ValidationError as error:
            raise InvalidArgument(name, f"{name}: {str(error).partition(' - at ')[0]}") from None
    settings = msgspec.convert({**stored, **changes}, Settings)
    kept: dict[str, Any] = msgspec.to_builtins(settings)
    return kept
