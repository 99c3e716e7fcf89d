"""The time of day where the human is."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, tzinfo
from functools import cached_property

from tui_tasks.text.times import SECOND, clock, moment


class LocalClock:
    """Tells instants (microseconds since 1970, UTC) in one zone. `now` is the instant of the moment."""

    def __init__(self, now: Callable[[], int], zone: tzinfo | None = None) -> None:
        """`zone`: where times of day are told; None: where the system is."""
        self.now = now
        self._zone = zone

    @cached_property
    def zone(self) -> tzinfo | None:
        """The zone in which times of day are told."""
        return self._zone or _system_zone()

    def time_of(self, instant: int) -> str:
        """Return `19:58`; with the day where that is not today."""
        # Without the system's zone by its name, which would have to be looked up first.
        today = moment(self.now(), self._zone)[:-5]
        told = moment(instant, self._zone)
        return clock(instant, self._zone) if told.startswith(today) else told

    def midnight(self) -> int:
        """Return the instant at which today began."""
        today = datetime.fromtimestamp(self.now() // SECOND, self.zone)
        return int(today.replace(hour=0, minute=0, second=0).timestamp()) * SECOND


def _system_zone() -> tzinfo | None:
    """Return the system's zone with its changes of clocks, where it has a name; else its offset of the moment."""
    # Where there is no time of day to tell, the screen starts sooner without.
    from tui_tasks.core.schedule.schedule import system_zone, zone_of

    now = datetime.now().astimezone()
    named = zone_of(system_zone())
    return named if now.astimezone(named).utcoffset() == now.utcoffset() else now.tzinfo
