"""Days of running: memory and handles flat, and what the screen tells of time right across midnight and a clock change.

A screen on a terminal, a `serve` and a scheduler work on one database: a stream of changes, keys and panes, questions
and their answers, runs of a job. Their clock is set forward again and again, as that of a machine that has slept: to
just before midnight, to just before summer time ends in Berlin, and by hours from then on.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import mmap
import os
import re
import statistics
import struct
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

from tests.entries import all_entries
from tests.soak.budget import Budget
from tests.soak.quiet_terminal import ESCAPE, QuietTerminal
from tests.soak.soundness import found
from tests.soak.speaking import Speaker, memory, program, serve
from tests.started import DEADLINE
from tui_tasks.core.store import Store
from tui_tasks.text.times import DAY, MAX_WAIT, SECOND, age

MINUTES: Final = 15.0
"""Textual keeps what was painted, some thousands of lines: it takes some minutes until they are all there."""
PLACE: Final = ZoneInfo("Europe/Berlin")
# What a terminal sends when it loses the focus.
FOCUS_LOST: Final = "\x1b[O"
EVENING: Final = datetime(2026, 10, 24, 23, 59, 50, tzinfo=PLACE)
BEFORE_THREE: Final = datetime(2026, 10, 25, 2, 59, 53, tzinfo=PLACE)
HOURS: Final = 5
"""What the clock is set forward by each minute of the later days."""
GROWTH: Final = 0.05
TASKS: Final = 60
KEYS: Final = (*"2lj\r", ESCAPE, *"3kG4j\r", ESCAPE, "S", ESCAPE, "A", ESCAPE, "?", ESCAPE, *"/t", ESCAPE, ESCAPE,
               *"1j\r", ESCAPE, *"Gg")  # fmt: skip


_AHEAD: Final = """
import mmap, os, struct, time
with open(os.environ["SOAK_CLOCK"], "rb") as file:
    ahead = mmap.mmap(file.fileno(), 16, access=mmap.ACCESS_READ)
real, pread = time.time_ns, os.pread
time.time_ns = lambda: real() + struct.unpack_from("q", ahead)[0]
time.time = lambda: time.time_ns() / 1e9


def read(handle, length, offset):
    data = pread(handle, length, offset)
    if os.readlink(f"/proc/self/fd/{handle}") != "/proc/uptime":
        return data
    now, at_first = struct.unpack_from("qq", ahead)
    return b"%f 0" % (float(data.split()[0]) + (now - at_first) / 1e9)


