"""What a channel that is kept to one list hears."""

from tests.conftest import Talk
from tests.talking import ADD
from tui_tasks.core.operations.asks import AnswerAsk, OpenAsk, PauseAgent, SendMessage


def test_it_hears_of_its_list_and_of_its_agent_alone(store, clock, talk):
    confined = Talk(store, clock, agent="alice", list="mine", list_only=True)
    confined.ok("control:subscribe")
    for name in ("alice", "bob"):
        talk.ok(ADD, {"agent": name, "list": "mine"}, name=f"{name}'s task in it")
        talk.ok(ADD, {"agent": name, "list": "other"}, name=f"{name}'s task elsewhere")
        (ask,) = store.commit(OpenAsk("Or?", (), None, None), actor=name, now=clock())
        operations = [AnswerAsk(ask.uid, "no"), PauseAgent(name, "wait"), SendMessage(name, "hello")]
        store.commit(*operations, actor="human", now=clock())
    events = [(event["event"], event["actor"]) for event in confined.events()]
    assert events == [
        ("list.created", "alice"),
        ("task.created", "alice"),
        ("ask.opened", "alice"),
        ("ask.answered", "human"),
        ("agent.paused", "human"),
        ("message", "human"),
        ("task.created", "bob"),
    ]
