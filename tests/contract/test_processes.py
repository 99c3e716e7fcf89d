"""Many processes on one database: nothing lost, nothing doubled, nobody held up.

See docs: protocol, sections 2, 3 and 7.
"""

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from tests.contract.client import DEADLINE, Agent
from tests.talking import ADD
from tui_tasks.core.engine.driver import connect
from tui_tasks.core.maintenance import database_findings
from tui_tasks.core.maintenance.replay import replay
from tui_tasks.core.operations.tasks import AddTask, CreatePlan
from tui_tasks.core.store import Store

NOW = 1_767_352_934_000_000


@pytest.fixture
def db(tmp_path):
    (tmp_path / "state").mkdir(mode=0o700)
    return tmp_path / "state" / "tasks.db"


@pytest.fixture
def agents(db):
    """A number of serving processes, all started at once."""
    with ExitStack() as stack:
        yield lambda count: [
            stack.enter_context(Agent(db, "--agent", f"agent-{n}", is_patient=True)) for n in range(count)
        ]


def sound(db) -> None:
    """Nothing about the database is broken, and its journal gives it again."""
    raw = connect(db)
    assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    raw.close()
    with Store(str(db)) as store, Store(":memory:") as again:
        assert database_findings.broken_link(store.db) is None
        replay(store.db, again.db)
        for table in ("list", "task", "log", "claim", "edge"):
            everything = f"SELECT * FROM {table} ORDER BY 1, 2"
            assert again.db.sql(everything).fetchall() == store.db.sql(everything).fetchall()


def at_once(work, agents) -> list:
    with ThreadPoolExecutor(len(agents)) as pool:
        return list(pool.map(work, agents))


# kill -9


def test_kill_9_after_a_reply_loses_nothing_and_what_is_sent_again_is_not_doubled(db):
    rng = random.Random(11)
    acknowledged: dict[str, str] = {}
    wanted: list[str] = []
    pending: list[dict] = []
    for kill in range(8):
        for n in range(30):
            name = f"{kill}.{n}"
            wanted.append(name)
            pending.append({"id": name, "tool": ADD, "arguments": {"name": name}, "idempotency_key": name})
        with Agent(db) as agent:
            agent.write(*pending)
            for _ in range(rng.randrange(0, 30)):
                reply = agent.reply()
                assert reply["ok"], reply
                acknowledged[reply["id"]] = reply["result"]["uid"]
            agent.kill()
            # Some were written to the pipe before the end and may be counted on as well.
            while (reply := agent.reply()) is not None:
                acknowledged[reply["id"]] = reply["result"]["uid"]
        pending = [request for request in pending if request["id"] not in acknowledged]
    with Agent(db) as agent:
        agent.write(*pending)
        for _ in pending:
            reply = agent.reply()
            acknowledged[reply["id"]] = reply["result"]["uid"]
        shown = {task["name"]: task["uid"] for task in agent.ok("tasklist:display")}
        assert len(agent.ok("tasklist:display")) == len(wanted)
        assert agent.finish() == []
    assert shown == acknowledged
    assert sorted(shown) == sorted(wanted)
    sound(db)


def test_a_process_that_is_killed_while_it_writes_takes_nothing_of_the_others(db, agents):
    victim, *others = agents(3)
    victim.write(*[{"tool": ADD, "arguments": {"name": "victim"}}] * 400)
    assert victim.reply()["ok"]

    def work(agent: Agent) -> int:
        return sum(agent.ask(ADD, name="other")["ok"] for _ in range(60))

    with ThreadPoolExecutor(2) as pool:
        counts = [pool.submit(work, agent) for agent in others]
        victim.kill()
        assert [count.result() for count in counts] == [60, 60]
    names = [task["name"] for task in others[0].ok("tasklist:display")]
    assert names.count("other") == 120
    assert names.count("victim") >= sum(1 for line in victim.lines if line["ok"])
    sound(db)


# Many writers


def count_up(agent: Agent, shared: str) -> None:
    """Raise the number in the shared task, only if nobody has since it was read."""
    for _ in range(10_000):
        task = agent.ok("control:task", uid=shared)
        number = str(int(task["description"]) + 1)
        reply = agent.ask("tasklist:update_task", {"if_version": task["version"]}, uid=shared, description=number)
        if reply["ok"]:
            return
        assert reply["error"]["code"] == "conflict", reply
        assert reply["error"]["data"]["version"] > task["version"]
    raise AssertionError("never got through")


