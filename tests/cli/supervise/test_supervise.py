"""What a person does from a shell beside tasks: lists, jobs, questions, agents, held and taken tasks; and who may."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import fields

from tests.conftest import START
from tests.contract.client import DEADLINE, environment, program
from tests.hooks.playing import claude, hook
from tests.hooks.screens import answering, asking, screen
from tests.terminals import Terminal
from tui_tasks import clock
from tui_tasks.cli import person_rights
from tui_tasks.cli.main import main
from tui_tasks.core.agent_snapshots import Process
from tui_tasks.core.commit import journal
from tui_tasks.core.operations.asks import AnswerAsk, OpenAsk
from tui_tasks.core.operations.jobs import EndRun, NoteRunAgent, RunJob
from tui_tasks.core.operations.tasks import AddTask, ClaimNext, EditTask, EnsureList, LapseClaims, LogTask
from tui_tasks.core.read import ask_queries, job_queries, message_queries
from tui_tasks.core.read.ask_queries import open_asks
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.rules.recorded_settings import ReviewPolicy
from tui_tasks.core.schedule.policy import Settings
from tui_tasks.core.snapshots import Task
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import connections
from tui_tasks.hooks import session_processes
from tui_tasks.state import callers
from tui_tasks.text.times import moment

Run = Callable[[str], tuple[int, str]]


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "tasks.db"
    with Store(str(path)) as store:
        (home,) = store.commit(EnsureList("work", "task"), actor="bob", now=START)
        store.commit(AddTask("Ship it", home.uid), actor="bob", now=START)
        store.commit(OpenAsk("Which one?\x1b[2J", ("jose", "pyjwt")), actor="bob", now=START)
    monkeypatch.setenv("TUI_TASKS_DB", str(path))
    monkeypatch.setenv("TUI_TASKS_CONFIG", str(tmp_path / "no-config"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(callers, "has_terminal", lambda: True)
    return path


@pytest.fixture
def run(database: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command line; return the exit status and all that was printed."""

    def run(line: str) -> tuple[int, str]:
        capsys.readouterr()
        status = main(shlex.split(line))
        told = capsys.readouterr()
        return status, told.out + told.err

    return run


def printed_json(run: Run, line: str) -> Any:
    """The object that a command prints."""
    status, text = run(f"{line} --json")
    assert status == 0, text
    held = json.loads(text)
    assert held.pop("schema_version") == 1
    return held


def newest(database: Path) -> tuple[str, str]:
    with Store(str(database), read_only=True) as store:
        (entry,) = journal.latest(store.db, 1)
        return entry.kind, entry.actor


# Lists


def test_lists_are_told_and_changed_by_the_human(run: Run, database: Path) -> None:
    assert run("lists")[1].endswith("\nwork  [1 open of 1]\n")
    assert printed_json(run, "lists new sprint")["handle"] == "sprint"
    assert run("lists new sprint") == (0, "there already: sprint  [0 open of 0]\n")
    assert run("lists new ' '")[0] == 1
    assert run("lists rename sprint 'sprint 2'") == (0, "renamed: sprint 2  [0 open of 0]\n")
    assert newest(database) == ("list.updated", "human")
    assert printed_json(run, "lists one-in-progress 'sprint 2' on")["one_in_progress"] is True
    assert printed_json(run, "lists review 'sprint 2' on")["review"] is True
    assert printed_json(run, "lists review 'sprint 2' off")["review"] is False
    assert run("lists auto 'sprint 2' on --at-once 2")[0] == 0
    assert "\nsprint 2  [0 open of 0, one at a time, auto 2]\n" in run("lists")[1]
    assert printed_json(run, "lists archive 'sprint 2'")["archived"] is True
    assert [home["name"] for home in printed_json(run, "lists")["lists"]][3:] == ["work"]
    assert [home["name"] for home in printed_json(run, "lists --all")["lists"]][3:] == ["work", "sprint 2"]
    assert printed_json(run, "lists unarchive 'sprint 2'")["archived"] is False
    assert "u on the screen brings it back with its tasks" in run("lists rm 'sprint 2'")[1]
    assert [home["counts"]["pending"] for home in printed_json(run, "lists --all")["lists"]] == [0, 0, 0, 1]
    assert run("lists rm nowhere") == (1, "tui-tasks: no list nowhere: `tui-tasks lists` lists them\n")


# Questions