os.pread = read
"""


class AheadClock:
    """The time of day of the processes that have its environment: so far ahead of the machine's, or behind.

    Each Python takes it up as it starts. For how long the machine is up goes with it, as it does when a machine has
    slept; what else measures spans goes as ever.
    """

    def __init__(self, folder: Path) -> None:
        place = folder / "clock"
        place.mkdir()
        (place / "sitecustomize.py").write_text(_AHEAD)
        file = place / "ahead"
        file.write_bytes(bytes(16))
        with file.open("r+b") as opened:
            self._held = mmap.mmap(opened.fileno(), 16)
        self._ahead = 0
        self.set(EVENING)
        struct.pack_into("q", self._held, 8, self._ahead * SECOND * 1_000)
        settings = folder / "config.toml"
        settings.write_text('[runner]\ncommand = ["true"]\n')
        self.env = {
            **os.environ,
            "PYTHONPATH": str(place),
            "SOAK_CLOCK": str(file),
            "TZ": str(PLACE),
            "TUI_TASKS_CONFIG": str(settings),
        }

    @property
    def now(self) -> int:
        """Microseconds, as the processes have them."""
        return time.time_ns() // 1000 + self._ahead * SECOND

    def set(self, to: datetime) -> None:
        self.forward(round(to.timestamp() - self.now / SECOND))

    def forward(self, seconds: int) -> None:
        self._ahead += seconds
        struct.pack_into("q", self._held, 0, self._ahead * SECOND * 1_000)

    def time_of_day(self, at: int | None = None) -> str:
        return f"{datetime.fromtimestamp((self.now if at is None else at) / SECOND, PLACE):%H:%M}"


def _comes(seen: Callable[[], bool]) -> bool:
    """Whether something is seen within the time that a human looks for it."""
    deadline = time.monotonic() + DEADLINE
    while not (came := seen()) and time.monotonic() < deadline:
        time.sleep(0.01)  # another process's work is waited for
    return came


class Household:
    """The screen, the `serve` and the scheduler, and what is done with them."""

    def __init__(self, folder: Path, stack: contextlib.ExitStack) -> None:
        self.clock = AheadClock(folder)
        self.database = folder / "state" / "tasks.db"
        env = self.clock.env
        self.agent = stack.enter_context(serve(self.database, "--agent", "agent", env=env))
        self.asking = stack.enter_context(serve(self.database, "--agent", "asking", env=env))
        self._log = folder / "scheduler.log"
        self.scheduler = Speaker(*program("scheduler", "--db", self.database), env=env, stderr=self._log.open("wb"))
        stack.callback(self.scheduler.kill)
        fields = dict.fromkeys(("minute", "hour", "day", "month", "weekday"), "*")
        words = {"name": "job", "system_prompt": "be brief", "prompt": "do it", "dedicated_context": True}
        self.job = self.agent.ok("scheduler:create_scheduled_task", schedule=fields, **words)["uuid"]
        screen = program("--db", self.database, "--no-scheduler")
        # Only a started process takes up the clock.
        self.screen = QuietTerminal(screen, lines=24, columns=220, environment=env, is_started=True)
        stack.callback(self.screen.close)
        self.screen.wait_for(lambda: self.screen.shows("job") or self.screen.shows("No tasks yet"))
        self._numbers = itertools.count()
        self._keys = itertools.cycle(KEYS)
        self._uids: list[str] = []
        self.changes = self.asks = self.typed = 0

    def work(self) -> None:
        """Some changes, and a key."""
        for _ in range(10):
            self._change()
        self.screen.type(next(self._keys))
        self.typed += 1

    def _change(self) -> None:
        number = next(self._numbers)
        if len(self._uids) < TASKS:
            self._uids.append(self.agent.ok("tasklist:add_task", name=f"task {number}")["uid"])
        elif number % 10 == 0:
            self.agent.ok("tasklist:delete_task", uid=self._uids.pop(0))
        elif number % 2:
            self.agent.ok("tasklist:log_task_progress", uid=self._uids[number % TASKS // 2], message=f"step {number}")
        else:
            status = ("pending", "done", "failed", "skipped")[number // 2 % 4]
            self.agent.ok("tasklist:update_task", uid=self._uids[number % TASKS // 2], status=status)
        self.changes += 1

    def note(self, text: str) -> None:
        """Have a log entry made."""
        if not self._uids:
            self._change()
        self.agent.ok("tasklist:log_task_progress", uid=self._uids[-1], message=text)

    def ask(self) -> None:
        """A question, which the human answers by key."""
        request = {"id": 1, "tool": "ask", "args": {"question": "On with it?", "options": ["yes", "no"]}}
        self.asking.send(json.dumps(request).encode() + b"\n")
        assert self._answer(), f"the answer is not taken:\n{self.shown()}"
        reply = self.asking.hear()
        assert reply["result"]["answer"] == "yes", reply
        self.screen.type(ESCAPE)
        self.asks += 1

    def _answer(self) -> bool:
        """Answer the question by key; whether the screen says so."""
        self.settle("1")
        self.screen.type("a")
        self.screen.wait_for(lambda: self.screen.shows("On with it?") and self.screen.shows("1-2 Choose"))
        time.sleep(0.6)  # the human reads: a key within half a second sends no answer
        self.screen.type("1")
        return _comes(lambda: self.screen.shows("Sent to") and self.screen.shows(": yes."))

    def shown(self) -> str:
        return "\n".join(self.screen.screen.display)

    def settle(self, pane: str) -> None:
        """Leave whatever is open and go to a pane, as a human does who looks what comes of a key."""
        self.screen.type(ESCAPE * 4 + pane + "?")
        came = _comes(lambda: self.screen.shows(f"[{pane} ") and self.screen.shows("Run  ↑↓ Choose"))
        assert came, f"a key is not taken:\n{self.shown()}"
        self.screen.type(ESCAPE)
        self.screen.wait_for(lambda: not self.screen.shows("Run  ↑↓ Choose"))

    def is_whole(self) -> None:
        """Hold all to be running still."""
        ended = self.screen.process.poll()
        assert ended is None, f"the screen ended with {ended}:\n{self.shown()}"
        assert self.scheduler.process.poll() is None, f"the scheduler ended: {self._log.read_text()}"

    @property
    def processes(self) -> dict[str, int]:
        return {"screen": self.screen.process.pid, "serve": self.agent.pid, "scheduler": self.scheduler.pid}


class Times:
    """What the screen tells of time, held against the clock."""

    def __init__(self, house: Household) -> None:
        self._house, self._clock, self._screen = house, house.clock, house.screen
        house.settle("1")
        self._screen.type(".")
        self._looked = self._clock.now
        # Keys are taken in turn: once these are, what is written from now on is new to the human.
        house.settle("1")
        self._born: dict[str, int] = {}
        self.checks = 0

    def witness(self, name: str) -> None:
        """Add a task that nobody changes, the first in the list, whose age is to be seen.

        The terminal has lost the focus by then: what is painted in front of the human is seen, and not told as new.
        """
        self._screen.type(FOCUS_LOST)
        assert _comes(self._is_away), f"the lost focus is not taken:\n{self._house.shown()}"
        self._house.agent.ok("tasklist:add_task", name=name)
        self._born[name] = self._clock.now

    def _is_away(self) -> bool:
        """Whether the screen tells of a change: none that it painted before it had read of the lost focus is told."""
        self._house.note("does anybody see this?")
        return self._since()

    def check(self) -> None:
        """Without a key the ages, the last look and the log's times are right soon, whatever was done to the clock."""
        self._house.settle("1")
        self._screen.type("g")
        self._soon("the ages", self._ages)
        self._soon("when the human looked", self._since)
        self._house.settle("3")
        self._screen.type("G")
        self._house.note("what time is it?")
        self._soon("the log's times", self._log)
        self._house.settle("1")
        self.checks += 1

    def _soon(self, what: str, right: Callable[[], bool]) -> None:
        deadline = time.monotonic() + MAX_WAIT / SECOND + 20
        while not right():
            shown = "\n".join(self._screen.screen.display)
            assert time.monotonic() < deadline, f"{what} at {self._clock.time_of_day()}:\n{shown}"
            time.sleep(0.1)  # another process's work is waited for

    def _ages(self) -> bool:
        return all(self._age(name) in self._may_be(born) for name, born in self._born.items())

    def _age(self, name: str) -> str:
        told = (re.search(rf" {name} +(?:next +)?(now|\d+[a-z])\b", line) for line in self._screen.screen.display)
        return next((found_[1] for found_ in told if found_), "")

    def _may_be(self, born: int) -> set[str]:
        return {age(born, self._clock.now + late * SECOND) for late in (-2, -1, 0, 1)}

    def _since(self) -> bool:
        looked, now = (datetime.fromtimestamp(at / SECOND, PLACE) for at in (self._looked, self._clock.now))
        day = "" if looked.date() == now.date() else f"{looked:%a} {looked.day} {looked:%b} "
        at = f"{day}{looked:%H:%M}"
        # Beside it are the tasks with what has happened to them, or, where that has no room, how many have changed.
        return self._screen.shows(f" {at}: ") or self._screen.shows(f" changed since {at}")

    def _log(self) -> bool:
        """The newest entry stands with the time of day that it is now in Berlin."""
        shown = "\n".join(self._screen.screen.display)
        told = re.findall(r"(\d\d:\d\d)(?::\d\d)? .*what time is it\?", shown)
        return bool(told) and told[-1] in (
            self._clock.time_of_day(),
            self._clock.time_of_day(self._clock.now - 30 * SECOND),
        )


