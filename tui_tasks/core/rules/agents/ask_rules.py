"""Questions to the human: who may ask how many, what may be asked, what an answer may be, by screen, rule or phone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec.structs import asdict

from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.core.commit import database_clock
from tui_tasks.core.errors import Conflict, Forbidden, InvalidArgument, Problem
from tui_tasks.core.operations.asks import (
    AnswerAsk,
    AnswerByPhone,
    AnswerByRule,
    CloseAsk,
    OpenAsk,
    SettleAsks,
)
from tui_tasks.core.read import ask_queries, work_queries
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.rules import rule
from tui_tasks.core.rules.agents import standing_answers
from tui_tasks.core.rules.agents.request_text import ALLOW, DENY, MAX_OPTION, MAX_OPTIONS, allows, is_kept_whole
from tui_tasks.core.rules.agents.standing_answers import AnswerRule
from tui_tasks.core.rules.recorded_settings import AskLimits
from tui_tasks.core.unhidden_text import invisible_char
from tui_tasks.core.unjournaled import phone_answers
from tui_tasks.core.vocab import LIMIT_OPTIONS, LIVE_WORK, SHELL

if TYPE_CHECKING:
    from tui_tasks.core.commit.transaction import Transaction

_WITHDRAWN: Final = "the human has withdrawn it"
NOT_WHOLE: Final = "deny it, or answer it in your own words"


def problems_with(question: str, options: Sequence[str]) -> Iterator[Problem]:
    """Yield why the human could not see a question whole: too many options, long ones, invisible characters."""
    if len(options) > MAX_OPTIONS:
        yield "options", f"options: at most {MAX_OPTIONS}, not {len(options)}"
    for argument, text in (("question", question), *((f"options[{at}]", text) for at, text in enumerate(options))):
        if argument != "question" and len(text) > MAX_OPTION:
            yield argument, f"{argument}: at most {MAX_OPTION} characters"
        if (char := invisible_char(text)) is not None:
            yield argument, f"{argument}: U+{ord(char):04X} in it cannot be seen by the human"


@rule(OpenAsk)
def open_ask(tx: Transaction, op: OpenAsk) -> Ask:
    """Open a question to the human.

    Raises:
        Conflict: as many of the speaker's, or of all agents, wait already as may.
    """
    if wrong := list(problems_with(op.question, op.options)):
        raise InvalidArgument.of(wrong)
    if (reached := reached_limit(tx)) is not None:
        text, limit, count = reached
        raise Conflict(f"{text}, the limit: wait until one is answered or ends", limit=limit, open=count)
    work = work_queries.of_agent(tx.db, tx.actor) if op.task_uid is None else None
    if work is not None and work.state in LIVE_WORK and task_queries.live_tasks(tx.db, [work.task_uid]):
        op = msgspec.structs.replace(op, task_uid=work.task_uid)
    return begin_ask(tx, op)


def begin_ask(tx: Transaction, op: OpenAsk) -> Ask:
    """Open a question of the speaker's, however many wait."""
    task = task_queries.task(tx.db, op.task_uid) if op.task_uid is not None else None
    ask = Ask(
        id=tx.state_cache.next_id("ask"),
        uid=tx.new_uid(),
        agent=tx.actor,
        question=op.question,
        options=op.options,
        task_uid=op.task_uid,
        opened_at=tx.now,
        expires_at=op.expires_at,
        state="open",
        answer=None,
        answered_at=None,
        project=op.project,
    )
    if op.expires_at is not None:
        database_clock.put_end(tx.db, ask.uid, tx.database_now + op.expires_at - tx.now, tx.database_now)
    tx.emit("ask.opened", "ask", ask.uid, new=asdict(ask), task=task)
    return ask


def _end(tx: Transaction, uid: str, kind: str, new: dict[str, object]) -> Ask:
    ask = ask_queries.ask(tx.db, uid)
    if ask.state != "open":
        raise Conflict(f"question {uid} is {ask.state} already", state=ask.state, id=uid)
    task = task_queries.any_task(tx.db, ask.task_uid) if ask.task_uid else None
    tx.emit(kind, "ask", uid, old={name: getattr(ask, name) for name in new}, new=new, task=task)
    if not ask_queries.is_asking(tx.db, ask.agent):
        # Imported here, as most agents that ask hold no claim when a short command answers.
        from tui_tasks.core.rules.tasks.claim_rules import extend_all

        extend_all(tx, ask.agent)
    return ask_queries.ask(tx.db, uid)


