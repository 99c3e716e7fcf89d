"""Rows around the screen, held against a whole list that is simply there."""

from __future__ import annotations

from bisect import bisect_left

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tui_tasks.tui.rows.row_cache import RowCache, RowPage
from tui_tasks.tui.rows.row_cursor import RowCursor

Row = tuple[float, str, int]  # order, key, what it says


class Truth:
    """A `Source` over a list in memory. With `step`, reading breaks off after so many rows that are unwanted."""

    def __init__(self, rows: list[Row], step: int = 0) -> None:
        self.rows = rows
        self.step = step
        self.read = 0

    def _page(self, rows: list[Row]) -> list[Row]:
        self.read += len(rows)
        return rows

    def first(self, limit):
        return self._page(self.rows[:limit])

    def last(self, limit):
        return self._page(self.rows[-limit:])

    def after(self, row, limit):
        at = bisect_left(self.rows, row[0], key=self.order)
        at += at < len(self.rows) and self.rows[at][0] == row[0]
        return self._page(self.rows[at : at + limit])

    def before(self, row, limit):
        at = bisect_left(self.rows, row[0], key=self.order)
        return self._page(self.rows[max(0, at - limit) : at])

    def find(self, keys):
        return {row[1]: row for row in self.rows if row[1] in keys}

    def key(self, row):
        return row[1]

    def order(self, row):
        return row[0]

    def place(self, row):
        return bisect_left(self.rows, row[0], key=self.order)

    def total(self):
        return len(self.rows)


def numbered(count: int) -> list[Row]:
    return [(float(number), str(number), 0) for number in range(count)]


def rows_on_screen(count: int, height: int, cursor: str | None = None) -> tuple[RowCursor[Row], Truth]:
    truth = Truth(numbered(count))
    rows: RowCursor[Row] = RowCursor(RowCache())
    rows.resize(height)
    rows.show(truth, cursor)
    return rows, truth


def lines(rows: RowCursor[Row]) -> list[str]:
    return [row[1] for row in rows.cache.on_screen]


def test_moving_down_scrolls_by_one_row_at_the_edge():
    rows, _ = rows_on_screen(100, 5)
    for _ in range(5):
        rows.move(1)
    assert rows.key == "5"
    assert lines(rows) == ["1", "2", "3", "4", "5"]


def test_the_end_of_a_long_list_is_reached_without_reading_what_is_between():
    rows, truth = rows_on_screen(100_000, 40)
    rows.move_last()
    assert rows.key == "99999"
    assert truth.read < 1_000
    rows.move_page(-1)
    assert lines(rows)[-1] == str(99_999 - 39)


def test_a_new_row_above_moves_nothing_on_a_screen_that_is_full():
    rows, truth = rows_on_screen(100, 5, cursor="50")
    before = lines(rows)
    truth.rows.insert(49, (48.5, "new", 0))
    rows.change(["new"])
    assert rows.key == "50"
    assert rows.line == before.index("50")


def test_a_new_row_in_a_list_that_fits_is_shown_in_its_place():
    rows, truth = rows_on_screen(3, 10)
    truth.rows.insert(1, (0.5, "new", 0))
    rows.change(["new"])
    assert lines(rows) == ["0", "new", "1", "2"]
    assert rows.key == "0"


def test_when_the_cursors_row_goes_the_one_that_took_its_place_has_the_cursor():
    rows, truth = rows_on_screen(5, 10, cursor="2")
    del truth.rows[2]
    rows.change(["2"])
    assert rows.key == "3"
    del truth.rows[2:]
    rows.change(["3", "4"])
    assert rows.key == "1"


def test_the_humans_own_move_leaves_the_others_where_they_are():
    rows, truth = rows_on_screen(100, 5, cursor="50")
    rows.scroll(2 - (rows.line or 0))
    before = lines(rows)
    row = truth.rows.pop(50)
    truth.rows.insert(51, (51.5, row[1], 0))
    rows.change(["50"])
    assert rows.key == "50"
    assert sorted(lines(rows)) == sorted(before)


def test_a_row_that_changed_is_not_read_with_its_neighbours():
    rows, truth = rows_on_screen(100, 5)
    truth.rows[2] = (2.0, "2", 7)
    read = truth.read
    rows.change(["2"])
    assert truth.read == read
    assert rows.cache.on_screen[2] == (2.0, "2", 7)


def test_reading_that_was_broken_off_goes_on():
    class Slow(Truth):
        turns = 3

        def first(self, limit):
            page = RowPage(self.rows[:limit] if not self.turns else [])
            page.cut = self.turns > 0
            self.turns = max(0, self.turns - 1)
            return page

    rows: RowCursor[Row] = RowCursor(RowCache())
    rows.resize(5)
    rows.show(Slow(numbered(3)))
    assert rows.cache.is_cut
    while rows.cache.is_cut:
        rows.resume()
    assert lines(rows) == ["0", "1", "2"]
    assert rows.key == "0"


