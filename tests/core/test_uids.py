"""Ids for new rows."""

import os
from itertools import islice, pairwise
from uuid import RFC_4122, UUID

from tui_tasks.core import uids
from tui_tasks.core.operations.lists import EnsureList
from tui_tasks.core.operations.tasks import AddTask


def test_each_is_a_uuid_and_no_other():
    made = [*islice(uids.new_uids(), 200), *islice(uids.new_uids(), 200)]
    assert len(set(made)) == 400
    assert all(str(UUID(uid)) == uid for uid in made)
    assert all((UUID(uid).version, UUID(uid).variant) == (4, RFC_4122) for uid in made)


def test_those_made_one_after_another_stand_side_by_side_and_differ_in_what_people_see_of_them(monkeypatch):
    monkeypatch.setattr(os, "urandom", lambda size: b"\xff\xff\xff\xfe"[:size].ljust(size, b"\x3f"))
    first = [uid[:8] for uid in islice(uids.new_uids(), 4)]
    assert first == ["fffffffe", "ffffffff", "00000000", "00000001"]


def test_now_and_then_they_begin_anew_elsewhere():
    numbers = [int(uid[:8], 16) for uid in islice(uids.new_uids(), 1_000)]
    jumps = [at for at, (one, next_) in enumerate(pairwise(numbers), 1) if next_ != (one + 1) % 2**32]
    assert jumps == [uids.RUN, 2 * uids.RUN, 3 * uids.RUN]


def test_those_of_one_store_go_on_from_request_to_request(store):
    (home,) = store.commit(EnsureList("x", "task"), actor="a", now=1)
    made = [store.commit(AddTask(name, home.uid), actor="a", now=1)[0].uid for name in "abc"]
    first, *others = [int(uid[:8], 16) for uid in made]
    assert others == [(first + 1) % 2**32, (first + 2) % 2**32]
