"""An agent program with hooks and our MCP server is one agent, under the name of its session (docs: mcp)."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import mcp
import pytest

from tests.conftest import Clock
from tests.contract.client import environment
from tests.hooks.playing import Player
from tests.hooks.playing import claude as payload
from tests.started import DEADLINE, Started
from tui_tasks.channel.presence import Presence
from tui_tasks.channel.session import Session
from tui_tasks.core.agent_snapshots import Process
from tui_tasks.core.commit import journal
from tui_tasks.core.operations.asks import AnswerAsk, PauseAgent, ResumeAgent, SendMessage
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import connections
from tui_tasks.dialects.control_agents import agents_page
from tui_tasks.dialects.requests import Identity, confinement
from tui_tasks.dialects.tool_table import TABLE
from tui_tasks.hooks import hooks_folder, session_processes
from tui_tasks.hooks.hook_folder import Folder
from tui_tasks.hooks.replies import message_folders
from tui_tasks.hooks.replies.reply_sender import ReplySender
from tui_tasks.mcp_server.async_sessions import AsyncSession
from tui_tasks.mcp_server.handlers import make_server
from tui_tasks.mcp_server.resources import INBOX, ResourceSubscriptions, read
from tui_tasks.mcp_server.tool_listing import NOT_OVER_MCP
from tui_tasks.runner import processes

# Who has started the tests stands for the agent program that has started the server.
PROGRAM = Process(*processes.identity(os.getppid()))
OTHER = Process(*processes.identity())
pytestmark = pytest.mark.linux


class Server:
    """A server that is called by a name, and requests to it."""

    def __init__(self, store: Store, clock: Clock, agent: str = "claude", **identity: Any) -> None:
        self.store = store
        session = Session(
            store,
            confinement.without(TABLE, NOT_OVER_MCP),
            Identity(agent, agent_only=True, **identity),
            clock,
            presence=Presence(store, stays=True),
        )
        self.agent_session = AsyncSession(session, lambda: None)
        self.agent_session.speak_as_session()

    def request(self, tool: str, envelope: dict[str, Any] | None = None, /, **arguments: Any) -> dict[str, Any]:
        request = {**(envelope or {}), "tool": tool, "arguments": arguments}
        agent_session, replies = self.agent_session.current(), list[dict[str, Any]]()

        async def ask() -> None:
            replies.append(await agent_session.ask(request))

        async def serve() -> None:
            with anyio.fail_after(DEADLINE):
                async with anyio.create_task_group() as group:
                    group.start_soon(ask)
                    while not replies:
                        await anyio.sleep(0)
                        agent_session.settle()

        anyio.run(serve)
        return replies[0]

    def ok(self, tool: str, envelope: dict[str, Any] | None = None, /, **arguments: Any) -> Any:
        reply = self.request(tool, envelope, **arguments)
        assert reply["ok"], reply
        return reply["result"]

    def refused(self, tool: str, envelope: dict[str, Any] | None = None, /, **arguments: Any) -> str:
        reply = self.request(tool, envelope, **arguments)
        assert not reply["ok"], reply
        return str(reply["error"]["code"])

    @property
    def name(self) -> str:
        """The name under which a write is done."""
        self.ok("tasklist:add_task", name="x")
        return journal.latest(self.store.db, 1)[0].actor


@pytest.fixture
def server(store: Store, clock: Clock) -> Server:
    return Server(store, clock)


def player(store: Store, clock: Clock, process: Process = PROGRAM, program: str = "claude", **head: Any) -> Player:
    keys = {name: getattr(process, name) for name in Process.__struct_fields__}
    return Player(store, clock, program, **keys, **head)


@pytest.fixture
def program(store: Store, clock: Clock) -> Player:
    """The hooks of the program that has started the server."""
    return player(store, clock)


@contextlib.contextmanager
def another_program() -> Iterator[subprocess.Popen[bytes]]:
    with Started(["sleep", "60"]) as process:
        try:
            yield process
        finally:
            process.kill()


def human(store: Store, clock: Clock, operation: Any) -> Any:
    [result] = store.commit(operation, actor="human", now=clock.forward(1))
    return result


# The name


def test_what_is_done_over_mcp_is_done_by_the_session_from_when_it_is_known(
    server: Server, program: Player, store: Store, clock: Clock
) -> None:
    assert server.name == "claude"
    program.leave(payload("SessionStart"))
    assert server.name == "claude-1"
    assert server.ok("control:hello")["agent"] == "claude-1"
    assert connections.connected_agents(store.db) == ["claude-1"]
    found = agents_page(store.db, clock.now, everyone=True)
    assert [(one["agent"], one["state"]) for one in found] == [("claude", "gone"), ("claude-1", "idle")]
    server.agent_session.session.leave()
    assert connections.connected_agents(store.db) == []


def test_a_session_that_is_known_before_anything_is_done_is_the_only_agent(
    server: Server, program: Player, store: Store, clock: Clock
) -> None:
    program.play(payload("UserPromptSubmit", prompt="go"))
    server.ok("control:claim")
    server.ok("tasklist:add_task", name="x")
    (one,) = agents_page(store.db, clock.now, everyone=True)
    assert (one["agent"], one["program"], one["state"]) == ("claude-1", "claude", "working")


@pytest.mark.parametrize("name", ["robin", "agent", "codex"])
def test_a_name_of_its_own_or_of_another_program_stays(name: str, program: Player, store: Store, clock: Clock) -> None:
    program.play(payload("SessionStart"))
    assert Server(store, clock, name).name == name


def test_without_a_session_of_its_own_program_a_server_has_its_plain_name(
    server: Server, store: Store, clock: Clock
) -> None:
    player(store, clock, OTHER).play(payload("SessionStart"))
    assert server.name == "claude"


def test_a_cleared_session_is_the_same_agent_and_another_one_of_the_process_another(
    server: Server, program: Player
) -> None:
    program.play(payload("SessionStart", "old"))
    assert server.name == "claude-1"
    program.play(payload("SessionEnd", "old", reason="clear"))
    assert server.name == "claude-1"
    program.play(payload("SessionStart", "new", source="clear"))
    assert server.name == "claude-1"
    program.play(payload("SessionStart", "branch", source="resume"))
    assert server.name == "claude-2"
    program.play(payload("SessionStart", "new", source="resume"))
    assert server.name == "claude-1"


def test_a_session_that_has_ended_is_taken_by_no_server_that_starts_after(
    program: Player, store: Store, clock: Clock
) -> None:
    before = Server(store, clock)
    program.play(payload("SessionStart"))
    assert before.name == "claude-1"
    program.play(payload("SessionEnd"))
    assert before.name == "claude-1"
    assert Server(store, clock).name == "claude"


def test_what_subagents_do_is_done_by_their_session(server: Server, program: Player) -> None:
    program.play(payload("UserPromptSubmit", prompt="go"))
    program.play(payload("SubagentStart", agent_id="a1", agent_type="x"))
    program.play(payload("PreToolUse", agent_id="a1", tool_name="mcp__tui-tasks__tasklist_add_task"))
    assert server.name == "claude-1"


def test_of_several_sessions_of_a_process_a_server_is_the_one_that_the_program_names(
    store: Store, clock: Clock
) -> None:
    codex = player(store, clock, program="codex", is_shared=True)
    for session in ("one", "two"):
        codex.play({"session_id": session, "hook_event_name": "UserPromptSubmit", "prompt": session})
    server = Server(store, clock, "codex")
    assert server.name == "codex"
    # What nobody has told of yet, and what is another process's.
    player(store, clock, OTHER, "codex").play({"session_id": "far", "hook_event_name": "SessionStart"})
    for unknown in ("three", "far"):
        server.agent_session.serve((unknown,))
        assert server.name == "codex"
    server.agent_session.serve(("two",))
    assert server.name == "codex-2"
    assert server.name == "codex-2"


def test_a_process_that_is_known_to_have_several_sessions_gives_no_name_to_a_server_unasked(
    store: Store, clock: Clock
) -> None:
    codex = player(store, clock, program="codex", is_shared=True)
    codex.play({"session_id": "one", "hook_event_name": "UserPromptSubmit", "prompt": "go"})
    shared = (session_processes.ParentProcess(PROGRAM, is_shared=True),)
    assert session_processes.agent_of(store.db, "codex", shared, "codex") == "codex"
    assert session_processes.agent_of(store.db, "codex", shared, "codex", ["one"]) == "codex-1"


def test_the_program_names_its_session_beside_the_arguments_of_a_call(store: Store, clock: Clock) -> None:
    codex = player(store, clock, program="codex", is_shared=True)
    for session in ("one", "two"):
        codex.play({"session_id": session, "hook_event_name": "UserPromptSubmit", "prompt": session})
    server = Server(store, clock, "codex")
    session = server.agent_session.session
    made = make_server(
        server.agent_session.current, ResourceSubscriptions(store, lambda: session.identity), session.table
    )

    async def script() -> None:
        async with mcp.Client(made, mode="legacy") as client:
            refused = await client.call_tool("tasklist_add_task", {"name": "x", "threadId": "one"})
            assert refused.is_error
            await client.call_tool("tasklist_add_task", {"name": "x"}, meta={"sessionId": "two", "threadId": "two"})

    anyio.run(script)
    assert journal.latest(store.db, 1)[0].actor == "codex-2"


# What was begun under the plain name


def test_a_claim_keeps_the_plain_name_until_it_has_ended(server: Server, program: Player) -> None:
    server.ok("tasklist:add_task", name="x")
    claim = server.ok("control:claim")
    program.play(payload("SessionStart"))
    assert server.ok("control:heartbeat", claim=claim["claim"])["claim"] == claim["claim"]
    server.ok("tasklist:set_task_done", uid=claim["task"]["uid"])
    assert server.name == "claude-1"


def test_a_question_keeps_the_plain_name_until_its_answer_was_read(
    server: Server, program: Player, store: Store, clock: Clock
) -> None:
    ticket = server.ok("ask", question="Shall I?", wait=0)
    program.play(payload("SessionStart"))
    human(store, clock, AnswerAsk(ticket["ask"], "Yes"))
    assert server.name == "claude"
    assert server.ok("control:answer_of", ask=ticket["ask"])["answer"] == "Yes"
    assert server.name == "claude-1"


def test_a_request_that_may_be_repeated_keeps_the_plain_name(server: Server, program: Player) -> None:
    once = {"idempotency_key": "k"}
    made = server.ok("tasklist:add_task", once, name="x")
    program.play(payload("SessionStart"))
    assert server.ok("tasklist:add_task", once, name="x") == made


def test_a_pause_of_the_plain_name_is_not_evaded(server: Server, program: Player, store: Store, clock: Clock) -> None:
    human(store, clock, PauseAgent("claude", "Wait."))
    program.play(payload("SessionStart"))
    assert server.refused("tasklist:add_task", name="x") == "paused"
    human(store, clock, ResumeAgent("claude"))
    assert server.name == "claude-1"


def test_a_message_to_the_plain_name_is_delivered_before_that_is_given_up(
    server: Server, program: Player, store: Store, clock: Clock
) -> None:
    human(store, clock, SendMessage("claude", "Hello"))
    program.play(payload("SessionStart"))
    assert [one["text"] for one in server.request("tasklist:display")["messages"]] == ["Hello"]
    assert server.name == "claude-1"


# Rights


@pytest.mark.parametrize("sent", ["UserPromptSubmit", "SessionStart", "SessionEnd"])
def test_a_forged_payload_gives_nobody_the_name_of_another_that_still_runs(
    server: Server, program: Player, store: Store, clock: Clock, sent: str
) -> None:
    with another_program() as process:
        owner = player(store, clock, Process(*processes.identity(process.pid)))
        owner.play(payload("UserPromptSubmit", prompt="go"))
        program.play(payload(sent, prompt="mine", source="resume"))
        program.play(payload("SessionStart", source="resume"))
        assert server.name == "claude"
        owner.play(payload("Stop"))
        program.play(payload("UserPromptSubmit", prompt="mine"))
        assert server.name == "claude"
        process.kill()
    # Whoever goes on with it now is its agent.
    program.play(payload("UserPromptSubmit", prompt="mine"))
    assert server.name == "claude-1"


def test_a_session_that_is_resumed_elsewhere_is_named_where_it_goes_on(
    server: Server, program: Player, store: Store, clock: Clock
) -> None:
    former = player(store, clock, OTHER)
    former.play(payload("SessionStart"))
    former.play(payload("SessionEnd"))
    program.play(payload("SessionStart", source="resume"))
    assert server.name == "claude-1"


def test_the_rights_of_the_channel_hold_for_the_name_that_speaks(program: Player, store: Store, clock: Clock) -> None:
    server = Server(store, clock, list="mine", list_only=True)
    program.play(payload("SessionStart"))
    for other in ("robin", "claude-2"):
        assert server.refused("tasklist:add_task", {"agent": other}, name="x") == "forbidden"
    assert journal.latest(store.db, 1)[0].actor == "claude-1"
    assert server.refused("scheduler:list_tasks") == "forbidden"
    server.ok("tasklist:add_task", {"agent": "claude-1"}, name="x")
    human(store, clock, PauseAgent("claude-1", "Wait."))
    assert server.refused("tasklist:add_task", name="x") == "paused"
    told = [entry["event"] for entry in server.ok("control:history")["entries"]]
    assert "agent.paused" in told


def test_a_server_that_may_only_read_speaks_as_the_session_and_writes_nothing(
    program: Player, store: Store, clock: Clock
) -> None:
    program.play(payload("SessionStart"))
    human(store, clock, SendMessage("claude-1", "Hello"))
    newest = journal.newest(store.db)
    reply = Server(store, clock, read_only=True).request("control:hello")
    assert reply["result"]["agent"] == "claude-1"
    assert "messages" not in reply
    assert journal.newest(store.db) == newest


# Tasks


def test_a_task_that_was_given_to_the_program_is_for_each_of_its_sessions(
    server: Server, program: Player, store: Store, clock: Clock
) -> None:
    program.play(payload("SessionStart"))
    for agent, priority in (("claude", 2), (None, 3), ("claude", 4), ("claude-2", 1), ("codex", 1)):
        server.ok(
            "tasks",
            action="create_plan",
            title="p",
            tasks=[{"title": f"{agent} {priority}", "agent_id": agent, "priority": priority}],
        )
    taken = [server.ok("control:claim") for _ in range(4)]
    assert [found and found["task"]["name"] for found in taken] == ["claude 2", "None 3", "claude 4", None]
    # It is the program's again when it is given back.
    server.ok("control:release", claim=taken[0]["claim"])
    assert server.ok("control:task", uid=taken[0]["task"]["uid"])["agent"] == "claude"


# Messages


@pytest.fixture
def session_folder(program: Player, store: Store) -> Iterator[Callable[[], Folder]]:
    """Where hooks find messages for the session."""
    program.play(payload("SessionStart", "s-1"))
    opened: list[Folder] = []

    def found() -> Folder:
        ReplySender(store).look(0)
        folder = Folder(hooks_folder(store.path), make=False)
        made = message_folders.opened(folder, "claude", "s-1", make=True)
        assert made is not None
        opened.extend((folder, made))
        return made

    yield found
    for folder in opened:
        folder.close()


def texts(reply: dict[str, Any]) -> list[str]:
    return [one["text"] for one in reply.get("messages", ())]


def test_a_message_that_went_with_a_reply_is_given_by_no_hook(
    server: Server, session_folder: Callable[[], Folder], store: Store, clock: Clock
) -> None:
    human(store, clock, SendMessage("claude-1", "One"))
    waiting = message_folders.files(session_folder())
    human(store, clock, SendMessage("claude-1", "Two"))
    assert len(waiting) == 1
    reply = server.request("tasklist:display")
    assert texts(reply) == ["One", "Two"]
    assert texts(server.request("tasklist:display")) == []
    assert message_folders.claim(session_folder(), (message_folders.MESSAGE,)) == []


def test_a_message_that_a_hook_gives_goes_with_no_reply(
    server: Server, session_folder: Callable[[], Folder], store: Store, clock: Clock
) -> None:
    for text in ("One", "Two"):
        human(store, clock, SendMessage("claude-1", text))
    opened = session_folder()
    given = message_folders.claim(opened, (message_folders.MESSAGE,))
    human(store, clock, SendMessage("claude-1", "Three"))
    # While the hook has not printed them, what comes after waits.
    assert texts(server.request("tasklist:display")) == []
    message_folders.settle(opened, given, printed=True)
    assert texts(server.request("tasklist:display")) == ["Three"]
    session_folder()
    assert texts(server.request("tasklist:display")) == []


def test_what_ends_the_turn_is_left_to_hooks(
    server: Server, session_folder: Callable[[], Folder], store: Store, clock: Clock
) -> None:
    human(store, clock, SendMessage("claude-1", "One"))
    human(store, clock, SendMessage("claude-1", "Stop.", ends_turn=True))
    human(store, clock, SendMessage("claude-1", "Two"))
    assert texts(server.request("tasklist:display")) == ["One"]
    assert [file.kind for file in message_folders.files(session_folder())] == [
        message_folders.STOP,
        message_folders.MESSAGE,
    ]


def test_the_inbox_is_that_of_the_session(server: Server, program: Player, store: Store, clock: Clock) -> None:
    program.play(payload("SessionStart"))
    human(store, clock, SendMessage("claude-1", "Hello"))
    (contents,) = read(server.agent_session.current().session, INBOX).contents
    assert "Hello" in contents.text


# What the agent's hooks tell of it and what it does itself


def test_an_undo_takes_back_what_the_agent_did_and_nothing_that_its_hooks_told(
    server: Server, program: Player, store: Store
) -> None:
    program.settings = type(program.settings)(tasks=True)
    program.play(payload("UserPromptSubmit", prompt="go"))
    made = server.ok("tasklist:add_task", name="mine")
    program.play(payload("Stop"))
    program.play(payload("UserPromptSubmit", prompt="undo that"))
    prompts = [task.uid for home in task_queries.lists(store.db) for task in task_queries.tasks(store.db, home.id)]
    server.ok("control:undo")
    left = [task.uid for home in task_queries.lists(store.db) for task in task_queries.tasks(store.db, home.id)]
    assert set(prompts) - set(left) == {made["uid"]}
    assert server.refused("control:undo") == "conflict"


def test_a_question_with_a_ticket_outlives_the_session_and_is_answered_when_that_goes_on(
    program: Player, store: Store, clock: Clock
) -> None:
    with another_program() as process:
        player(store, clock, Process(*processes.identity(process.pid))).play(payload("SessionStart"))
        [ask] = store.commit(_ask(), actor="claude-1", now=clock.forward(1))
        process.kill()
    session_processes.end_departed(store, clock.forward(1))
    human(store, clock, AnswerAsk(ask.uid, "Yes"))
    program.play(payload("SessionStart", source="resume"))
    assert Server(store, clock).ok("control:answer_of", ask=ask.uid)["answer"] == "Yes"


def _ask() -> Any:
    from tui_tasks.core.operations.asks import OpenAsk

    return OpenAsk("Shall I?")


# Whose child a process is

STARTERS = (
    "from tui_tasks.hooks.session_processes import starters; print([one.process.pid for one in starters('claude')])"
)
BETWEEN = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]])"


@pytest.mark.parametrize(
    ("command", "is_child"),
    [
        ([sys.executable, "-c", STARTERS], True),
        (["sh", "-c", f'{sys.executable} -c "{STARTERS}"; true'], True),
        # Another program between them may be an agent of its own.
        ([sys.executable, "-c", BETWEEN, STARTERS], False),
    ],
)
def test_only_the_program_that_has_started_it_can_give_it_a_name(
    command: list[str], is_child: bool, tmp_path: Path
) -> None:
    done = subprocess.run(
        command, env=environment(tmp_path), capture_output=True, text=True, check=True, timeout=DEADLINE
    )
    assert (str(os.getpid()) in done.stdout) is is_child, done.stdout
