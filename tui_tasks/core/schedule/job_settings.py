"""The settings of a job, each declared once with its default, bounds and meaning.

Durations are in seconds. 0 means "none" where that is allowed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from tui_tasks.core.errors import InvalidArgument
from tui_tasks.core.schedule.decisions import CatchUp, Overlap, Policy

HOUR: Final = 3600
DAY: Final = 24 * HOUR
YEAR: Final = 366 * DAY
# The longest wait between a failed attempt and the next.
MAX_RETRY_DELAY: Final = HOUR


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A job's settings. Those at their default are not stored, so that a better default reaches every job.

    Tools that set them are made of these fields, so each says its default unless that is 0.
    """

    catch_up: Annotated[CatchUp, Meta(description="Start times missed while nothing ran (one: the latest).")] = "one"
    catch_up_cap: Annotated[int, Meta(ge=1, le=1_000, description="Of all, at most (10).")] = 10
    stagger: Annotated[int, Meta(ge=0, le=DAY, description="Seconds between those (10).")] = 10
    start_deadline: Annotated[
        int, Meta(ge=0, le=YEAR, description="Seconds until a due time is given up; 0: never.")
    ] = 0
    overlap: Annotated[Overlap, Meta(description="When due while it runs (skip).")] = "skip"
    starts_per_hour: Annotated[int, Meta(ge=0, le=10_000, description="At most; 0: no limit.")] = 0
    jitter: Annotated[int, Meta(ge=0, le=DAY, description="Seconds to spread starts over.")] = 0
    timeout: Annotated[int, Meta(ge=0, le=YEAR, description="Seconds a run may take; 0: as configured.")] = 0
    retries: Annotated[int, Meta(ge=0, le=100)] = 0
    retry_delay: Annotated[int, Meta(ge=1, le=DAY, description="Seconds, doubled each time (60).")] = 60
    pause_after: Annotated[int, Meta(ge=0, le=1_000, description="Failures in a row until disabled; 0: never.")] = 0
    keep_runs: Annotated[int, Meta(ge=1, le=10_000, description="(100); only the human lowers it.")] = 100
    runner: Annotated[str, Meta(max_length=200, description="One of the human's configured runners.")] = ""

    @property
    def policy(self) -> Policy:
        """Return the scheduling policy that the settings make."""
        return Policy(
            catch_up=self.catch_up,
            catch_up_cap=self.catch_up_cap,
            stagger=self.stagger,
            start_deadline=self.start_deadline or None,
            overlap=self.overlap,
            starts_per_hour=self.starts_per_hour or None,
            jitter=self.jitter,
        )


def read(stored: Mapping[str, Any]) -> Settings:
    """Return a job's settings from those that are stored."""
    return msgspec.convert(stored, Settings)


def changed(stored: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
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
