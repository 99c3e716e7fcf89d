"""The tables of agents, their questions and the human's messages to them."""

from __future__ import annotations

from tui_tasks.core.engine.orm import BigIntegerField, Model, TextField
from tui_tasks.core.schema.tables.columns import Flag, Id, JsonField


class AskRow(Model):
    """A question to the human (docs: protocol, section 7)."""

    id = Id(primary_key=True)
    uid = TextField()
    agent = TextField()
    question = TextField()
    options = JsonField(default="[]")
    task_uid = TextField(null=True)
    opened_at = BigIntegerField()
    expires_at = BigIntegerField(null=True)
    state = TextField()  # open | answered | withdrawn | timeout
    answer = TextField(null=True)
    answered_at = BigIntegerField(null=True)
    request = JsonField(null=True)  # of a hook: the tool and its input, or the questions, as the program sent them
    reason = TextField(null=True)  # why it ended without an answer
    project = TextField(null=True)  # that of the channel on which it was asked

    class Meta:
        table_name = "ask"


class AgentRow(Model):
    """Whether the human has paused an agent, and why."""

    uid = TextField(primary_key=True)  # the agent's name
    paused = Flag(default=0)
    message = TextField(default="")

    class Meta:
        table_name = "agent"


class StuckRow(Model):
    """Whether an agent is stuck, and why."""

    uid = TextField(primary_key=True)  # the agent's name
    cause = TextField(null=True)  # null: it is not stuck
    text = TextField(default="")
    since = BigIntegerField(null=True)

    class Meta:
        table_name = "stuck"


class HumanMessageRow(Model):
    """A message of the human's to an agent, and whether it was delivered (docs: protocol, section 7)."""

    id = Id(primary_key=True)
    uid = TextField()
    agent = TextField()  # who it is for
    text = TextField()
    sent_at = BigIntegerField()
    seq = BigIntegerField()  # of the journal entry that records it
    delivered_at = BigIntegerField(null=True)
    delivered_seq = BigIntegerField(null=True)  # of the journal entry that records its delivery
    ends_turn = Flag(default=0)  # the agent is to end its turn with it

    class Meta:
        table_name = "human_message"
