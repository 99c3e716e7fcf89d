"""The scheduler's operations on one store, by short names, and what tests of jobs and runs share."""

from datetime import datetime
from zoneinfo import ZoneInfo

from tui_tasks.core.engine.database import Database
from tui_tasks.core.job_snapshots import Heartbeat
from tui_tasks.core.maintenance.replay import replay
from tui_tasks.core.operations.jobs import BeginRun, ClaimRun, CreateJob, DecideDue, EndRun
from tui_tasks.core.read import job_queries
from tui_tasks.core.schema import migrate
from tui_tasks.core.schema.tables import STATE
from tui_tasks.text.times import SECOND

MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
EVERY_MINUTE = dict.fromkeys(("minute", "hour", "day", "month", "weekday"), "*")
FIRST = 1_767_352_980 * SECOND  # the first full minute after START


class Jobs:
    """The scheduler's operations on one store, by short names."""

    def __init__(self, store, clock):
        self.store, self.clock = store, clock

    def commit(self, operation, actor="system"):
        return self.store.commit(operation, actor=actor, now=self.clock())[0]

    def make(self, name="job", kind="scheduled", *, actor="agent", zone="UTC", settings=None, **fields):
        if kind == "scheduled":
            fields.setdefault("schedule", EVERY_MINUTE)
        operation = CreateJob(name, kind, "be brief", "do it", zone, settings=settings or {}, **fields)
        return self.commit(operation, actor)

    def job(self, uid):
        return job_queries.job(self.store.db, uid)

    def runs(self, uid, limit=100_000):
        return list(job_queries.each_run(self.store.db, uid, limit))

    def decide(self, uid):
        """Decide everything that is due; return how many times that were."""
        total = 0
        while part := self.commit(DecideDue(uid)):
            total += part
        return total

    def claim(self, run_uid, pid=1, max_parallel=10):
        return self.commit(ClaimRun(run_uid, heartbeat(run_uid, self.clock(), pid), max_parallel))

    def begin(self, run_uid, pid=2):
        by = heartbeat(run_uid, self.clock(), pid, supervised=True)
        return self.commit(BeginRun(run_uid, by, "hash", self.clock() + HOUR))

    def ran(self, run_uid, outcome="success", **told):
        """Take a run of the runner's from its claim to its end."""
        assert self.claim(run_uid)
        assert self.begin(run_uid)
        return self.commit(EndRun(run_uid, outcome, **told))


def heartbeat(run_uid, at, pid=1, supervised=False):
    return Heartbeat(run_uid, supervised, "boot", "namespace", pid, "born", at)


def at(text, zone):
    return int(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()) * SECOND


def tables(db):
    """Every row of the state, by table."""
    return {name: sorted(db.sql(f'SELECT * FROM "{name}"').fetchall(), key=repr) for name in STATE}


def replayed(store):
    other = Database(":memory:")
    migrate(other)
    replay(store.db, other)
    return tables(other)