def test_eight_writers_lose_no_update_and_see_no_lock(db, agents):
    serving = agents(8)
    shared = serving[0].ok(ADD, name="shared", description="0")["uid"]
    rounds = 12

    def work(agent: Agent) -> None:
        for n in range(rounds):
            count_up(agent, shared)
            uid = agent.ok(ADD, name=f"{n}")["uid"]
            agent.ok("tasklist:update_task", uid=uid, description="d", status="done")
            agent.ok("tasklist:add_task_before", {"idempotency_key": f"k{n}"}, uid=uid, name="before")
            if n % 3 == 0:
                agent.ok("tasklist:delete_task", uid=uid)
            if n % 4 == 0:
                batch = [{"tool": ADD, "arguments": {"name": "batch"}}] * 3
                agent.write(batch)
                assert all(reply["ok"] for reply in agent.reply())
            if n % 5 == 0:
                agent.ok("control:undo")

    at_once(work, serving)
    described = serving[0].ok("control:task", uid=shared)
    assert described["description"] == str(8 * rounds)
    assert described["version"] == 8 * rounds + 1
    names = [task["name"] for task in serving[0].ok("tasklist:display")]
    # Undone at 0, 5 and 10: a batch, a task put before, a task put before.
    assert names.count("batch") == 8 * 2 * 3
    assert names.count("before") == 8 * (rounds - 2)
    assert sum(name.isdigit() for name in names) == 8 * (rounds - 4)
    for agent in serving:
        assert agent.finish() == []
    sound(db)


def test_processes_that_add_at_once_give_each_task_a_number_of_its_own_which_names_it_everywhere(db, agents):
    def work(agent: Agent) -> list[tuple[int, str]]:
        made = []
        for n in range(20):
            uid = agent.ok(ADD, {"list": f"list {n % 3}"}, name=str(n))["uid"]
            made.append((agent.ok("control:task", uid=uid)["number"], uid))
            if n % 5 == 0:
                agent.ok("tasklist:delete_task", uid=f"#{made[-1][0]}")
        return made

    each = agents(4)
    made = [pair for of_one in at_once(work, each) for pair in of_one]
    assert sorted(number for number, _ in made) == list(range(1, 81))
    entries = each[0].ok("control:history", limit=200)["entries"]
    told = {entry["task"]["number"]: entry["task"]["uid"] for entry in entries if "task" in entry}
    assert told == dict(made)
    for number, uid in made[1:5]:
        assert each[3].ok("tasklist:set_task_done", uid=str(number))["uid"] == uid
    sound(db)


def test_one_key_sent_by_many_at_once_is_one_write_with_one_reply_for_all(db):
    request = {"id": 1, "tool": ADD, "arguments": {"name": "once"}, "idempotency_key": "k"}
    with ExitStack() as stack:
        serving = [stack.enter_context(Agent(db, "--agent", "same", is_patient=True)) for _ in range(4)]

        def work(agent: Agent) -> list:
            agent.write(*[request] * 5)
            return [agent.reply() for _ in range(5)]

        replies = [reply for answered in at_once(work, serving) for reply in answered]
        assert all(reply == replies[0] for reply in replies)
        assert [task["uid"] for task in serving[0].ok("tasklist:display")] == [replies[0]["result"]["uid"]]


def test_one_in_progress_for_each_agent_holds_among_processes(db, agents):
    serving = agents(4)
    uids = [serving[0].ok(ADD, name=str(n))["uid"] for n in range(4)]

    def work(agent: Agent) -> list[str]:
        """Try to start each task; finish what was started. Two processes speak as one agent each."""
        won = []
        speaker = {"agent": "ab"[serving.index(agent) % 2]}
        for uid in uids * 5:
            reply = agent.ask("tasklist:set_task_in_progress", speaker, uid=uid)
            if reply["ok"]:
                agent.ok("tasklist:log_task_progress", speaker, uid=uid, message="mine")
                won.append(uid)
                agent.ok("tasklist:set_task_pending", speaker, uid=uid)
            else:
                assert reply["error"]["data"]["in_progress"] in uids
        return won

    assert any(at_once(work, serving))
    entries = serving[0].ok("control:history", since=0, limit=10_000)["entries"]
    running: dict[str, str] = {}
    counts = set()
    for entry in entries:
        match entry["changes"].get("status"):
            case [_, "in_progress"]:
                running[entry["task"]["uid"]] = entry["actor"]
            case [_, _]:
                del running[entry["task"]["uid"]]
        counts.add(max(map(list(running.values()).count, "ab")))
    assert counts == {0, 1}


def test_sixteen_claimers_take_each_task_once(db, agents):
    with Store(str(db)) as store:
        (plan,) = store.commit(CreatePlan("all of it"), actor="human", now=NOW)
        tasks = [AddTask(str(n), plan.uid, priority=1 + n % 4) for n in range(160)]
        made = {task.uid for task in store.commit(*tasks, actor="human", now=NOW)}
    serving = agents(16)

    def work(agent: Agent) -> list[str]:
        taken = []
        while held := agent.ok("control:claim", list=plan.uid):
            taken.append(held["task"]["uid"])
            if len(taken) % 2:
                agent.ok("tasklist:set_task_done", uid=taken[-1])
        return taken

    taken = at_once(work, serving)
    everything = [uid for uids in taken for uid in uids]
    assert len(everything) == 160
    assert set(everything) == made
    for agent, uids in zip(serving, taken, strict=True):
        for uid in uids[:2]:
            assert agent.ok("control:task", uid=uid)["agent"] == f"agent-{serving.index(agent)}"
    sound(db)


