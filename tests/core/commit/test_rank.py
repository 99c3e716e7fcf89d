"""Places in a list: between any two there is room, and the text order of the keys is the order of the places."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tui_tasks.core.commit.rank import between
from tui_tasks.core.engine.driver import connect


def filled(inserts: list[int]) -> list[str]:
    """A list made by inserting at those places (taken modulo its length, so that each is one)."""
    keys: list[str] = []
    for place in inserts:
        at = place % (len(keys) + 1)
        keys.insert(at, between(keys[at - 1] if at else None, keys[at] if at < len(keys) else None))
    return keys


@given(st.lists(st.integers(0, 10_000), max_size=120))
def test_inserting_anywhere_in_any_order_keeps_the_keys_strictly_sorted(inserts):
    keys = filled(inserts)
    assert all(low < high for low, high in pairwise(keys))


@given(st.lists(st.integers(0, 3), max_size=80), st.integers(0, 80))
def test_near_the_ends_and_at_one_spot_the_keys_stay_strictly_sorted(choices, spot):
    keys = [between(None, None)]
    for choice in choices:
        at = {0: 0, 1: len(keys), 2: spot % (len(keys) + 1), 3: (spot % (len(keys) + 1)) ^ 1}[choice]
        at = min(at, len(keys))
        keys.insert(at, between(keys[at - 1] if at else None, keys[at] if at < len(keys) else None))
    assert all(low < high for low, high in pairwise(keys))


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=60))
def test_sqlite_sorts_the_keys_as_python_does(inserts):
    keys = filled(inserts)
    db = connect(":memory:")
    db.execute("CREATE TABLE place (key TEXT)")
    for key in reversed(keys):
        db.execute("INSERT INTO place VALUES (?)", (key,))
    assert [key for (key,) in db.execute("SELECT key FROM place ORDER BY key")] == keys


def test_a_long_run_of_appends_or_prepends_keeps_keys_short():
    last = first = between(None, None)
    for _ in range(100_000):
        higher, lower = between(last, None), between(None, first)
        assert last < higher
        assert lower < first
        last, first = higher, lower
    assert max(len(last), len(first)) <= 8


def test_a_long_run_of_inserts_at_one_spot_keeps_keys_short():
    low, high = between(None, None), between(between(None, None), None)
    upwards, downwards = low, high
    for _ in range(10_000):
        upwards = between(upwards, high)
        assert low < upwards < high
    for _ in range(10_000):
        downwards = between(low, downwards)
        assert low < downwards < high
    assert max(len(upwards), len(downwards)) <= 12


def test_between_two_neighbours_there_is_always_room_for_another():
    low, high = between(None, None), between(between(None, None), None)
    for step in range(400):
        middle = between(low, high)
        assert low < middle < high
        low, high = (middle, high) if step % 2 else (low, middle)
    # Two letters more for seven inserts at the very worst that can be done to them.
    assert len(middle) <= 400 * 2 / 7 + 8