def test_a_question_is_told_whole_and_answered_by_an_options_number_or_in_words(run: Run, database: Path) -> None:
    assert run("asks")[1].splitlines()[1:] == ["  │ Which one?␛[2J", "  1  jose", "  2  pyjwt"]
    with Store(str(database)) as store:
        (forged,) = store.commit(OpenAsk("Which?\n1  jose", ("rsa",)), actor="eve", now=START)
        assert run("asks")[1].splitlines()[5:] == ["  │ Which?", "  │ 1  jose", "  1  rsa"]
        store.commit(AnswerAsk(forged.uid, "rsa"), actor="human", now=START)
    (ask,) = printed_json(run, "asks")["asks"]
    assert (ask["agent"], ask["options"], ask["kind"]) == ("bob", ["jose", "pyjwt"], "question")
    assert printed_json(run, f"asks answer {ask['ask'][:8]} 2")["answer"] == "pyjwt"
    assert newest(database) == ("ask.answered", "human")
    assert run("asks") == (0, "No open questions.\n")
    assert "no open question" in run(f"asks answer {ask['ask']} 1")[1]
    with Store(str(database)) as store:
        (other,) = store.commit(OpenAsk("And now?", ("yes",)), actor="bob", now=START)
    assert run(f"asks answer {other.uid[:8]} 'no, later'")[1].endswith("bob: no, later\n")


def test_what_cannot_be_shown_whole_is_not_allowed_by_its_number(run: Run, database: Path) -> None:
    with Store(str(database)) as store:
        (ask,) = store.commit(OpenAsk("x" * 200_000, ("allow",)), actor="bob", now=START)
    status, why = run(f"asks answer {ask.uid} 1")
    assert (status, "can be shown" in why) == (1, True)
    assert run(f"asks answer {ask.uid} 'no: too long'")[0] == 0


def test_a_tool_is_allowed_with_an_input_that_was_edited(run: Run, database: Path) -> None:
    asks = claude("PermissionRequest", tool_name="Bash", tool_input={"command": "make"})
    with screen(database) as human, asking("claude", json.dumps(asks).encode(), database) as process:
        ask = human.asks(2)[-1].uid[:8]
        for answer, given, why in (
            ("Deny", "{}", "goes with the answer"),
            ("1", "[1]", "a JSON object"),
            ("1", "{", "is not JSON"),
            ("1", '{"command": "[redacted]"}', "was taken out"),
        ):
            status, told_why = run(f"asks answer {ask} {answer} --input {shlex.quote(given)}")
            assert (status, why in told_why) == (1, True), told_why
        with answering(database, person_rights.YES, "make test"):
            assert run(f"""asks answer {ask} 1 --input '{{"command": "make test"}}'""")[0] == 0
        human.look()
        output, _ = process.communicate(timeout=DEADLINE)
    decision = json.loads(output)["hookSpecificOutput"]["decision"]
    assert decision == {"behavior": "allow", "updatedInput": {"command": "make test"}}


def test_what_waits_for_the_screen_is_withdrawn_once_its_question_is_answered_there(run: Run, database: Path) -> None:
    with screen(database) as human:
        ask = human.ask()
        with answering(database, "jose", instead=ask.uid) as asked:
            status, why = run(f"asks answer {ask.uid} pyjwt")
        assert (status, "is answered already" in why) == (1, True), why
        confirmation = ask_queries.ask(human.store.db, asked[0].uid)
        assert (confirmation.state, confirmation.reason) == ("withdrawn", "the question was closed elsewhere")
        assert ask_queries.ask(human.store.db, ask.uid).answer == "jose"


def test_several_questions_of_a_program_take_an_answer_each(run: Run, database: Path) -> None:
    questions = [{"question": "Which db?", "options": ["sqlite", "pg"]}, {"question": "Which name?"}]
    asks = claude("PermissionRequest", tool_name="AskUserQuestion", tool_input={"questions": questions})
    with screen(database) as human, asking("claude", json.dumps(asks).encode(), database) as process:
        ask = human.asks(2)[-1].uid[:8]
        for given in ("2", "2 acme more", "2 'two\nlines'"):
            status, why = run(f"asks answer {ask} {given}")
            assert (status, "it asks 2 questions" in why) == (1, True), why
        with answering(database, person_rights.YES, "│ pg\n│ acme"):
            assert run(f"asks answer {ask} 2 acme")[0] == 0
        human.look()
        output, _ = process.communicate(timeout=DEADLINE)
    decision = json.loads(output)["hookSpecificOutput"]["decision"]
    assert decision["updatedInput"]["answers"] == {"Which db?": "pg", "Which name?": "acme"}


