"""What payloads of agent programs do to the state (docs: protocol, section 10)."""

from __future__ import annotations

import contextlib
import itertools
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import SECOND, Clock, Talk
from tests.hooks.playing import PAYLOADS, Player
from tui_tasks.core.agent_snapshots import Process
from tui_tasks.core.commit import journal
from tui_tasks.core.engine.driver import connect
from tui_tasks.core.maintenance import database_findings
from tui_tasks.core.maintenance.replay import replay
from tui_tasks.core.operations.asks import AnswerAsk
from tui_tasks.core.read import ask_queries
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import connections
from tui_tasks.hooks import PROGRAM_NAMES, intake, session_processes
from tui_tasks.hooks.hook_folder import Spool
from tui_tasks.runner import processes


@pytest.fixture
def claude(store: Store, clock: Clock) -> Player:
    return Player(store, clock, "claude")


def of(event: str, session: str = "s", **fields: object) -> dict[str, object]:
    return {"session_id": session, "hook_event_name": event, **fields}


def _words(text: str) -> list[str]:
    return text.split()


KEYS = _words("""
agent program session project cwd model state waiting_for tool tool_since last_prompt last_message task
started_at last_seen ended_at tokens cost_usd mode machine
""")


def kinds(store: Store) -> list[str]:
    return [entry.kind for entry in journal.each_since(store.db, 0, 1_000)]


@pytest.mark.parametrize("file", sorted(PAYLOADS.glob("*.jsonl")), ids=lambda file: file.stem)
def test_recorded_payloads_give_the_right_states_at_every_step(file: Path, store: Store, clock: Clock) -> None:
    player = Player(store, clock, file.stem.partition("-")[0])
    for number, line in enumerate(file.read_text().splitlines(), 1):
        step = json.loads(line)
        player.play(step["payload"])
        found = [
            " ".join(
                [seen.state]
                + ([f"({seen.waiting_for})"] if seen.waiting_for else [])
                + ([f"[{' '.join(filter(None, (at.tool, at.tool_target)))}]"] if (at := seen.activity).tool else [])
            )
            for seen in session_queries.everyone(store.db)
        ]
        assert found == step["then"], f"line {number}"
    assert list(database_findings.differences(store.db)) == []


def test_names_count_from_one_for_each_program_and_are_given_once(store: Store, clock: Clock) -> None:
    claude, codex = Player(store, clock, "claude"), Player(store, clock, "codex")
    for player, session in ((claude, "a"), (codex, "a"), (claude, "b"), (claude, "a")):
        player.play(of("SessionStart", session, source="startup"))
        player.play(of("SessionEnd", session))
    claude.play(of("SessionStart", "c"))
    assert [session.session.uid for session in session_queries.everyone(store.db)] == [
        "claude-1",
        "codex-1",
        "claude-2",
        "claude-3",
    ]


def test_a_name_that_an_agent_of_the_channel_has_is_passed_over(claude: Player, store: Store, clock: Clock) -> None:
    Talk(store, clock, agent="claude-1").ok("tasklist:add_task", name="Mine")
    claude.play(of("SessionStart"))
    assert [session.session.uid for session in session_queries.everyone(store.db)] == ["claude-2"]


def test_a_resumed_session_goes_on_as_the_same_agent(claude: Player, store: Store) -> None:
    claude.play(of("SessionStart"))
    claude.play(of("SessionEnd"))
    assert claude.state() == ("gone", None, None)
    claude.play(of("SessionStart", source="resume"))
    assert claude.state() == ("idle", None, None)
    assert claude.seen().session.ended_at is None
    assert len(session_queries.everyone(store.db)) == 1


def test_a_cleared_session_goes_on_under_its_new_id(store: Store, clock: Clock) -> None:
    claude = Player(store, clock, "claude", boot="b", namespace="n", pid=7, born="1")
    claude.play(of("SessionStart", "old"))
    claude.play(of("SessionEnd", "old", reason="clear"))
    claude.play(of("SessionStart", "new", source="clear"))
    claude.play(of("UserPromptSubmit", "new", prompt="again"))
    # What was told of the old id came late.
    claude.play(of("SessionEnd", "old", reason="clear"))
    assert claude.state() == ("working", None, None)
    assert claude.seen().session.session == "new"
    assert len(session_queries.everyone(store.db)) == 1


