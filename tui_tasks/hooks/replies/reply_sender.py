"""What the human sends to agents through hooks: answers, messages and pauses, and why some actions are impossible.

The database has what the human decided; files beside it pass that to hooks, which open no database. One process at a
time that has the database open keeps both in step.

Only the option that says so allows; any other answer denies, with its text. The hook takes the request and suggestions
from its own payload, as the stored copy may be shortened.
"""

from __future__ import annotations

import json
import os
from functools import partial
from typing import Any, Final

import msgspec

from tui_tasks.core.agent_snapshots import Ask, HumanMessage
from tui_tasks.core.commit import journal
from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import Busy, Conflict
from tui_tasks.core.operations.asks import DeliverMessages, WithdrawMessage
from tui_tasks.core.operations.sessions import InputRequested
from tui_tasks.core.read import ask_queries, message_queries
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.read.agents.session_queries import AgentSession
from tui_tasks.core.rules.agents.request_text import DENY, allows, always_text, is_whole
from tui_tasks.core.snapshots import iso
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import HUMAN
from tui_tasks.hooks import PROGRAM_NAMES, hooks_folder, programs
from tui_tasks.hooks.hook_folder import Folder, Spool
from tui_tasks.hooks.hook_forms import MESSAGE_BEGINS
from tui_tasks.hooks.replies import answer_pipes, message_folders

# The reason why an action is impossible, by program and action.
_CANNOT: Final[dict[str, dict[str, str]]] = {
    "claude": {},
    "codex": {
        "always": "Codex takes no rule from a hook: allow it always in its own window.",
        "edit_input": "Codex does not accept edited input from a hook: deny it, and write what to run.",
        "question": "Codex's questions are answered in its own window.",
        "stop": "Codex's turn continues; its next tool is refused, and it is asked to stop.",
    },
    "gemini": {
        "permission": "Gemini CLI takes no allowance from a hook: answer in its own window.",
        "always": "Gemini CLI takes no rule from a hook: allow it always in its own window.",
        "edit_input": "Gemini CLI takes no edited input from a hook.",
    },
    "opencode": {"edit_input": "opencode does not accept edited input: deny it, and write what to run."},
}


def why_not(program: str, ability: str) -> str | None:
    """Return why an action on an agent of a program is impossible; None if it is possible."""
    return _CANNOT.get(program, {}).get(ability)


def reads_when(
    agent: str,
    program: str | None,
    state: str,
    *,
    has_screen: bool,
    is_prompted: bool = False,
    is_at_work: bool = False,
) -> str | None:
    """Return when an agent reads a message that is sent now, as a clause; None: at once.

    `program`: None for an agent of the channel. `has_screen`: whether a writable screen has the database open.
    `is_prompted`: whether a screen prompts it in its terminal; `is_at_work`: whether the human has started it on a task
    that it is still at (for both see `work_queries`).
    """
    if state == session_queries.GONE and is_at_work:
        return "you send its work back"
    if state == session_queries.GONE:
        return "its session is resumed" if program in PROGRAM_NAMES else f"an agent connects as {agent}"
    if state == session_queries.STOPPED:
        return "its process continues"
    at_rest = state in ("idle", "interrupted", "failed")
    # A process that follows the database gives it to `codex queue`.
    if program in (None, "opencode") or (at_rest and has_screen and (program == "codex" or is_prompted)):
        return None
    if program not in PROGRAM_NAMES:
        later = ", or you send its work back" if is_at_work else ""
        return f"it next calls a tool of tui-tasks{later}: its program has no hooks"
    if at_rest:
        return "it is prompted next" + (", or a screen is opened" if program == "codex" else "")
    return "its next tool starts or ends, or its turn ends"


Decision = dict[str, Any]


def decision_for(ask: Ask) -> Decision | None:
    """Return the human's decision on a request (see `hook_forms.formed`); None when there is none."""
    request, answer = ask.request or {}, ask.answer
    if answer is None:
        return None
    if request.get("kind") == "question":
        lines = [line.strip() for line in answer.split("\n") if line.strip()]
        return {"answer": answer, "lines": lines, "choices": request.get("choices") or ()}
    suggestions = request.get("suggestions")
    suggestions = suggestions if isinstance(suggestions, list) else []
    chosen = [at for at, one in enumerate(suggestions) if answer == always_text(one)]
    if not allows(answer):
        words = answer.removeprefix(DENY).removeprefix(":").strip() if answer.startswith(DENY) else answer
        return {"allow": False, "words": words}
    # If two suggestions read alike, it is unknown which was meant, so it is allowed only this once.
    always = chosen[0] if len(chosen) == 1 else None
    return {"allow": True, "always": always, "updated_input": request.get("updated_input")}


