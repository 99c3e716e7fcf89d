"""What agent programs write down of their sessions beside their hooks: spending, and turns that ended untold."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Clock
from tests.hooks.playing import Player
from tui_tasks.core.commit import journal
from tui_tasks.core.store import Store
from tui_tasks.hooks import intake, session_records
from tui_tasks.hooks.follower import RecordWatch
from tui_tasks.settings.config import SessionSettings

PID = 4711


class Program(Player):
    """An agent program with hooks and a record of its session, and a process of ours that follows both."""

    def __init__(self, store: Store, clock: Clock, program: str, folder: Path) -> None:
        super().__init__(store, clock, program, pid=PID)
        self.path = folder / "home" / "projects" / "folder" / "s.jsonl"
        self.path.parent.mkdir(parents=True)
        self.watch = RecordWatch(
            store, lambda: intake.process_payloads(store, clock.now, self.settings), lambda: self.settings
        )

    def writes(self, *lines: Any, beside: str = "") -> None:
        path = self.path.with_suffix("") / "subagents" / beside if beside else self.path
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.writelines(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)

    def fires(self, event: str, session: str = "s", **fields: object) -> None:
        self.play({"session_id": session, "hook_event_name": event, "transcript_path": str(self.path), **fields})

    def is_status(self, status: str, session: str = "s") -> None:
        folder = self.path.parents[2] / "sessions"
        folder.mkdir(exist_ok=True)
        told = {"sessionId": session, "status": status, "statusUpdatedAt": self.clock.now // 1000}
        (folder / f"{PID}.json").write_text(json.dumps(told))

    def looks(self, times: int = 2) -> None:
        for _ in range(times):
            self.clock.forward(1)
            self.watch.look(self.clock.now)

    def spent(self, number: int = 1) -> tuple[int | None, float | None]:
        session = self.seen(number).session
        return session.tokens, session.cost_usd


@pytest.fixture
def claude(store: Store, clock: Clock, tmp_path: Path) -> Program:
    return Program(store, clock, "claude", tmp_path)


@pytest.fixture
def codex(store: Store, clock: Clock, tmp_path: Path) -> Program:
    return Program(store, clock, "codex", tmp_path)


@pytest.fixture
def gemini(store: Store, clock: Clock, tmp_path: Path) -> Program:
    return Program(store, clock, "gemini", tmp_path)


def reply(message: str, tokens: int, **more: object) -> dict[str, Any]:
    usage = {"input_tokens": tokens - 3, "cache_read_input_tokens": 2, "output_tokens": 1}
    return {"type": "assistant", "message": {"id": message, "model": "m-1", "usage": usage, "content": []}, **more}


def cost(tokens: int, dollars: float, *, unknown: bool = False) -> dict[str, Any]:
    by_model = {"m-1": {"inputTokens": tokens, "outputTokens": 0}}
    return {"type": "cost-state", "totalCostUSD": dollars, "modelUsage": by_model, "hasUnknownModelCost": unknown}


def compacted(tokens: int) -> dict[str, Any]:
    boundary = {"type": "system", "subtype": "compact_boundary", "uuid": f"u-{tokens}"}
    return {**boundary, "compactMetadata": {"trigger": "manual", "preTokens": tokens, "postTokens": 7}}


def api_error(words: str) -> dict[str, Any]:
    message = {"id": "e", "model": "<synthetic>", "usage": {"input_tokens": 0}, "content": [{"text": words}]}
    return {"type": "assistant", "isApiErrorMessage": True, "message": message}


# What was spent


def test_a_compaction_of_claude_counts_the_conversation_that_it_has_read(claude: Program) -> None:
    claude.fires("SessionStart")
    claude.writes(reply("a", 10), compacted(10))
    claude.looks()
    assert claude.spent() == (20, None)
    claude.writes(reply("b", 5), cost(30, 0.25))
    claude.looks()
    assert claude.spent() == (30, 0.25)


def test_each_message_of_claude_is_counted_once_however_many_lines_it_has(claude: Program) -> None:
    claude.fires("SessionStart")
    assert claude.spent() == (None, None)
    claude.writes(reply("a", 10), reply("a", 12), reply("b", 5))
    claude.fires("Stop")
    assert claude.spent() == (17, None)
    claude.writes(reply("b", 6))
    claude.fires("Stop")
    assert claude.spent() == (18, None)
    assert claude.seen().session.model == "m-1"


def test_subagents_spend_for_their_session(claude: Program) -> None:
    claude.writes(reply("a", 10))
    claude.writes(reply("x", 100), reply("y", 100), beside="agent-1.jsonl")
    claude.fires("Stop")
    assert claude.spent() == (210, None)


def test_claude_says_at_its_end_what_it_has_cost(claude: Program) -> None:
    claude.writes(reply("a", 10))
    claude.fires("Stop")
    claude.writes(cost(50, 0.25))
    claude.fires("SessionEnd")
    assert claude.spent() == (50, 0.25)


def test_a_cost_of_which_a_part_is_unknown_is_unknown(claude: Program) -> None:
    claude.writes(cost(50, 0.25, unknown=True), {**cost(0, 0), "modelUsage": {}})
    claude.fires("SessionEnd")
    assert claude.spent() == (50, None)


def test_what_was_spent_before_a_session_was_cleared_is_not_forgotten(claude: Program) -> None:
    claude.writes(reply("a", 10))
    claude.fires("Stop")
    claude.fires("SessionEnd", reason="clear")
    claude.path = claude.path.with_name("t.jsonl")
    claude.writes(reply("b", 5))
    claude.fires("SessionStart", session="t", source="clear")
    claude.fires("Stop", session="t")
    assert claude.seen().session.session == "t"
    assert claude.spent() == (15, None)


def test_codex_keeps_a_running_sum(codex: Program) -> None:
    codex.fires("SessionStart")
    for total in (1_000, 2_500):
        usage = {"total_token_usage": {"total_tokens": total}, "last_token_usage": {"total_tokens": 7}}
        codex.writes({"type": "event_msg", "payload": {"type": "token_count", "info": usage}})
        codex.fires("Stop")
        assert codex.spent() == (total, None)


def test_gemini_tells_the_tokens_of_each_message(gemini: Program) -> None:
    gemini.writes({"id": "a", "type": "gemini", "tokens": {"total": 10}, "model": "g-1"})
    gemini.writes({"id": "b", "type": "gemini", "tokens": {"total": 20}, "model": "g-1"})
    gemini.writes({"$set": {"messages": [{"id": "a", "type": "gemini", "tokens": {"total": 10}}]}})
    gemini.fires("AfterAgent", prompt_response="ok")
    assert gemini.spent() == (30, None)
    assert gemini.seen().session.model == "g-1"


def context(program: Program) -> float | None:
    return session_records.of(program.seen().activity).context


@pytest.mark.parametrize(("tokens", "share"), [(50_000, 0.25), (500_000, 0.5)])
def test_the_last_message_of_claude_code_fills_a_share_of_the_context_window(claude, tokens, share) -> None:
    claude.fires("SessionStart")
    assert context(claude) is None
    claude.writes(reply("a", 10))
    message = {"id": "b", "model": "claude-1", "usage": {"cache_read_input_tokens": tokens, "output_tokens": 9_999}}
    claude.writes({"type": "assistant", "message": message})
    claude.fires("Stop")
    assert context(claude) == share


def test_codex_tells_the_share_of_the_context_window(codex: Program) -> None:
    codex.fires("SessionStart")
    usage = {"last_token_usage": {"total_tokens": 100}, "model_context_window": 400}
    codex.writes({"type": "event_msg", "payload": {"type": "token_count", "info": usage}})
    codex.fires("Stop")
    assert context(codex) == 0.25


def test_the_input_of_gemini_fills_a_share_of_its_context_window(gemini: Program) -> None:
    gemini.writes({"id": "a", "type": "gemini", "tokens": {"input": 524_288, "total": 600_000}, "model": "g-1"})
    gemini.fires("AfterAgent", prompt_response="ok")
    assert context(gemini) == 0.5


def test_spending_is_seen_while_a_turn_goes_on_and_leaves_no_entry_of_its_own(claude: Program, store: Store) -> None:
    claude.fires("UserPromptSubmit", prompt="go")
    newest, seen_last = journal.newest(store.db), claude.seen().activity.last_seen
    claude.writes(reply("a", 10))
    claude.looks()
    assert claude.spent() == (10, None)
    assert journal.newest(store.db) == newest
    assert claude.seen().activity.last_seen == seen_last


# What is no record


def test_a_line_that_is_not_whole_is_read_when_it_is(claude: Program) -> None:
    line = json.dumps(reply("a", 10))
    claude.path.write_text(line[:20])
    claude.fires("Stop")
    assert claude.spent() == (None, None)
    claude.path.write_text(line + "\n")
    claude.fires("Stop")
    assert claude.spent() == (10, None)


@pytest.mark.parametrize(
    "line",
    [b"\xff\"usage\"", b'{"message":{"usage":[1]}}', b'{"type":"assistant","message":{"usage":{"input_tokens":-5}}}',
     b'"usage"', b"[" * 100_000 + b'"usage"'],
)  # fmt: skip
def test_lines_that_nobody_knows_tell_nothing(claude: Program, line: bytes) -> None:
    claude.path.write_bytes(line + b"\n")
    claude.writes(reply("a", 10))
    claude.fires("Stop")
    assert claude.spent() == (10, None)


def test_a_payload_cannot_have_read_what_is_no_record(claude: Program, tmp_path: Path) -> None:
    claude.writes(reply("a", 10))
    real, claude.path = claude.path, tmp_path / "link.jsonl"
    claude.path.symlink_to(real)
    claude.fires("Stop")
    claude.path = tmp_path / "pipe.jsonl"
    os.mkfifo(claude.path)
    claude.fires("Stop")
    claude.path = tmp_path
    claude.fires("Stop")
    claude.path = Path("relative.jsonl")
    claude.fires("Stop")
    assert claude.spent() == (None, None)
    assert claude.state()[0] == "idle"


def test_a_record_that_is_long_is_read_in_parts(claude: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_records, "MAX", 1_000)
    claude.fires("UserPromptSubmit", prompt="go")
    claude.writes({"usage": "x" * 5_000}, *(reply(str(number), 10) for number in range(20)))
    claude.looks(20)
    assert claude.spent() == (200, None)


# How turns end


def test_a_headless_session_that_its_service_fails_ends_failed_with_the_reason(claude: Program) -> None:
    claude.fires("SessionStart")
    claude.fires("UserPromptSubmit", prompt="go")
    claude.writes(api_error("API Error: 529 overloaded"))
    claude.fires("SessionEnd", reason="other")
    seen = claude.seen()
    assert (seen.state, seen.session.last_message) == ("failed", "API Error: 529 overloaded")
    assert seen.session.ended_at is not None


def test_a_headless_session_fails_where_nothing_that_is_said_is_kept(claude: Program) -> None:
    claude.settings = SessionSettings(tasks=False, keep="none")
    claude.fires("UserPromptSubmit", prompt="go")
    claude.writes(api_error("API Error: 401 no"))
    claude.fires("SessionEnd", reason="other")
    assert claude.state()[0] == "failed"
    assert claude.seen().session.last_message is None


def test_a_headless_session_whose_failure_a_hook_has_told_ends_failed_too(claude: Program) -> None:
    claude.fires("UserPromptSubmit", prompt="go")
    claude.writes({**api_error("API Error: 400 bad"), "entrypoint": "sdk-cli"})
    claude.fires("StopFailure", error="unknown", last_assistant_message="API Error: 400 bad")
    claude.fires("SessionEnd", reason="other")
    assert claude.state()[0] == "failed"


def test_why_a_turn_has_failed_is_no_word_of_the_next(claude: Program) -> None:
    claude.fires("UserPromptSubmit", prompt="go")
    claude.writes(api_error("API Error: 429"))
    claude.fires("StopFailure", error="rate_limit", last_assistant_message="API Error: 429")
    assert (claude.state()[0], claude.seen().session.last_message) == ("failed", "API Error: 429")
    claude.fires("UserPromptSubmit", prompt="go on")
    claude.looks()
    assert (claude.state()[0], claude.seen().session.last_message) == ("working", None)


@pytest.mark.parametrize("after", ["PreToolUse", "UserPromptSubmit", "Stop"])
def test_an_error_after_which_it_went_on_is_not_how_a_session_ended(claude: Program, after: str) -> None:
    claude.fires("UserPromptSubmit", prompt="go")
    claude.writes(api_error("API Error: 529 overloaded"))
    claude.looks()
    claude.fires(after, tool_name="Bash", prompt="go on")
    claude.fires("SessionEnd", reason="other")
    assert claude.state()[0] == "gone"


def test_a_turn_that_failed_before_the_person_left_leaves_a_session_that_is_gone(claude: Program) -> None:
    claude.fires("UserPromptSubmit", prompt="go")
    claude.writes(api_error("API Error: 400 bad"))
    claude.fires("StopFailure", error="unknown", last_assistant_message="API Error: 400 bad")
    assert claude.state()[0] == "failed"
    claude.clock.forward(60)
    claude.fires("SessionEnd", reason="prompt_input_exit")
    assert claude.state()[0] == "gone"


def test_codex_of_whose_failure_no_hook_tells_is_failed_soon(codex: Program) -> None:
    codex.fires("UserPromptSubmit", prompt="go")
    said = json.dumps({"type": "error", "error": {"message": "no such model"}})
    codex.writes({"type": "event_msg", "payload": {"type": "task_started"}})
    codex.writes({"type": "event_msg", "payload": {"type": "task_complete", "error": {"message": said}}})
    codex.looks()
    assert codex.state()[0] == "failed"
    assert codex.seen().session.last_message == "no such model"
    codex.fires("UserPromptSubmit", prompt="again")
    codex.writes({"type": "event_msg", "payload": {"type": "task_started"}})
    codex.looks()
    assert codex.state()[0] == "working"


def test_a_single_look_sees_all_that_is_there(codex: Program) -> None:
    codex.fires("UserPromptSubmit", prompt="go")
    codex.writes({"type": "event_msg", "payload": {"type": "task_complete", "error": {"message": "bad"}}})
    codex.watch.look(codex.clock.now, at_once=True)
    assert codex.state()[0] == "failed"


def test_two_turns_that_fail_alike_have_both_failed(codex: Program) -> None:
    for _ in range(2):
        codex.fires("UserPromptSubmit", prompt="go")
        codex.writes({"type": "event_msg", "payload": {"type": "task_started"}})
        codex.writes({"type": "event_msg", "payload": {"type": "task_complete", "error": {"message": "bad"}}})
        assert codex.state()[0] == "working"
        codex.looks()
        assert codex.state()[0] == "failed"


def test_codex_that_ends_by_a_failure_has_failed(codex: Program) -> None:
    codex.writes({"type": "session_meta", "payload": {"source": "exec"}})
    codex.writes({"type": "event_msg", "payload": {"type": "task_complete", "error": {"message": "bad"}}})
    for event in ("SessionStart", "UserPromptSubmit", "SessionEnd"):
        codex.leave({"session_id": "s", "hook_event_name": event, "transcript_path": str(codex.path), "prompt": "go"})
    intake.process_payloads(codex.store, codex.clock.now, codex.settings)
    assert codex.state()[0] == "failed"


def test_gemini_whose_turn_the_person_has_ended_is_interrupted(gemini: Program) -> None:
    gemini.fires("BeforeAgent", prompt="go")
    gemini.writes({"id": "u", "type": "user"}, {"id": "i", "type": "info", "content": "Request cancelled."})
    gemini.fires("AfterAgent", prompt_response="[no response text]")
    assert gemini.state()[0] == "interrupted"
    gemini.fires("BeforeAgent", prompt="again")
    gemini.writes({"id": "v", "type": "user"}, {"id": "w", "type": "gemini", "tokens": {"total": 3}})
    gemini.fires("AfterAgent", prompt_response="done")
    assert gemini.state()[0] == "idle"


# Esc while Claude's model writes, of which no hook tells


def test_claude_that_waits_for_its_person_in_the_middle_of_a_turn_was_interrupted(claude: Program) -> None:
    claude.fires("UserPromptSubmit", prompt="go")
    claude.is_status("busy")
    claude.looks(1)
    assert claude.state()[0] == "working"
    claude.clock.forward(1)
    claude.is_status("idle")
    claude.looks(1)
    assert claude.state()[0] == "interrupted"


def test_a_permission_that_the_person_has_escaped_from_is_no_longer_asked(claude: Program) -> None:
    claude.fires("UserPromptSubmit", prompt="go")
    claude.fires("PermissionRequest", tool_name="Bash", tool_input={"command": "ls"})
    claude.is_status("waiting")
    claude.looks(1)
    assert claude.state()[0] == "waiting"
    claude.clock.forward(1)
    claude.is_status("idle")
    claude.looks(1)
    assert claude.state()[0] == "interrupted"


def test_it_waited_for_its_person_before_the_turn_began(claude: Program) -> None:
    claude.is_status("idle")
    claude.fires("UserPromptSubmit", prompt="go")
    claude.looks(1)
    assert claude.state()[0] == "working"


def test_it_waited_for_its_person_before_the_turn_went_on_by_itself(claude: Program) -> None:
    claude.fires("UserPromptSubmit", prompt="go")
    claude.clock.forward(1)
    claude.is_status("idle")
    claude.fires("UserPromptSubmit", prompt="<task-notification>x is done</task-notification>")
    claude.looks(1)
    assert claude.state()[0] == "working"


def test_another_session_of_the_process_says_nothing_of_this_one(claude: Program) -> None:
    claude.fires("UserPromptSubmit", prompt="go")
    claude.clock.forward(1)
    claude.is_status("idle", session="other")
    claude.looks(1)
    assert claude.state()[0] == "working"


def test_a_turn_of_which_a_hook_says_that_it_is_over_was_not_interrupted(claude: Program) -> None:
    claude.fires("UserPromptSubmit", prompt="go")
    claude.clock.forward(1)
    body = {"session_id": "s", "hook_event_name": "Stop", "transcript_path": str(claude.path)}
    claude.leave({**body, "last_assistant_message": "done"})
    claude.is_status("idle")
    claude.looks(1)
    assert claude.state()[0] == "idle"


def test_subagents_in_the_background_work_on_while_it_waits_for_its_person(claude: Program) -> None:
    claude.fires("UserPromptSubmit", prompt="go")
    claude.fires("Stop", background_tasks=[{"id": "b", "status": "running"}])
    claude.clock.forward(1)
    claude.is_status("idle")
    claude.looks(1)
    assert claude.state()[0] == "working"