def test_another_session_of_a_process_ends_the_former(store: Store, clock: Clock) -> None:
    one = Player(store, clock, "claude", boot="b", namespace="n", pid=7, born="1")
    other = Player(store, clock, "claude", boot="b", namespace="n", pid=8, born="1")
    one.play(of("SessionStart", "a"))
    other.play(of("SessionStart", "b"))
    one.play(of("PermissionRequest", "a", tool_name="Bash", tool_input={"command": "ls"}))
    one.play(of("SessionStart", "c"))
    assert [one.state(number)[0] for number in (1, 2, 3)] == ["gone", "idle", "idle"]
    assert ask_queries.open_asks(store.db) == []
    # A word of it that comes late neither brings it back nor ends the other.
    one.play(of("Stop", "a"))
    assert [one.state(number)[0] for number in (1, 2, 3)] == ["gone", "idle", "idle"]


def test_sessions_of_a_process_that_several_windows_share_go_on_beside_one_another(store: Store, clock: Clock) -> None:
    codex = Player(store, clock, "codex", boot="b", namespace="n", pid=1, born="1", is_shared=True)
    for session in ("one", "two"):
        codex.play({"session_id": session, "hook_event_name": "UserPromptSubmit", "prompt": session})
    assert [codex.state(number)[0] for number in (1, 2)] == ["working", "working"]