class Held:
    """What the processes hold, from time to time."""

    def __init__(self, house: Household) -> None:
        self._house = house
        self._memory: dict[str, list[int]] = {name: [] for name in house.processes}
        self._handles: dict[str, list[int]] = {name: [] for name in house.processes}

    def look(self) -> None:
        self._house.is_whole()
        for name, pid in self._house.processes.items():
            self._memory[name].append(memory(pid))
            self._handles[name].append(len(list(Path(f"/proc/{pid}/fd").iterdir())))

    def told(self) -> Iterator[tuple[str, float, float, int, int]]:
        """Of each process: MiB after warm-up (half of the time) and at the end, handles then and at the end."""
        for name, held in self._memory.items():
            part = max(1, len(held) // 8)
            warm = slice(len(held) // 2, len(held) // 2 + part)
            end = slice(-part, None)
            mib = [statistics.median(held[at]) / 2**20 for at in (warm, end)]
            # The least: a scheduler that starts a run has some more for a moment.
            yield name, *mib, min(self._handles[name][warm]), min(self._handles[name][end])


def spend(house: Household, held: Held, seconds: float, pace: float) -> None:
    """Let so much time go by, with everything going on every `pace` seconds."""
    end, ask_at = time.monotonic() + seconds, time.monotonic() + 2
    while time.monotonic() < end:
        house.work()
        if time.monotonic() >= ask_at:
            house.ask()
            ask_at = time.monotonic() + 10
        held.look()
        time.sleep(pace)


def succeeded(database: Path) -> int:
    """How many runs of jobs have succeeded, those among them whose rows were dropped since."""
    with Store(str(database), read_only=True) as store:
        ended = (entry.new or {} for entry in all_entries(store.db) if entry.kind == "run.finished")
        return sum(new.get("outcome") == "success" for new in ended)


def soak(folder: Path, budget: Budget) -> str:
    minutes = budget.minutes or (MINUTES if budget.share == 1 else 0.0)
    end = time.monotonic() + minutes * 60
    pace = 0.1 if budget.share == 1 else 0.5
    with contextlib.ExitStack() as stack:
        house = Household(folder, stack)
        clock, times, held = house.clock, Times(house), Held(house)
        times.witness("witness")
        times.check()
        spend(house, held, max(1.0, EVENING.timestamp() + 12 - clock.now / SECOND), pace)
        times.check()
        clock.set(BEFORE_THREE)
        times.check()
        spend(house, held, max(1.0, BEFORE_THREE.timestamp() + 9 - clock.now / SECOND), pace)
        assert clock.time_of_day() == "02:00", clock.time_of_day()
        times.check()
        while time.monotonic() < end:
            spend(house, held, 50, pace)
            clock.forward(HOURS * 3600)
            times.check()
        days = (clock.now - round(EVENING.timestamp()) * SECOND) / DAY
        house.settle("1")
        house.screen.type("q")
        assert house.screen.ends() == 0
    found(house.database, replay=False)
    ran = succeeded(house.database)
    assert ran >= 2, "the job did not run"
    told = []
    for name, warm, late, handles, handles_late in held.told():
        # A short one is over before anything is warm.
        assert minutes < 5 or late <= warm * (1 + GROWTH), f"{name} grew from {warm:.1f} to {late:.1f} MiB"
        assert minutes < 5 or handles_late <= handles, f"{name} has {handles_late} handles, after {handles}"
        told.append(f"{name} {warm:.1f} MiB and {handles} handles warmed up, {late:.1f} and {handles_late} at the end")
    return (
        f"{days:.1f} days on the clock across midnight and the end of summer time: ages, the last look and the log's "
        f"times right at {times.checks} of {times.checks} looks; {'; '.join(told)}; {house.changes:,} changes, "
        f"{house.typed} keys, {house.asks} questions answered, "
        f"{ran} runs of the job succeeded"
    )
