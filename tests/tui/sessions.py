"""Sessions of agent programs beside the plan of the pictures, told by payloads as their hooks leave them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Clock
from tests.hooks.playing import Player
from tests.tui.plan import Plan, at
from tui_tasks.core.operations.tasks import AddTask, EnsureList
from tui_tasks.core.store import Store
from tui_tasks.hooks import hooks_folder
from tui_tasks.hooks.hook_folder import Folder
from tui_tasks.hooks.replies import answer_pipes

HOOK = "01795383480399000-1"
"""The name under which the hook of `asks_permission` waits."""
COMMAND = {"command": "rm -rf build/\nmake all", "description": "Clean the build"}
EDIT = {
    "tool_name": "Edit",
    "tool_use_id": "u",
    "tool_input": {"file_path": "/home/me/code/web/login.test.ts"},
    "cwd": "/home/me/code/web",
}
RULE = {
    "type": "addRules",
    "rules": [{"toolName": "Bash", "ruleContent": "make:*"}],
    "behavior": "allow",
    "destination": "localSettings",
}


class Sessions:
    """Plays what programs tell, each payload at a time of that evening."""

    def __init__(self, store: Store) -> None:
        self._clock = Clock(at(20, 0))
        self._players = {program: Player(store, self._clock, program) for program in ("claude", "codex")}

    def tell(self, program: str, session: str, event: str, now: int, head: Any = (), **fields: Any) -> None:
        """A hook of a program's session tells of an event."""
        self._clock.now = now - 1_000_000
        payload = {"session_id": session, "hook_event_name": event, **fields}
        self._players[program].play(payload, **dict(head))

    def begin(self, program: str, session: str, prompt: str, now: int, cwd: str, **head: Any) -> None:
        """A session is asked for something."""
        model = "claude-opus-5-5" if program == "claude" else "gpt-6-codex"
        self.tell(program, session, "SessionStart", now, head, source="startup", cwd=cwd, model=model)
        self.tell(program, session, "UserPromptSubmit", now, head, prompt=prompt, permission_mode="default")


def asks_permission(sessions: Sessions, session: str, now: int, **request: Any) -> None:
    """Claude Code asks whether it may use a tool, and its hook waits for the answer."""
    told = {"cwd": "/home/me/code/api", "tool_name": "Bash", "tool_input": COMMAND, "permission_suggestions": [RULE]}
    sessions.tell("claude", session, "PermissionRequest", now, {"answer": HOOK, "wait": 50}, **{**told, **request})


def with_sessions(plan: Plan) -> Plan:
    """One waits for a permission, one works, one was ended by its model's service, one has done its work, one left."""
    with Store(plan.path) as store:
        sessions = Sessions(store)
        sessions.begin("claude", "a", "Clean the build", at(20, 9), "/home/me/code/api", project="api")
        for second in range(0, 50, 7):
            sessions.tell("claude", "a", "PreToolUse", at(20, 10, second), tool_name="Bash", tool_use_id="t")
        sessions.begin("claude", "b", "Write tests for login", at(20, 12), "/home/me/code/web", project="web")
        sessions.begin("codex", "c", "Port the API", at(20, 1), "/home/me/code/infra", project="infra")
        sessions.begin("claude", "d", "Fix the docs", at(20, 2), "/home/me/code/web", project="web")
        sessions.begin("claude", "e", "Release", at(19, 2), "/home/me/code/api", project="api")
        sessions.tell("claude", "e", "SessionEnd", at(19, 15), reason="other")
        sessions.tell("claude", "d", "StopFailure", at(20, 13), error_message="overloaded (529)", error="overloaded")
        sessions.tell("codex", "c", "Stop", at(20, 3), last_assistant_message="All tests pass.")
        sessions.tell("claude", "b", "PreToolUse", at(20, 15, 33), **EDIT)
        asks_permission(sessions, "a", at(20, 11, 40))
    return plan


def three_projects(plan: Plan) -> Plan:
    """Two agents in each of three projects, whose lists are their own; one of `api` waits for a permission."""
    with Store(plan.path) as store:
        sessions = Sessions(store)
        for number, name in enumerate(("web", "api", "infra")):
            (home,) = store.commit(EnsureList(f"{name}/tasklist", "tasklist", name), actor="claude-9", now=at(19, 0))
            for title in ("Ship it", "Document it")[: 2 - number // 2]:
                store.commit(AddTask(f"{title}: {name}", home.uid), actor="claude-9", now=at(19, 1 + number))
            for program in ("claude", "codex"):
                cwd = f"/home/me/code/{name}"
                sessions.begin(program, f"{name}-{program}", f"Work on {name}", at(20, 1 + number), cwd, project=name)
            sessions.tell("codex", f"{name}-codex", "Stop", at(20, 5), last_assistant_message="Done.")
        asks_permission(sessions, "api-claude", at(20, 11, 40))
    return plan


@contextmanager
def hook_waits(plan: Plan, name: str = HOOK) -> Iterator[None]:
    """A hook waits for an answer under a name."""
    with (
        Folder(hooks_folder(plan.path), make=True) as folder,
        Folder("answers", make=True, inside=folder),
        pytest.MonkeyPatch.context() as patched,
    ):
        path = Path(hooks_folder(plan.path)) / "answers" / name
        patched.setattr(answer_pipes, "_PASSING", 0.01)  # it never passes on what it asks
        os.mkfifo(path, 0o600)
        reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            yield
        finally:
            os.close(reader)
            path.unlink()
