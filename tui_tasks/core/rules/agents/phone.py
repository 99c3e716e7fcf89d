"""The human's answer from a phone: known by a nonce that is taken once, and for a while."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_tasks.core import phone_answers
from tui_tasks.core.errors import Forbidden
from tui_tasks.core.operations.asks import AnswerAsk, AnswerByPhone
from tui_tasks.core.rules.agents.asks import answer_ask
from tui_tasks.core.rules.registry import rule
from tui_tasks.core.snapshots import Ask

if TYPE_CHECKING:
    from tui_tasks.core.commit.transaction import Transaction


@rule(AnswerByPhone)
def answer_by_phone(tx: Transaction, op: AnswerByPhone) -> Ask:
    """Answer, and let the nonce be used, in one transaction."""
    found = phone_answers.find(tx.db, op.nonce)
    if found is None:
        raise Forbidden("an answer that nobody was asked for")
    if found.used_at is not None:
        raise Forbidden("an answer that was given before", ask=found.ask)
    if tx.now >= found.expires_at:
        raise Forbidden("an answer that came too late", ask=found.ask)
    phone_answers.spend(tx.db, op.nonce, tx.now)
    answered: Ask = answer_ask(tx, AnswerAsk(found.ask, found.answer))
    return answered
