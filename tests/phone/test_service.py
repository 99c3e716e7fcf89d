"""Questions sent to the phone, and the answers that come back: taken once, in time, and only where offered."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.conftest import SECOND, START, Clock
from tests.contract.client import Agent
from tests.phone.stand_in import StandIn
from tests.started import DEADLINE, until
from tui_tasks import phone as phone_module
from tui_tasks.core.commit import journal
from tui_tasks.core.errors import Busy
from tui_tasks.core.operations.asks import AnswerAsk, OpenAsk
from tui_tasks.core.operations.tasks import AddTask, EditTask, EnsureList
from tui_tasks.core.read import ask_queries
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import phone_answers
from tui_tasks.phone import PhoneService
from tui_tasks.settings.config import Config, NtfySettings, ntfy_token


@pytest.fixture
def server() -> Iterator[StandIn]:
    stand_in = StandIn()
    yield stand_in
    stand_in.close()


@pytest.fixture
def phone(store: Store, server: StandIn, clock: Clock) -> Callable[..., PhoneService]:
    """Make a service that has begun."""

    def make(secret: str | None = None, **settings: Any) -> PhoneService:
        wanted = NtfySettings(**{"server": server.address, "topic": "mine", "delay": 0, **settings})
        made = PhoneService(store.path, wanted, secret, clock)
        made.resume(store)
        return made

    return make


def opened(
    store: Store, clock: Clock, question: str = "Which one?", options: tuple[str, ...] = ("jose", "pyjwt")
) -> str:
    (ask,) = store.commit(OpenAsk(question, ("jose", "pyjwt")), actor="claude-1", now=clock())
    return ask.uid


def refusals(store: Store) -> list[str]:
    return [entry.new["message"] for entry in journal.since(store.db, 0, 1_000) if entry.kind == "agent.refused"]


def test_a_question_is_sent_once_and_answered_by_touching_an_action(store, server, clock, phone):
    sender, uid = phone(), opened(store, clock)
    sender.send_pending(store)
    sender.send_pending(store)
    (message,) = server.messages["mine"]
    assert (message["title"], message["message"]) == ("claude-1 asks", "Which one?")
    assert [action["label"] for action in message["actions"]] == ["jose", "pyjwt"]
    nonce = server.touch(message, "pyjwt")
    assert sender.accept_answer(store, nonce)
    ask = ask_queries.ask(store.db, uid)
    assert (ask.state, ask.answer) == ("answered", "pyjwt")
    newest = journal.since(store.db, 0, 1_000)[-1]
    assert (newest.kind, newest.actor, newest.why) == ("ask.answered", "human", {"topic": "answered by ntfy"})
    assert refusals(store) == []


def test_a_nonce_is_taken_once_and_a_second_try_is_kept_in_the_journal(store, server, clock, phone):
    sender, _ = phone(), opened(store, clock)
    sender.send_pending(store)
    nonce = server.touch(server.messages["mine"][0], "jose")
    assert sender.accept_answer(store, nonce)
    assert not sender.accept_answer(store, nonce)
    assert refusals(store) == ["an answer that was given before"]


def test_what_was_never_offered_is_refused_and_kept_and_cannot_fill_the_journal(store, server, clock, phone):
    sender, uid = phone(), opened(store, clock)
    sender.send_pending(store)
    for number in range(100):
        assert not sender.accept_answer(store, f"forged-{number}")
    assert ask_queries.ask(store.db, uid).state == "open"
    assert refusals(store) == ["an answer without a question"] * phone_module.MAX_REFUSALS
    clock.forward(3_601)
    assert not sender.accept_answer(store, "forged")
    assert len(refusals(store)) == phone_module.MAX_REFUSALS + 1
    assert len(server.messages["mine"]) == 1


def test_an_answer_that_comes_too_late_is_refused_and_whoever_gave_it_is_told_once(store, server, clock, phone):
    sender, uid = phone(expires=60), opened(store, clock)
    sender.send_pending(store)
    nonce = server.touch(server.messages["mine"][0], "jose")
    clock.forward(60)
    assert not sender.accept_answer(store, nonce)
    assert not sender.accept_answer(store, nonce)
    assert ask_queries.ask(store.db, uid).state == "open"
    assert refusals(store) == ["an answer that came too late", "an answer that was given before"]
    assert [message["title"] for message in server.messages["mine"][1:]] == ["Too late"]


def test_an_answer_to_what_was_answered_on_the_screen_changes_nothing(store, server, clock, phone):
    sender, uid = phone(), opened(store, clock)
    sender.send_pending(store)
    nonce = server.touch(server.messages["mine"][0], "jose")
    store.commit(AnswerAsk(uid, "pyjwt"), actor="human", now=clock())
    assert not sender.accept_answer(store, nonce)
    assert ask_queries.ask(store.db, uid).answer == "pyjwt"
    assert "answered already" in refusals(store)[0]


def test_only_hashes_of_nonces_are_kept(store, server, clock, phone):
    sender, _ = phone(), opened(store, clock)
    sender.send_pending(store)
    nonces = [action["body"] for action in server.messages["mine"][0]["actions"]]
    rows = store.db.sql("SELECT * FROM phone_answer").fetchall()
    assert len(rows) == 2
    assert not any(nonce in str(rows) for nonce in nonces)
    assert {row[0] for row in rows} == set(map(phone_answers.hashed, nonces))


def test_a_question_that_was_answered_in_time_is_not_sent(store, server, clock, phone):
    sender, uid = phone(delay=5), opened(store, clock)
    sender.send_pending(store)
    clock.forward(4)
    sender.send_pending(store)
    assert server.messages == {}
    later = opened(store, clock, "Another?")
    store.commit(AnswerAsk(uid, "jose"), actor="human", now=clock())
    clock.forward(5)
    sender.send_pending(store)
    assert [message["message"] for message in server.messages["mine"]] == ["Another?"]
    assert ask_queries.ask(store.db, later).state == "open"


def test_what_fails_is_told_together_and_once(store, server, clock, phone):
    (home,) = store.commit(EnsureList("tasklist", "tasklist"), actor="a", now=clock())
    (before,) = store.commit(AddTask("Before", home.uid, status="failed"), actor="a", now=clock())
    sender = phone()
    for name in ("One", "Two"):
        (task,) = store.commit(AddTask(name, home.uid), actor="a", now=clock())
        store.commit(EditTask(task.uid, {"status": "failed"}), actor="a", now=clock())
    store.commit(EditTask(before.uid, {"status": "done"}), actor="a", now=clock())
    sender.send_pending(store)
    sender.send_pending(store)
    assert [message["message"] for message in server.messages["mine"]] == ["One\nTwo"]


def test_a_server_that_is_not_there_costs_nothing_and_gets_it_later(store, server, clock, phone, monkeypatch):
    sender, _ = phone(), opened(store, clock)
    server.status = 503
    sender.send_pending(store)
    tried = len(server.tokens)
    for _ in range(50):
        sender.send_pending(store)
    assert len(server.tokens) == tried == 1
    assert phone_answers.sent(store.db) == set()
    server.status = 200
    monkeypatch.setattr(sender, "_retry_at", 0.0)
    sender.send_pending(store)
    assert len(server.messages["mine"]) == 1


def test_what_a_process_was_about_to_send_when_it_ended_is_sent_by_the_next(store, server, clock, phone):
    phone()
    uid = opened(store, clock)
    phone_answers.offer(store.db, uid, {}, START)
    phone().send_pending(store)
    assert len(server.messages["mine"]) == 1


def test_the_token_is_sent_to_the_server_alone_and_no_redirect_is_followed(store, server, clock, phone):
    elsewhere = StandIn()
    try:
        server.location = elsewhere.address + "/"
        opened(store, clock)
        phone("secret").send_pending(store)
        assert server.tokens == ["Bearer secret"]
        assert elsewhere.tokens == []
    finally:
        elsewhere.close()


@pytest.mark.parametrize("status", [401, 403])
def test_whoever_the_server_turns_away_lets_another_process_send(store, server, clock, phone, monkeypatch, status):
    monkeypatch.setattr(phone_module, "_FORBIDDEN_SECONDS", 0.0)
    monkeypatch.setattr(phone_module, "_TAKE_OVER_SECONDS", 0.01)
    server.status = status
    opened(store, clock)
    turned_away, allowed = phone(), phone("secret")
    threads = [threading.Thread(target=each.run, daemon=True) for each in (turned_away, allowed)]
    threads[0].start()
    with server.changed:
        while not server.tokens:
            server.changed.wait(0.01)
    server.status = 200
    threads[1].start()
    server.wait_for("mine")
    for each, thread in zip((turned_away, allowed), threads, strict=True):
        each.stop()
        thread.join(DEADLINE)
        assert not thread.is_alive()
    assert len(server.messages["mine"]) == 1


def test_of_several_processes_one_sends_and_takes(store, server, clock, phone, monkeypatch):
    monkeypatch.setattr(phone_module, "_TAKE_OVER_SECONDS", 0.01)
    uid = opened(store, clock)
    services = [phone() for _ in range(3)]
    threads = [threading.Thread(target=each.run, daemon=True) for each in services]
    for thread in threads:
        thread.start()
    (message,) = server.wait_for("mine")
    server.touch(message, "jose")
    until(lambda: ask_queries.ask(store.db, uid).state == "answered", "the answer")
    for each in services:
        each.stop()
    for thread in threads:
        thread.join(DEADLINE)
    assert ask_queries.ask(store.db, uid).answer == "jose"
    assert refusals(store) == []
    assert len(server.messages["mine"]) == 1


def test_a_database_that_is_busy_at_first_is_opened_again(store, server, clock, phone, monkeypatch):
    monkeypatch.setattr(phone_module, "_TAKE_OVER_SECONDS", 0.01)
    tries = []

    def open_store(*arguments: Any, **named: Any) -> Store:
        tries.append(arguments)
        if len(tries) < 3:
            raise Busy("others write")
        return Store(*arguments, **named)

    monkeypatch.setattr(phone_module, "Store", open_store)
    sender = phone()
    opened(store, clock)
    thread = threading.Thread(target=sender.run, daemon=True)
    thread.start()
    assert server.wait_for("mine")[0]["message"] == "Which one?"
    sender.stop()
    thread.join(DEADLINE)


def test_a_process_that_serves_sends_a_question_and_gives_the_agent_the_answer(tmp_path: Path, server: StandIn) -> None:
    config = tmp_path / "config.toml"
    config.write_text(f'[ntfy]\nserver = "{server.address}"\ntopic = "mine"\ndelay = 0\n')
    config.chmod(0o600)
    environ = {"TUI_TASKS_CONFIG": str(config), "TUI_TASKS_NTFY_TOKEN": "secret"}
    with Agent(tmp_path / "tasks.db", "--project", "", **environ) as agent:
        agent.write({"id": 1, "tool": "ask", "arguments": {"question": "Ship it?", "options": ["yes", "no"]}})
        (message,) = server.wait_for("mine")
        server.put("mine-reply", "forged")
        server.touch(message, "yes")
        reply = agent.reply()
        assert (reply["id"], reply["result"]["answer"]) == (1, "yes")
        entries = agent.ok("control:history")["entries"]
        kinds = [(entry["event"], entry["actor"]) for entry in entries]
        assert kinds == [("ask.opened", "agent"), ("agent.refused", "system"), ("ask.answered", "human")]
    assert set(server.tokens) == {"Bearer secret"}
    assert "secret" not in agent.said()


@pytest.mark.parametrize(
    "wrong",
    [
        {"server": "http://ntfy.example.org"},
        {"server": "https://user:secret@example.org"},
        {"server": "ftp://example.org"},
        {"server": "http://127.0.0.1.example.org"},
        {"topic": "a/b"},
        {"topic": "same", "reply_topic": "same"},
        {"token": "secret"},
        {"expires": 1},
    ],
)
def test_a_table_that_is_wrong_is_refused(wrong):
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"ntfy": wrong}, Config)


def test_the_token_comes_from_the_environment():
    assert ntfy_token({}) is None
    assert ntfy_token({"NTFY_TOKEN": "a", "TUI_TASKS_NTFY_TOKEN": ""}) == "a"
    assert ntfy_token({"NTFY_TOKEN": "a", "TUI_TASKS_NTFY_TOKEN": "b"}) == "b"


def test_answers_of_long_ago_are_forgotten(store, clock):
    phone_answers.offer(store.db, "one", {"n": "yes"}, START)
    phone_answers.offer(store.db, "two", {"m": "yes"}, START + phone_answers.KEEP + SECOND)
    assert phone_answers.find(store.db, "n") is None
    assert phone_answers.find(store.db, "m") is not None