def test_a_request_that_only_its_own_window_can_answer_is_listed_without_options(run: Run, database: Path) -> None:
    asks = claude("PermissionRequest", tool_name="Bash", tool_input={"command": "make"})
    with screen(database) as human, asking("claude", json.dumps(asks).encode(), database) as process:
        ask = human.asks(2)[-1].uid[:8]
        assert "  1  Allow" in run("asks")[1]
        process.kill()
        process.wait()
        listed = run("asks")[1]
    assert "  Only its own window can answer now: claude-1 waits for no answer from here." in listed.splitlines()
    assert "1  Allow" not in listed
    status, why = run(f"asks answer {ask} 1")
    assert (status, "Only its own window can answer now" in why) == (1, True)


@pytest.mark.parametrize("answer", ["1", "Allow"])
def test_what_is_redacted_is_not_allowed_from_a_shell(run: Run, database: Path, answer: str) -> None:
    given = {"command": "TOKEN=ghp_abcdefghijklmnopqrstuvwxyz012345 ls"}
    asks = claude("PermissionRequest", tool_name="Bash", tool_input=given)
    with screen(database) as human, asking("claude", json.dumps(asks).encode(), database) as process:
        ask = human.asks(2)[-1].uid[:8]
        status, why = run(f"asks answer {ask} {answer}")
        assert (status, "can be shown" in why) == (1, True)
        with answering(database, person_rights.YES, "Deny"):
            assert run(f"asks answer {ask} Deny")[0] == 0
        human.look()
        output, _ = process.communicate(timeout=DEADLINE)
    assert json.loads(output)["hookSpecificOutput"]["decision"]["behavior"] == "deny"


# Agents


def test_rules_are_listed_tried_and_removed(run: Run, database: Path) -> None:
    path = database.with_name("no-config")
    kept = 'theme = "dark"\n\n[[rule]]\nanswer = "deny"\ntool = "WebFetch"\n'
    gone = '[[rule]]\nanswer = "allow"\ntool = "Bash"\npattern = "git status *"\nuntil = 2999-12-31\n\n'
    path.write_text(kept.replace("[[rule]]", f"{gone}[[rule]]"))
    path.chmod(0o600)
    status, told = run("rules")
    assert (status, told.splitlines()[:2]) == (
        0,
        ["  1  allow Bash git status * until 2999-12-31", "  2  deny WebFetch"],
    )
    assert "take effect when a screen opens the database" in told
    assert run("rules test 'git status -s'") == (0, "allow: allow Bash git status * until 2999-12-31\n")
    assert run("rules test 'git log'") == (1, "ask: no rule answers it\n")
    assert run("rules test 'git status; rm -rf x'") == (
        1,
        "ask: it is more than plain words and quotes, so no pattern matches it\n",
    )
    assert run("rules remove 1") == (0, "removed rule 1: allow Bash git status * until 2999-12-31\n")
    assert path.read_text() == kept
    assert run("rules remove 5")[0] != 0
    path.write_text(kept.replace("deny", "perhaps"))
    assert run("rules")[0] != 0


def test_the_human_writes_to_an_agent_and_pauses_it(run: Run, database: Path) -> None:
    assert run("agents message bob 'Use pyjwt'") == (0, "queued: bob reads it when an agent connects as bob\n")
    assert run("agents stop bob 'Enough'")[0] == 0
    assert printed_json(run, "agents pause bob lunch") == {"agent": "bob", "action": "pause"}
    with Store(str(database), read_only=True) as store:
        paused = message_queries.agent(store.db, "bob")
        assert paused is not None
        assert (paused.paused, paused.message) == (True, "lunch")
        sent = [(each.text, each.ends_turn) for each in message_queries.waiting(store.db, "bob")]
        assert sent == [("Use pyjwt", False), ("Enough", True)]
    assert "bob" in run("agents --all")[1] and "  paused: lunch" in run("agents --all")[1]
    assert run("agents resume bob")[0] == 0
    assert newest(database) == ("agent.resumed", "human")
    assert run("agents message nobody x")[0] == 1


AT_WORK = "its next tool starts or ends, or its turn ends"


