"""Few rows can be many megabytes: replies, events and what is kept of reads are bounded by bytes, not by counts."""

import errno
import json
import os
import tempfile
import tracemalloc
from contextlib import contextmanager, suppress

import pytest

from tests.conftest import Talk
from tests.core.job_steps import Jobs
from tests.runner.hosting import runners
from tests.soak import long_reads
from tests.talking import add
from tui_tasks.channel.loop import OutputQueue
from tui_tasks.channel.replies import LongLine, whole
from tui_tasks.channel.subscription import PAGE_BYTES
from tui_tasks.core.operations.jobs import RunJob
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.tasks import task_summary
from tui_tasks.dialects import events, long_replies
from tui_tasks.runner.scheduler_service import SchedulerService

LONG = 400_000
MEGABYTE = 1024 * 1024
# Tools whose replies are a page, or cannot be so long.
BOUNDED = {"control:find", "control:history", "control:lists", "todo"}
MEGABYTES = {"control:history": 20}


@contextmanager
def at_most(megabytes: float):
    """What is done in it takes no more memory than that."""
    tracemalloc.start()
    try:
        yield
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < megabytes * MEGABYTE


def rewritten(talk: Talk, times: int, length: int = LONG) -> str:
    """A task whose long description has been rewritten so often."""
    uid = add(talk)
    for number in range(times):
        talk.ok("tasklist:update_task", uid=uid, description=f"{number} " + "d" * length)
    return uid


def test_a_page_of_history_ends_where_it_is_long_and_the_next_goes_on(talk):
    uid = rewritten(talk, 20)
    seqs, since = [], 0
    while since is not None:
        with at_most(40):
            (line,) = talk.session.answer([{"tool": "control:history", "args": {"since": since, "limit": 1_000}}])
        assert len(line) < events.PAGE_BYTES + 4 * LONG
        page = json.loads(line)["result"]
        seqs += [entry["seq"] for entry in page["entries"]]
        since = page["next"]
    assert seqs == list(range(1, 22))
    of_task = talk.ok("control:history", since=0, limit=1_000, task=uid)
    assert of_task["next"] == of_task["entries"][-1]["seq"] < 21


def test_without_since_the_newest_are_told_as_far_as_there_is_room(talk):
    rewritten(talk, 20)
    with at_most(40):
        (line,) = talk.session.answer([{"tool": "control:history", "args": {"limit": 1_000}}])
    page = json.loads(line)["result"]
    seqs = [entry["seq"] for entry in page["entries"]]
    assert 1 < len(seqs) < 10
    assert seqs == list(range(22 - len(seqs), 22))
    assert page["next"] is None


def test_one_entry_that_is_longer_than_a_page_is_told_whole(talk):
    long = events.PAGE_BYTES * 2 // 5
    rewritten(talk, 3, long)
    page = talk.ok("control:history", since=2, limit=5)
    assert [entry["seq"] for entry in page["entries"]] == [3]
    assert page["next"] == 3
    page = talk.ok("control:history", since=3, limit=5)
    assert len(page["entries"][0]["changes"]["description"][1]) > long
    assert page["next"] is None


def test_a_long_past_is_told_to_a_subscriber_a_little_at_a_time(talk):
    rewritten(talk, 20)
    talk.ok("control:subscribe", since=0)
    heard = []
    with at_most(20):
        while lines := talk.session.subscription.events(blocked=False):
            assert len(lines) == 1 or sum(map(len, lines[:-1])) < PAGE_BYTES
            heard += [json.loads(line)["seq"] for line in lines]
    assert heard == list(range(1, 22))


def test_no_tool_that_reads_takes_memory_for_all_it_tells(talk):
    named = long_reads.fill_long(talk.ok, 12, LONG)
    assert long_reads.not_asked(named) == set()
    for tool, calls in long_reads.reads(**named).items():
        for arguments in calls:
            with at_most(MEGABYTES.get(tool, 4)):
                (line,) = talk.session.answer_lines([{"tool": tool, "args": arguments}])
            if tool not in BOUNDED:
                assert isinstance(line, LongLine), tool
                assert line.size > 10 * LONG


def test_a_long_reply_is_the_same_to_the_byte_as_if_it_were_short(talk, monkeypatch):
    named = long_reads.fill_long(talk.ok, 3, 50)
    for tool, calls in long_reads.reads(**named).items():
        for arguments in calls:
            request = {"id": 7, "tool": tool, "args": arguments}
            (short,) = talk.session.answer([request])
            monkeypatch.setattr(long_replies, "MEMORY_BYTES", 0)
            (line,) = talk.session.answer_lines([request])
            (batch,) = talk.session.answer([[request, request]])
            monkeypatch.undo()
            assert isinstance(line, LongLine) or tool == "control:history"
            assert whole(line) == short
            assert json.loads(batch) == [json.loads(short)] * 2


