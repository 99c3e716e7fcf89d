"""Killed with -9 at each step between decision and record: each run is final within a lease, none runs twice."""

from datetime import UTC, datetime

import pytest

from tests.core.job_steps import Jobs, replayed, tables
from tests.runner.hosting import Host, hosted, killed_host, runners
from tests.started import until
from tui_tasks import clock
from tui_tasks.core import heartbeats

LEASE = 1.0


@pytest.mark.parametrize(
    ("at", "outcome", "reason", "starts"),
    [
        ("scheduler decided", "success", None, {1}),
        ("scheduler claimed", "interrupted", "it was claimed by a scheduler, but never began", {0}),
        ("scheduler started", "success", None, {1}),
        ("supervisor opened", "interrupted", "it was claimed by a scheduler, but never began", {0}),
        ("supervisor begun", "interrupted", "its supervisor died", {0}),
        ("supervisor started", "interrupted", "its supervisor died", {0, 1}),
        ("supervisor ended", "interrupted", "its supervisor died", {1}),
        ("supervisor recorded", "success", None, {1}),
    ],
)
def test_a_run_is_final_within_a_lease_and_never_started_twice(store, path, tmp_path, at, outcome, reason, starts):
    host = Host(store)
    file = tmp_path / "starts"
    table = {"command": ["sh", "-c", f"echo started >> {file}"]}
    run = due_now(host)
    killed_host(str(path), table, at)
    with hosted(str(path), runners(**table), lease=LEASE):
        ended = host.ended(run())
    assert (ended.outcome, ended.reason) == (outcome, reason)
    assert (file.read_text().count("started") if file.exists() else 0) in starts
    (only,) = host.jobs.runs(ended.job_uid)
    assert only.decision == "ran"
    assert heartbeats.everyone(store.db) == []
    assert replayed(store) == tables(store.db)


def due_now(host):
    """A job that has been due once for half a minute; return what gives its run, once that is decided."""
    ago = Jobs(host.jobs.store, lambda: clock.now() - 60_000_000)
    moment = datetime.fromtimestamp(clock.now() / 1_000_000 - 30, UTC).isoformat()
    job = ago.make("once", "planned", plan=(moment,), dedicated_context=True, settings={"retries": 3})

    def run():
        return until(lambda: host.jobs.runs(job.uid), "the decision")[0]

    return run