@pytest.mark.parametrize(
    ("program", "payload", "until"),
    [
        ("claude", claude("SessionStart"), "it is prompted next"),
        ("claude", claude("UserPromptSubmit", prompt="go"), AT_WORK),
        ("claude", claude("SessionEnd"), "its session is resumed"),
        ("codex", claude("Stop"), "it is prompted next, or a screen is opened"),
        ("gemini", claude("BeforeAgent", prompt="go"), AT_WORK),
        ("opencode", {"type": "session.idle", "properties": {"sessionID": "s-1"}}, None),
    ],
)
def test_a_message_says_until_when_it_is_queued(
    run: Run, database: Path, program: str, payload: dict[str, Any], until: str | None
) -> None:
    hook(program, payload, "--db", str(database), home=database.parent)
    name = f"{program}-1"
    run("agents")
    told = "sent: opencode-1\n" if until is None else f"queued: {name} reads it when {until}\n"
    assert run(f"agents message {name} Hello") == (0, told)
    state = "sent" if until is None else "queued"
    assert printed_json(run, f"agents stop {name} Enough") == {
        "agent": name,
        "action": "stop",
        "state": state,
        "until": until,
    }


def test_what_a_person_says_from_a_shell_is_given_by_the_next_hook_though_nothing_else_runs(
    run: Run, database: Path
) -> None:
    def hears(event: str, **fields: Any) -> str:
        return hook("claude", claude(event, **fields), "--db", str(database), home=database.parent).stdout.decode()

    hears("UserPromptSubmit", prompt="go")
    run("agents")
    run("agents message claude-1 'Use pyjwt'")
    assert "Use pyjwt" in hears("PreToolUse", tool_name="Bash")
    run("agents pause claude-1 'lunch'")
    assert "lunch" in hears("PreToolUse", tool_name="Bash")
    run("agents resume claude-1")
    assert hears("PreToolUse", tool_name="Bash") == ""
    run("agents stop claude-1 'Enough'")
    assert '"continue": false' in hears("PreToolUse", tool_name="Bash")


def test_what_an_agent_did_since_a_moment_is_taken_back_and_what_others_changed_since_is_left(
    run: Run, database: Path
) -> None:
    with Store(str(database)) as store:
        home = task_queries.find_list(store.db, "work")
        assert home is not None
        before = [task.name for task in task_queries.tasks(store.db, home.id)]
        one, two = store.commit(*(AddTask(name, home.uid) for name in ("One", "Two")), actor="robin", now=START)
        store.commit(EditTask(one.uid, {"status": "done"}), actor="robin", now=START)
        store.commit(EditTask(two.uid, {"status": "done"}), actor="robin", now=START)
        store.commit(EditTask(two.uid, {"name": "Two, anew"}), actor="bob", now=START)
    assert run("agents undo robin --since someday") == (1, run("agents undo robin --since someday")[1])
    assert "--since: someday is not an instant" in run("agents undo robin --since someday")[1]
    assert "nobody has changed nothing" in run("agents undo nobody --since 2020-01-01")[1]
    status, text = run("agents undo robin --since 2020-01-01")
    assert status == 0
    assert text.startswith("undone: 4 changes: ")
    assert text.endswith("made by robin; u on the screen takes this undo back\n")
    assert "\nleft: change " in text
    assert newest(database)[1] == "human"
    with Store(str(database), read_only=True) as store:
        home = task_queries.find_list(store.db, "work")
        assert home is not None
        statuses = {task.name: task.status for task in task_queries.tasks(store.db, home.id)}
    assert statuses["Two, anew"] == "pending", "of what robin did, only its making is left, which bob has built on"
    assert set(statuses) >= set(before)
    again = printed_json(run, "agents undo robin --since 2020-01-01")
    assert again["taken_back"] == 0
    assert again["left"][0].keys() == {"change", "why"}


def test_agents_without_an_action_prints_what_control_agents_gives(run: Run) -> None:
    assert [agent["agent"] for agent in json.loads(run("agents --json --all")[1])] == ["bob"]


# Held and taken tasks


def test_a_held_task_is_accepted_or_declined_with_a_reason(run: Run, database: Path) -> None:
    with Store(str(database)) as store:
        store.review = lambda: ReviewPolicy(("work",))
        home = task_queries.find_list(store.db, "work")
        assert home is not None
        for name in ("Filed", "Also filed"):
            store.commit(AddTask(name, home.uid), actor="bob", now=START)
    assert "add --version 1\n" in run("accept 2")[1]
    assert "is at version 1, not 2" in run("accept 2 --version 2")[1]
    assert printed_json(run, "accept 2 --version 1")["held"] is False
    declined = printed_json(run, "decline 3 'not now'")
    assert (declined["held"], declined["status"]) == (False, "cancelled")
    assert newest(database) == ("task.declined", "human")
    for line in ("accept 2 --version 2", "accept 2"):
        assert run(line) == (1, "tui-tasks: #2 is not held: there is nothing to accept\n")


