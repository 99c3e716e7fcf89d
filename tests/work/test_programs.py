"""The command of each agent program: connected with us, without a change to the repository, and resumed."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.conftest import Clock
from tests.work.conftest import git
from tui_tasks.core.operations.work import StartWork
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store
from tui_tasks.settings.work_settings import ProgramSettings, WorkSettings
from tui_tasks.work import comments, program_commands
from tui_tasks.work.program_commands import StartCommand

SETTINGS = WorkSettings()


def command_of(
    program: str, store: Store, clock: Clock, task: str, folder: Path, *, is_headless: bool = False,
    resumes: str | None = None,
) -> StartCommand:  # fmt: skip
    (work,) = store.commit(StartWork(task, program, "/repo", "/trees/1"), actor="human", now=clock())
    return program_commands.command(
        SETTINGS, work, "Do it", store.path, folder, {}, is_headless=is_headless, resumes=resumes
    )


@pytest.mark.parametrize("words", ["Be brief.", ""])
def test_of_the_prompt_of_a_task_a_persons_own_words_are_known(
    store: Store, clock: Clock, task: str, words: str
) -> None:
    (work,) = store.commit(StartWork(task, "claude", "/repo", "/trees/1"), actor="human", now=clock())
    text = program_commands.prompt(store.db, task_queries.task(store.db, task), work, [words])
    assert text.startswith("Work on task #1: ") and words in text
    assert session_queries.own_words(text) == words
    assert session_queries.own_words("Clean the build") == "Clean the build"
    sent = comments.review_message("main", [comments.Comment("a.py", 3, False, "", "Why 3?")])
    assert session_queries.own_words(sent).startswith("a.py:3\nWhy 3?")
    started_again = program_commands.prompt(store.db, task_queries.task(store.db, task), work, [sent])
    assert session_queries.own_words(started_again) == "a.py:3\nWhy 3?"


def test_claude_uses_our_own_tools_without_asking_its_person(
    store: Store, clock: Clock, task: str, tmp_path: Path
) -> None:
    words = command_of("claude", store, clock, task, tmp_path).argv
    settings = json.loads(Path(words[words.index("--settings") + 1]).read_text())
    assert settings["permissions"] == {"allow": ["mcp__tui-tasks"]} and "SessionStart" in settings["hooks"]


def test_codex_uses_our_own_tools_without_asking_its_person(
    store: Store, clock: Clock, task: str, tmp_path: Path
) -> None:
    assert (
        'mcp_servers.tui-tasks.default_tools_approval_mode="approve"'
        in command_of("codex", store, clock, task, tmp_path).argv
    )


def test_gemini_uses_our_own_tools_without_asking_its_person(
    store: Store, clock: Clock, task: str, tmp_path: Path
) -> None:
    environment = command_of("gemini", store, clock, task, tmp_path).environment
    servers = json.loads(Path(environment["GEMINI_CLI_SYSTEM_SETTINGS_PATH"]).read_text())["mcpServers"]
    assert {name: server["trust"] for name, server in servers.items()} == {"tui-tasks": True}


def test_gemini_hides_the_settings_of_git_so_that_it_is_told_who_commits(
    store: Store, clock: Clock, task: str, repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n")
    (work,) = store.commit(StartWork(task, "gemini", str(repo), str(repo)), actor="human", now=clock())
    given = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.pager", "GIT_CONFIG_VALUE_0": "cat"}
    environment = program_commands.command(
        SETTINGS, work, "Do it", store.path, tmp_path, given, is_headless=False
    ).environment
    hidden = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(
        ["git", "commit", "-q", "--allow-empty", "-m", "x"],
        cwd=repo, env={"PATH": os.environ["PATH"]} | environment | hidden, check=True,
    )  # fmt: skip
    assert git(repo, "log", "-1", "--format=%an %ae, %cn %ce") == "Ada ada@example.org, Ada ada@example.org"


def test_a_program_that_we_know_takes_options_of_the_settings_and_is_connected_and_resumed(
    store: Store, clock: Clock, task: str, tmp_path: Path
) -> None:
    settings = WorkSettings(programs={"claude": ProgramSettings(command=("claude", "--permission-mode", "manual"))})
    (work,) = store.commit(
        StartWork(task, "claude", "/repo", "/trees/1", makes_worktree=True), actor="human", now=clock()
    )
    resumes = program_commands.resumes(settings, work, session_queries.find(store.db, work.agent))
    argv = program_commands.command(
        settings, work, "Do it", store.path, tmp_path, {}, is_headless=False, resumes=resumes
    ).argv  # fmt: skip
    assert argv[:5] == ("claude", "--permission-mode", "manual", "--continue", "--settings")
    # An option of the settings that takes any number of words, such as `--allowedTools`, leaves the prompt alone.
    assert argv[6:8] == ("Do it", "--mcp-config")


RESUMED = [
    ("claude", "s-1", ["claude", "--resume", "s-1", "Do it"], ["claude", "-p", "--resume", "s-1", "Do it"]),
    ("claude", "", ["claude", "--continue", "Do it"], ["claude", "-p", "--continue", "Do it"]),
    ("codex", "s-1", ["codex", "resume", "s-1", "Do it"], ["codex", "exec", "resume", "s-1", "Do it"]),
    ("codex", "", ["codex", "resume", "--last", "Do it"], ["codex", "exec", "resume", "--last", "Do it"]),
    ("gemini", "s-1", ["gemini", "--resume", "s-1", "-i", "Do it"], ["gemini", "--resume", "s-1", "-p", "Do it"]),
    ("gemini", "", ["gemini", "--resume", "latest", "-i", "Do it"], ["gemini", "--resume", "latest", "-p", "Do it"]),
    ("opencode", "s-1", ["opencode", "--session", "s-1", "--prompt", "Do it"],
     ["opencode", "run", "--session", "s-1", "Do it"]),
    ("opencode", "", ["opencode", "--continue", "--prompt", "Do it"], ["opencode", "run", "--continue", "Do it"]),
]  # fmt: skip


@pytest.mark.parametrize(("program", "resumes", "attached", "headless"), RESUMED)
def test_a_session_is_resumed_in_the_programs_own_way(
    store: Store, clock: Clock, task: str, tmp_path: Path, program: str, resumes: str, attached: list[str],
    headless: list[str],
) -> None:  # fmt: skip
    for is_headless, expected in ((False, attached), (True, headless)):
        folder = tmp_path / str(is_headless)
        folder.mkdir()
        (work,) = store.commit(
            StartWork(task, program, "/repo", f"/trees/{is_headless}", is_race=True), actor="human", now=clock()
        )
        words = program_commands.command(
            SETTINGS, work, "Do it", store.path, folder, {}, is_headless=is_headless, resumes=resumes
        ).argv
        ours = {"-c", "--settings", "--mcp-config"}
        found = [
            word
            for before, word in zip(("", *words[:-1]), words, strict=True)
            if word not in ours and before not in ours
        ]
        assert found == expected


def test_what_is_resumed_is_the_session_that_the_program_has_reported_or_the_newest_of_the_worktree(
    store: Store, clock: Clock, task: str
) -> None:
    (work,) = store.commit(
        StartWork(task, "claude", "/repo", "/trees/1", makes_worktree=True), actor="human", now=clock()
    )
    session = session_queries.find(store.db, work.agent)
    assert program_commands.resumes(SETTINGS, work, session) == ""
    assert program_commands.resumes(SETTINGS, work, None) is None


@pytest.mark.parametrize(("program", "is_told"), [("codex", True), ("claude", False)])
def test_codex_is_told_that_the_person_commits_what_its_sandbox_refuses_to(
    store: Store, clock: Clock, task: str, program: str, is_told: bool
) -> None:
    (work,) = store.commit(
        StartWork(task, program, "/repo", "/trees/1", makes_worktree=True), actor="human", now=clock()
    )
    text = program_commands.prompt(store.db, task_queries.task(store.db, task), work)
    assert ("the person commits your files" in text) is is_told


@pytest.mark.parametrize(
    ("lines", "shown"),
    [
        (["> 1. Sign in with ChatGPT", "  3. Sign in another way"], "not logged in: "),
        ([" Do you trust the files in this folder?"], "asks to trust the folder: "),
        ([" How would you like to authenticate for this project?"], "not logged in: "),
        ([" Select login method:", " 1. Claude account with subscription"], "not logged in: "),
        (["Let's get started."], None),
    ],
)
def test_the_first_screen_of_a_program_is_told_in_a_line(lines, shown):
    found = program_commands.first_question(lines)
    assert found == shown if shown is None else (found or "").startswith(shown)


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (["Not logged in · Please run /login", "[the program has ended with status 1]"], "Not logged in · Please run"),
        (["Please set an Auth method in settings.json or specify GEMINI_API_KEY"], "Please set an Auth method"),
        (["", " Failed to connect to api.example: ENOTFOUND", "", " Check your network."], "Failed to connect to"),
        (["ERROR: Reconnecting... waiting for network"], "ERROR: Reconnecting"),
        (["0 files changed"], ""),
    ],
)
def test_the_line_that_says_why_a_program_has_ended_is_found(lines, why):
    assert program_commands.refusal(lines)[: len(why) or None] == why
