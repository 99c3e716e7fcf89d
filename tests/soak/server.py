"""Two machines on a PostgreSQL server, while it crashes, clients are killed and stopped, and cables are cut."""

from __future__ import annotations

import contextlib
import random
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from tests.soak import native
from tests.soak.budget import Budget
from tests.soak.hosts import Host, Serving, networks
from tests.soak.machine_screens import MachineScreen

WRITERS: Final = 3
"""So many add tasks on each machine; another agent changes one."""
CLAIMERS: Final = 16
TASKS: Final = 1_000
FAULTS: Final = 600
_PAUSE, _STOP, _CUT = 2.0, 5.0, 6.0
"""Seconds at most before a fault, that a process is stopped, and that a cable is cut."""
_QUICK: Final = 0.2
"""The share of these seconds in a quick run."""
_WAIT: Final = 90.0
"""Seconds in which all must be well again after the last fault."""


def soak(folder: Path, budget: Budget) -> str:
    with networks(2) as cables:
        addresses = ",".join(address for _, address in cables)
        with native.server(listen_addresses=f"'{addresses}'") as cluster:
            _admit(cluster)
            with cluster.database() as name:
                hosts = [
                    Host(folder / f"machine{number}", *_reached(cluster, name, cables, number)) for number in range(2)
                ]
                claimed = _claims(hosts, budget)
                with cluster.database() as other:
                    hosts = [
                        Host(folder / f"home{number}", *_reached(cluster, other, cables, number)) for number in range(2)
                    ]
                    return f"{_Soak(cluster, other, hosts, budget).run()}; {claimed}"


def _admit(cluster: Any) -> None:
    with (cluster.folder / "data" / "pg_hba.conf").open("a") as file:
        file.write("host all all 10.0.0.0/8 trust\n")
    cluster.sql("postgres", "SELECT pg_reload_conf()")


def _reached(cluster: Any, name: str, cables: list[tuple[str, str]], number: int) -> tuple[str, str]:
    if not cables:
        return cluster.conninfo(name), ""
    namespace, address = cables[number]
    return f"postgresql://owner@{address}/{name}", namespace


class Writer(threading.Thread):
    """Adds tasks with a key each, and repeats what was not acknowledged.

    Attributes:
        acknowledged: the names of the tasks.
    """

    def __init__(self, host: Host, agent: str) -> None:
        super().__init__(daemon=True)
        self.serving = Serving(host, agent)
        self.acknowledged: list[str] = []
        self.refused = ""
        self.stopping = threading.Event()

    def run(self) -> None:
        while not self.stopping.is_set() and not self.refused:
            name = f"{self.serving.agent} {len(self.acknowledged)}"
            request = {"tool": "tasklist:add_task", "arguments": {"name": name}, "idempotency_key": name}
            while not self.refused and not self._add(request):
                time.sleep(0.02)
            self.acknowledged.append(name)

    def _add(self, request: dict[str, Any]) -> bool:
        """Send a request; return whether it was acknowledged."""
        reply = self.serving.ask(request)
        if reply is None or reply["ok"]:
            return reply is not None
        if reply["error"]["code"] not in ("busy", "unknown"):
            self.refused = f"{self.serving.agent}: {reply['error']}"
        return False


class Counter(Writer):
    """Counts in the name of a task, which the screen of the other machine shows.

    Attributes:
        count: the last number that was acknowledged.
    """

    def __init__(self, host: Host, agent: str) -> None:
        super().__init__(host, agent)
        self.count = 0
        self._uid = ""

    def add(self) -> None:
        """Add its task."""
        reply = self.serving.ask({"tool": "tasklist:add_task", "arguments": {"name": f"{self.serving.agent} 0"}})
        assert reply is not None
        assert reply["ok"], reply
        self._uid = reply["result"]["uid"]

    def run(self) -> None:
        while not self.stopping.is_set() and not self.refused:
            change = {"uid": self._uid, "name": f"{self.serving.agent} {self.count + 1}"}
            if self._add({"tool": "tasklist:update_task", "arguments": change}):
                self.count += 1
            time.sleep(0.05)


class Subscriber(threading.Thread):
    """Collects the events of the journal, from where it was when its process ended.

    Attributes:
        seen: (seq, name, actor) of each event.
    """

    def __init__(self, host: Host, agent: str) -> None:
        super().__init__(daemon=True)
        self.serving = Serving(host, agent)
        self.seen: list[tuple[int, str, str]] = []
        self.stopping = threading.Event()

    def run(self) -> None:
        while not self.stopping.is_set():
            since = self.seen[-1][0] if self.seen else 0
            reply = self.serving.ask({"tool": "control:subscribe", "arguments": {"since": since}})
            if reply is None or not reply["ok"]:
                time.sleep(0.05)
                continue
            while (event := self.serving.line()) is not None and event["event"] != "lagged":
                self.seen.append((event["seq"], event["event"], event["actor"]))


