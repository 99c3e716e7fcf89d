"""Tasks of sessions, and what is kept of what they say (docs: protocol, section 10)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Clock, Talk
from tests.hooks.playing import Player
from tui_tasks.core.maintenance import database_findings
from tui_tasks.core.operations.sessions import EndSession
from tui_tasks.core.operations.tasks import DeleteTask, EditTask, MoveTask, SetListRule
from tui_tasks.core.read import ask_queries
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.tasks import task_queries, task_records
from tui_tasks.core.store import Store
from tui_tasks.hooks.redaction import REDACTED, redactor
from tui_tasks.settings.config import SessionSettings


@pytest.fixture
def claude(store: Store, clock: Clock) -> Player:
    player = Player(store, clock, "claude")
    player.settings = SessionSettings()
    return player


def of(event: str, **fields: object) -> dict[str, object]:
    return {"session_id": "s", "hook_event_name": event, **fields}


def tasks(store: Store, name: str = "sessions") -> list[tuple[str, str]]:
    home = task_queries.find_list(store.db, name)
    return [] if home is None else [(task.name, task.status) for task in task_queries.tasks(store.db, home.id)]


def test_a_prompt_is_a_task_and_done_when_the_turn_is_truly_over(claude: Player, store: Store) -> None:
    claude.play(of("UserPromptSubmit", prompt="\nFix the login\nand test it"))
    assert tasks(store) == [("Fix the login", "in_progress")]
    running = [{"id": "x", "status": "running"}]
    claude.play(of("Stop", last_assistant_message="Begun.", background_tasks=running))
    claude.play(of("UserPromptSubmit", prompt="<task-notification>x is done</task-notification>"))
    assert tasks(store) == [("Fix the login", "in_progress")]
    claude.play(of("Stop", last_assistant_message="All done.", background_tasks=[]))
    assert tasks(store) == [("Fix the login", "done")]
    uid = claude.seen().session.task
    assert uid is not None
    task = task_queries.task(store.db, uid)
    assert (task.agent, task.created_by, task.description) == ("claude-1", "claude-1", "\nFix the login\nand test it")
    assert [entry.message for entry in task_records.logs(store.db, uid)] == ["All done."]
    assert list(database_findings.differences(store.db)) == []


OPENCODE = {
    "input": {"sessionID": "s"},
    "output": {"message": {"id": "m"}, "parts": [{"text": "go", "messageID": "m"}]},
}


@pytest.mark.parametrize(
    ("program", "payload"),
    [
        ("claude", of("UserPromptSubmit", prompt="go", prompt_id="p")),
        ("codex", of("UserPromptSubmit", prompt="go", turn_id="t")),
        ("gemini", of("BeforeAgent", prompt="go", timestamp="2026-01-02T03:04:05.678Z")),
        ("opencode", OPENCODE),
    ],
)
def test_a_prompt_that_the_hooks_of_user_and_project_both_tell_is_one_task(
    program: str, payload: dict[str, object], store: Store, clock: Clock
) -> None:
    player = Player(store, clock, program)
    player.settings = SessionSettings()
    player.play(payload)
    player.play(payload)
    assert tasks(store) == [("go", "in_progress")]


def test_a_prompt_without_an_id_that_comes_again_is_another(claude: Player, store: Store) -> None:
    for _ in range(2):
        claude.play(of("UserPromptSubmit", prompt="go"))
    assert tasks(store) == [("go", "cancelled"), ("go", "in_progress")]


def test_what_gemini_says_to_itself_is_no_task(store: Store, clock: Clock) -> None:
    gemini = Player(store, clock, "gemini")
    gemini.settings = SessionSettings()
    gemini.play(of("BeforeAgent", prompt="go", timestamp="1"))
    for nudge in (
        "[System: You successfully executed a tool but returned an empty response. Please analyze the tool output "
        "and explain your progress or final answer.]",
        "[System: You previously returned an empty response with no text or thoughts. Please ensure you provide your "
        "final answer or call a tool now.]",
        "[System: You previously generated thoughts but failed to provide a final user-facing response. Please ensure "
        "you provide your final answer or call a tool now.]",
        "System: Potential loop detected. Details: Repetitive patterns identified. Please take a step back and confirm "
        "you're making forward progress.",
    ):
        gemini.play(of("BeforeAgent", prompt=nudge, timestamp="2"))
    assert tasks(store) == [("go", "in_progress")]
    assert gemini.seen().session.last_prompt == "go"


@pytest.mark.parametrize(
    ("end", "status"),
    [
        (of("StopFailure", error="overloaded"), "failed"),
        (of("PostToolUseFailure", tool_name="Bash", error="no", is_interrupt=True), "cancelled"),
        (of("SessionEnd"), "cancelled"),
        (of("UserPromptSubmit", prompt="something else"), "cancelled"),
        (of("Notification", notification_type="idle_prompt"), "cancelled"),
    ],
    ids=["failed", "interrupted", "ended", "prompted", "idle"],
)
def test_the_task_of_a_turn_that_came_to_no_end_is_not_done(
    end: dict[str, object], status: str, claude: Player, store: Store
) -> None:
    claude.play(of("UserPromptSubmit", prompt="go"))
    claude.play(end)
    assert tasks(store)[0] == ("go", status)


def test_the_task_of_a_session_whose_process_is_no_more_has_failed(claude: Player, store: Store, clock: Clock) -> None:
    claude.play(of("UserPromptSubmit", prompt="go"))
    store.commit(EndSession("claude-1", "gone"), actor="system", now=clock.now)
    assert tasks(store) == [("go", "failed")]
    (task,) = task_queries.tasks_beginning(store.db, "", 2)
    line = list_pages.line(store.db, task.uid)
    assert line is not None
    assert task_records.end_reason(store.db, line) == "the agent's process ended within its turn"


def test_words_within_a_turn_are_part_of_its_task(claude: Player, store: Store) -> None:
    claude.play(of("UserPromptSubmit", prompt="go", prompt_id="1"))
    claude.play(of("UserPromptSubmit", prompt="and faster", prompt_id="1"))
    assert tasks(store) == [("go", "in_progress")]
    assert claude.seen().session.last_prompt == "and faster"


def test_a_project_has_its_list(claude: Player, store: Store, tmp_path: Path) -> None:
    (tmp_path / ".tui-tasks.toml").write_text('project = "shop"')
    (tmp_path / "src").mkdir()
    claude.play(of("UserPromptSubmit", prompt="go", cwd=str(tmp_path / "src")))
    assert tasks(store, "shop/sessions") == [("go", "in_progress")]
    assert claude.seen().session.project == "shop"
    # What the hook was told goes before what the folder says.
    claude.play(of("UserPromptSubmit", prompt="on", cwd=str(tmp_path)), project="other")
    assert tasks(store, "other/sessions") == [("on", "in_progress")]


def test_what_the_human_has_ended_or_deleted_stays_so(claude: Player, store: Store, clock: Clock) -> None:
    claude.play(of("UserPromptSubmit", prompt="go"))
    uid = claude.seen().session.task
    assert uid is not None
    store.commit(EditTask(uid, {"status": "skipped"}), actor="human", now=clock.now)
    claude.play(of("Stop", last_assistant_message="done"))
    assert tasks(store) == [("go", "skipped")]


def test_what_the_human_changes_of_a_mirrored_task_goes_to_its_agent(
    claude: Player, store: Store, clock: Clock
) -> None:
    claude.play(of("UserPromptSubmit", prompt="go"))
    claude.play(of("TaskCreated", task_id="1", task_subject="first"))
    home = task_queries.find_list(store.db, "sessions")
    assert home is not None
    first = task_queries.tasks(store.db, home.id)[1]
    store.commit(EditTask(first.uid, {"name": "first of all", "priority": 1}), actor="human", now=clock.now)
    store.commit(EditTask(first.uid, {"priority": 2}), actor="human", now=clock.now)
    store.commit(DeleteTask(first.uid), actor="human", now=clock.now)
    sent = [text for (text,) in store.db.sql("SELECT text FROM human_message WHERE agent = 'claude-1' ORDER BY id")]
    assert sent == [
        "I have changed your task 'first': its name is now 'first of all'.",
        "I have changed your task 'first of all': it is deleted.",
    ]
    # Nobody is there any more who could read it.
    claude.play(of("SessionEnd"))
    go = task_queries.tasks(store.db, home.id)[0]
    store.commit(EditTask(go.uid, {"name": "gone"}), actor="human", now=clock.now)
    assert store.db.scalar("SELECT count(*) FROM human_message") == 2


def test_a_list_that_takes_no_more_in_progress_spoils_nothing(claude: Player, store: Store, clock: Clock) -> None:
    talk = Talk(store, clock)
    claude.play(of("UserPromptSubmit", prompt="before"))
    home = task_queries.find_list(store.db, "sessions")
    assert home is not None
    claude.play(of("Stop"))
    store.commit(SetListRule(home.uid, True), actor="human", now=clock.now)
    uid = talk.ok("tasklist:add_task", {"list": "sessions"}, name="mine")["uid"]
    talk.ok("tasklist:set_task_in_progress", {"agent": "claude-1"}, uid=uid)
    claude.play(of("UserPromptSubmit", prompt="go"))
    assert claude.state()[0] == "working"
    assert claude.seen().session.task is None


OWN_LISTS: dict[str, list[Any]] = {
    "claude": [
        of("UserPromptSubmit", prompt="go"),
        of("TaskCreated", task_id="1", task_subject="first"),
        of("TaskCreated", task_id="2", task_subject="second"),
        of("UserPromptSubmit", prompt="go", prompt_id=None),
        of("PreToolUse", tool_name="TaskUpdate", tool_input={"taskId": "1", "status": "in_progress"}),
        of("TaskCompleted", task_id="1", task_subject="first"),
        of("PreToolUse", tool_name="TaskUpdate", tool_input={"taskId": "2", "status": "in_progress"}),
    ],
    "codex": [
        of("UserPromptSubmit", prompt="go"),
        of("PreToolUse", tool_name="update_plan", tool_input={"plan": [{"step": "first", "status": "in_progress"}]}),
        of(
            "PreToolUse",
            tool_name="update_plan",
            tool_input={
                "plan": [{"step": "first", "status": "completed"}, {"step": "second", "status": "in_progress"}]
            },
        ),
    ],
    "gemini": [
        of("BeforeAgent", prompt="go"),
        of(
            "BeforeTool",
            tool_name="write_todos",
            tool_input={
                "todos": [
                    {"description": "first", "status": "completed"},
                    {"description": "second", "status": "in_progress"},
                ]
            },
        ),
    ],
    "opencode": [
        {"input": {"sessionID": "s"}, "output": {"message": {"id": "m"}, "parts": [{"text": "go"}]}},
        {
            "type": "todo.updated",
            "properties": {
                "sessionID": "s",
                "todos": [
                    {"content": "first", "status": "completed"},
                    {"content": "second", "status": "in_progress"},
                    {"content": "third", "status": "pending"},
                ],
            },
        },
        {
            "type": "todo.updated",
            "properties": {
                "sessionID": "s",
                "todos": [
                    {"content": "first", "status": "completed"},
                    {"content": "second", "status": "in_progress"},
                ],
            },
        },
    ],
}


@pytest.mark.parametrize("program", OWN_LISTS)
def test_a_programs_own_list_stands_behind_the_task_in_its_order(program: str, store: Store, clock: Clock) -> None:
    player = Player(store, clock, program)
    player.settings = SessionSettings()
    for payload in OWN_LISTS[program]:
        player.play(payload)
    found = [task for task in tasks(store) if task[0] != "go" and task[1] != "cancelled"]
    assert found == [("first", "done"), ("second", "in_progress")]
    assert tasks(store)[0][0] == "go"
    assert list(database_findings.differences(store.db)) == []


def test_a_programs_own_list_follows_the_task_of_the_prompt_to_where_the_human_has_put_it(
    claude: Player, store: Store, clock: Clock
) -> None:
    talk = Talk(store, clock)
    claude.play(of("UserPromptSubmit", prompt="go"))
    prompt = claude.seen().session.task
    assert prompt is not None
    talk.ok("tasklist:add_task", {"list": "mine"}, name="after")
    mine = task_queries.find_list(store.db, "mine")
    assert mine is not None
    move = MoveTask(prompt, list_uid=mine.uid, before=task_queries.tasks(store.db, mine.id)[0].uid)
    store.commit(move, actor="human", now=clock.now)
    claude.play(of("TaskCreated", task_id="1", task_subject="first"))
    assert tasks(store, "mine") == [("go", "in_progress"), ("first", "pending"), ("after", "pending")]
    assert task_queries.tasks(store.db, mine.id)[1].metadata["part_of"] == prompt


def test_a_programs_own_list_goes_on_where_the_human_has_deleted_the_task_of_the_prompt(
    claude: Player, store: Store, clock: Clock
) -> None:
    claude.play(of("UserPromptSubmit", prompt="go"))
    prompt = claude.seen().session.task
    assert prompt is not None
    store.commit(DeleteTask(prompt), actor="human", now=clock.now)
    claude.play(of("TaskCreated", task_id="1", task_subject="first"))
    assert tasks(store) == [("first", "pending")]
    home = task_queries.find_list(store.db, "sessions")
    assert home is not None
    assert "part_of" not in task_queries.tasks(store.db, home.id)[0].metadata


def test_tasks_are_off_where_the_human_wants_none(claude: Player, store: Store) -> None:
    claude.settings = SessionSettings(tasks=False)
    claude.play(of("UserPromptSubmit", prompt="go"))
    claude.play(of("TaskCreated", task_id="1", task_subject="first"))
    assert task_queries.find_list(store.db, "sessions") is None


SECRETS = (
    "sk-ant-api03-abcdefghijklmnop0123",
    "ghp_abcdefghijklmnopqrstuvwxyz012345",
    "AKIAABCDEFGHIJKLMNOP",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkw.SflKxwRJSMeKKF2QT4",
    "postgres://me:hunter2hunter2@db/x",
    "DB_PASSWORD=correcthorsebattery",
    '{"api_key": "0123456789abcdef"}',
    "-----BEGIN PRIVATE KEY-----\nabc\ndef\n-----END PRIVATE KEY-----",
    "Authorization: Basic dXNlcjpwYXNzd29yZDEyMw==",
    "curl -s -u me:hunter2hunter2",
    'curl "x?a=1&b" -sSLu me:hunter2hunter2',
    "ACME-12345678",
)


@pytest.mark.parametrize("secret", SECRETS, ids=range(len(SECRETS)))
def test_keys_and_tokens_are_kept_nowhere(secret: str, claude: Player, store: Store) -> None:
    claude.settings = SessionSettings(redact=("ACME-[0-9]{8}", "(broken"))
    claude.play(of("UserPromptSubmit", prompt=f"use {secret} now"))
    claude.play(of("PermissionRequest", tool_name="Bash", tool_input={"command": f"curl {secret}"}))
    claude.play(of("PostToolUseFailure", tool_name="Bash", error=f"no {secret}"))
    claude.play(of("Stop", last_assistant_message=f"used {secret}"))
    claude.play(of("PreToolUse", tool_name="Bash", tool_input={"command": f"curl {secret}"}))
    assert "[redacted]" in str(claude.seen().activity.tool_target)
    store.db.sql("PRAGMA wal_checkpoint(TRUNCATE)")
    kept = json.dumps(
        [store.db.sql(f"SELECT * FROM {table}").fetchall() for table in ("session", "ask", "task", "log", "activity")]
        + store.db.sql("SELECT old, new, image FROM journal").fetchall()
    )
    assert "[redacted]" in kept
    core = max(secret.replace("\n", "\\n").replace('"', "").split(), key=len)[-12:]
    assert core not in kept


@pytest.mark.parametrize(
    ("command", "kept"),
    [
        ("curl -u a:b -sU c:d --user=e:f x", "curl -u a:* -sU c:* --user=e:* x"),
        ("cd x && curl --user 'a:b c, d' -u \"e:f g\" x", "cd x && curl --user 'a:*' -u \"e:*\" x"),
        ("curl -u a:b x | curl -H 'A: b' -u 'c d:e f'", "curl -u a:* x | curl -H 'A: b' -u 'c d:*'"),
        # Here a shell takes what stands behind the blank as a word of a command.
        ('find . -name "; curl -u "a:b -delete "x"', 'find . -name "; curl -u "a:* -delete "x"'),
        ('echo "$(find . -name "; curl -u "a:b -delete " )"', 'echo "$(find . -name "; curl -u "a:* -delete " )"'),
        ("eval find . -name curl -u 'a:b -delete'", "eval find . -name curl -u 'a:* -delete'"),
        ("curl -u 'a:b;sh x'", "curl -u 'a:*;sh x'"),
    ],
)
def test_each_password_of_curl_is_redacted_to_its_end_and_no_word_of_another_command(command: str, kept: str) -> None:
    assert redactor(())(command).replace(REDACTED, "*") == kept


@pytest.mark.parametrize(("keep", "prompt"), [("all", "one\n" + "x" * 200), ("titles", "one"), ("none", "")])
def test_words_are_kept_as_the_human_wants(keep: Any, prompt: str, claude: Player, store: Store) -> None:
    claude.settings = SessionSettings(keep=keep)
    claude.play(of("UserPromptSubmit", prompt="one\n" + "x" * 200))
    claude.play(of("PermissionRequest", tool_name="Bash", tool_input={"command": "ls\nrm"}))
    assert claude.seen().session.last_prompt == prompt
    (ask,) = ask_queries.open_asks(store.db)
    assert ("rm" in ask.question, "ls" in ask.question) == (keep == "all", keep != "none")
    assert claude.state() == ("waiting", "permission: Bash", None)
    claude.play(of("PreToolUse", tool_name="Bash", tool_input={"command": "ls\nrm"}))
    assert claude.seen().activity.tool_target == {"all": "ls\nrm", "titles": "ls", "none": None}[keep]
