"""Lists that work themselves off: their ready tasks are started one after the other as places get free."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, Final

from tui_tasks.core.agent_snapshots import Auto
from tui_tasks.core.errors import Refusal
from tui_tasks.core.operations.work import HostAuto, StopAuto
from tui_tasks.core.read import work_queries
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import SYSTEM
from tui_tasks.runner import processes
from tui_tasks.runner.processes import ProcessIdentity
from tui_tasks.settings import live_settings
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import HOUR
from tui_tasks.work.starting import Starter, StartRequest, is_full

MAX_AT_ONCE: Final = 1_000
_WAITS_FOR_HOST: Final = HOUR
OPENED_ANEW: Final = "the screen has restarted"


def this_host() -> str:
    """Return this process, as `Auto.host` names it."""
    return json.dumps(list(processes.identity()))


def _is_alive(name: str) -> bool:
    return bool(name) and processes.is_alive(ProcessIdentity(*json.loads(name))) is True


def parse_auto(text: str, programs: Collection[str]) -> dict[str, Any] | str:
    """Return the fields of `SetAuto` in a line such as `2 claude stay`, or what is wrong with it."""
    fields: dict[str, Any] = {"at_once": 1}
    for word in text.split():
        if word.isdecimal() and 0 < int(word) <= MAX_AT_ONCE:
            fields["at_once"] = int(word)
        elif word in programs:
            fields["program"] = word
        elif word == "stay":
            fields["stays"] = True
        else:
            return f"{safe_line(word, 30)}: write a number of agents, a program ({', '.join(programs)}), or stay."
    return fields


def switch_off_old(store: Store, now: int) -> None:
    """Turn off what another opening of the database had turned on, unless it is set to stay.

    What a shell has just turned on waits for its first screen or scheduler.

    Raises:
        StorageFailed: the database cannot be read or written.
    """
    for auto in work_queries.switched_on_autos(store.db):
        if auto.stays or _is_alive(auto.host):
            continue
        at = None if auto.host else work_queries.auto_set_at(store.db, auto)
        if at is None or now - at > _WAITS_FOR_HOST:
            store.commit(StopAuto(auto.uid, OPENED_ANEW), actor=SYSTEM, now=now)


def start_ready_tasks(store: Store, clock: Callable[[], int]) -> None:
    """Start the next task of each list that has a place. One process does it for a list; when that is gone, another.

    Raises:
        StorageFailed: the database cannot be read or written.
    """
    for auto in work_queries.switched_on_autos(store.db):
        if not _is_alive(auto.host):
            auto = store.commit(HostAuto(auto.uid, this_host()), actor=SYSTEM, now=clock())[0]
        if auto.host == this_host():
            _start_next(store, auto, clock)


def _start_next(store: Store, auto: Auto, clock: Callable[[], int]) -> None:
    if work_queries.auto_failed_in_a_row(store.db, auto) >= auto.failures:
        message = f"{auto.failures} agents in a row have failed" if auto.failures > 1 else "an agent has failed"
        store.commit(StopAuto(auto.uid, message), actor=SYSTEM, now=clock())
        return
    has_place = work_queries.auto_busy(store.db, auto) < auto.at_once
    if not has_place or is_full(store.db, live_settings.work()):
        return
    uid = work_queries.next_auto_task(store.db, auto)
    if uid is None:
        return
    try:
        Starter(store, Path(auto.folder), clock).start(uid, StartRequest(program=auto.program))
    except Refusal as refused:
        if work_queries.next_auto_task(store.db, auto) == uid:
            # It was refused before anything began, and would be again.
            store.commit(StopAuto(auto.uid, refused.message), actor=SYSTEM, now=clock())
