"""The table of the journal, and the tables that are kept beside it."""

from __future__ import annotations

from tui_tasks.core.engine.orm import BigIntegerField, BlobField, CompositeKey, Model, TextField
from tui_tasks.core.schema.tables import Id, JsonField


class JournalRow(Model):
    """One change: who, when, the values before and after, why. Rows are only ever added."""

    seq = Id(primary_key=True)
    at = BigIntegerField()
    actor = TextField()
    kind = TextField()
    entity = TextField()  # the table
    uid = TextField()  # the row there
    task = TextField(null=True)  # the task it is about
    change = BigIntegerField()  # seq of the first entry of the same request or batch
    undoes = BigIntegerField(null=True)  # the change that it undoes
    old = JsonField(null=True)
    new = JsonField(null=True)
    image = JsonField(null=True)  # the task after it, without long unchanged texts
    why = JsonField(null=True)
    hash = BlobField()

    class Meta:
        table_name = "journal"


class StoredReplyRow(Model):
    """The reply to a request that carried an idempotency key (docs: protocol, section 2)."""

    agent = TextField()
    key = TextField()
    fingerprint = TextField()
    reply = TextField()
    at = BigIntegerField()

    class Meta:
        table_name = "kept_reply"
        primary_key = CompositeKey("agent", "key")


class ViewRow(Model):
    """What a screen remembers for the human: last looked, saved filters. No part of the state."""

    key = TextField(primary_key=True)
    value = JsonField()

    class Meta:
        table_name = "view"


class UnfinishedChangeRow(Model):
    """A change some of whose steps are committed (`core.commit.unfinished`). No part of the state."""

    change = BigIntegerField(primary_key=True)
    actor = TextField()
    lock = TextField()

    class Meta:
        table_name = "unfinished_change"
