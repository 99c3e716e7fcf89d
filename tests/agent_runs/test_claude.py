"""A run's conversation with Claude Code, as it was recorded with the program itself."""

import itertools
import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agent_runs.playing import Play
from tests.started import DEADLINE
from tui_tasks import clock
from tui_tasks.agent_runs.claude_driver import ClaudeDriver
from tui_tasks.core.errors import Conflict, StorageFailed
from tui_tasks.core.operations.asks import AnswerAsk, CloseAsk, PauseAgent, ResumeAgent, WithdrawMessage
from tui_tasks.core.read import message_queries as messages
from tui_tasks.core.read.ask_queries import ask as read_ask
from tui_tasks.core.rules.agents.request_text import request_text
from tui_tasks.hooks.replies import answer_pipes
from tui_tasks.hooks.replies.reply_sender import whole_request, why_unanswerable
from tui_tasks.runner.runner_settings import AgentSettings
from tui_tasks.settings.config import SessionSettings

WHOLE, PLAIN = "claude-2.1.330-whole", "claude-2.1.330-plain"
BASH = {
    "type": "control_request",
    "request_id": "ask-1",
    "request": {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "rm -rf /"}},
}


@pytest.fixture
def play(store, tmp_path):
    return Play(store, tmp_path)


def asks(play, tool="Bash", **given):
    """Let the program ask for a permission."""
    request = {"subtype": "can_use_tool", "tool_name": tool, "input": {"command": "ls"}, **given}
    play.program.said.clear()
    play.hear({"type": "control_request", "request_id": "ask-1", "request": request})


def calls(play, request_id="hook-1"):
    """Let the program say that a tool is about to run."""
    payload = {"session_id": play.talk._driver.session, "hook_event_name": "PreToolUse", "tool_name": "Bash"}
    play.program.said.clear()
    request = {"subtype": "hook_callback", "callback_id": "h", "input": payload}
    play.hear({"type": "control_request", "request_id": request_id, "request": request})


def replies(play):
    return [one["response"] for one in play.program.said if one and one["type"] == "control_response"]


def test_questions_permissions_messages_and_the_end_of_a_turn_go_both_ways(play):
    seen = []

    def human(play):
        state = (play.seen.state, play.seen.waiting_for, play.seen.activity.tool)
        if not seen or seen[-1] != state:
            seen.append(state)
        for ask in play.asks:
            assert why_unanswerable(play.store.db, ask) is None
            if "Which db" in ask.question:
                play.write("STEER please")
                play.answer(ask, "postgres")
            else:
                play.answer(ask, "Deny: no sir" if "denyme" in ask.question else "Allow")
        if "for i in" in play.output() and play.seen.state == "working" and "enough" not in play.output():
            play.write("enough", ends_turn=True)

    play.play(WHOLE, human)
    assert seen[:6] == [
        ("idle", None, None),
        ("working", None, None),
        ("working", None, "AskUserQuestion"),
        ("waiting", "question", "AskUserQuestion"),
        ("working", None, None),
        ("working", None, "Write"),
    ]
    assert play.asks == []
    assert play.seen.state == "interrupted"
    ending = play.over(exit_code=1)
    assert (ending.outcome, ending.reason) == ("interrupted", "its turn was ended by the human: enough")
    assert (ending.turns, ending.tokens, ending.cost_usd) == (4, 4200, 0.02)
    assert play.seen.state == "gone"
    assert (play.seen.session.tokens, play.seen.session.cost_usd) == (4200, 0.02)
    assert play.seen.session.model == "claude-opus-5-5"
    assert messages.waiting(play.store.db, "claude-1") == ()


def test_what_it_said_and_did_is_the_output_and_its_last_words_are_the_result(play):
    play.play(PLAIN)
    ending = play.over()
    assert play.output() == "I look.\n> Bash: ls\n> Bash: pwd\n> Bash: ls\ndone it\n"
    assert (ending.outcome, ending.result, ending.reason) == ("success", "done it", None)
    run = play.host.run(play.run.uid)
    assert (run.agent, run.session) == ("claude-1", play.talk._driver.session)


