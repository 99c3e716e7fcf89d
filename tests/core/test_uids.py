"""Ids for new rows."""

import os
from itertools import islice, pairwise
from uuid import RFC_4122, UUID

import pytest

from tui_tasks.core.operations.tasks import AddTask, EnsureList
from tui_tasks.core.store import UID_RUN, UID_STEP, new_uids


def test_each_is_a_uuid_and_no_other():
    made = [*islice(new_uids(), 200), *islice(new_uids(), 200)]
    assert len(set(made)) == 400
    assert all(str(UUID(uid)) == uid for uid in made)
    assert all((UUID(uid).version, UUID(uid).variant) == (4, RFC_4122) for uid in made)


@pytest.mark.parametrize(
    ("drawn", "first"),
    [(0, ["a00000", "a00011", "a00022"]), (0x5FEEFF, ["ffeeff", "ffef10", "ffef21"]), (0x5FEF00, ["a00000", "a00011"])],
)
def test_those_made_one_after_another_stand_side_by_side_and_differ_within_six_letters(monkeypatch, drawn, first):
    monkeypatch.setattr(os, "urandom", lambda size: drawn.to_bytes(4)[:size].ljust(size, b"\x3f"))
    assert [uid[:6] for uid in islice(new_uids(), len(first))] == first
    last = list(islice(new_uids(), UID_RUN))[-1]
    assert len(last) == 36


def test_the_beginning_of_none_is_a_number():
    """Digits alone are the number of a task."""
    assert all(uid[0] in "abcdef" for uid in islice(new_uids(), 100 * UID_RUN))


def test_now_and_then_they_begin_anew_elsewhere():
    numbers = [int(uid[:6], 16) for uid in islice(new_uids(), 1_000)]
    jumps = [at for at, (one, next_) in enumerate(pairwise(numbers), 1) if next_ != one + UID_STEP]
    assert jumps == [UID_RUN, 2 * UID_RUN, 3 * UID_RUN]


def test_those_of_one_store_go_on_from_request_to_request(store):
    (home,) = store.commit(EnsureList("x", "task"), actor="a", now=1)
    made = [store.commit(AddTask(name, home.uid), actor="a", now=1)[0].uid for name in "abc"]
    first, *others = [int(uid[:6], 16) for uid in made]
    assert others == [first + UID_STEP, first + 2 * UID_STEP]


def test_a_slip_in_the_first_six_letters_names_no_neighbour():
    names = {uid[:6] for uid in islice(new_uids(), UID_RUN)}
    for name in names:
        wrong = {name[:at] + digit + name[at + 1 :] for at in range(6) for digit in "0123456789abcdef"}
        wrong |= {name[:at] + name[at + 1] + name[at] + name[at + 2 :] for at in range(5)}
        assert (wrong - {name}).isdisjoint(names)
