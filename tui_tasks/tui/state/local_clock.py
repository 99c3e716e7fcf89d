"""The local time of day of the human."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, tzinfo
from functools import cached_property

from tui_tasks.text.times import SECOND, clock, moment


class LocalClock:
    """Formats instants (microseconds since 1970, UTC) in one time zone. `now` returns the current instant."""

    def __init__(self, now: Callable[[], int], zone: tzinfo | None = None) -> None:
        """`zone`: the time zone to use; None: the system's."""
        self.now = now
        self._zone = zone

    @cached_property
    def zone(self) -> tzinfo | None:
        """The time zone in which times of day are shown."""
        return self._zone or _system_zone()

    def time_of(self, instant: int) -> str:
        """Return an instant as `19:58`, with the day when that is not today."""
        # Uses the system's offset, since looking the zone up by its name would take time.
        today = moment(self.now(), self._zone)[:-5]
        full = moment(instant, self._zone)
        return clock(instant, self._zone) if full.startswith(today) else full

    def midnight(self) -> int:
        """Return the instant at which today began."""
        today = datetime.fromtimestamp(self.now() // SECOND, self.zone)
        return int(today.replace(hour=0, minute=0, second=0).timestamp()) * SECOND


def _system_zone() -> tzinfo | None:
    """Return the system's zone by name, which knows changes of offset; without a name, its current offset."""
    # Imported here: the screen starts sooner when no time of day is shown.
    from tui_tasks.core.schedule.fire_times import system_zone, zone_of

    now = datetime.now().astimezone()
    named = zone_of(system_zone())
    return named if now.astimezone(named).utcoffset() == now.utcoffset() else now.tzinfo