def why_unanswerable(db: Database, ask: Ask) -> str | None:
    """Return why the human cannot answer a program's request here; None when its hook waits for an answer.

    The hook of another machine may wait; the answer reaches it by the journal.
    """
    request = ask.request
    if request is None:
        return None
    name = request.get("answer")
    session = session_queries.find(db, ask.agent) if db.machine else None
    if name and session is not None and session_queries.process(session).machine not in ("", db.machine):
        return why_not(str(request.get("program")), str(request.get("kind")))
    try:
        with Folder(hooks_folder(db.path), make=False) as folder:
            if isinstance(name, str) and name in answer_pipes.waiting(folder):
                return None
    except OSError:
        pass
    if (why := why_not(str(request.get("program")), str(request.get("kind")))) is not None:
        return why
    return f"Only its own window can answer now: {ask.agent} waits for no answer from here."


# In place of a payload, the request of an agent that a run has started.
OF_RUN = "tui_tasks_request"


def whole_request(database: str, ask: Ask) -> InputRequested | None:
    """Return what a program asks with a question, whole, from the memory of the process that waits for the answer.

    None if that is not to be had. It takes up to two seconds, and is kept nowhere.
    """
    request = ask.request or {}
    name, wanted = request.get("answer"), request.get("hash")
    if not isinstance(name, str) or not wanted:
        return None
    try:
        with Folder(hooks_folder(database), make=False) as folder:
            body = answer_pipes.fetch(folder, name)
        if body is None or answer_pipes.request_hash(body) != wanted:
            return None
        asked = _request_of(str(request.get("program")), json.loads(body))
        return asked if asked is not None and is_whole(asked) else None
    except (OSError, ValueError, RecursionError, TypeError):
        return None


def _request_of(program: str, content: Any) -> InputRequested | None:
    if not isinstance(content, dict):
        return None
    if (of_run := content.get(OF_RUN)) is not None:
        return InputRequested(**of_run | {"questions": tuple(of_run["questions"])})
    report = programs.read(program, content, is_waited_for=True)
    asked = [event for event in report.events if isinstance(event, InputRequested)] if report is not None else []
    return asked[0] if len(asked) == 1 else None


def withdraw(store: Store, message: HumanMessage, now: int) -> None:
    """Withdraw a message that waits, from its agent's hooks too.

    Raises:
        Conflict: its agent has it.
        Busy: hooks' messages are being written; call again.
    """
    withdraw = partial(store.commit, WithdrawMessage(message.uid), actor=HUMAN, now=now)
    session = session_queries.find(store.db, message.agent)
    try:
        spool = Spool(store.path, make=False) if session is not None else None
    except OSError:
        spool = None  # no hook has written anything for this database yet
    if spool is None or session is None:
        withdraw()
        return
    with spool:
        # The process that holds the lock writes messages for hooks.
        lock = spool.lock_intake()
        if lock is None:
            raise Busy("messages are being passed on: try again")
        try:
            session_folder = message_folders.opened(spool.folder, session.program, session.session, make=False)
            if session_folder is not None:
                with session_folder:
                    message_folders.give_back(session_folder)
                    if not message_folders.withdraw(session_folder, message.seq):
                        raise Conflict(f"{message.agent} has the message already", id=message.uid)
            withdraw()
        finally:
            os.close(lock)


