"""What can be set for one job beside what it does: declared once, with its default, its bounds and its meaning.

Durations are seconds. 0 stands for "none" where there can be none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from tui_tasks.core.errors import InvalidArgument
from tui_tasks.core.schedule.schedule import CatchUp, Overlap, Policy

HOUR: Final = 3600
DAY: Final = 24 * HOUR
YEAR: Final = 366 * DAY
# The longest wait between an attempt that failed and the next.
MAX_RETRY_DELAY: Final = HOUR


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A job's settings. Those at their default are not stored, so that a better default reaches every job."""

    catch_up: Annotated[
        CatchUp, Meta(description='Of the times missed while nothing ran: start "none", "one" (the latest) or "all".')
    ] = "one"
    catch_up_cap: Annotated[int, Meta(ge=1, le=1_000, description='With "all": at most so many of the latest.')] = 10
    stagger: Annotated[int, Meta(ge=0, le=DAY, description="Seconds between starts that are caught up.")] = 10
    start_deadline: Annotated[
        int, Meta(ge=0, le=YEAR, description="Seconds after which a due time is given up; 0: never.")
    ] = 0
    overlap: Annotated[
        Overlap, Meta(description='When due while it still runs: "skip", "queue" one, or "allow" both.')
    ] = "skip"
    starts_per_hour: Annotated[int, Meta(ge=0, le=10_000, description="At most so many starts; 0: no limit.")] = 0
    jitter: Annotated[int, Meta(ge=0, le=DAY, description="Spread the starts over so many seconds.")] = 0
    timeout: Annotated[
        int, Meta(ge=0, le=YEAR, description="Seconds after which a run is ended; 0: as the runner has it.")
    ] = 0
    retries: Annotated[int, Meta(ge=0, le=100, description="Start a run that failed again, so often.")] = 0
    retry_delay: Annotated[
        int, Meta(ge=1, le=DAY, description="Seconds before the first retry; doubled for each further, to an hour.")
    ] = 60
    pause_after: Annotated[
        int, Meta(ge=0, le=1_000, description="Disable after so many failures in a row; 0: never.")
    ] = 0
    keep_runs: Annotated[int, Meta(ge=1, le=10_000, description="How many runs are kept, with their output.")] = 100
    runner: Annotated[
        str, Meta(max_length=200, description="The configured runner to use; empty: the default one.")
    ] = ""

    @property
    def policy(self) -> Policy:
        """What the job wants done with its due times."""
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
    """A job's settings from what is stored of them."""
    return msgspec.convert(stored, Settings)


def changed(stored: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """What to store after some settings were set anew.

    Raises:
        InvalidArgument: a setting that is none, or a value out of its bounds.
    """
    for name, value in changes.items():
        try:
            msgspec.convert({name: value}, Settings)
        except msgspec.ValidationError as error:
            raise InvalidArgument(name, f"{name}: {str(error).partition(' - at ')[0]}") from None
    settings = msgspec.convert({**stored, **changes}, Settings)
    kept: dict[str, Any] = msgspec.to_builtins(settings)
    return kept