def test_a_cap_that_the_program_keeps_is_the_reason_and_the_run_is_not_tried_again(store, tmp_path):
    play = Play(store, tmp_path, max_turns=2).play("claude-2.1.330-max-turns")
    ending = play.over(exit_code=1)
    assert ending.outcome == "error"
    assert ending.reason == "stopped: its model has answered 2 times, and max_turns is 2"
    assert not ending.retry


def test_an_error_of_the_models_service_is_the_reason_and_what_is_unknown_is_not_0(play):
    ending = play.play("claude-2.1.330-api-error").over(exit_code=1)
    assert (ending.outcome, ending.reason, ending.retry) == ("error", "Credit balance is too low", True)
    assert (ending.turns, ending.tokens) == (None, None)


def test_the_program_is_started_with_the_protocol_the_system_prompt_and_what_the_runner_says(store, tmp_path):
    play = Play(store, tmp_path, model="opus", max_turns=3, max_cost=0.5, args=("--effort", "low"))
    argv = play.started.argv
    assert argv[:2] == ("claude", "-p")
    told = dict(itertools.pairwise(argv))
    assert told["--permission-prompt-tool"] == "stdio"
    assert told["--append-system-prompt-file"] == str(tmp_path / "system-prompt.txt")
    assert (told["--model"], told["--max-turns"], told["--max-budget-usd"]) == ("opus", "3", "0.5")
    assert argv[-2:] == ("--effort", "low")
    assert play.started.text == ""
    assert play.started.environment["TUI_TASKS_SUPERVISED"] == told["--session-id"]


def test_what_nobody_answers_in_time_is_denied_and_its_question_closed(store, tmp_path):
    play = Play(store, tmp_path, wait=0)
    asks(play)
    play.look()
    (reply,) = replies(play)
    assert reply["response"] == {"behavior": "deny", "message": "No answer within 0 s. Denied."}
    assert play.asks == []
    ask = read_ask(store.db, store.db.sql("SELECT uid FROM ask").fetchone()[0])
    assert (ask.state, ask.reason) == ("timeout", "no answer within 0 s: denied")


@pytest.mark.parametrize("answer", ["Deny", "no", "allow", "Allow ", "yes"])
def test_only_the_option_that_says_so_allows(play, answer):
    asks(play)
    play.answer(play.asks[0], answer)
    play.look()
    assert [reply["response"]["behavior"] for reply in replies(play)] == ["deny"]


def test_a_question_that_somebody_else_closes_is_a_denial(play):
    asks(play)
    play.store.commit(CloseAsk(play.asks[0].uid, "withdrawn", "no"), actor="system", now=clock.now())
    play.look()
    assert [reply["response"]["behavior"] for reply in replies(play)] == ["deny"]


def test_allow_always_gives_back_the_programs_own_suggestion(play):
    rule = {"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "ls"}], "destination": "session"}
    asks(play, permission_suggestions=[rule])
    play.answer(play.asks[0], play.asks[0].options[1])
    play.look()
    assert replies(play)[0]["response"] == {
        "behavior": "allow",
        "updatedInput": {"command": "ls"},
        "updatedPermissions": [rule],
    }


def test_two_permissions_at_once_are_two_questions_each_with_its_answer(play):
    asks(play)
    second = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "ls"}}
    play.hear({"type": "control_request", "request_id": "ask-2", "request": second})
    first_ask, second_ask = play.asks
    play.answer(second_ask, "Allow")
    play.look()
    assert [(reply["request_id"], reply["response"]["behavior"]) for reply in replies(play)] == [("ask-2", "allow")]
    assert play.asks == [first_ask]


def test_what_the_program_asks_no_more_is_withdrawn_and_answered_by_nobody(play):
    asks(play)
    play.hear({"type": "control_cancel_request", "request_id": "ask-1"})
    assert play.asks == []
    assert replies(play) == []


