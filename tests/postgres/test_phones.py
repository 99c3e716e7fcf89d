"""Questions of a server's agents to phones: each is sent once, by the machine of its agent or by one that sends all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

from tests.phone.stand_in import StandIn
from tests.postgres.test_lost_machines import ask
from tests.postgres.test_machines import PERMISSION, START, leave
from tui_tasks import clock
from tui_tasks import phone as phone_module
from tui_tasks.core.agent_snapshots import Process
from tui_tasks.core.operations.asks import AnswerAsk, OpenAsk
from tui_tasks.core.operations.tasks import AddTask, EditTask, EnsureList
from tui_tasks.core.read import ask_queries
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import connections, phone_answers
from tui_tasks.core.unjournaled.heartbeats import LEASE
from tui_tasks.phone import PhoneService
from tui_tasks.runner import processes
from tui_tasks.settings.config import NtfySettings


@pytest.fixture
def ntfy() -> Iterator[StandIn]:
    stand_in = StandIn()
    yield stand_in
    stand_in.close()


@pytest.fixture
def phone(ntfy: StandIn) -> Callable[..., PhoneService]:
    def make(store: Store, **settings: object) -> PhoneService:
        wanted = NtfySettings(**{"server": ntfy.address, "topic": "mine", "delay": 0, **settings})
        made = PhoneService(store.path, wanted, None, clock.now)
        store.db.catch_up()
        store.db.renew_lease()
        made.resume(store)
        return made

    return make


def send(*pairs: tuple[Store, PhoneService]) -> None:
    for store, sender in pairs:
        store.db.catch_up()
        sender.send_pending(store)


def sent(ntfy: StandIn) -> int:
    return len(ntfy.messages.get("mine", []))


def nonces(ntfy: StandIn) -> list[str]:
    return [action["body"] for message in ntfy.messages["mine"] for action in message["actions"]]


def test_a_question_is_sent_by_the_machine_of_its_agent(store_on, phone, ntfy):
    here, there = store_on("a"), store_on("b")
    ours, theirs = phone(here), phone(there)
    leave(there, START)
    leave(there, PERMISSION)
    ask(there, "robin")
    send((here, ours))
    assert sent(ntfy) == 0
    send((there, theirs), (here, ours), (there, theirs))
    assert sent(ntfy) == 2


def test_a_question_of_a_machine_without_a_phone_is_sent_by_another_and_its_phone_answers(store_on, phone, ntfy):
    here, there, third = store_on("a"), store_on("b"), store_on("c")
    ours, theirs = phone(here), phone(third)
    with there.transaction(clock.now()) as transaction, transaction.change():
        transaction.speak("robin")
        uid = transaction.run(OpenAsk("Which?", ("x", "y"))).uid
        connections.put_asker(there.db, uid, Process(*processes.identity(machine=there.db.machine)))
    send((here, ours), (third, theirs), (here, ours))
    assert sent(ntfy) == 1
    assert ours.accept_answer(here, nonces(ntfy)[0])
    there.db.catch_up()
    assert ask_queries.ask(there.db, uid).answer == "x"


def test_a_machine_that_had_a_phone_and_is_gone_has_none(store_on, phone, ntfy, monkeypatch):
    here, there = store_on("a"), store_on("b")
    up = [1_000_000_000]
    monkeypatch.setattr(clock, "uptime", lambda: clock.Uptime("one boot", up[0]))
    ours, theirs = phone(here), phone(there)
    send((here, ours), (there, theirs))
    ask(there)
    up[0] += LEASE // 2
    send((here, ours))
    assert sent(ntfy) == 0
    up[0] += LEASE
    send((here, ours))
    assert sent(ntfy) == 1


def test_machines_that_send_all_send_each_question_once(store_on, phone, ntfy):
    here, there = store_on("a"), store_on("b")
    senders = [(store, phone(store, all_machines=True)) for store in (here, there)]
    ask(there)
    there.commit(OpenAsk("Nobody waits for this?", ()), actor="robin", now=clock.now())
    send(*senders, *senders)
    assert sent(ntfy) == 2


def test_a_question_is_sent_once_by_machines_that_have_not_heard_of_one_another(store_on, phone, ntfy):
    here, there = store_on("a"), store_on("b")
    ours, theirs = phone(here), phone(there)
    here.commit(OpenAsk("Which?", ()), actor="robin", now=clock.now())
    there.db.catch_up()
    ours.send_pending(here)
    theirs.send_pending(there)
    assert sent(ntfy) == 1


def test_an_answer_is_taken_once_by_the_machine_that_has_sent_the_question(store_on, phone, ntfy):
    here, there = store_on("a"), store_on("b")
    ours, theirs = phone(here), phone(there)
    with here.transaction(clock.now()) as transaction, transaction.change():
        transaction.speak("robin")
        uid = transaction.run(OpenAsk("Which?", ("x", "y"))).uid
    send((here, ours), (there, theirs))
    nonce = nonces(ntfy)[0]
    before = there.db.scalar("SELECT max(seq) FROM journal")
    assert not theirs.accept_answer(there, nonce)
    assert there.db.scalar("SELECT max(seq) FROM journal") == before
    assert ours.accept_answer(here, nonce)
    there.db.catch_up()
    assert ask_queries.ask(there.db, uid).answer == "x"
    assert not ours.accept_answer(here, nonce)
    assert not theirs.accept_answer(there, "forged")
    here.db.catch_up()
    kinds = [kind for (kind,) in here.db.sql("SELECT kind FROM journal ORDER BY seq").fetchall()]
    assert kinds == ["ask.opened", "ask.answered", "agent.refused", "agent.refused"]


def test_what_could_not_be_sent_is_sent_later_and_what_was_answered_meanwhile_is_not(store_on, phone, ntfy):
    here, there = store_on("a"), store_on("b")
    ours, theirs = phone(here), phone(there)
    here.commit(OpenAsk("Which?", ()), actor="robin", now=clock.now())
    ntfy.status = 503
    send((here, ours))
    ntfy.status = 200
    send((there, theirs))
    assert sent(ntfy) == 1
    uid = ask(there)
    here.db.catch_up()
    here.commit(AnswerAsk(uid, "x"), actor="human", now=clock.now())
    send((there, theirs))
    assert sent(ntfy) == 1
    assert phone_answers.sent(there.db).isdisjoint({uid})


def test_what_a_process_was_about_to_send_when_it_was_killed_is_sent_by_the_next_of_its_machine(
    store_on, phone, ntfy, monkeypatch
):
    here, there = store_on("a"), store_on("b")
    ours = phone(here)
    here.commit(OpenAsk("Which?", ()), actor="robin", now=clock.now())

    def be_killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ours, "_publish", be_killed)
    with pytest.raises(KeyboardInterrupt):
        ours.send_pending(here)
    send((there, phone(there)))
    assert sent(ntfy) == 0
    send((here, phone(here)))
    assert sent(ntfy) == 1


def test_what_a_lost_machine_was_about_to_send_is_sent_by_another_after_its_lease(store_on, phone, ntfy, monkeypatch):
    here, there = store_on("a"), store_on("b")
    theirs, ours, up = phone(there), phone(here), [1_000.0]
    monkeypatch.setattr(phone_module, "time", SimpleNamespace(monotonic=lambda: up[0]))
    there.commit(OpenAsk("Which?", ()), actor="robin", now=clock.now())

    def be_killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(theirs, "_publish", be_killed)
    with pytest.raises(KeyboardInterrupt):
        theirs.send_pending(there)
    send((here, ours))
    up[0] += LEASE / 1_000_000
    send((here, ours))
    assert sent(ntfy) == 0
    up[0] += 1
    send((here, ours), (here, ours), (there, phone(there)))
    assert sent(ntfy) == 1


def test_what_fails_is_told_once(store_on, phone, ntfy):
    here, there = store_on("a"), store_on("b")
    pairs = [(store, phone(store)) for store in (here, there)]
    (home,) = here.commit(EnsureList("tasklist", "tasklist"), actor="robin", now=clock.now())
    (task,) = here.commit(AddTask("One", home.uid), actor="robin", now=clock.now())
    here.commit(EditTask(task.uid, {"status": "failed"}), actor="robin", now=clock.now())
    send(*pairs, *pairs)
    assert [message["message"] for message in ntfy.messages["mine"]] == ["One"]
