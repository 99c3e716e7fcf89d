"""Executes requests in the open transaction or read of their session, and makes their replies."""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING, Any, Final

from tui_tasks.channel import replies
from tui_tasks.channel.request_reader import DEFECT_MESSAGE, JOURNALED_REFUSALS, PendingRequest
from tui_tasks.channel.waits import Waiting
from tui_tasks.core import vocab
from tui_tasks.core.commit.transaction import HalfWritten, PartlyDone, Reading, Transaction
from tui_tasks.core.engine.driver import READ_ERRORS, is_storage_error
from tui_tasks.core.errors import (
    Conflict,
    InputsUnread,
    InvalidRequest,
    NotFound,
    NotProven,
    Paused,
    Refusal,
    StorageFailed,
)
from tui_tasks.core.operations import AtVersion, RecordRefusal
from tui_tasks.dialects.requests.arguments import Arguments
from tui_tasks.dialects.requests.task_references import with_full_uids
from tui_tasks.dialects.tool_table import Call, Tool, Wait

if TYPE_CHECKING:
    from tui_tasks.channel.presence import Presence
    from tui_tasks.channel.request_reader import Request
    from tui_tasks.channel.subscription import Subscription
    from tui_tasks.core.commit.state_cache import StateCache
    from tui_tasks.core.engine.database import Database
    from tui_tasks.dialects.tool_table import Channel

_log = logging.getLogger(__name__)
_DEFECT_OR_DAMAGE: Final = (
    "a defect in tui-tasks, or damage in its database, which `tui-tasks doctor` finds; the channel continues"
)