@rule(AnswerAsk)
def answer_ask(tx: Transaction, op: AnswerAsk) -> Ask:
    """Answer a question. The human's alone; callers check that it is the human."""
    new: dict[str, object] = {"state": "answered", "answer": op.answer, "answered_at": tx.now}
    ask = ask_queries.ask(tx.db, op.uid)
    request = ask.request or {}
    if op.updated_input is not None:
        if request.get("kind") != "permission":
            raise InvalidArgument("updated_input", f"question {op.uid} has no input to edit")
        new["request"] = {**request, "updated_input": op.updated_input}
    if request and ask.state == "open":
        _check_answer(ask, request, op)
    if any(choice is not None for choice in op.choices):
        new["request"] = {**request, "choices": op.choices}
    answered = _end(tx, op.uid, "ask.answered", new)
    if ask.options == LIMIT_OPTIONS and ask.task_uid is not None:
        from tui_tasks.core.rules import work_limit_rules  # few answers are about limits

        work_limit_rules.follow_answer(tx, answered)
    return answered


def _check_answer(ask: Ask, request: dict[str, Any], op: AnswerAsk) -> None:
    """Refuse an answer that takes up what the human was not shown, and one answer to several questions.

    Raises:
        Conflict: part of the request was shortened or redacted, and the screen has not shown it whole.
        InvalidArgument: there are several questions, and not an answer for each.
    """
    questions = request.get("questions") or ()
    is_permission = request.get("kind") == "permission"
    if not is_permission and len(questions) > 1 and len(op.choices or _lines(op.answer)) != len(questions):
        raise InvalidArgument("answer", f"it asks {len(questions)} questions: answer each on its own line")
    takes_up = (
        allows(op.answer)
        if is_permission
        else any(choice is not None for choice in op.choices) or op.answer in ask.options
    )
    is_shown = is_kept_whole(ask) or (bool(op.shown) and op.shown == request.get("hash"))
    if takes_up and not is_shown:
        raise Conflict(f"you were not shown all of question {ask.uid}: {NOT_WHOLE}", id=ask.uid)


def _lines(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.strip()]


@rule(SettleAsks)
def settle_asks(tx: Transaction, op: SettleAsks) -> tuple[Ask, ...]:
    """Answer or withdraw several questions; those that are closed by now stay as they are."""
    asks = [ask for uid in op.uids if (ask := ask_queries.ask(tx.db, uid)).state == "open"]
    return tuple(_settled(tx, ask, op.answer) for ask in asks)


def _settled(tx: Transaction, ask: Ask, words: str | None) -> Ask:
    request = ask.request or {}
    settled: Ask
    if words is not None and request.get("kind") == "permission":
        settled = answer_ask(tx, AnswerAsk(ask.uid, f"{DENY}: {words}"))
    elif words is not None and len(request.get("questions") or ()) <= 1 and words not in ask.options:
        settled = answer_ask(tx, AnswerAsk(ask.uid, words))
    else:
        settled = close_ask(tx, CloseAsk(ask.uid, "withdrawn", _WITHDRAWN))
    return settled


@rule(CloseAsk)
def close_ask(tx: Transaction, op: CloseAsk) -> Ask:
    """Close a question without an answer."""
    why = {} if op.reason is None else {"reason": op.reason}
    return _end(tx, op.uid, f"ask.{op.state}", {"state": op.state, "answered_at": tx.now, **why})


def open_request(
    tx: Transaction, request: dict[str, Any], question: str, options: tuple[str, ...], project: str | None
) -> Ask:
    """Open what a program asks of the person at its terminal, as a question; the speaker is the program's agent.

    A standing answer of the human's answers it at once. It is never refused, unlike an agent's own question: where as
    many wait already as may, it is withdrawn at once, and its program asks in its own window.

    Args:
        tx: the transaction.
        request: what is asked, as it is kept with the question.
        question: its text.
        options: the answers to choose from.
        project: the project of the session.
    """
    rule = _standing_answer(tx, request, project)
    reached = reached_limit(tx) if rule is None else None
    ask = Ask(
        id=tx.state_cache.next_id("ask"),
        uid=tx.new_uid(),
        agent=tx.actor,
        question=question,
        options=options,
        task_uid=None,
        opened_at=tx.now,
        expires_at=None,
        state="open" if reached is None else "withdrawn",
        answer=None,
        answered_at=None if reached is None else tx.now,
        request=request,
        reason=None if reached is None else reached[0],
    )
    tx.emit("ask.opened", "ask", ask.uid, new=asdict(ask))
    return ask if rule is None else _answer_by(tx, ask, rule)