def held(database: Path) -> Task:
    """A task that bob has filed, with what could pass for words of the program."""
    with Store(str(database)) as store:
        store.review = lambda: ReviewPolicy(("work",))
        home = task_queries.find_list(store.db, "work")
        assert home is not None
        described = "Rotate\u200b them.\nAccept exactly this? [y/N]"
        filed = AddTask("Filed", home.uid, description=described, tags=("infra",), metadata={"run": "rm -rf /"})
        (task,) = store.commit(filed, actor="bob", now=START)
    return task


def accepting(database: Path, tmp_path: Path) -> Terminal:
    """`tui-tasks accept` on a terminal."""
    command = [sys.executable, *program("accept", "2", "--db", str(database))[1:]]
    return Terminal(command, piped=False, columns=100, environment=environment(tmp_path), is_started=True)


def is_asked(terminal: Terminal) -> bool:
    """Whether the command itself asks, after what it shows: before that it drops what is typed."""
    return terminal.screen.display[terminal.screen.cursor.y].startswith("Accept exactly this? [y/N]")


def test_accept_shows_all_that_is_accepted_on_its_terminal_and_asks_there(database: Path, tmp_path: Path) -> None:
    held(database)
    terminal = accepting(database, tmp_path)
    try:
        terminal.type("y\r")  # before anything is shown: it is no answer
        terminal.wait_for(lambda: terminal.shows("this? [y/N] ") and terminal.unread() == 0)
        lines = [line.rstrip() for line in terminal.screen.display]
        assert [line for line in lines if line.startswith("│")] == [
            "│ Filed",
            "│ Rotate<U+200B> them.",
            "│ Accept exactly this? [y/N]",
        ]
        assert {'Metadata: {"run":"rm -rf /"}', 'Tags: ["infra"]'} <= set(lines)
        terminal.type("n\r")
        assert terminal.ends() == 1
    finally:
        terminal.close()
    terminal = accepting(database, tmp_path)
    try:
        terminal.wait_for(lambda: is_asked(terminal))
        terminal.type("y\r")
        assert terminal.ends() == 0
    finally:
        terminal.close()
    assert newest(database) == ("task.accepted", "human")


def test_accept_refuses_a_task_that_was_edited_after_it_was_shown(database: Path, tmp_path: Path) -> None:
    task = held(database)
    terminal = accepting(database, tmp_path)
    try:
        terminal.wait_for(lambda: terminal.shows("infra"))
        with Store(str(database)) as store:
            store.commit(EditTask(task.uid, {"description": "Drop them."}), actor="bob", now=START)
        terminal.wait_for(lambda: is_asked(terminal))
        terminal.type("y\r")
        assert terminal.ends() == 1
        assert terminal.shows("is at version 2, not 1")
    finally:
        terminal.close()
    assert newest(database) == ("task.updated", "bob")


def test_what_a_held_task_shows_is_what_its_version_accepts(run: Run, database: Path) -> None:
    held(database)
    shown = run("show 2")[1].splitlines()
    assert {"│ Rotate<U+200B> them.", 'Metadata: {"run":"rm -rf /"}'} <= set(shown)
    assert "`tui-tasks accept 2 --version 1` accepts exactly this" in shown


def test_the_open_screen_is_asked_with_all_that_a_command_decides(run: Run, database: Path) -> None:
    task = held(database)
    with Store(str(database)) as store:
        store.commit(LogTask(task.uid, "It is\nurgent."), actor="bob", now=START)
    with screen(database), answering(database, person_rights.NO) as asked:
        assert run("accept 2")[0] == 1
    (question,) = (ask.question for ask in asked)
    lines = question.split("\n")
    assert lines[-1].startswith("Typed at ")
    assert lines[:-1] == [
        "`tui-tasks accept`: #2, version 2, of bob:",
        "│ Filed",
        "Description:",
        "│ Rotate<U+200B> them.",
        "│ Accept exactly this? [y/N]",
        "Priority: medium",
        'Tags: ["infra"]',
        'Metadata: {"run":"rm -rf /"}',
        "Logged by bob:",
        "│ It is",
        "│ urgent.",
        "",
    ]
    with Store(str(database)) as store:
        store.commit(EditTask(task.uid, {"description": "x" * 30_000}), actor="bob", now=START)
    with screen(database):
        assert "too long for a question" in run("accept 2 --version 3")[1]


def test_a_question_is_not_named_by_so_few_letters_that_another_could_come_to_have_them(run: Run) -> None:
    (ask,) = printed_json(run, "asks")["asks"]
    assert "8 letters" in run(f"asks answer {ask['ask'][:7]} 1")[1]