def test_a_lease_of_a_process_that_was_killed_lapses_in_another(db, agents):
    holder, other = agents(2)
    uid = holder.ok(ADD, name="one")["uid"]
    other.ok("control:subscribe")
    holder.ok("control:claim", lease_seconds=1)
    holder.kill()
    kinds = []
    while not kinds or not kinds[-1].startswith("claim.") or len(kinds) < 4:
        kinds.append(other.event()["event"])
    assert other.ok("control:task", uid=uid)["status"] == "pending"
    assert other.ok("control:claim")["task"]["uid"] == uid


# Events


def test_subscribers_elsewhere_get_every_event_once_and_in_order(db, agents):
    one, two, first, second = agents(4)
    assert first.ok("control:subscribe") == {"seq": 0}

    def work(agent: Agent) -> None:
        for n in range(60):
            agent.write({"tool": ADD, "arguments": {"name": str(n)}}, [{"tool": ADD, "arguments": {"name": "b"}}] * 2)
            agent.reply()
            agent.reply()

    with ThreadPoolExecutor(2) as pool:
        working = [pool.submit(work, agent) for agent in (one, two)]
        second.ok("control:subscribe", since=0)
        for done in working:
            done.result()
    for agent in (first, second):
        heard = [agent.event() for _ in range(360)]
        assert [event["seq"] for event in heard] == list(range(1, 361))
        assert {event["actor"] for event in heard} == {"agent-0", "agent-1"}
        assert agent.finish() == []


def test_events_come_after_the_reply_that_subscribed_and_in_order_with_the_replies(agents):
    (agent,) = agents(1)
    agent.write(
        {"id": 1, "tool": ADD, "arguments": {"name": "before"}},
        {"id": 2, "tool": "control:subscribe"},
        {"id": 3, "tool": ADD, "arguments": {"name": "after"}},
    )
    assert [agent.reply()["id"] for _ in range(3)] == [1, 2, 3]
    assert agent.event()["seq"] == 2
    kinds = ["event" if "event" in line else line["id"] for line in agent.lines]
    assert kinds.index("event") > kinds.index(2)


def test_a_subscriber_who_does_not_read_holds_up_nobody_and_is_told_where_it_lagged(db, agents):
    writer, other = agents(2)
    with Agent(db, "--agent", "still", reading=False) as still:
        still.write({"id": "s", "tool": "control:subscribe", "arguments": {"since": 0}})
        batch = [{"tool": ADD, "arguments": {"name": "x" * 300}}] * 500
        for _ in range(6):
            writer.write(batch)
            assert all(reply["ok"] for reply in writer.reply())
            assert other.ok("control:hello")
        # It stands still for long enough after the last that was written to it to be no slow reader.
        unread, since = 0, time.monotonic()
        while unread <= 60_000 or time.monotonic() < since + 2:
            writer.ok(ADD, name="more")
            if still.unread() != unread:
                unread, since = still.unread(), time.monotonic()
        still.write(*({"id": n, "tool": "tasklist:get_task", "arguments": {"uid": "none"}} for n in range(50)))
        still.read()
        assert [still.reply()["id"] for _ in range(51)] == ["s", *range(50)]
        newest = writer.ok("control:hello")["seq"]
        assert read_events_up_to(still, newest) == 1


def read_events_up_to(agent: Agent, newest: int) -> int:
    """Hear every event up to the newest in order, subscribing again where it was lagged; how often it was."""
    heard, lagged = 0, 0
    while heard < newest:
        event = agent.event()
        if event["event"] == "lagged":
            assert event == {"event": "lagged", "since": heard}
            lagged += 1
            agent.write({"tool": "control:subscribe", "arguments": {"since": heard}})
            assert agent.reply()["result"] == {"seq": heard}
        elif event["seq"] == heard + 1:
            heard += 1
        else:
            # What came after the gap comes again once it has subscribed from before it.
            assert lagged
            assert event["seq"] > heard
    return lagged


def test_a_reader_who_stands_still_loses_no_reply_and_is_asked_for_no_more_than_fits(db, agents):
    (writer,) = agents(1)
    text = "d" * 20_000
    uid = writer.ok(ADD, name="great", description=text)["uid"]
    request = {"tool": "tasklist:get_task", "arguments": {"uid": uid}}
    with Agent(db, reading=False) as still:
        sent = threading.Thread(target=lambda: still.write(*({"id": n} | request for n in range(2_000))), daemon=True)
        sent.start()
        assert writer.ok(ADD, name="meanwhile")
        still.read()
        for n in range(2_000):
            reply = still.reply()
            assert (reply["id"], reply["result"]["description"]) == (n, text)
        sent.join(DEADLINE)
        assert still.peak() < 200 * 1024
        assert still.finish() == []
