"""The limits of a work: tokens, money, time and turns of its agent (docs: protocol, section 12).

At a limit the turn ends, and the human is asked whether the agent goes on. The limits are those of the settings,
`[work.limits]`, or of the work itself. Each time that the human lets the agent go on, the limit that was reached grows
by its first size.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import msgspec

from tui_tasks.core.agent_snapshots import Ask, Work
from tui_tasks.core.errors import Conflict, InvalidArgument, StorageFailed
from tui_tasks.core.operations.asks import OpenAsk, SendMessage
from tui_tasks.core.operations.work import LimitWork
from tui_tasks.core.read import work_queries
from tui_tasks.core.rules import rule
from tui_tasks.core.rules.agents.ask_rules import begin_ask
from tui_tasks.core.rules.agents.message_rules import send_message
from tui_tasks.core.rules.work_refusals import in_state, require_human
from tui_tasks.core.rules.work_rules import set_columns
from tui_tasks.core.vocab import CONTINUE, LIMIT_OPTIONS

if TYPE_CHECKING:
    from tui_tasks.core.commit.transaction import Transaction


class Limits(msgspec.Struct, frozen=True, omit_defaults=True):
    """The column `limits` of a work.

    Attributes:
        own: limits of this work, by name; the settings have the others. None: a value that is no number, and no limit.
        raised: how often the human let the agent go on, by the name of the limit.
        reached: the limit that was reached last.
        ask: the question about it, until it is answered.
        is_stopped: whether the human said that the agent is to stop there.
    """

    own: dict[str, float | None] = {}
    raised: dict[str, int] = {}
    reached: str | None = None
    ask: str | None = None
    is_stopped: bool = False


def limits_of(work: Work) -> Limits:
    """Return the limits of a work.

    Raises:
        StorageFailed: the row was changed by other means.
    """
    try:
        return msgspec.convert(work.limits or {}, Limits)
    except msgspec.ValidationError:
        what = f"the field limits of the work of {work.agent} (uid {work.uid}) is not what this program writes"
        raise StorageFailed(f"{what}. Restore a backup", retryable=False) from None


def limits_in_force(work: Work, settings: dict[str, float]) -> dict[str, float]:
    """Return the limits that hold for a work now, by name; `settings` are those of the settings."""
    limits = limits_of(work)
    own = {name: value for name, value in {**settings, **limits.own}.items() if value is not None}
    return {name: value * (1 + limits.raised.get(name, 0)) for name, value in own.items()}


def wrong_limit(work: Work) -> str | None:
    """Return that a limit of a work is no number, for people; None if all are."""
    wrong = [name for name, value in limits_of(work).own.items() if value is None]
    return f"its limit {wrong[0]} is no number, so it has none" if wrong else None


def check_limits(limits: Mapping[str, float]) -> None:
    """Refuse limits that JSON cannot hold.

    Raises:
        InvalidArgument: one is not above 0, or has no end.
    """
    for name, value in limits.items():
        if not 0 < value < math.inf:
            raise InvalidArgument("limits", f"the limit {name} must be a number above 0 that has an end")


def is_stopped_at_limit(work: Work) -> bool:
    """Return whether the agent of a work was stopped at a limit, and the human has not let it go on."""
    limits = limits_of(work)
    return limits.is_stopped or limits.ask is not None


def continued_limits(work: Work) -> dict[str, Any]:
    """Return the column `limits` of a work whose agent may continue."""
    limits = limits_of(work)
    name = limits.reached or ""
    raised = {**limits.raised, name: limits.raised.get(name, 0) + 1}
    raised_once = msgspec.structs.replace(limits, raised=raised, ask=None, is_stopped=False)
    return cast("dict[str, Any]", msgspec.to_builtins(raised_once))


@rule(LimitWork)
def limit_work(tx: Transaction, op: LimitWork) -> Work:
    """End the turn of an agent at a limit, and ask the human in its name whether it goes on.

    Raises:
        Conflict: the human was asked already, or the work is over.
    """
    require_human(tx)
    work = in_state(tx, op.uid, "working")
    limits = limits_of(work)
    if limits.ask is not None:
        raise Conflict("the human was asked already", id=limits.ask)
    stop = f"You have reached your limit: {op.used}. Stop here; the human decides what follows."
    send_message(tx, SendMessage(work.agent, stop, ends_turn=True))
    with tx.speaking_as(work.agent):
        ask = begin_ask(tx, OpenAsk(f"I have used {op.used}. Continue?", LIMIT_OPTIONS, work.task_uid))
    limits = msgspec.structs.replace(limits, reached=op.limit, ask=ask.uid)
    message = f"stopped at its limit: {op.used}"
    return set_columns(tx, work, "work.limit", message=message, limits=msgspec.to_builtins(limits))


def follow_answer(tx: Transaction, ask: Ask) -> None:
    """Continue beyond the limit, or stop there, as the human answered."""
    work = next((one for one in work_queries.live(tx.db) if limits_of(one).ask == ask.uid), None)
    if work is None:
        return
    if ask.answer == CONTINUE:
        state = "working" if work.state in ("ready", "conflict") else work.state
        set_columns(tx, work, "work.commented", state=state, message=None, limits=continued_limits(work))
        send_message(tx, SendMessage(work.agent, "Continue your task."))
        return
    stopped = msgspec.structs.replace(limits_of(work), ask=None, is_stopped=True)
    set_columns(tx, work, "work.updated", limits=msgspec.to_builtins(stopped))
    if ask.answer is not None and ask.answer not in LIMIT_OPTIONS:
        send_message(tx, SendMessage(work.agent, ask.answer))
