"""Questions that were sent to the human's phone, and the answers that may come back from it.

An answer is identified by a nonce, of which only the hash is stored. The tables belong to the process that sends, and
are no part of the state: the journal has what an answer did, as for any answer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from typing import Final

import msgspec

from tui_tasks.core.commit import database_clock
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import Statement, slot
from tui_tasks.core.schema.agent_tables import PhoneAnswerRow as A
from tui_tasks.core.schema.agent_tables import PhoneMessageRow as M
from tui_tasks.text.times import DAY

KEEP: Final = 30 * DAY
"""For how many microseconds an expired answer is kept, to distinguish it from one that never existed."""

_FIND = Statement(lambda: A.select(A.ask, A.answer, A.expires_at, A.used_at).where(A.nonce == slot("nonce")))
_PUT = Statement(
    lambda: A.insert(
        {A.nonce: slot("nonce"), A.ask: slot("ask"), A.answer: slot("answer"), A.expires_at: slot("expires_at")}
    )
)
_SPEND = Statement(lambda: A.update({A.used_at: slot("now")}).where((A.nonce == slot("nonce")) & A.used_at.is_null()))
_DROP_ANSWERS = Statement(lambda: A.delete().where(A.ask == slot("ask")))
_DROP_OLD = Statement(lambda: A.delete().where(A.expires_at < slot("before")))
_MESSAGES = Statement(lambda: M.select(M.ask))
_PUT_MESSAGE = Statement(lambda: M.insert({M.ask: slot("ask")}))
_MARK_SENT = Statement(lambda: M.update({M.sent_at: slot("now")}).where(M.ask == slot("ask")))
_HALF_SENT = Statement(lambda: M.select(M.ask).where(M.sent_at.is_null()))
_DROP_MESSAGE = Statement(lambda: M.delete().where(M.ask == slot("ask")))


class PhoneAnswer(msgspec.Struct, frozen=True, gc=False):
    """The question and the answer that a nonce stands for. Instants are microseconds, UTC."""

    ask: str
    answer: str
    expires_at: int
    used_at: int | None


def hashed(nonce: str) -> str:
    """Return the hash of a nonce, which is what is stored."""
    return hashlib.sha256(nonce.encode()).hexdigest()


def find(db: Database, nonce: str) -> PhoneAnswer | None:
    """Return the answer of a hashed nonce; None if it was never offered, or was deleted as too old."""
    row = db.one(_FIND, nonce=nonce)
    return PhoneAnswer(*row) if row else None


def spend(db: Database, nonce: str, now: int) -> None:
    """Mark a hashed nonce as used, within a write transaction."""
    db.run(_SPEND, {"nonce": nonce, "now": now})


def sent(db: Database) -> set[str]:
    """Return the uids of the questions that were sent, or are being sent."""
    return {uid for (uid,) in db.all(_MESSAGES)}


def offer(db: Database, ask: str, answers: Mapping[str, str], expires_at: int) -> bool:
    """Record that a question is about to be sent, with its answers by their hashed nonces.

    Return whether it is to be sent: another machine may have done so.

    Raises:
        StorageFailed: it could not be recorded.
    """
    with db.state_transaction(write=True):
        if db.machine and ask in sent(db):
            return False
        _drop(db, ask)
        db.run(_DROP_OLD, {"before": expires_at - KEEP})
        db.run(_PUT_MESSAGE, {"ask": ask})
        for nonce, answer in answers.items():
            db.run(_PUT, {"nonce": nonce, "ask": ask, "answer": answer, "expires_at": expires_at})
    return True


def mark_sent(db: Database, ask: str, now: int) -> None:
    """Record that a question has reached the server."""
    with db.transaction(write=True):
        db.run(_MARK_SENT, {"ask": ask, "now": now})


def half_sent(db: Database) -> set[str]:
    """Return the uids of the questions that a process was about to send."""
    return {uid for (uid,) in db.all(_HALF_SENT)}


def withdraw_half_sent(db: Database, sending: str | None) -> None:
    """Delete the records of questions that a process was about to send when it ended; on a server only of `sending`, as
    other machines may be about to send others.
    """
    for uid in half_sent(db):
        if not db.machine or uid == sending:
            withdraw(db, uid)


def withdraw(db: Database, ask: str) -> None:
    """Delete the record of a question that could not be sent."""
    with db.state_transaction(write=True):
        _drop(db, ask)


def claim_alerts(db: Database, seqs: Collection[int]) -> set[int]:
    """Record that this machine sends messages about entries to the phone; return those that no other machine has sent.

    Raises:
        StorageFailed: it could not be recorded.
    """
    if not db.machine:
        return set(seqs)
    with db.state_transaction(write=True):
        mark = database_clock.mark(db)
        database_now = 0 if mark is None else mark.database_now
        new = {seq for seq in seqs if database_clock.end_of(db, f"phone:{seq}") is None}
        for seq in new:
            database_clock.put_end(db, f"phone:{seq}", database_now, database_now)
    return new


def return_alerts(db: Database, seqs: Collection[int]) -> None:
    """Record that the messages about entries could not be sent after all.

    Raises:
        StorageFailed: it could not be recorded.
    """
    if db.machine:
        with db.state_transaction(write=True):
            for seq in seqs:
                database_clock.drop_end(db, f"phone:{seq}")


def _drop(db: Database, ask: str) -> None:
    db.run(_DROP_MESSAGE, {"ask": ask})
    db.run(_DROP_ANSWERS, {"ask": ask})


def forget_closed(db: Database, open_asks: Iterable[str]) -> None:
    """Delete the records of questions that are closed by now. Their answers are kept, to recognize late ones."""
    closed = sent(db) - set(open_asks)
    if closed:
        with db.state_transaction(write=True):
            for uid in closed:
                db.run(_DROP_MESSAGE, {"ask": uid})
