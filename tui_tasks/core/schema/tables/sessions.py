"""The tables of the sessions of agent programs."""

from __future__ import annotations

from tui_tasks.core.engine.orm import BigIntegerField, CompositeKey, FloatField, IntegerField, Model, TextField
from tui_tasks.core.schema.tables.columns import Flag, Id, JsonField


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
    ended_by = TextField(null=True)  # told | process | replaced

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
    call = TextField(null=True)  # the program's own id of the tool's call
    turn = TextField(null=True)  # the program's own id of the turn that its last prompt began
    background = JsonField(default="[]")  # the ids of running subagents
    request = TextField(null=True)  # the key of its last request to a person, until something else is heard
    news = JsonField(default="{}")
    tool_times = JsonField(default="{}")  # how long each tool took the last times
    pulse = JsonField(default="[]")  # how often it was heard, per minute up to that of `last_seen`, oldest first
    worked_at = BigIntegerField(null=True)  # when it was last heard that its turn goes on
    failure = TextField(null=True)  # the last error of its model's service in its turn
    record = JsonField(default="{}")  # how far its program's transcript was read (`hooks.records`)

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