class _Soak:
    def __init__(self, cluster: Any, database: str, hosts: list[Host], budget: Budget) -> None:
        self._cluster, self._database, self._hosts, self._budget = cluster, database, hosts, budget
        self._chance = random.Random(30)
        self._pace = 1.0 if budget.share == 1 else _QUICK
        self._faults: list[Callable[[], None]] = []
        self._writers = [
            Writer(host, f"writer{number}{each}")
            for number, host in enumerate(hosts)
            for each in range(budget.of(WRITERS))
        ]
        self._counters = [Counter(host, f"count{number}") for number, host in enumerate(hosts)]
        # Each screen shows what the other machine counts.
        self._screens = [MachineScreen(host, f"count{1 - number}") for number, host in enumerate(hosts)]
        self._subscribers = [Subscriber(host, f"reader{number}") for number, host in enumerate(hosts)]
        self._done: dict[str, int] = {}
        self._slowest = 0.0

    def run(self) -> str:
        _first_look(self._hosts)
        threads = [*self._counters, *self._writers, *self._subscribers]
        try:
            # On top of the list, and so on the screens.
            for counter in self._counters:
                counter.add()
            for screen in self._screens:
                screen.keep()
            for thread in threads:
                thread.start()
            for number in self._budget.times(FAULTS, least=8):
                self._pause(_PAUSE)
                self._check()
                self._fault()
                if number % 5 == 4:
                    self._look_at_screens()
            self._settle()
        finally:
            for thread in threads:
                thread.stopping.set()
                thread.serving.end()
            for screen in self._screens:
                screen.end()
        return self._compared()

    def _check(self) -> None:
        for writer in (*self._counters, *self._writers):
            assert not writer.refused, writer.refused
        for screen in self._screens:
            screen.keep()
            screen.number()

    def _look_at_screens(self) -> None:
        """Wait until each screen shows what the other machine has written by now."""
        for screen, counter in zip(self._screens, reversed(self._counters), strict=True):
            self._slowest = max(self._slowest, screen.wait_for(counter.count))

    def _pause(self, most: float) -> None:
        time.sleep(self._chance.uniform(0.3, most) * self._pace)

    def _fault(self) -> None:
        """Do one of the faults; each is done before any is done again."""
        if not self._faults:
            self._faults = [
                *(self.killed, self.killed, self.killed_screen, self.stopped),
                *(self.crashed, self.parted, self.compacted),
                *([self.cut] if all(host.has_cable for host in self._hosts) else []),
            ]
            self._chance.shuffle(self._faults)
        fault = self._faults.pop()
        fault()
        self._done[fault.__name__] = self._done.get(fault.__name__, 0) + 1

    def _process(self) -> Any:
        while True:
            agents = [*self._counters, *self._writers, *self._subscribers]
            process = self._chance.choice([*(each.serving.process for each in agents), *self._screen_processes()])
            if process is not None and process.poll() is None:
                return process

    def _screen_processes(self) -> list[Any]:
        return [screen.process for screen in self._screens]

    def killed(self) -> None:
        self._process().kill()

    def killed_screen(self) -> None:
        self._chance.choice(self._screen_processes()).kill()

    def stopped(self) -> None:
        process = self._process()
        process.send_signal(signal.SIGSTOP)
        self._pause(_STOP)
        process.send_signal(signal.SIGCONT)

    def crashed(self) -> None:
        self._cluster.restart("immediate")

    def parted(self) -> None:
        """End some connections from the server's side."""
        self._cluster.sql(
            "postgres",
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{self._database}' "
            "AND random() < 0.5",
        )

    def compacted(self) -> None:
        """Store a snapshot, and drop the entries before it: who lacks some builds its replica again."""
        from tui_tasks.core.commit import journal
        from tui_tasks.core.errors import Refusal
        from tui_tasks.postgres.replica import Replica

        with contextlib.closing(Replica(self._chance.choice(self._hosts).replica())) as replica:
            try:
                replica.catch_up()
                replica.cut(journal.newest(replica) - self._chance.choice((0, 10, 1_000)))
            except Refusal as refused:  # others have held the journal for long, or have built this replica again
                assert refused.code == "busy" or refused.data.get("retryable"), refused

    def cut(self) -> None:
        host = self._chance.choice(self._hosts)
        host.cut()
        self._pause(_CUT)
        host.mend()

    def _settle(self) -> None:
        """Wait until every writer has been acknowledged again, then end them, and wait for the subscribers."""
        before = [len(writer.acknowledged) for writer in self._writers]
        counts = [counter.count for counter in self._counters]
        self._wait(
            lambda: all(
                len(writer.acknowledged) > count or writer.refused
                for writer, count in zip(self._writers, before, strict=True)
            ),
            "a writer does not go on",
        )
        self._wait(
            lambda: all(
                counter.count > count or counter.refused for counter, count in zip(self._counters, counts, strict=True)
            ),
            "a counter does not go on",
        )
        writers = [*self._counters, *self._writers]
        for writer in writers:
            writer.stopping.set()
        for writer in writers:
            writer.join(_WAIT)
            assert not writer.is_alive(), f"{writer.serving.agent} has no reply"
        self._check()
        self._look_at_screens()
        newest = self._cluster.sql(self._database, "SELECT seq FROM tui_tasks.head")[0][0]
        self._wait(
            lambda: all(reader.seen and reader.seen[-1][0] >= newest for reader in self._subscribers),
            "a subscriber does not go on",
        )

    def _wait(self, is_done: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + _WAIT
        while not is_done():
            assert time.monotonic() < end, what
            time.sleep(0.1)

    def _compared(self) -> str:
        kept = self._cluster.sql(self._database, "SELECT seq, kind, actor FROM tui_tasks.journal ORDER BY seq")
        journal = _journal(self._hosts[0])
        assert kept == journal[len(journal) - len(kept) :], "the replica has another journal than the server"
        for reader in self._subscribers:
            assert reader.seen == journal, _difference(reader.seen, journal)
        names = [name for host in self._hosts for name in _sound(host, journal)]
        there = names[: len(names) // 2]
        assert names[len(there) :] == there, "the machines have other tasks"
        acknowledged = {name for writer in self._writers for name in writer.acknowledged}
        lost, doubled = len(acknowledged.difference(there)), len(there) - len(set(there))
        assert (lost, doubled) == (0, 0), (lost, doubled)
        assert len({_digest(host) for host in self._hosts}) == 1, "the replicas differ"
        faults = ", ".join(f"{count} times {name}" for name, count in sorted(self._done.items()))
        return (
            f"{len(acknowledged):,} acknowledged by {len(self._writers)} writers ({faults}): 0 lost, 0 doubled, equal "
            f"replicas, {len(journal):,} events in order at each of {len(self._subscribers)} subscribers; 2 screens, "
            f"started {sum(screen.starts for screen in self._screens)} times, were seen to show "
            f"{sum(screen.painted for screen in self._screens):,} of {sum(each.count for each in self._counters):,} "
            f"changes of the other machine, and each looked for within {self._slowest:.1f} s"
        )


def _first_look(hosts: list[Host]) -> None:
    for host in hosts:
        with host.started("ls", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as looking:
            assert looking.wait() == 0


def _difference(seen: list[Any], journal: list[Any]) -> str:
    at = next((n for n, pair in enumerate(zip(seen, journal, strict=False)) if pair[0] != pair[1]), -1)
    return f"{len(seen)} events, {len(journal)} entries, the first that differs: {seen[at]} and {journal[at]}"


def _journal(host: Host) -> list[tuple[Any, ...]]:
    from tui_tasks.core.store import Store

    _first_look([host])
    with Store(host.replica(), read_only=True) as store:
        rows: list[tuple[Any, ...]] = store.db.sql("SELECT seq, kind, actor FROM journal ORDER BY seq").fetchall()
        return rows


def _sound(host: Host, journal: list[tuple[Any, ...]]) -> Iterator[str]:
    """Yield the names of the tasks in the replica, which must be what its journal says, and that the other's."""
    from tui_tasks.core.maintenance import database_findings
    from tui_tasks.core.store import Store

    assert _journal(host) == journal
    with Store(host.replica(), read_only=True) as store:
        assert list(database_findings.findings(store.db)) == []
        assert list(database_findings.differences(store.db)) == []
        for (name,) in store.db.sql("SELECT name FROM task ORDER BY id"):
            yield name


def _digest(host: Host) -> str:
    from tests.postgres.machines import digest

    return digest(host.replica())


def _claims(hosts: list[Host], budget: Budget) -> str:
    """Let many agents of both machines claim tasks until none is left: each must have one owner."""
    _first_look(hosts)
    count = budget.of(TASKS, least=40)
    serving = [Serving(hosts[number % 2], f"claimer{number}") for number in range(budget.of(CLAIMERS, least=4))]
    try:
        for number in range(count):
            reply = serving[0].ask({"tool": "tasklist:add_task", "arguments": {"name": f"task {number}"}})
            assert reply is not None
            assert reply["ok"], reply
        taken: dict[str, list[str]] = {}
        threads = [threading.Thread(target=_claim_all, args=(each, taken)) for each in serving]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        for each in serving:
            each.end()
    owners = [uid for uids in taken.values() for uid in uids]
    assert len(taken) == len(serving), f"a claimer has ended: {sorted(taken)}"
    assert (len(owners), len(set(owners))) == (count, count), (len(owners), len(set(owners)))
    return f"{len(serving)} claimers on {count:,} tasks: each claimed once"


def _claim_all(serving: Serving, taken: dict[str, list[str]]) -> None:
    mine: list[str] = []
    while True:
        reply = serving.ask({"tool": "control:claim", "arguments": {}})
        assert reply is not None
        if not reply["ok"]:
            assert reply["error"]["code"] == "busy", reply
            continue
        if reply["result"] is None:
            break
        mine.append(reply["result"]["task"]["uid"])
        done = {"uid": mine[-1], "status": "done"}
        while (reply := serving.ask({"tool": "control:update_task", "arguments": done})) and not reply["ok"]:
            assert reply["error"]["code"] == "busy", reply
    taken[serving.agent] = mine