def test_a_permission_is_a_question_with_the_tool_and_its_whole_input(claude: Player, store: Store) -> None:
    command = "printf 'a\n'\n" * 500 + "echo \u200bhidden"
    rules = [{"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "ls"}], "destination": "session"}]
    asked = of(
        "PermissionRequest", tool_name="Bash", tool_input={"command": command}, permission_suggestions=rules, cwd="/w"
    )
    claude.play(asked)
    (ask,) = ask_queries.open_asks(store.db)
    assert ask.agent == "claude-1"
    assert "Allow Bash?" in ask.question
    shown = command.replace("\u200b", "<U+200B>").replace("\n", "⏎\n│ ")
    assert shown in ask.question
    assert ask.options == ("Allow", "Allow always: Bash(ls) (session)", "Deny")
    assert ask.request is not None
    assert ask.request["input"] == {"command": command}
    assert ask.request["suggestions"] == rules
    # The same again is the same request.
    claude.play(asked)
    assert ask_queries.open_asks(store.db) == [ask]
    store.commit(AnswerAsk(ask.uid, "Allow"), actor="human", now=claude.clock.now)
    assert claude.state() == ("working", None, None)


def test_a_suggestion_of_no_known_form_spoils_no_question(claude: Player, store: Store) -> None:
    suggestions = [{"type": "addRules", "rules": ["x", {"toolName": "Bash", "ruleContent": "ls"}]}, "y", {"type": "z"}]
    claude.play(
        of("PermissionRequest", tool_name="Bash", tool_input={"command": "ls"}, permission_suggestions=suggestions)
    )
    (ask,) = ask_queries.open_asks(store.db)
    # What is not understood is shown as it is: it would be allowed, too.
    rules = '{"type":"addRules","rules":["x",{"toolName":"Bash","ruleContent":"ls"}]}'
    assert ask.options == ("Allow", f"Allow always: {rules}", "Allow always: y", 'Allow always: {"type":"z"}', "Deny")


def test_a_question_has_its_options_and_says_that_it_was_answered_elsewhere(claude: Player, store: Store) -> None:
    questions = [{"question": "Which?", "options": [{"label": "sqlite", "description": "file"}, {"label": "pg"}]}]
    claude.play(of("PermissionRequest", tool_name="AskUserQuestion", tool_input={"questions": questions}))
    (ask,) = ask_queries.open_asks(store.db)
    assert ask.options == ("sqlite", "pg")
    assert "sqlite: file" in ask.question
    assert claude.state()[:2] == ("waiting", "question")
    claude.play(of("PostToolUse", tool_name="AskUserQuestion"))
    ended = ask_queries.ask(store.db, ask.uid)
    assert ended.state == "withdrawn"
    assert "own window" in (ended.reason or "")


def test_what_one_subagent_does_says_nothing_of_what_another_waits_for(claude: Player, store: Store) -> None:
    claude.play(of("UserPromptSubmit", prompt="go"))
    for subagent in ("x", "y"):
        claude.play(of("PermissionRequest", agent_id=subagent, tool_name="Bash", tool_input={"command": subagent}))
    claude.play(of("PostToolUse", agent_id="x", tool_name="Bash"))
    (ask,) = ask_queries.open_asks(store.db)
    assert ask.request is not None
    assert ask.request["input"] == {"command": "y"}
    claude.play(of("UserPromptSubmit", prompt="never mind"))
    assert ask_queries.open_asks(store.db) == []


def test_tools_that_go_well_leave_no_entry_and_those_that_fail_do(claude: Player, store: Store) -> None:
    claude.play(of("UserPromptSubmit", prompt="go"))
    seq = journal.newest(store.db)
    for number in range(5):
        claude.play(of("PreToolUse", tool_name="Bash", tool_use_id=f"t{number}"))
        claude.play(of("PostToolUse", tool_name="Bash", tool_use_id=f"t{number}"))
    assert journal.newest(store.db) == seq
    assert claude.seen().activity.last_seen == claude.clock.now
    claude.play(of("PostToolUseFailure", tool_name="Bash", tool_use_id="t6", error="exit 2"))
    assert kinds(store)[-1] == "tool.failed"


def test_tools_side_by_side_end_each_for_itself(claude: Player) -> None:
    claude.play(of("UserPromptSubmit", prompt="go"))
    claude.play(of("PreToolUse", tool_name="Read", tool_use_id="1"))
    claude.play(of("PreToolUse", tool_name="Grep", tool_use_id="2"))
    claude.play(of("PostToolUse", tool_name="Read", tool_use_id="1"))
    assert claude.state()[2] == "Grep"
    claude.play(of("PostToolUse", tool_name="Grep", tool_use_id="2"))
    assert claude.state() == ("working", None, None)


def test_what_comes_late_when_the_turn_is_over_starts_no_work(claude: Player) -> None:
    claude.play(of("UserPromptSubmit", prompt="go"))
    claude.play(of("PreToolUse", tool_name="Read", tool_use_id="1"))
    claude.play(of("Stop", last_assistant_message="done"))
    claude.play(of("PostToolUse", tool_name="Read", tool_use_id="1"))
    claude.play(of("PostToolBatch"))
    assert claude.state() == ("idle", None, None)


def test_a_payload_is_taken_in_once_though_its_file_stays(claude: Player, store: Store, clock: Clock) -> None:
    name = claude.leave(of("UserPromptSubmit", prompt="once"))
    with Spool(store.path, make=True) as spool:
        kept = spool.read(name)
        intake.process_payloads(store, clock.now, claude.settings)
        seq = journal.newest(store.db)
        # As if the process had been killed between the commit and the removal.
        spool._payloads.write(name, json.dumps(kept.head).encode() + b"\n" + kept.body)
        intake.process_payloads(store, clock.now, claude.settings)
        assert spool.pending() == []
    assert journal.newest(store.db) == seq


def test_payloads_are_taken_in_in_the_order_in_which_they_were_left(claude: Player, store: Store, clock: Clock) -> None:
    claude.leave(of("SessionStart"))
    for number in range(250):
        claude.leave(of("UserPromptSubmit", prompt=f"prompt {number}"))
    claude.leave(of("Stop", last_assistant_message="done"))
    assert intake.process_payloads(store, clock.now, claude.settings) == 252
    assert claude.seen().session.last_prompt == "prompt 249"
    assert claude.state()[0] == "idle"


def test_a_session_whose_process_is_no_more_is_gone_and_asks_nothing(store: Store, clock: Clock) -> None:
    mine = processes.identity()._asdict()
    alive = Player(store, clock, "claude", **mine)
    dead = Player(store, clock, "codex", **{**mine, "born": "1"})
    alive.play(of("SessionStart", "a"))
    dead.play(of("SessionStart", "b"))
    dead.play(of("PermissionRequest", "b", tool_name="Bash", tool_input={"command": "ls"}))
    assert session_processes.end_departed(store, clock.now + SECOND) == 1
    assert (alive.state()[0], dead.state()[0]) == ("idle", "gone")
    assert ask_queries.open_asks(store.db) == []
    assert session_processes.end_departed(store, clock.now + SECOND) == 0


def test_a_process_that_speaks_for_many_agents_is_looked_at_once(
    store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = Process(*processes.identity())
    with store.db.transaction(write=True):
        for number in range(50):
            connections.begin(store.db, f"agent-{number}", mine, clock.now)
    looks: list[str] = []
    for name in ("is_alive", "is_stopped"):
        monkeypatch.setattr(processes, name, lambda *process, name=name: looks.append(name) or name == "is_alive")
    assert session_processes.end_departed(store, clock.now) == session_processes.note_stopped(store, clock.now) == 0
    assert looks == ["is_alive", "is_stopped"]


def test_a_hook_that_outlives_its_agent_takes_no_process_from_the_session(store: Store, clock: Clock) -> None:
    mine = processes.identity()._asdict()
    player = Player(store, clock, "opencode", **{**mine, "born": "1"})
    player.play({"type": "session.created", "properties": {"info": {"id": "s"}}})
    late = {"type": "session.idle", "properties": {"sessionID": "s"}}
    player.play(late, pid=0, born="")
    assert player.seen().session.born == "1"
    assert session_processes.end_departed(store, clock.now) == 1
    player.play(late, pid=0, born="")
    assert player.state()[0] == "gone"


def test_a_session_from_before_the_machine_was_started_anew_is_gone(store: Store, clock: Clock) -> None:
    before = {**processes.identity()._asdict(), "boot": "another boot"}
    elsewhere = {**before, "namespace": "pid:[another container]"}
    Player(store, clock, "claude", **before).play(of("SessionStart", "a"))
    Player(store, clock, "codex", **elsewhere).play(of("SessionStart", "b"))
    assert session_processes.end_departed(store, clock.now) == 1
    assert [(seen.session.uid, seen.state) for seen in session_queries.everyone(store.db)] == [
        ("claude-1", "gone"),
        ("codex-1", "idle"),
    ]


def test_agents_are_told_with_every_key(claude: Player, store: Store, clock: Clock) -> None:
    claude.play(of("SessionStart", model="opus", cwd="/w"))
    claude.play(of("UserPromptSubmit", prompt="go", permission_mode="plan"))
    claude.play(of("PreToolUse", tool_name="Read", tool_use_id="1"))
    (told,) = Talk(store, clock).ok("control:agents")
    assert list(told) == KEYS
    assert (told["agent"], told["model"], told["mode"], told["cwd"]) == ("claude-1", "opus", "plan", "/w")
    assert (told["state"], told["tool"], told["tokens"], told["cost_usd"]) == ("working", "Read", None, None)
    assert told["tool_since"] == told["last_seen"]


def test_those_that_ended_over_a_day_ago_are_told_only_when_asked_for(
    claude: Player, store: Store, clock: Clock
) -> None:
    claude.play(of("SessionStart"))
    claude.play(of("SessionEnd"))
    clock.forward(25 * 3600)
    assert Talk(store, clock).ok("control:agents") == []
    assert [one["state"] for one in Talk(store, clock).ok("control:agents", everyone=True)] == ["gone"]


def test_agents_of_programs_and_of_the_channel_are_told_in_pages_oldest_first(
    claude: Player, store: Store, clock: Clock
) -> None:
    Talk(store, clock, agent="eve").ok("tasklist:add_task", name="x")
    clock.forward(1)
    claude.play(of("SessionStart"))
    clock.forward(1)
    talk = Talk(store, clock, agent="adam")
    talk.ok("tasklist:add_task", name="y")

    def page(**arguments: object) -> list[str]:
        return [one["agent"] for one in talk.ok("control:agents", **arguments)]

    assert page() == page(limit=9) == ["eve", "claude-1", "adam"]
    assert (page(limit=1), page(limit=1, after="eve"), page(after="claude-1")) == (["eve"], ["claude-1"], ["adam"])
    assert page(after="adam") == []
    assert talk.refused("control:agents", after="nobody")["code"] == "not_found"


def test_a_subscriber_hears_of_a_session(claude: Player, store: Store, clock: Clock) -> None:
    talk = Talk(store, clock)
    talk.ok("control:subscribe")
    claude.play(of("UserPromptSubmit", prompt="go"))
    started, prompted = talk.events()
    assert (started["event"], started["actor"]) == ("session.started", "claude-1")
    assert prompted["event"] == "session.prompted"
    assert prompted["session"] == {"uid": "claude-1", "state": "working", "waiting_for": None, "last_prompt": "go"}


def test_what_is_spent_is_told_where_it_is_known(store: Store, clock: Clock) -> None:
    gemini, opencode = Player(store, clock, "gemini"), Player(store, clock, "opencode")
    for _ in range(2):
        gemini.play(of("AfterModel", llm_response={"usageMetadata": {"totalTokenCount": 1_050}}))
    for tokens, cost in ((0, 0), (4_200, 0.015)):
        info = {"id": "s", "cost": cost, "tokens": {"input": tokens, "output": 0, "reasoning": 0}}
        opencode.play({"type": "session.updated", "properties": {"sessionID": "s", "info": info}})
        if not tokens:
            assert opencode.seen().session.cost_usd is None
    opencode.play({"type": "session.deleted", "properties": {"sessionID": "s"}})
    assert (gemini.seen().session.tokens, gemini.seen().session.cost_usd) == (2_100, None)
    assert (opencode.seen().session.tokens, opencode.seen().session.cost_usd) == (4_200, 0.015)


def test_a_person_who_aborts_has_interrupted_and_what_follows_leaves_it_so(store: Store, clock: Clock) -> None:
    opencode = Player(store, clock, "opencode")
    opencode.play({"input": {"sessionID": "s"}, "output": {"message": {"id": "m"}, "parts": [{"text": "go"}]}})
    assert opencode.seen().session.last_prompt == "go"
    error = {"name": "MessageAbortedError", "data": {"message": "Aborted"}}
    for kind, more in (
        ("session.error", {"error": error}),
        ("session.status", {"status": {"type": "idle"}}),
        ("session.idle", {}),
    ):
        opencode.play({"type": kind, "properties": {"sessionID": "s", **more}})
        assert opencode.state()[0] == "interrupted"
    words = "The human who supervises you wrote at 2026-11-24T20:59:34.455+00:00: Stop now"
    opencode.play({"input": {"sessionID": "s"}, "output": {"message": {"id": "n"}, "parts": [{"text": words}]}})
    assert opencode.state()[0] == "interrupted"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not JSON",
        b"[" * 100_000,
        b'{"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": "half \\ud83d of one"}',
        b'{"session_id": "s", "hook_event_name": "PermissionRequest", "tool_name": "x", "tool_input": 1e999}',
        b'{"session_id": "s", "hook_event_name": "PermissionRequest", "tool_name": "x", "tool_input": '
        + b"9" * 100
        + b"}",
        b'{"session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": "' + b"x" * 100_000,
        b"\xff\xfe",
    ],
    ids=range(8),
)
def test_a_payload_of_any_bytes_holds_up_no_other(body: bytes, claude: Player, store: Store) -> None:
    claude.play(body)
    claude.play(of("UserPromptSubmit", prompt="after"))
    assert claude.seen().session.last_prompt == "after"
    assert list(database_findings.differences(store.db)) == []


EVENTS = _words("""
SessionStart UserPromptSubmit PreToolUse PostToolUse PostToolUseFailure PostToolBatch PermissionRequest Stop
StopFailure SubagentStart SubagentStop SessionEnd Notification Interrupt Unheard
BeforeAgent AfterAgent BeforeTool AfterTool AfterModel TaskCreated TaskCompleted
""")
TYPES = _words("""
session.created session.updated session.idle session.error session.status session.deleted message.updated
permission.asked permission.replied question.asked question.replied todo.updated message.part.updated
""")
NAMES = _words("""
session_id sessionID hook_event_name type properties info prompt tool_name tool_input tool_use_id agent_id
source background_tasks questions question options notification_type last_assistant_message error is_interrupt
input output args tool status todos tokens cost permission_suggestions id task_id llm_response usageMetadata
details
""")
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["s", "t", "", "Bash", "AskUserQuestion", "clear", "a\ud800b", "\0", *TYPES])
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4)
)
OBJECTS = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(NAMES, VALUES),
        "session_id": st.sampled_from(["s", "t"]) | VALUES,
        "hook_event_name": st.sampled_from(EVENTS) | VALUES,
        "type": st.sampled_from(TYPES) | VALUES,
        "source": st.sampled_from(["startup", "resume", "clear"]) | VALUES,
        "properties": st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=5) | VALUES,
    },
)
NUMBERS = itertools.count()