def test_a_long_reply_is_sent_in_parts_between_others(talk, monkeypatch):
    add(talk, "one")
    monkeypatch.setattr(long_replies, "MEMORY_BYTES", 0)
    display, task = {"tool": "tasklist:display"}, {"tool": "tasklist:get_task_in_progress"}
    lines = talk.session.answer_lines([task, display, display, task])
    from_it, to = os.pipe()
    outbox = OutputQueue(to)
    for line in lines:
        outbox.put(line)
    assert outbox.size == sum(len(whole(line)) + 1 for line in lines)
    outbox.flush()
    assert outbox.size == 0
    os.close(to)
    with os.fdopen(from_it, "rb") as pipe:
        assert pipe.read() == b"".join(whole(line) + b"\n" for line in lines)


def test_of_lines_that_a_reader_leaves_those_that_are_not_written_whole_are_known(talk, monkeypatch):
    add(talk, "n" * 9_000)
    monkeypatch.setattr(long_replies, "MEMORY_BYTES", 0)
    long_line = talk.session.answer_lines([{"tool": "tasklist:display"}])[0]
    assert isinstance(long_line, LongLine)
    lines = [b"a", b"b" * 5_000, long_line, b"c"] * 3
    wholes = [whole(line) for line in lines]
    total = sum(len(line) + 1 for line in wholes)
    for room in (0, 1, 2, 4_096, 6_000, 9_000, 15_000, 20_000, total - 1, total):
        _, to = os.pipe()
        outbox = OutputQueue(to)
        written = bytearray()

        def write(_: int, data: memoryview, room: int = room, written: bytearray = written) -> int:
            if len(written) == room:
                raise BrokenPipeError
            taken = bytes(data[: room - len(written)])
            written += taken
            return len(taken)

        for line in lines:
            outbox.put(line)
        with monkeypatch.context() as broken, suppress(BrokenPipeError):
            broken.setattr(os, "write", write)
            outbox.flush()
        os.close(to)
        os.close(_)
        assert list(outbox.unwritten_lines()) == wholes[written.count(b"\n") :]


def test_a_reply_that_finds_no_room_is_refused_and_the_next_is_served(talk, monkeypatch):
    def no_room(**_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    add(talk, "one")
    with monkeypatch.context() as full:
        full.setattr(long_replies, "MEMORY_BYTES", 0)
        full.setattr(tempfile, "TemporaryFile", no_room)
        error = talk.refused("tasklist:display")
    assert error["code"] == "storage_error"
    assert "No space left" in error["message"]
    assert [task["name"] for task in talk.ok("tasklist:display")] == ["one"]


def test_a_page_reads_no_more_rows_than_it_returns(talk, monkeypatch):
    uids = [add(talk, f"task {number}") for number in range(50)]
    read = []
    summary = task_summary.TaskSummary
    monkeypatch.setattr(task_summary, "TaskSummary", lambda *row: read.append(row) or summary(*row))
    page = talk.ok("tasklist:display", after=uids[20], limit=3)
    assert [task["uid"] for task in page] == uids[21:24]
    page = talk.ok("tasklist:get_tasks", status=["pending", "done"], after=uids[40], limit=2)
    assert [task["uid"] for task in page] == uids[41:43]
    assert len(read) == 5


@pytest.mark.parametrize("tool", ["tasklist:display", "control:history"])
def test_no_reply_of_a_read_is_kept_under_its_key(talk, tool):
    add(talk, "one")
    key = {"idempotency_key": "k"}
    before = talk.ok(tool, key)
    add(talk, "two")
    assert talk.ok(tool, key) != before
    assert talk.store.db.scalar("SELECT count(*) FROM kept_reply") == 0


def test_a_read_may_carry_a_key_where_nothing_can_be_written(talk, store, clock):
    add(talk, "one")
    reader = Talk(store, clock, read_only=True)
    assert [task["name"] for task in reader.ok("tasklist:display", {"idempotency_key": "k"})] == ["one"]


def test_a_key_of_a_write_is_refused_to_a_read(talk):
    add(talk, "one", idempotency_key="k")
    assert talk.refused("tasklist:display", {"idempotency_key": "k"})["code"] == "invalid_request"


def test_runs_that_wait_are_looked_at_without_their_contexts(store, clock, path):
    jobs = Jobs(store, clock)
    for number in range(20):
        job = jobs.make(f"job {number}", "adhoc", dedicated_context=True)
        jobs.commit(RunJob(job.uid, context="c" * 900_000))
    started = []

    def start(store, run, job):
        started.append(len(run.context))

    service = SchedulerService(str(path), lambda: runners(command=["true"], max_parallel=2), clock=clock, start=start)
    service.turn(store)
    with at_most(1):
        service.turn(store)
    assert started == [900_000, 900_000]


def test_a_line_on_a_screen_does_without_tags_that_no_screen_can_show(talk):
    many = [f"tag {number}" for number in range(60_000)]
    talk.ok("task", action="create", title="many", tags=many)
    few = talk.ok("task", action="create", title="few", tags=["a", "b"])["structuredContent"]["task"]["task_id"]
    home = list_pages.line(talk.store.db, few).list_id
    with at_most(4):
        page = list_pages.after(talk.store.db, home, list_pages.FIRST, 50)
    assert [(line.name, line.tags) for line in page] == [("many", ()), ("few", ("a", "b"))]