def test_a_task_that_an_agent_has_claimed_is_given_back(run: Run, database: Path) -> None:
    with Store(str(database)) as store:
        store.commit(ClaimNext("bob", 10**15), actor="bob", now=START)
    assert run("done 1")[1].endswith('bob has claimed task #1 "Ship it": `tui-tasks release 1` takes it back\n')
    back = printed_json(run, "release 1")
    assert (back["status"], back["agent"]) == ("pending", None)
    assert run("release 1") == (0, "unchanged #1  Ship it\n")
    assert run("done 1")[0] == 0


def test_a_task_that_a_lapsed_claim_has_left_says_so_in_every_listing(run: Run, database: Path) -> None:
    now, second = clock.now(), 1_000_000
    with Store(str(database)) as store:
        store.commit(AnswerAsk(open_asks(store.db)[0].uid, "jose"), actor="human", now=now - 500 * second)
        store.commit(ClaimNext("alpha", 60 * second), actor="alpha", now=now - 400 * second)
        store.commit(LapseClaims(), actor="system", now=now - 300 * second)
    assert "#1 ○  Ship it  [work, alpha gone 6m, 5m ago]" in run("ls")[1]
    assert "alpha  gone: its claim on #1 lapsed 5m ago" in run("agents")[1]
    assert "alpha  #1 Ship it: is gone, its claim lapsed" in run("digest")[1]
    with Store(str(database)) as store, store.db.transaction(write=True):
        connections.begin(store.db, "alpha", Process(), now - 450 * second)
    assert "#1 ○  Ship it  [work, alpha quiet 6m, 5m ago]" in run("ls")[1]
    assert "alpha  quiet: its claim on #1 lapsed 5m ago" in run("agents")[1]
    assert "alpha  #1 Ship it: is quiet, its claim lapsed" in run("digest")[1]


# Jobs


def test_jobs_are_made_changed_run_and_switched(run: Run, database: Path) -> None:
    assert run("jobs") == (0, "There are no jobs: `tui-tasks jobs new` makes one.\n")
    made = printed_json(run, "jobs new Audit 'Read the log' --when '9:00 mon-fri' --timezone UTC --process")
    assert (made["schedule"]["hour"], made["dedicated_context"]) == ("9", True)
    assert printed_json(run, "jobs new Once 'Do it'")["type"] == "adhoc"
    assert [line.split("  [")[0].split() for line in run("jobs")[1].splitlines()] == [["S1", "Audit"], ["S2", "Once"]]
    assert "09:00 Mon–Fri, last run: never, next: " in run("jobs")[1]
    assert printed_json(run, "jobs edit audit --prompt 'Read it all' --when '@daily'")["schedule"]["hour"] == "0"
    assert printed_json(run, "jobs disable S1")["state"] == "disabled"
    assert printed_json(run, f"jobs enable {made['uuid'][:8]}")["state"] == "idle"
    assert printed_json(run, "jobs run Once 'for today'")["state"] == "running"
    assert "running" in run("jobs runs Once")[1]
    assert printed_json(run, "jobs stop Once")["outcome"] == "interrupted"
    assert [each["outcome"] for each in printed_json(run, "jobs runs Once")["runs"]] == ["interrupted"]
    assert "Read it all" in run("jobs show Audit")[1]
    assert run("jobs rm Once")[0] == 0
    assert run("jobs new 'Pay  [on, next: now]' 'Do it'")[0] == 0
    assert '   S3  "Pay  [on, next: now]"  [' in run("jobs")[1], "the number of a deleted job is not given again"
    assert run("jobs show S3")[1].startswith('"Pay  [on, next: now]"\nS3  ')
    assert run("jobs rm S2")[1].startswith("tui-tasks: no job S2"), "nothing has the number of a deleted job"
    assert run("jobs rm 3")[0] == 0
    assert [job["name"] for job in printed_json(run, "jobs")["jobs"]] == ["Audit"]
    with Store(str(database), read_only=True) as store:
        found = job_queries.job_named(store.db, "Audit")
        assert found is not None
        assert found.created_by == "shell"


def test_a_name_that_looks_like_a_number_takes_no_other_jobs_number(run: Run) -> None:
    for name in ("Backup", "S1", "1", "#1"):
        assert run(f"jobs new '{name}' 'Do it'")[0] == 0
    assert [line.split("  [")[0].split() for line in run("jobs")[1].splitlines()] == [
        ["S1", "Backup"],
        ["S2", '"S1"'],
        ["S3", '"1"'],
        ["S4", '"#1"'],
    ]
    assert run("""jobs new '"S1"' 'Do it'""")[0] == 0
    for reference in ("S1", "s1", "1", "#1"):
        assert run(f"jobs show {reference}")[1].startswith("Backup\nS1  ")
    assert run("""jobs show '"S1"'""")[1].startswith('"S1"\nS2  ')
    assert run("jobs run S1")[1] == "starts now: Backup\n"
    assert run("jobs rm S1")[1] == "deleted: Backup\n"
    assert run("jobs rm S1")[1] == """tui-tasks: no job S1; the job of that name is '"S1"'\n"""
    assert run("""jobs rm '"S1"'""")[1] == 'deleted: "S1"\n'


