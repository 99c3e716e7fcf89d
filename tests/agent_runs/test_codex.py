"""A run's conversation with Codex, as it was recorded with the program itself."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agent_runs.playing import Play
from tui_tasks import clock
from tui_tasks.agent_runs.codex_driver import CodexDriver
from tui_tasks.core.operations.asks import PauseAgent, ResumeAgent
from tui_tasks.core.read import message_queries as messages
from tui_tasks.runner.runner_settings import AgentSettings

WHOLE, PLAIN = "codex-0.169.0-whole", "codex-0.169.0-plain"
THREAD = {"id": 2, "result": {"thread": {"id": "t-1"}, "model": "gpt"}}
TURN = {"id": 3, "result": {"turn": {"id": "turn-1"}}}


@pytest.fixture
def play(store, tmp_path):
    return Play(store, tmp_path, kind="codex")


@pytest.fixture
def begun(play):
    """A play whose turn has begun, with nothing said since."""
    play.hear(THREAD, TURN)
    play.program.said.clear()
    return play


def notifies(play, method, **given):
    play.hear({"method": method, "params": {"threadId": "t-1", "turnId": "turn-1", **given}})


def asks(play, method="item/commandExecution/requestApproval", rpc_id=0, **given):
    given = {"command": "ls", "availableDecisions": ["accept", "cancel"]} | given
    play.hear({"method": method, "id": rpc_id, "params": {"threadId": "t-1", "itemId": "i-1", **given}})


def test_questions_permissions_messages_and_the_end_of_a_turn_go_both_ways(play, store):
    seen = []

    def human(play):
        if play.talk._driver.session is None:
            return
        state = (play.seen.state, play.seen.waiting_for, play.seen.activity.tool)
        if not seen or seen[-1] != state:
            seen.append(state)
        for ask in play.asks:
            if "Which db" in ask.question:
                play.write("STEER please")
                play.answer(ask, "postgres")
            else:
                play.answer(ask, "Deny: no sir" if "denyme" in ask.question else "Allow")
        if "for i in" in play.output() and "enough" not in play.output():
            play.write("enough", ends_turn=True)

    play.play(WHOLE, human)
    waited = [waiting_for for state, waiting_for, _ in seen if state == "waiting"]
    assert waited == ["question", "permission: Bash", "permission: apply_patch", "permission: Bash"]
    assert play.seen.state == "interrupted"
    assert play.asks == []
    ending = play.over()
    assert (ending.outcome, ending.reason) == ("interrupted", "its turn was ended by the human: enough")
    assert (ending.tokens, ending.cost_usd) == (play.seen.session.tokens, None)
    assert play.seen.session.model == "gpt-5.5"
    assert messages.waiting(store.db, "codex-1") == ()
    tasks = store.db.sql("SELECT name, status FROM task ORDER BY id").fetchall()
    assert [tuple(task) for task in tasks] == [("do it", "cancelled"), ("one", "done"), ("two", "in_progress")]


def test_what_it_said_and_did_is_the_output_and_its_last_words_are_the_result(play):
    ending = play.play(PLAIN).over()
    assert play.output().splitlines() == [
        "I will look.",
        "> Bash: echo one",
        "> Bash: echo two; exit 3",
        "  failed: exit 3: two",
        "> Bash: echo three",
        "All done.",
    ]
    assert (ending.outcome, ending.result, ending.turns, ending.tokens) == ("success", "All done.", 4, 4200)
    assert play.host.run(play.run.uid).session == play.talk._driver.session


def test_a_turn_that_would_go_on_beyond_max_turns_is_interrupted(store, tmp_path):
    play = Play(store, tmp_path, kind="codex", max_turns=2).play("codex-0.169.0-max-turns")
    ending = play.over()
    assert (ending.outcome, ending.retry, ending.turns) == ("error", False, 2)
    assert ending.reason == "stopped: its model has answered 2 times, and max_turns is 2"
    assert play.seen.session.last_message == ending.reason


def test_an_error_of_the_models_service_is_the_reason(play):
    ending = play.play("codex-0.169.0-api-error").over()
    assert (ending.outcome, ending.reason, ending.tokens) == ("error", "no credit left", None)


def test_it_is_started_with_what_the_runner_says(store, tmp_path):
    play = Play(store, tmp_path, kind="codex", model="gpt-6", args=("-c", "x=1"))
    assert play.started.argv == ("codex", "app-server", "-c", "x=1")
    assert play.started.environment["TUI_TASKS_SUPERVISED"] == "codex"
    begun = play.program.said[-1]
    assert begun["params"] == {"cwd": str(tmp_path), "developerInstructions": "be brief", "model": "gpt-6"}


@pytest.mark.parametrize(
    ("method", "given", "allowed", "denied"),
    [
        ("item/commandExecution/requestApproval", {}, {"decision": "accept"}, {"decision": "decline"}),
        ("item/fileChange/requestApproval", {}, {"decision": "accept"}, {"decision": "decline"}),
        (
            "item/permissions/requestApproval",
            {"permissions": {"network": {"enabled": True}, "fileSystem": None}},
            {"permissions": {"network": {"enabled": True}}, "scope": "turn"},
            {"permissions": {}, "scope": "turn"},
        ),
        (
            "mcpServer/elicitation/request",
            {"serverName": "s", "message": "run it?"},
            {"action": "accept", "content": {}},
            {"action": "decline"},
        ),
    ],
)
def test_what_it_asks_for_is_allowed_or_denied_with_words_for_the_model(begun, method, given, allowed, denied):
    asks(begun, method, 7, **given)
    begun.answer(begun.asks[0], "Allow")
    begun.look()
    assert begun.program.said == [{"id": 7, "result": allowed}]
    begun.program.said.clear()
    asks(begun, method, 8, **given)
    begun.answer(begun.asks[0], "Deny: not now")
    begun.look()
    reply, words = begun.program.said
    assert reply == {"id": 8, "result": denied}
    assert words["method"] == "turn/steer"
    assert words["params"]["input"][0]["text"] == "That was denied: not now"


def test_what_it_proposes_to_allow_always_is_given_back_as_it_proposed_it(begun):
    proposed = {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": ["git", "status"]}}
    asks(begun, availableDecisions=["accept", proposed, "cancel"])
    assert begun.asks[0].options == ("Allow", "Allow always: commands that begin with: git status", "Deny")
    begun.answer(begun.asks[0], begun.asks[0].options[1])
    begun.look()
    assert begun.program.said == [{"id": 0, "result": {"decision": proposed}}]


def test_a_change_of_files_is_asked_for_with_the_whole_of_it(begun):
    changes = [{"path": "/a.py", "kind": {"type": "update"}, "diff": "@@ -1 +1 @@\n-one\n+two\n"}]
    notifies(begun, "item/started", item={"type": "fileChange", "id": "i-1", "changes": changes})
    asks(begun, "item/fileChange/requestApproval", reason="to mend it")
    diff = '"update /a.py":\n│ @@ -1 +1 @@⏎\n│ -one⏎\n│ +two⏎\n│ '
    question = f"Allow apply_patch?\nreason: to mend it\n{diff}"
    assert begun.asks[0].question == question


def test_a_form_with_fields_and_requests_of_unknown_kinds_are_refused(begun):
    schema = {"type": "object", "properties": {"token": {"type": "string"}}}
    asks(begun, "mcpServer/elicitation/request", 1, requestedSchema=schema)
    asks(begun, "item/tool/call", 2)
    assert [one["error"]["code"] for one in begun.program.said] == [-32601, -32601]
    assert begun.asks == []


def test_a_request_that_it_has_resolved_itself_is_withdrawn(begun):
    asks(begun)
    notifies(begun, "serverRequest/resolved", requestId=0)
    assert begun.asks == []
    assert begun.program.said == []


def test_what_it_still_asked_for_when_its_turn_was_ended_is_neither_answered_nor_spoken_of(begun):
    asks(begun)
    begun.write("enough", ends_turn=True)
    begun.look()
    notifies(begun, "turn/completed", turn={"id": "turn-1", "status": "interrupted"})
    begun.look()
    assert [one and one["method"] for one in begun.program.said] == ["turn/interrupt", None]
    assert begun.asks == []
    assert begun.over().reason == "its turn was ended by the human: enough"


def test_a_pause_holds_what_was_allowed_and_the_end_of_the_turn(begun, store):
    def pause(is_on):
        operation = PauseAgent("codex-1", "wait") if is_on else ResumeAgent("codex-1")
        store.commit(operation, actor="human", now=clock.now())
        begun.look()

    asks(begun)
    pause(True)
    begun.answer(begun.asks[0], "Allow")
    begun.look()
    assert begun.program.said == []
    assert "[paused: what it asks for, and its next turn, wait]\n" in begun.output()
    pause(False)
    assert begun.program.said.pop() == {"id": 0, "result": {"decision": "accept"}}
    pause(True)
    notifies(begun, "turn/completed", turn={"id": "turn-1", "status": "completed"})
    begun.write("more")
    begun.look()
    assert begun.program.said == []
    pause(False)
    assert [one["method"] for one in begun.program.said] == ["turn/start"]


def test_a_message_for_a_turn_that_is_over_by_then_begins_one(begun):
    begun.write("and that")
    begun.look()
    (steer,) = begun.program.said
    assert (steer["method"], steer["params"]["expectedTurnId"]) == ("turn/steer", "turn-1")
    begun.hear({"id": steer["id"], "error": {"code": -32600, "message": "no active turn"}})
    start = begun.program.said[-1]
    assert (start["method"], start["params"]["input"]) == ("turn/start", steer["params"]["input"])


def test_no_turn_begins_for_a_message_that_came_too_late_once_the_human_has_ended_the_turn(begun):
    begun.write("and that")
    begun.write("enough", ends_turn=True)
    begun.look()
    steer, interrupt = begun.program.said
    begun.hear({"id": steer["id"], "error": {"code": -32600, "message": "no active turn"}})
    assert begun.program.said == [steer, interrupt]


def test_a_thread_that_does_not_begin_is_the_reason(play):
    play.hear({"id": 2, "error": {"code": -32000, "message": "not logged in"}})
    assert play.program.said[-1] is None
    ending = play.over()
    assert (ending.outcome, ending.reason) == ("error", "not logged in")


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
_METHODS = st.sampled_from(
    [
        "item/started",
        "item/completed",
        "turn/started",
        "turn/completed",
        "thread/tokenUsage/updated",
        "item/commandExecution/requestApproval",
        "item/fileChange/requestApproval",
        "item/permissions/requestApproval",
        "mcpServer/elicitation/request",
        "item/tool/requestUserInput",
        "serverRequest/resolved",
        "turn/plan/updated",
        "error",
    ]
)
_NAMES = st.sampled_from(
    ["item", "turn", "threadId", "questions", "permissions", "plan", "error", "type", "id", "status"]
)
_PARAMS = st.dictionaries(_NAMES, _JSON | st.dictionaries(_NAMES, _JSON, max_size=4), max_size=5)
_MESSAGE = st.fixed_dictionaries({}, optional={"method": _METHODS, "id": _JSON, "params": _PARAMS, "result": _PARAMS})


@given(st.lists(_MESSAGE, max_size=5))
def test_whatever_the_server_writes_nothing_is_allowed_unasked(written):
    said = []
    driver = CodexDriver(AgentSettings(kind="codex"), said.append)
    driver.begin("do it", "", "/")
    for message in written:
        driver.handle(message)
    assert all("result" not in one for one in said)
    assert "accept" not in json.dumps(said)
