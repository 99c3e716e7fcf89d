"""Machines of a team, each with a login role of its own: what agents do there, and what only the human's may."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from tests.contract.client import environment, program
from tests.hooks.playing import PAYLOADS
from tests.postgres.machines import digest
from tests.postgres.test_commands import added_over_mcp
from tests.postgres.test_machines import PERMISSION, START, hook, leave, state_of
from tests.runner.hosting import hosted, runners, shell
from tests.started import DEADLINE, Started, until
from tests.terminals import Terminal
from tui_tasks import clock
from tui_tasks.cli.main import main
from tui_tasks.client.requests import ToolError
from tui_tasks.core.errors import Refusal
from tui_tasks.core.operations.asks import AnswerAsk, AnswerByRule, SendMessage
from tui_tasks.core.operations.jobs import RecordSettings
from tui_tasks.core.operations.tasks import AddTask, EnsureList
from tui_tasks.core.operations.work import BeginMerge, ReportWork, RunWork, SetWork, StartWork
from tui_tasks.core.read import ask_queries, work_queries
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.rules.agents import ask_rules
from tui_tasks.core.store import Store
from tui_tasks.hooks import intake, screen_presence, session_processes
from tui_tasks.hooks.follower import StandingAnswers
from tui_tasks.hooks.replies import reply_sender
from tui_tasks.postgres.replica_files import replica_of
from tui_tasks.state.open_state import open_state

JOB = {"name": "Job", "system_prompt": "s", "prompt": "p"}
PROMPT = {"session_id": "s1", "hook_event_name": "UserPromptSubmit", "prompt": "go on"}


@pytest.fixture
def team(store_on, cluster, database, machine, capsys):
    """Stores on machines of a human, of the agents claude-*, of robin and of a monitor, by the roles of the command."""
    store_on("owner")
    roles = {who: f"{database}_{who}" for who in ("human", "claude", "robin", "monitor")}
    agents = [f"{roles['claude']}=claude-*", f"{roles['robin']}=robin"]
    words = ["--human", roles["human"], "--monitor", roles["monitor"]]
    assert main(["admin", "roles", *words, "--agent", agents[0], "--agent", agents[1]]) == 0
    cluster.sql(database, capsys.readouterr().out)
    made = SimpleNamespace(url={who: cluster.conninfo(database, role) for who, role in roles.items()})
    for who, url in made.url.items():
        machine(who)
        setattr(made, who, Store(replica_of(url)))
        getattr(made, who).db.catch_up()
    yield made
    for who in roles:
        getattr(made, who).close()
    listed = ", ".join(f'"{role}"' for role in roles.values())
    cluster.sql(database, f"DROP OWNED BY {listed}; DROP ROLE {listed}")


@pytest.mark.parametrize("name", sorted(path.stem for path in PAYLOADS.glob("claude-*.jsonl")))
def test_sessions_under_an_agents_role_are_seen_on_the_humans_machine(team, name):
    for line in (PAYLOADS / f"{name}.jsonl").read_text().splitlines():
        step = json.loads(line)
        if "payload" in step:
            leave(team.claude, step["payload"])
    team.human.db.catch_up()
    seen = session_queries.live(team.claude.db)
    assert [one.uid for one in session_queries.live(team.human.db)] == [one.uid for one in seen]
    assert digest(team.human.path) == digest(team.claude.path)


def test_a_session_under_an_agents_role_ends_with_its_process(team):
    with Started(["sleep", "1000"]) as program:
        leave(team.claude, START, program)
        program.kill()
    assert session_processes.end_departed(team.claude, clock.now()) == 1
    assert state_of(team.human) == "gone"


@pytest.fixture
def asking(team, machine):
    """Let a session under the agents' role ask for a permission; `output` is what its hook prints in the end, when it
    is answered or `leave` has closed the screen.
    """
    leave(team.claude, START)
    screen = contextlib.ExitStack()
    screen.enter_context(screen_presence.announced(team.claude.path, {"claude": DEADLINE}))
    with screen, hook(team.url["claude"], machine("claude"), PERMISSION) as process:
        asks: list[ask_queries.Ask] = []
        while not asks:
            intake.process_payloads(team.claude, clock.now())
            asks = list(ask_queries.open_asks(team.claude.db))
        team.human.db.catch_up()

        def look() -> None:
            team.claude.db.catch_up()
            reply_sender.ReplySender(team.claude).look(clock.now())

        def output() -> bytes:
            look()
            return process.communicate(timeout=DEADLINE)[0]

        yield SimpleNamespace(
            ask=asks[0], look=look, output=output, is_waiting=lambda: process.poll() is None, leave=screen.close
        )


def allowed(output: bytes) -> bool:
    decision = json.loads(output)["hookSpecificOutput"]["decision"]
    return decision == {"behavior": "allow"}


def test_a_permission_asked_under_an_agents_role_is_answered_by_the_human_elsewhere(team, asking):
    team.human.commit(AnswerAsk(asking.ask.uid, "Allow"), actor="human", now=clock.now())
    assert allowed(asking.output())


def test_a_permission_asked_under_an_agents_role_is_answered_by_a_rule_of_the_human_elsewhere(team, machine):
    rule = {"answer": "allow", "tool": "Bash", "pattern": "make"}
    team.human.commit(RecordSettings("config.toml", rules=(rule,)), actor="human", now=clock.now())
    team.claude.db.catch_up()
    leave(team.claude, START)
    with (
        screen_presence.announced(team.claude.path, {"claude": DEADLINE}),
        hook(team.url["claude"], machine("claude"), PERMISSION) as process,
    ):
        until(lambda: intake.process_payloads(team.claude, clock.now()), "the payload")
        (ask,) = ask_queries.open_asks(team.claude.db)
        StandingAnswers(team.claude).look(clock.now())
        team.human.db.catch_up()
        assert ask_queries.ask(team.human.db, ask.uid).state == "open"
        StandingAnswers(team.human).look(clock.now())
        team.claude.db.catch_up()
        reply_sender.ReplySender(team.claude).look(clock.now())
        output, _ = process.communicate(timeout=DEADLINE)
    assert allowed(output)
    found = ask_queries.ask(team.human.db, ask.uid)
    assert (found.state, found.rule) == ("answered", "allow Bash make")


def test_no_rule_answers_twice_or_what_it_does_not_match(team, asking):
    rules = StandingAnswers(team.human)
    rules.look(clock.now())
    rule = {"answer": "deny", "tool": "Bash", "pattern": "rm *"}
    team.human.commit(RecordSettings("config.toml", rules=(rule,)), actor="human", now=clock.now())
    StandingAnswers(team.human).look(clock.now())
    assert ask_queries.ask(team.human.db, asking.ask.uid).state == "open"
    team.human.commit(AnswerAsk(asking.ask.uid, "Allow"), actor="human", now=clock.now())
    team.human.commit(AnswerByRule(asking.ask.uid), actor="system", now=clock.now())
    assert ask_queries.ask(team.human.db, asking.ask.uid).answer == "Allow"
    asking.output()


def test_an_answer_to_a_question_that_took_a_hooks_name_does_not_reach_the_hook(team, asking):
    """A role reads the name in the journal, and asks something harmless under it."""
    request = {**asking.ask.request, "program": "claude"}
    with team.claude.transaction(clock.now()) as tx, tx.change():
        tx.speak("claude-9")
        forged = ask_rules.open_request(tx, request, "May I go on?", ("Allow", "Deny"), None)
    team.human.db.catch_up()
    team.human.commit(AnswerAsk(forged.uid, "Allow"), actor="human", now=clock.now())
    asking.look()
    assert asking.is_waiting()
    team.human.commit(AnswerAsk(asking.ask.uid, "Deny"), actor="human", now=clock.now())
    asking.look()
    asking.leave()
    assert asking.output() == b""


def test_a_message_of_the_human_is_delivered_once_by_a_hook_under_an_agents_role(team, machine):
    leave(team.claude, START)
    team.human.db.catch_up()
    team.human.commit(SendMessage("claude-1", "stop that"), actor="human", now=clock.now())
    team.claude.db.catch_up()
    box = reply_sender.ReplySender(team.claude)
    box.look(clock.now())
    for expected in (True, False):
        with hook(team.url["claude"], machine("claude"), PROMPT) as process:
            output, _ = process.communicate(timeout=DEADLINE)
        assert (b"stop that" in output) == expected
        box.look(clock.now())
    team.human.db.catch_up()
    assert team.human.db.scalar("SELECT count(*) FROM journal WHERE kind = 'message.delivered'") == 1


@pytest.mark.parametrize("program", ["monitor", "robin"])
def test_payloads_of_sessions_that_a_role_may_not_write_are_left_out_and_one_line_says_why(team, caplog, program):
    store = getattr(team, program)
    leave(store, START)
    leave(store, PROMPT)
    assert list(session_queries.live(store.db)) == []
    assert [one.message for one in caplog.records if "may not write" in one.message] != []


def work_in_every_family(call: Callable[..., Any]) -> None:
    """Let an agent use the five families of tools, and those of the channel."""
    first, second = (call("tasklist:add_task", name=name)["uid"] for name in ("One", "Two"))
    call("tasklist:swap_tasks", uid1=first, uid2=second)
    call("tasklist:set_task_done", uid=first)
    call("tasklist:log_task_progress", uid=second, message="half")
    made = call("task", action="create", title="Three", priority="high")["structuredContent"]["task"]
    call("task", action="update", task_id=made["task_id"], status="completed", result={"found": 1})
    call("todo", merge=False, todos=[{"id": str(n), "content": "x", "status": "pending"} for n in (1, 2)])
    call("todo", merge=True, todos=[{"id": str(n), "status": "completed"} for n in (1, 2)])
    plan = call("tasks", action="create_plan", title="Plan", tasks=[{"title": "Four"}])
    call("tasks", action="update", id=plan["tasks"][0]["id"], status="in_progress", notes="mine")
    call("tasks", action="save_state", task_id=plan["tasks"][0]["id"], approach="slowly")
    job = call("scheduler:create_adhoc_task", name="Job", system_prompt="s", prompt="p")["uuid"]
    run_id = call("scheduler:run_task", uuid=job)["run_id"]
    call("scheduler:finish_run", run_id=run_id, outcome="success", result="done")
    call("scheduler:delete_task", uuid=job)
    call("control:undo")
    claim = call("control:claim", uid=second)["claim"]
    call("control:heartbeat", claim=claim)
    call("control:release", claim=claim)
    call("tasklist:clear")
    call("control:undo")


def test_an_agent_works_in_every_family_of_tools_under_its_role(team, machine):
    machine("robin")
    with open_state(team.url["robin"], agent="robin") as state:
        work_in_every_family(lambda tool, **arguments: state.call(tool, arguments, idempotency_key=os.urandom(8).hex()))
        with pytest.raises(ToolError, match="nobody has answered"):
            state.call("ask", {"question": "Which?", "timeout": 0.01})
    team.human.db.catch_up()
    assert team.human.db.scalar("SELECT count(*) FROM journal WHERE actor NOT IN ('robin', 'system')") == 0
    assert digest(team.human.path) == digest(team.robin.path)


def test_an_agent_works_over_mcp_under_its_role_and_in_no_other_name(team, machine):
    machine("robin")
    assert added_over_mcp(team.url["robin"], "--agent", "robin")["isError"] is False
    refused = added_over_mcp(team.url["robin"], "--agent", "claude-1")
    assert refused["isError"]
    assert "is the agent robin and may not write task.created as claude-1" in json.dumps(refused)


def test_an_agent_that_gives_another_name_than_its_roles_is_refused_in_one_line(team, machine, capsys):
    machine("robin")
    for words in (["call", "tasklist:add_task", "name=X"], ["add", "X"], ["call", "--agent", "claude-1", "task"]):
        assert main([*words, "--db", team.url["robin"]]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert "is the agent robin and may not write task.created as agent" in lines[0]
    assert "is the agent robin and may not write task.created as shell" in lines[1]


def test_a_monitors_role_is_refused_each_write_in_one_line_and_reads_all(team, machine, capsys):
    with team.human.transaction(clock.now()) as tx, tx.change():
        tx.speak("human")
        home = tx.run(EnsureList("tasklist", "tasklist"))
        tx.run(AddTask("One", home.uid))
    machine("monitor")
    url = team.url["monitor"]
    for words in (["add", "X"], ["done", "1"], ["undo"], ["call", "tasklist:add_task", "name=X"]):
        assert main([*words, "--db", url]) == 1
        out, error = capsys.readouterr()
        assert out == ""
        assert re.fullmatch(r'(tui-tasks: |.*")role \S+ only reads: it may not write(".*)?\n', error)
    for words in (["ls"], ["show", "1"], ["digest"], ["agents"], ["asks"]):
        assert main([*words, "--db", url]) == 0
    assert "One" in capsys.readouterr().out


def test_the_screens_of_a_monitor_and_of_an_agents_role_stay_live_and_say_why_they_cannot_write(
    team, machine, tmp_path
):
    for who, words, says in (
        ("monitor", ("watch",), ""),
        ("monitor", (), "only reads: it may not write"),
        ("robin", (), "is the agent robin and may not write task.created as human"),
    ):
        command = program(*words, "--no-scheduler", "--db", team.url[who])
        environ = environment(tmp_path / who, XDG_STATE_HOME=str(machine(who)))
        terminal = Terminal(command, lines=30, columns=100, piped=False, environment=environ)
        try:
            until(lambda terminal=terminal: terminal.shows("Quit"), "the screen")
            if says:
                terminal.type("nZed\r")
                until(lambda terminal=terminal, says=says: terminal.shows(says), "the refusal")
            seen = f"Seen by {who} {len(words)}"
            with team.human.transaction(clock.now()) as tx, tx.change():
                tx.speak("human")
                tx.run(AddTask(seen, tx.run(EnsureList("tasklist", "tasklist")).uid))
            until(lambda terminal=terminal, seen=seen: terminal.shows(seen), "the human's task")
            assert not terminal.shows("server away")
        finally:
            terminal.close()


def test_a_job_that_an_agent_makes_is_run_by_a_machine_of_the_human(team, machine):
    machine("robin")
    with open_state(team.url["robin"], agent="robin") as state:
        job = state.call("scheduler:create_adhoc_task", {**JOB, "dedicated_context": True})["uuid"]
        state.call("scheduler:run_task", {"uuid": job})
        team.human.db.catch_up()
        with (
            hosted(team.robin.path, runners(**shell("echo robin"))),
            hosted(team.human.path, runners(**shell("echo human"))),
        ):
            done = state.call("scheduler:wait_for_task", {"uuid": job, "timeout": DEADLINE})
    assert (done["outcome"], done["result"].strip()) == ("success", "human")


def test_work_that_the_human_started_is_reported_ready_under_an_agents_role(team, tmp_path, machine):
    with team.human.transaction(clock.now()) as tx, tx.change():
        tx.speak("human")
        task = tx.run(AddTask("One", tx.run(EnsureList("tasklist", "tasklist")).uid))
        tx.run(StartWork(task.uid, "claude", str(tmp_path), str(tmp_path / "tree"), branch="topic", base="main"))
    team.human.commit(RunWork(work_queries.of_task(team.human.db, task.uid)[0].uid), actor="system", now=clock.now())
    team.claude.db.catch_up()
    (work,) = work_queries.of_task(team.claude.db, task.uid)
    team.claude.commit(ReportWork(task.uid, "did it"), actor=work.agent, now=clock.now())
    team.human.db.catch_up()
    assert work_queries.of_task(team.human.db, task.uid)[0].state == "ready"
    for operation in (BeginMerge(work.uid, {}), SetWork(work.uid, {"state": "merged"})):
        with pytest.raises(Refusal):
            team.claude.commit(operation, actor=work.agent, now=clock.now())