@settings(max_examples=40 if settings.get_current_profile_name() == "ordinary" else 2_000, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from([*PROGRAM_NAMES, "other"]), st.integers(0, 2), OBJECTS | VALUES),
        min_size=1,
        max_size=12,
    )
)
def test_any_payloads_in_any_order_are_taken_in_and_replay_to_the_same(played) -> None:
    with Store(":memory:") as store:
        clock = Clock()
        for program, pid, value in played:
            clock.forward(1)
            head = {"program": program, "at": clock.now, "boot": "b", "namespace": "n", "pid": pid, "born": "1"}
            body = json.dumps(value).encode()
            report = intake.read(intake.Payload("", head, body))
            if report is None:
                continue
            with store.transaction(clock.now) as transaction:
                assert intake.record_report(transaction, f"{next(NUMBERS)}", report, tasks=True)
        with Store(":memory:") as other:
            replay(store.db, other.db)
            for table in ("session", "ask", "task", "list"):
                rows = f"SELECT * FROM {table}"
                assert other.db.sql(rows).fetchall() == store.db.sql(rows).fetchall()
        for seen in session_queries.everyone(store.db):
            assert seen.state in ("working", "waiting", "idle", "interrupted", "failed", "gone")
            assert (seen.state == "waiting") == bool(session_queries.open_asks_of(store.db, seen.session.uid))