class ReplySender:
    """Keeps the files in step with a database, at each call of `look`.

    Attributes:
        is_waited_for: whether a hook waited for an answer at the last look.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.is_waited_for = False
        self._seen = -1
        # The questions for the requests of waiting hooks, by the names under which the hooks wait.
        self._asks: dict[str, str] = {}

    def look(self, now: int) -> None:
        """Write new files for hooks, and record what they delivered.

        Raises:
            StorageFailed: call again later.
        """
        try:
            spool = Spool(self._store.path, make=False)
        except OSError:
            return  # no hook has written anything for this database yet
        with spool:
            waiting = answer_pipes.waiting(spool.folder)
            self.is_waited_for = bool(waiting)
            newest = journal.newest(self._store.db)
            folders = message_folders.sessions(spool.folder)
            if newest == self._seen and not folders and not waiting:
                return
            lock = spool.lock_intake()
            if lock is None:
                return
            try:
                self._answer(spool.folder, waiting)
                self._send(spool.folder, set(folders), now, is_new=newest != self._seen)
                self._seen = newest
            finally:
                os.close(lock)

    def _answer(self, folder: Folder, waiting: list[str]) -> None:
        """Send the human's answers to waiting hooks; release those whose request ended otherwise."""
        db = self._store.db
        self._asks = {name: uid for name, uid in self._asks.items() if name in waiting}
        for name in waiting:
            if name not in self._asks and (asked := ask_queries.waiting_as(db, name)) is not None:
                self._asks[name] = asked
            uid = self._asks.get(name)
            ask = None if uid is None else ask_queries.ask(db, uid)
            if ask is None or ask.state == "open":
                continue
            decision = decision_for(ask) if ask_queries.is_answered_by_human(db, ask) else None
            payload = b"" if decision is None else msgspec.json.encode(decision)
            answer_pipes.send(folder, name, str((ask.request or {}).get("hash")), payload)

    def _send(self, folder: Folder, folders: set[str], now: int, *, is_new: bool) -> None:
        """Write messages and pauses for sessions, and record what was delivered."""
        for session in session_queries.live_here(self._store.db):
            name = message_folders.name_of(session.program, session.session)
            if name in folders:
                folders.discard(name)
                self._record_delivered(folder, session, now)
                message_folders.remove(folder, name)
            if is_new:
                self._write_waiting(folder, session)
        for name in folders:
            message_folders.remove(
                folder, name, with_content=True
            )  # its session has ended; the messages wait in the database

    def _record_delivered(self, folder: Folder, session: AgentSession, now: int) -> None:
        session_folder = message_folders.opened(folder, session.program, session.session, make=False)
        if session_folder is None:
            return
        with session_folder:
            message_folders.give_back(session_folder)
            if (until := message_folders.delivered_until(session_folder)) is not None:
                self._store.commit(DeliverMessages(session.uid, until=until), actor=session.uid, now=now)
                message_folders.forget(session_folder, until)
            # Messages that the agent got over its own channel are not delivered again.
            waiting = {message.seq for message in message_queries.waiting(self._store.db, session.uid)}
            for file in message_folders.files(session_folder):
                if file.number not in waiting:
                    message_folders.withdraw(session_folder, file.number)

    def _write_waiting(self, folder: Folder, session: AgentSession) -> None:
        messages = message_queries.waiting(self._store.db, session.uid)
        agent = message_queries.agent(self._store.db, session.uid)
        why = agent.message if agent is not None and agent.paused else None
        name = message_folders.name_of(session.program, session.session)
        if not messages and why is None and name not in message_folders.sessions(folder):
            return
        session_folder = message_folders.opened(folder, session.program, session.session, make=True)
        assert session_folder is not None
        with session_folder:
            message_folders.set_process(session_folder, session.pid, session.born)
            for message in messages:
                message_folders.put(session_folder, message.seq, message_text(message), ends_turn=message.ends_turn)
            message_folders.set_pause(session_folder, None if why is None else pause_text(why))
        message_folders.remove(folder, name)


def message_text(message: HumanMessage) -> str:
    """Return a message as the model reads it, with its author and time."""
    return f"{MESSAGE_BEGINS}{iso(message.sent_at)}:\n{message.text}"


def pause_text(why: str) -> str:
    """Return what a paused agent reads instead of its tool's output."""
    return f"The human who supervises you has paused you: {why}\nUse no tools; end your turn and wait for the human."


def collect(store: Store, agent: str, now: int) -> tuple[HumanMessage, ...]:
    """Return the messages that wait for a session's agent, to put into our own reply to it, such as one over MCP.

    They are recorded as delivered, so that no hook delivers them again. A message that a hook delivers right now is
    left to it. So is one that ends the turn, as only a hook can do that, and so are all that were sent after these.

    Raises:
        StorageFailed: nothing could be recorded; the messages still wait.
        OSError: the same.
    """
    waiting = message_queries.waiting(store.db, agent)
    session = session_queries.find(store.db, agent) if waiting else None
    if session is None:
        return ()
    with Spool(store.path, make=True) as spool:
        # The process that holds the lock writes messages for hooks.
        lock = spool.lock_intake()
        if lock is None:
            return ()
        try:
            return _collect(store, spool.folder, session, waiting, now)
        finally:
            os.close(lock)


def _collect(
    store: Store, folder: Folder, session: AgentSession, waiting: tuple[HumanMessage, ...], now: int
) -> tuple[HumanMessage, ...]:
    session_folder = message_folders.opened(folder, session.program, session.session, make=True)
    assert session_folder is not None
    with session_folder:
        message_folders.set_process(session_folder, session.pid, session.born)
        message_folders.give_back(session_folder)
        claimed, until = _claim_messages(session_folder, waiting)
        if claimed:
            try:
                store.commit(DeliverMessages(session.uid, until=until), actor=session.uid, now=now)
            except BaseException:
                message_folders.settle(session_folder, claimed, printed=False)
                raise
            message_folders.settle(session_folder, claimed, printed=True)
            message_folders.forget(session_folder, until)
    numbers = {file.number for file, _ in claimed}
    return tuple(message for message in waiting if message.seq in numbers)


def _claim_messages(
    session_folder: Folder, waiting: tuple[HumanMessage, ...]
) -> tuple[list[tuple[message_folders.MessageFile, str]], int]:
    """Claim messages in order as far as it goes; return them, and the seq up to which all are claimed or delivered."""
    claimed, until = [], 0
    for message in waiting:
        message_folders.put(session_folder, message.seq, message_text(message), ends_turn=message.ends_turn)
        file = next(file for file in message_folders.files(session_folder) if file.number == message.seq)
        if not file.is_delivered:
            claim = None if file.state or message.ends_turn else message_folders.claim_one(session_folder, file)
            if claim is None:
                break
            claimed.append(claim)
        until = message.seq
    return claimed, until
