"""The tables of agents: questions, messages, sessions of programs, processes, and messages to the phone."""

from __future__ import annotations

from tui_tasks.core.engine.orm import BigIntegerField, CompositeKey, FloatField, IntegerField, Model, TextField
from tui_tasks.core.schema.tables import Flag, Id, JsonField


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
    rule = TextField(null=True)  # the human's rule that answered it

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


class SessionRow(Model):
    """A session of an agent program, as reported by its hooks (docs: protocol, section 10)."""

    id = Id(primary_key=True)
    uid = TextField()  # the agent's name: the program's and a number
    program = TextField()
    number = IntegerField()
    session = TextField()  # the program's own id
    boot = TextField()  # with the next three, its process: `runner.processes.ProcessIdentity`
    namespace = TextField()
    pid = IntegerField()  # 0: unknown
    born = TextField()
    cwd = TextField(null=True)
    project = TextField(null=True)
    model = TextField(null=True)
    mode = TextField(null=True)
    state = TextField()  # working | waiting | idle | interrupted | failed | gone
    waiting_for = TextField(null=True)  # for what it asked last; it waits while a question of its agent is open
    last_prompt = TextField(null=True)
    last_message = TextField(null=True)
    task = TextField(null=True)  # the uid of the task made for its last prompt
    tokens = IntegerField(null=True)
    cost_usd = FloatField(null=True)
    started_at = BigIntegerField()
    ended_at = BigIntegerField(null=True)
    ended_by = TextField(null=True)  # told (the program reported its end) | process | machine | replaced | error

    class Meta:
        table_name = "session"


class ActivityRow(Model):
    """What a session is doing, between two entries about it. No part of the state.

    `news` are columns of the session's row that the next entry writes.
    """

    uid = TextField(primary_key=True)  # the agent's name
    last_seen = BigIntegerField()
    busy = Flag(default=0)  # it works although nobody has prompted it since its turn ended
    tool = TextField(null=True)
    tool_since = BigIntegerField(null=True)
    tool_target = TextField(null=True)  # what the tool works on: a file, a command, a search
    call = TextField(null=True)  # the program's own id of the tool's call
    turn = TextField(null=True)  # the program's own id of the turn that its last prompt began
    background = JsonField(default="[]")  # the ids of running subagents
    request = TextField(null=True)  # the key of its last request to a person, until something else is heard
    news = JsonField(default="{}")
    tool_times = JsonField(default="{}")  # how long each tool took the last times
    pulse = JsonField(default="[]")  # how often it was heard, per minute up to that of `last_seen`, oldest first
    worked_at = BigIntegerField(null=True)  # when it was last heard that its turn goes on
    failure = TextField(null=True)  # the last error of its model's service in its turn
    record = JsonField(default="{}")  # how far its program's transcript was read (`hooks.session_records`)
    stopped_at = BigIntegerField(null=True)  # when it was seen that its process is suspended
    no_task = TextField(null=True)  # why its last prompt, or an item of its own list, became no task

    class Meta:
        table_name = "activity"


class SessionNameRow(Model):
    """To which agent a program's session id belongs. No part of the state."""

    program = TextField()
    session = TextField()
    agent = TextField()
    part = TextField()  # own | former (it has another id now) | subagent

    class Meta:
        table_name = "session_name"
        primary_key = CompositeKey("program", "session")


class ProcessedPayloadRow(Model):
    """The name of a payload that was processed, until it can no longer arrive again. No part of the state."""

    name = TextField(primary_key=True)
    at = BigIntegerField()

    class Meta:
        table_name = "taken_in"


class HeartbeatRow(Model):
    """The process that holds a run, and when it last reported. Deleted when the run ends: no part of the state."""

    run_uid = TextField(primary_key=True)
    supervised = Flag()  # 0: a scheduler has claimed the run and is about to start its supervisor
    boot = TextField()
    namespace = TextField()
    pid = IntegerField()
    born = TextField()
    at = BigIntegerField()

    class Meta:
        table_name = "beat"


class ConnectionRow(Model):
    """A process through which an agent speaks on the channel. Like the process itself, no part of the state."""

    agent = TextField()
    boot = TextField()
    namespace = TextField()
    pid = IntegerField()
    born = TextField()
    opened_at = BigIntegerField()
    closed_at = BigIntegerField(null=True)
    project = TextField(null=True)
    stopped_at = BigIntegerField(null=True)  # when it was seen that it is suspended

    class Meta:
        table_name = "connection"
        primary_key = CompositeKey("agent", "boot", "namespace", "pid", "born")


class AskerRow(Model):
    """The process that waits for the answer to a question. It comes and goes with it: no part of the state."""

    ask = TextField(primary_key=True)
    boot = TextField()
    namespace = TextField()
    pid = IntegerField()
    born = TextField()

    class Meta:
        table_name = "asker"


class PhoneMessageRow(Model):
    """A question that was sent to the human's phone. No part of the state."""

    ask = TextField(primary_key=True)
    sent_at = BigIntegerField(null=True)  # null: it is being sent

    class Meta:
        table_name = "phone_message"


class PhoneAnswerRow(Model):
    """An answer that may arrive from the phone, once. No part of the state."""

    nonce = TextField(primary_key=True)  # its SHA-256
    ask = TextField()
    answer = TextField()
    expires_at = BigIntegerField()
    used_at = BigIntegerField(null=True)

    class Meta:
        table_name = "phone_answer"