def test_a_job_of_a_number_with_thousands_of_digits_is_not_found(run: Run) -> None:
    assert run("jobs new Backup 'Do it'")[0] == 0
    status, told = run(f"jobs show {'9' * 5_000}")[:2]
    assert status and told.startswith("tui-tasks: no job 999") and len(told) < 200


def test_a_jobs_runner_is_named_where_it_is_made_or_changed_and_a_missing_one_is_told_of(
    run: Run, database: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = database.with_name("config.toml")
    file.write_text('[runner.review]\ncommand = ["true"]\n')
    file.chmod(0o600)
    monkeypatch.setenv("TUI_TASKS_CONFIG", str(file))
    assert printed_json(run, "jobs new Review 'Look at it' --when @daily --runner review")["dedicated_context"] is True
    assert "by the runner review\n" in run("jobs show Review")[1]
    assert printed_json(run, "jobs edit Review --conversation")["dedicated_context"] is False
    assert printed_json(run, "jobs edit Review --runner ''")["dedicated_context"] is True
    assert "by the runner\n" in run("jobs show Review")[1]
    with Store(str(database), read_only=True) as store:
        job = job_queries.job_named(store.db, "Review")
        assert job is not None
        assert [entry.kind for entry in journal.latest(store.db, 3, None)] == [
            "job.created",
            "job.updated",
            "job.updated",
        ]
    capsys.readouterr()
    assert main(["jobs", "edit", "Review", "--runner", "revue"]) == 0
    assert "no runner is called 'revue': add [runner.revue] with a command to" in capsys.readouterr().err


def test_a_job_that_no_runner_can_run_is_warned_about_where_it_is_made_changed_and_started(
    run: Run, database: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = database.with_name("config.toml")
    monkeypatch.setenv("TUI_TASKS_CONFIG", str(file))
    warning = f'no command is configured: add [runner] with command = ["program", "argument"] to {file}\n'
    for line in (
        ["new", "Audit", "Read", "--process"],
        ["edit", "Audit", "--prompt", "Read it"],
        ["run", "Audit"],
        ["edit", "Audit", "--conversation"],
    ):
        capsys.readouterr()
        assert main(["jobs", *line]) == 0
        assert capsys.readouterr().err == ("" if "--conversation" in line else f"tui-tasks jobs: {warning}")


def test_the_runs_of_a_job_tell_what_their_agents_have_used(run: Run, database: Path) -> None:
    job = printed_json(run, "jobs new Review 'Look at it' --process")
    with Store(str(database)) as store:
        (made,) = store.commit(RunJob(job["uuid"]), actor="human", now=START)
        end = EndRun(made.uid, "success", turns=12, tokens=34_000, cost_usd=0.42)
        store.commit(NoteRunAgent(made.uid, "claude-1", "s-1"), end, actor="system", now=START)
    assert run("jobs runs Review")[1].endswith("12 turns  34k $0.42\n")
    assert printed_json(run, "jobs runs Review")["runs"][0]["cost_usd"] == 0.42


def test_a_failed_run_of_a_job_says_when_it_ended_and_why_and_its_output_is_shown(run: Run, database: Path) -> None:
    job = printed_json(run, "jobs new Audit 'Read the log' --process")
    with Store(str(database)) as store:
        (made,) = store.commit(RunJob(job["uuid"]), actor="human", now=START)
        end = EndRun(made.uid, "error", result="reading\nno log\n", reason="no command configured")
        store.commit(end, actor="system", now=START)
    assert run("jobs runs Audit")[1] == f"{moment(START, None)}  failed: no command configured\n"
    shown = run("jobs show Audit")[1].splitlines()
    assert shown[-3].startswith("Last run: failed") and shown[-3].endswith(": no command configured")
    assert shown[-2:] == ["  reading", "  no log"]


def test_neither_the_prompt_nor_the_output_of_a_job_passes_for_words_of_the_program(run: Run, database: Path) -> None:
    job = printed_json(run, "jobs new Audit 'Read.\nLast run: ok' --process")
    with Store(str(database)) as store:
        (made,) = store.commit(RunJob(job["uuid"]), actor="human", now=START)
        end = EndRun(made.uid, "error", result='log\nYou stopped it". It is "fine')
        store.commit(end, actor="system", now=START)
    quoted = "\"You stopped it'. It is 'fine\""
    assert run("jobs runs Audit")[1] == f"{moment(START, None)}  failed: {quoted}\n"
    shown = run("jobs show Audit")[1].splitlines()
    assert [line for line in shown if line.startswith("Last run")] == [f"Last run: {shown[-3][10:]}"]
    assert shown[-2:] == ["  log", '  You stopped it". It is "fine']
    assert "  Last run: ok" in shown


def test_every_setting_of_a_job_is_an_option_of_new_and_edit(run: Run, database: Path) -> None:
    given = {"catch_up": "all", "overlap": "queue"}
    given |= {field.name: str(field.default + 1) for field in fields(Settings) if type(field.default) is int}
    options = " ".join(f"--{name.replace('_', '-')} {value}" for name, value in given.items())
    made = printed_json(run, f"jobs new Audit 'Read the log' --runner r {options}")
    assert {name: str(value) for name, value in made["settings"].items()} == given | {"runner": "r"}
    assert "catch_up=all " in run("jobs show Audit")[1]
    assert printed_json(run, "jobs edit Audit --retries 0 --overlap skip")["settings"].keys() == (
        made["settings"].keys() - {"retries", "overlap"}
    )
    assert {field.name for field in fields(Settings)} == {*given, "runner"}


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("jobs show nothing", "no job nothing"),
        ("jobs new A p --when never", "never"),
        ("jobs new A p --when @daily --timezone Mars/Base", "Mars/Base"),
        ("jobs stop Audit", "no job Audit"),
    ],
)
def test_a_job_that_cannot_be_is_refused_with_a_reason(run: Run, line: str, why: str) -> None:
    status, text = run(line)
    assert status == 1
    assert why in text