def test_where_nobody_can_be_asked_it_is_denied(play, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.mkfifo", full)
    asks(play)
    assert [reply["response"]["behavior"] for reply in replies(play)] == ["deny"]


def test_a_pause_holds_the_next_tool_until_it_is_over(play):
    calls(play)
    assert replies(play)[0]["response"] == {}
    play.store.commit(PauseAgent("claude-1", "look first"), actor="human", now=clock.now())
    calls(play, "hook-2")
    assert replies(play) == []
    play.store.commit(ResumeAgent("claude-1"), actor="human", now=clock.now())
    play.look()
    assert [reply["request_id"] for reply in replies(play)] == ["hook-2"]
    assert "[paused: its next tool waits]\n" in play.output()


def test_a_message_at_the_end_of_a_turn_begins_another_unless_a_cap_is_reached(store, tmp_path):
    play = Play(store, tmp_path, max_turns=3)
    answer = {"id": "msg_1", "model": "m", "content": [], "usage": {"input_tokens": 1}}
    over = {"type": "result", "subtype": "success", "is_error": False, "result": "first"}
    play.program.said.clear()
    play.write("and now that")
    play.hear({"type": "assistant", "message": answer}, over)
    (said,) = play.program.said
    assert said["message"]["content"].endswith(":\nand now that")
    play.hear(*({"type": "assistant", "message": {**answer, "id": f"msg_{n}"}} for n in (2, 3)))
    play.program.said.clear()
    play.talk._driver.usage.turns = 3
    play.program.log.feed(play.talk.read_output(json.dumps({**over, "result": "second"}).encode() + b"\n"))
    play.write("once more")
    play.look()
    assert play.program.said == [None]
    ending = play.over()
    assert (ending.outcome, ending.result) == ("error", "second")
    assert ending.reason == "stopped: its model has answered 3 times, and max_turns is 3"
    assert [one.text for one in messages.waiting(store.db, "claude-1")] == ["once more"]


def test_a_message_after_the_programs_input_was_closed_waits(play):
    play.hear({"type": "result", "subtype": "success", "is_error": False, "result": "done"})
    assert play.program.said[-1] is None
    play.write("too late")
    play.look()
    assert [one.text for one in messages.waiting(play.store.db, play.agent)] == ["too late"]


def test_what_the_program_has_been_told_is_not_taken_back(play, monkeypatch):
    told = []

    def take_back(words):
        told.append(words)
        with pytest.raises(Conflict):
            play.store.commit(WithdrawMessage(uid), actor="human", now=clock.now())

    play.write("and now that")
    (uid,) = (one.uid for one in messages.waiting(play.store.db, play.agent))
    monkeypatch.setattr(play.talk._driver, "say", take_back)
    play.look()
    assert len(told) == 1


def test_a_turn_that_does_not_end_when_it_is_told_to_ends_with_the_program(play):
    play.write("enough", ends_turn=True)
    play.look()
    assert not play.program.was_ended
    play.talk._interrupt_until = 0.0
    play.look()
    assert play.program.was_ended


def test_nothing_is_lost_or_allowed_while_the_database_cannot_be_written(play, monkeypatch):
    def full(*_, **__):
        raise StorageFailed("the disk is full", retryable=True)

    with monkeypatch.context() as broken:
        broken.setattr(play.store, "transaction", full)
        asks(play)
        assert replies(play) == []
        assert play.talk.seconds_to_wait() > 0.5
    play.talk._retry_at = 0.0
    play.look()
    assert [ask.question for ask in play.asks] == ["Allow Bash?\ncommand: ls"]


def test_the_output_names_what_a_tool_works_on_as_the_screen_of_agents_does(store, tmp_path):
    play = Play(store, tmp_path)
    called = {"type": "tool_use", "name": "Grep", "input": {"path": "src", "pattern": "TODO"}}
    edited = {"type": "tool_use", "name": "NotebookEdit", "input": {"notebook_path": "a.ipynb"}}
    play.hear({"type": "assistant", "message": {"id": "m", "content": [called, edited]}})
    assert play.output() == "> Grep: TODO\n> NotebookEdit: a.ipynb\n"


def test_keys_are_kept_out_of_the_output_and_inputs_as_the_settings_say(store, tmp_path):
    play = Play(store, tmp_path, settings=SessionSettings(keep="none"))
    said = {"type": "text", "text": "The key is sk-ant-0123456789abcdef0123."}
    called = {"type": "tool_use", "name": "Bash", "input": {"command": "cat secret"}}
    play.hear({"type": "assistant", "message": {"id": "m", "content": [said, called]}})
    play.hear({"type": "result", "subtype": "success", "result": said["text"]})
    assert play.output() == "The key is [redacted].\n> Bash\n"
    assert play.over().result == "The key is [redacted]."
    assert play.seen.session.last_message is None


def test_a_request_that_is_not_kept_whole_is_shown_whole_from_the_memory_of_the_run(store, tmp_path, monkeypatch):
    monkeypatch.setattr(answer_pipes, "_PASSING", DEADLINE)
    play = Play(store, tmp_path, settings=SessionSettings(keep="none"))
    asks(play, input={"command": "cat secret \ud83d"})
    (ask,) = play.asks
    assert "secret" not in ask.question
    with pytest.raises(Conflict, match="not shown all"):
        store.commit(AnswerAsk(ask.uid, "Allow"), actor="human", now=clock.now())
    with ThreadPoolExecutor(1) as other:
        whole = other.submit(whole_request, store.path, ask)
        while not whole.done():
            play.look()
        assert request_text(whole.result()) == "Allow Bash?\ncommand: cat secret <U+D83D>"
    assert play.talk.seconds_to_wait() <= 0.25
    play.answer(ask, "Allow")
    play.look()
    assert replies(play)[0]["response"]["behavior"] == "allow"


def test_lines_that_are_no_messages_are_output_and_a_run_without_a_result_has_failed(play):
    play.program.log.feed(play.talk.read_output(b"Error: not logged in\n[1]\nhalf a li"))
    ending = play.over()
    assert play.output() == "Error: not logged in\n[1]\nhalf a li\n"
    assert (ending.outcome, ending.reason) == ("error", "it ended before its turn was over")


def test_a_turn_that_left_subagents_at_work_is_done_when_the_program_has_ended(play):
    session = play.talk._driver.session

    def hook(event, **payload):
        given = {"session_id": session, "hook_event_name": event, **payload}
        request = {"subtype": "hook_callback", "callback_id": "h", "input": given}
        play.hear({"type": "control_request", "request_id": event, "request": request})

    hook("UserPromptSubmit", prompt="do it")
    hook("Stop", last_assistant_message="Later.", background_tasks=[{"id": "b-1", "status": "running"}])
    play.hear({"type": "result", "subtype": "success", "result": "Done."})
    assert play.seen.state == "working"
    assert play.over().outcome == "success"
    assert play.seen.session.last_message == "Done."
    tasks = play.store.db.sql("SELECT name, status FROM task").fetchall()
    assert [tuple(task) for task in tasks] == [("do it", "done")]


def test_what_is_cut_in_half_too_deep_or_too_large_is_asked_for_and_given_back_as_it_came(play):
    deep = "x"
    for _ in range(100):
        deep = [deep]
    given = {"half": "\ud83d", "deep": deep, "number": 2**70}
    asks(play, input=given)
    (ask,) = play.asks
    assert ask.question.startswith("Allow Bash?\nhalf: ?\ndeep: [[[")
    play.answer(ask, "Allow")
    play.look()
    assert replies(play)[0]["response"] == {"behavior": "allow", "updatedInput": given}
    play.hear({"type": "assistant", "message": {"id": "m", "content": [{"type": "text", "text": "cut \ud83d"}]}})
    play.hear({"type": "result", "subtype": "success", "result": "cut \ud83d"})
    assert play.over().result == "cut ?"


def test_a_request_of_an_unknown_kind_is_refused(play):
    play.program.said.clear()
    play.hear({"type": "control_request", "request_id": "x", "request": {"subtype": "open_the_door"}})
    assert replies(play)[0]["subtype"] == "error"


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
_NAMES = st.sampled_from(["type", "request", "message", "content", "subtype", "request_id", "input", "usage", "id"])
_WORDS = st.sampled_from(
    ["control_request", "can_use_tool", "hook_callback", "assistant", "user", "result", "system", "init", "tool_use"]
)
_PART = st.recursive(
    _WORDS | _JSON,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=6),
    max_leaves=8,
)
_MESSAGE = st.dictionaries(_NAMES, _PART, max_size=6)


@given(st.lists(_MESSAGE, max_size=4))
def test_whatever_the_program_writes_nothing_is_allowed_unasked(written):
    said = []
    driver = ClaudeDriver(AgentSettings(kind="claude"), said.append)
    for message in written:
        driver.handle(message)
    assert "allow" not in json.dumps(said)
