"""The tables of messages to the human's phone, and of the answers from it."""

from __future__ import annotations

from tui_tasks.core.engine.orm import BigIntegerField, Model, TextField


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