@pytest.mark.parametrize(
    ("given", "target"),
    [
        ({"file_path": "/somewhere/src/auth.py", "old_string": "a"}, "src/auth.py"),
        ({"file_path": "/somewhere-else/auth.py"}, "/somewhere-else/auth.py"),
        ({"pattern": "def ", "path": "/somewhere/src"}, "def "),
        ({"command": "*** Begin Patch\n*** Update File: src/auth.py\n@@\n-a\n+b\n"}, "src/auth.py"),
        ({"command": ["bash", "-lc", "ls"], "file_path": 7, "query": " "}, None),
        ("text", None),
        ({"command": "x" * 1_000}, f"{'x' * 299}…"),
    ],
)
def test_the_input_of_a_tool_says_what_it_works_on(given: object, target: str | None, claude: Player) -> None:
    claude.play(of("PreToolUse", tool_name="Any", tool_input=given, cwd="/somewhere"))
    assert claude.seen().activity.tool_target == target
    claude.play(of("PostToolUse", tool_name="Any", tool_input=given, cwd="/somewhere"))
    assert claude.seen().activity.tool_target is None


def test_a_payload_that_damage_stops_is_logged_in_one_line_that_names_the_damage(
    claude: Player, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    claude.play(of("SessionStart"))
    with contextlib.closing(connect(store.path)) as raw:
        raw.execute("""UPDATE activity SET news = '{"a": 1}'""")
    claude.play(of("UserPromptSubmit", prompt="begin"))
    (record,) = caplog.records
    assert record.exc_info is None
    assert "the field news of row claude-1 of activity has an unknown part" in record.message
