"""Ids for new rows."""

import os
from itertools import islice
from uuid import RFC_4122, UUID

from tui_tasks.core import uids


def test_each_is_a_uuid_and_no_other():
    made = [*islice(uids.new_uids(), 200), *islice(uids.new_uids(), 200)]
    assert len(set(made)) == 400
    assert all(str(UUID(uid)) == uid for uid in made)
    assert all((UUID(uid).version, UUID(uid).variant) == (4, RFC_4122) for uid in made)


def test_those_of_one_transaction_stand_side_by_side_and_differ_in_what_people_see_of_them(monkeypatch):
    monkeypatch.setattr(os, "urandom", lambda size: b"\xff\xff\xff\xfe"[:size].ljust(size, b"\x3f"))
    first = [uid[:8] for uid in islice(uids.new_uids(), 4)]
    assert first == ["fffffffe", "ffffffff", "00000000", "00000001"]