# Tasks


def test_a_tasks_fields_are_taken_away_as_they_are_given(run: Run, database: Path) -> None:
    assert run("add 'Two #a #b @bob after #1' --list work")[0] == 0
    assert printed_json(run, "edit 2 --untag a --not-after 1")["tags"] == ["b"]
    assert printed_json(run, "edit 2 '-#b #d'")["name"] == "Two"
    assert printed_json(run, "edit 2 -#d #e")["tags"] == ["e"]
    changed = printed_json(run, "edit 2 'Two, anew #c' --clear tags --clear agent --clear description")
    assert (changed["name"], changed["tags"], changed["agent"], changed["depends_on"]) == ("Two, anew", ["c"], None, [])
    assert printed_json(run, "edit 2 '@ann after #1 #f'")["agent"] == "ann"
    changed = printed_json(run, "edit 2 '@none after none #none'")
    assert (changed["name"], changed["tags"], changed["agent"], changed["depends_on"]) == ("Two, anew", [], None, [])
    assert printed_json(run, "status 2 cancelled 'not needed'")["status"] == "cancelled"
    assert printed_json(run, "status 2 pending")["status"] == "pending"


# Who may


def test_an_answer_that_is_typed_at_a_real_terminal_is_the_humans(database: Path, tmp_path: Path) -> None:
    with Store(str(database)) as store:
        ask = open_asks(store.db)[0].uid
    command = [sys.executable, *program("asks", "answer", ask, "1", "--db", str(database))[1:]]
    terminal = Terminal(command, piped=False, columns=100, environment=environment(tmp_path), is_started=True)
    try:
        assert terminal.ends() == 0
        assert terminal.shows("bob: jose")
    finally:
        terminal.close()
    assert newest(database) == ("ask.answered", "human")


def test_the_question_of_a_command_that_was_killed_is_withdrawn(database: Path, tmp_path: Path) -> None:
    with Store(str(database)) as store:
        ask = open_asks(store.db)[0].uid
    command = [sys.executable, *program("asks", "answer", ask, "1", "--db", str(database))[1:]]
    with screen(database) as opened:
        terminal = Terminal(command, piped=False, columns=100, environment=environment(tmp_path), is_started=True)
        try:
            assert {one.agent for one in opened.asks(2)} == {"bob", "shell"}
            assert session_processes.end_departed(opened.store, START) == 0
            terminal.process.kill()
            terminal.process.wait()
        finally:
            terminal.close()
        assert session_processes.end_departed(opened.store, START) == 1
        assert [one.agent for one in open_asks(opened.store.db)] == ["bob"]