class RequestExecutor:
    """Executes the requests of one channel.

    Attributes:
        speakers: the names of the agents that made requests.
    """

    def __init__(self, channel: Channel, subscription: Subscription, presence: Presence | None) -> None:
        self._channel = channel
        self._identity = channel.identity
        self._subscription = subscription
        self._presence = presence
        self.speakers: set[str] = set()
        self._searched: tuple[tuple[object, int], str | None] | None = None
        """The version of the database that was last searched for damage, and what was found; None: it is too large."""

    def single(self, pending: PendingRequest, now: int, reading: Reading, waiting: list[Waiting]) -> Any:
        """Execute a request outside a batch, and return its reply.

        Return None, and append to `waiting`, when the reply comes later.
        """
        transaction = reading if isinstance(reading, Transaction) else None
        try:
            if transaction is not None and pending.writes:
                with transaction.change():
                    result, seq = self._run(pending, now, reading)
            else:
                result, seq = self._run(pending, now, reading)
        except (StorageFailed, HalfWritten, PartlyDone, InputsUnread):
            raise
        except Refusal as refusal:
            self._follow_refusal(pending, refusal, transaction)
            return replies.refused(pending, self._explained(refusal, reading), reading.seq)
        except Exception as error:
            return replies.refused(pending, self.refusal_of(error, reading.db), reading.seq)
        if isinstance(result, Wait):
            waiting.append(Waiting(pending, result))
            self._record_asker(pending, result, transaction)
            return None
        return replies.served(pending, result, seq)

    def _record_asker(self, pending: PendingRequest, wait: Wait, transaction: Transaction | None) -> None:
        """Record that this process waits for an answer, unless an idempotency key lets the question outlive it."""
        is_resumed = pending.request is not None and pending.request.idempotency_key is not None
        if self._presence is not None and transaction is not None and wait.subject is not None and not is_resumed:
            self._presence.record_asker(wait.subject)

    def batch(self, pending_requests: list[PendingRequest], now: int, reading: Reading) -> list[dict[str, Any]]:
        """Execute a batch as a whole or not at all, and return its replies (docs: protocol, section 2)."""
        served: list[dict[str, Any]] = []
        cursor = self._subscription.cursor
        transaction = reading if isinstance(reading, Transaction) else None
        try:
            with transaction.change() if transaction else contextlib.nullcontext():
                for pending in pending_requests:
                    result, seq = self._run(pending, now, reading)
                    served.append(replies.served(pending, result, seq))
            return served
        except (StorageFailed, HalfWritten, InputsUnread):
            raise
        except PartlyDone as partly:
            partly.at = len(served)
            raise
        except Refusal as refusal:
            refused = self._explained(refusal, reading)
        except Exception as error:
            refused = self.refusal_of(error, reading.db)
        self._subscription.cursor = cursor
        at = len(served)
        self._follow_refusal(pending_requests[at], refused, transaction)
        return refused_batch(pending_requests, at, refused, reading.seq)

    def _run(self, pending: PendingRequest, now: int, reading: Reading) -> tuple[Any, int]:
        """Run one request within the open transaction or read; return its result and the newest seq of the journal.

        Raises:
            Refusal: the request is refused.
        """
        if pending.refusal is not None:
            raise pending.refusal
        request, tool = pending.request, pending.tool
        assert request is not None
        assert tool is not None
        call = self._call(pending, request, tool, now, reading)
        stored = None
        if request.idempotency_key is not None:
            stored = replies.find_stored(reading.db, pending)
        arguments: Any = pending.arguments
        # In a repeated request, the beginning of a uid may be of several tasks by now; it gets the stored reply.
        if stored is None:
            arguments = with_full_uids(call, tool, arguments)
        if self._identity.list_only:
            from tui_tasks.dialects.requests.confinement import refuse_elsewhere

            refuse_elsewhere(call, arguments, was_served=stored is not None)
        if stored is not None:
            if "result" in stored:
                pending.note = replies.note_of_stored(reading.db, stored)
                return stored["result"], stored["seq"]
            call.resumes = stored["waits_for"]
        if request.if_version is not None:
            _check_version(request.if_version, tool, arguments, call.transaction)
        before = reading.seq
        result = tool.handler(call, arguments)
        pending.note = call.note
        # Replies to reads are not stored: they may be long, and repeating a read is harmless.
        if request.idempotency_key is not None and pending.writes:
            change = call.transaction.current if call.transaction is not None and reading.seq != before else None
            replies.store_reply(reading.db, pending, result, reading.seq, call.database_now, change)
        return result, reading.seq

    def _call(self, pending: PendingRequest, request: Request, tool: Tool, now: int, reading: Reading) -> Call:
        """Return the request as its tool receives it, and begin it in the open transaction.

        Raises:
            Refusal: the agent's name looks like another's, or the agent is paused.
        """
        agent = pending.agent
        if agent not in vocab.RESERVED_AGENTS:
            _refuse_alike(reading.state_cache, agent)
        self.speakers.add(agent)
        if not tool.while_paused and (known := reading.state_cache.agent(agent)) is not None and known.paused:
            raise Paused(known.message, agent=agent)
        transaction = reading if isinstance(reading, Transaction) else None
        if transaction is not None:
            transaction.speak(agent, request.why, inside_run=self._identity.inside_run)
        return Call(
            db=reading.db,
            now=now,
            agent=agent,
            bound_list=request.list or self._identity.list,
            transaction=transaction,
            channel=self._channel,
            reading=reading,
        )

    def _explained(self, refusal: Refusal, reading: Reading) -> Refusal:
        """Say in the refusal of an unknown id what has that id; a channel of one list learns nothing of others."""
        if isinstance(refusal, NotFound) and not refusal.is_explained and not self._identity.list_only:
            from tui_tasks.core.read.tasks.task_names import explain

            refusal.explain(explain(reading.db, refusal.kind, refusal.data["id"]))
        return refusal

    def _follow_refusal(self, pending: PendingRequest, refusal: Refusal, transaction: Transaction | None) -> None:
        """Write what follows from a refusal: journal a forbidden request, or start the checks of an unproven task.

        A forbidden request is journaled as `agent.refused` (docs: protocol, sections 3 and 11).
        """
        if transaction is None:
            return
        try:
            self._write_after_refusal(pending, refusal, transaction)
        except (StorageFailed, HalfWritten):
            raise
        except Refusal:
            # A refused batch may have made the task, or moved it to where it has checks.
            if isinstance(refusal, NotProven):
                refusal.cannot_run()
        except Exception as error:
            self.refusal_of(error, transaction.db)

    def refusal_of(self, error: Exception, db: Database) -> Refusal:
        """Return the refusal to reply with for an unexpected error: what is damaged in the database, else a defect,
        which is logged.

        Raises:
            Exception: `error` itself if it comes from the storage, which the caller handles.
        """
        if is_storage_error(error):
            raise error
        damage = self._damage(db)
        if damage:
            return StorageFailed(damage, retryable=False)
        _log.error("a request failed", exc_info=error)
        return Refusal(DEFECT_MESSAGE if damage is not None else _DEFECT_OR_DAMAGE)

    def _damage(self, db: Database) -> str | None:
        """Return what is damaged in the database, empty if nothing is; None: that takes too long to find out.

        An agent that causes errors again and again makes it search once.
        """
        from tui_tasks.core.maintenance import database_findings

        with contextlib.suppress(*READ_ERRORS):
            # Only another connection, which changes this version, writes what is damaged.
            version = (db.file, db.scalar("PRAGMA data_version"))
            if self._searched is None or self._searched[0] != version:
                self._searched = version, database_findings.quick_damage_of(db)
            return self._searched[1]
        return None

    def _write_after_refusal(self, pending: PendingRequest, refusal: Refusal, transaction: Transaction) -> None:
        request = pending.request
        why = request.why if request is not None else None
        if isinstance(refusal, JOURNALED_REFUSALS):
            with transaction.change():
                transaction.speak(pending.agent, why)
                transaction.run(RecordRefusal(request.tool if request else refusal.data["tool"], refusal.message))
        elif isinstance(refusal, NotProven) and refusal.uid is not None:
            from tui_tasks.core.operations.jobs import RequestChecks

            with transaction.change():
                transaction.speak(pending.agent, why)
                transaction.run(RequestChecks(refusal.uid, unproven_alone=True))


def refused_batch(pending_requests: list[PendingRequest], at: int, refusal: Refusal, seq: int) -> list[dict[str, Any]]:
    """Return the replies to a batch of which the request `at` was refused."""
    other = Conflict(f"request {at} of the batch was refused: the whole batch was not applied", failed=at)
    return [replies.refused(pending, refusal if n == at else other, seq) for n, pending in enumerate(pending_requests)]


def _check_version(version: int, tool: Tool, arguments: Arguments | None, transaction: Transaction | None) -> None:
    uid = tool.subject(arguments)
    if uid is None or transaction is None:
        raise InvalidRequest(f"if_version goes with what changes exactly one named task; this {tool.name} does not")
    transaction.run(AtVersion(uid, version))


def _refuse_alike(state_cache: StateCache, agent: str) -> None:
    """Refuse a new agent's name that looks like the name of an agent that has spoken.

    Raises:
        InvalidRequest: it does.
    """
    if (known := state_cache.agent_like(agent)) is not None:
        raise InvalidRequest(f"the agent's name {agent!a} looks like {known!a}, which is another's", agent=known)
