"""The tables of processes: those that hold runs, are connected to the channel, or wait for an answer."""

from __future__ import annotations

from tui_tasks.core.engine.orm import (
    BigIntegerField,
    CompositeKey,
    IntegerField,
    Model,
    TextField,
)
from tui_tasks.core.schema.tables.columns import Flag


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