def _answer_by(tx: Transaction, ask: Ask, rule: AnswerRule) -> Ask:
    answer = ALLOW if rule.answer == "allow" else f"{DENY}: by a rule of the human: {rule}"
    new = {"state": "answered", "answer": answer, "answered_at": tx.now, "rule": str(rule)}
    tx.emit_by_system("ask.answered", "ask", ask.uid, old={name: getattr(ask, name) for name in new}, new=new)
    return ask_queries.ask(tx.db, ask.uid)


@rule(AnswerByRule)
def answer_by_rule(tx: Transaction, op: AnswerByRule) -> bool:
    """Answer a permission that a machine whose role may not answer has left open."""
    ask = ask_queries.ask(tx.db, op.uid)
    session = session_queries.find(tx.db, ask.agent)
    if ask.state != "open" or ask.request is None or session is None:
        return False
    standing = _standing_answer(tx, ask.request, session.project)
    if standing is not None:
        _answer_by(tx, ask, standing)
    return standing is not None


def _standing_answer(tx: Transaction, request: dict[str, Any], project: str | None) -> AnswerRule | None:
    """Return the rule of the human's that answers a request, if its program waits for an answer from here."""
    settings = tx.state_cache.recorded_settings if tx.answers_by_rule else None
    if settings is None or not settings.rules or request["kind"] != "permission" or not request["answer"]:
        return None
    return standing_answers.find(
        settings.rules,
        request["tool"],
        request["input"],
        program=request["program"],
        project=project,
        now=tx.now,
        is_whole=request["is_whole"],
    )


@rule(AnswerByPhone)
def answer_by_phone(tx: Transaction, op: AnswerByPhone) -> Ask:
    """Answer, and let the nonce be used, in one transaction."""
    sent = phone_answers.find(tx.db, op.nonce)
    if sent is None:
        raise Forbidden("an answer without a question")
    if sent.used_at is not None:
        raise Forbidden("an answer that was given before", ask=sent.ask)
    if tx.now >= sent.expires_at:
        raise Forbidden("an answer that came too late", ask=sent.ask)
    phone_answers.spend(tx.db, op.nonce, tx.now)
    answered: Ask = answer_ask(tx, AnswerAsk(sent.ask, sent.answer))
    return answered


# How many questions of the live sessions of one process may wait, however many of others do.
MAX_OF_PROCESS: Final = 5


def reached_limit(tx: Transaction) -> tuple[str, int, int] | None:
    """Return which limit forbids the speaker another question, in words, with the limit and how many wait; None if it
    may ask (docs: protocol, section 7).

    A flood must not bury one question. A name costs nothing, so the limit of one agent alone would not hold. Beyond
    the limit of all, the live sessions of an agent program's process still ask a few.
    """
    settings = tx.state_cache.recorded_settings
    limits = AskLimits() if settings is None else settings.asks
    own = ask_queries.count_open(tx.db, tx.actor)
    if own >= limits.limit:
        return f"{own} questions of {tx.actor} wait for the human", limits.limit, own
    everyone = ask_queries.count_open(tx.db)
    # A shell's question is about a command of the human's own.
    if everyone >= limits.total and tx.actor != SHELL and not _may_ask_a_few(tx):
        return f"{everyone} questions of all agents wait for the human", limits.total, everyone
    return None


def _may_ask_a_few(tx: Transaction) -> bool:
    """Return whether the speaker is a live session of a process, few of whose questions wait."""
    session = session_queries.find(tx.db, tx.actor)
    if session is None or session.ended_at is not None or not session.pid:
        return False
    sessions = session_queries.in_process(tx.db, session.pid)
    return sum(ask_queries.count_open(tx.db, one.uid) for one in sessions) < MAX_OF_PROCESS