class AgainstTheTruth(RuleBasedStateMachine):
    @initialize(count=st.integers(0, 60), height=st.integers(1, 12), data=st.data())
    def begin(self, count: int, height: int, data: st.DataObject) -> None:
        self.truth = Truth(numbered(count))
        self.rows: RowCursor[Row] = RowCursor(RowCache())
        self.rows.resize(height)
        cursor = data.draw(st.sampled_from([None, *(row[1] for row in self.truth.rows)]))
        self.rows.show(self.truth, cursor)
        self.made = count

    @rule(by=st.integers(-30, 30))
    def move(self, by: int) -> None:
        was = self.rows.key
        self.rows.move(by)
        if was is not None:
            at = [row[1] for row in self.truth.rows].index(was)
            wanted = min(max(at + by, 0), len(self.truth.rows) - 1)
            assert self.rows.key == self.truth.rows[wanted][1]
            assert self.rows.key in lines(self.rows)

    @rule(by=st.sampled_from([-1, 1]))
    def page(self, by: int) -> None:
        self.rows.move_page(by)

    @rule()
    def first(self) -> None:
        self.rows.move_first()
        if self.truth.rows:
            assert self.rows.key == self.truth.rows[0][1]

    @rule()
    def last(self) -> None:
        self.rows.move_last()
        if self.truth.rows:
            assert self.rows.key == self.truth.rows[-1][1]

    @rule(by=st.integers(-40, 40))
    def scroll(self, by: int) -> None:
        was = self.rows.key
        self.rows.scroll(by)
        assert self.rows.key == was

    @rule(height=st.integers(1, 15))
    def resize(self, height: int) -> None:
        self.rows.resize(height)

    @rule()
    def reload(self) -> None:
        self.rows.reload()

    @rule(data=st.data())
    def go(self, data: st.DataObject) -> None:
        if self.truth.rows:
            row = data.draw(st.sampled_from(self.truth.rows))
            assert self.rows.move_to(row[1])
            assert self.rows.key == row[1]
            assert row[1] in lines(self.rows)

    @rule(data=st.data())
    def others_write(self, data: st.DataObject) -> None:
        """Some rows come, go, move and change, as one batch, by somebody else."""
        cursor, line, top = self.rows.key, self.rows.line, self.rows.cache.top
        touched: set[str] = set()
        for _ in range(data.draw(st.integers(1, 4))):
            what = data.draw(st.sampled_from(["come", "go", "move", "say"]))
            rows = self.truth.rows
            at = data.draw(st.integers(0, max(0, len(rows) - 1)))
            if what == "come" or not rows:
                self.made += 1
                self._put((data.draw(st.floats(-5, 70)), f"n{self.made}", 0), touched)
            elif rows[at][1] != cursor:
                row = rows[at] if what == "say" else rows.pop(at)
                if what == "say":
                    rows[at] = (row[0], row[1], row[2] + 1)
                elif what == "move":
                    self._put((data.draw(st.floats(-5, 70)), row[1], row[2]), touched)
                touched.add(row[1])
        self.rows.change(touched)
        if cursor is not None:
            assert self.rows.key == cursor
            if line is not None and 0 <= line < self.rows.cache.height:
                # The cursor's row stays on its line, but where the list is at its end or start.
                held, height = len(self.truth.rows), self.rows.cache.height
                here = [row[1] for row in self.truth.rows].index(cursor)
                wanted = max(0, min(here - line, held - height))
                assert self.rows.line == here - wanted, (top, line)

    def _put(self, row: Row, touched: set[str]) -> None:
        orders = {each[0] for each in self.truth.rows}
        if row[0] not in orders:
            self.truth.rows.insert(bisect_left(self.truth.rows, row[0], key=self.truth.order), row)
        touched.add(row[1])

    @invariant()
    def what_is_shown_is_true(self) -> None:
        rows, truth = self.rows, self.truth.rows
        if not rows.cache.rows:
            assert not truth
            assert rows.key is None
            return
        at = truth.index(rows.cache.rows[0])
        assert truth[at : at + len(rows.cache.rows)] == rows.cache.rows
        assert rows.cache.base == at
        assert rows.key in [row[1] for row in truth]
        assert len(rows.cache.on_screen) == min(rows.cache.height, len(truth))


TestAgainstTheTruth = AgainstTheTruth.TestCase
TestAgainstTheTruth.settings = settings(max_examples=150, stateful_step_count=30, deadline=None)


@given(count=st.integers(1, 300), height=st.integers(1, 20), at=st.integers(0, 299))
@settings(max_examples=50, deadline=None)
def test_a_list_is_opened_around_any_of_its_rows(count, height, at):
    rows, truth = rows_on_screen(count, height, cursor=str(at % count))
    assert rows.key == str(at % count)
    assert rows.key in lines(rows)
    assert truth.read <= 3 * 3 * height


@pytest.mark.parametrize("count", [1_000, 1_000_000])
def test_a_key_reads_the_same_in_a_list_of_any_length(count):
    rows, truth = rows_on_screen(count, 40, cursor=str(count // 2))
    truth.read = 0
    for _ in range(200):
        rows.move(1)
    assert truth.read <= 200 + 3 * 40
