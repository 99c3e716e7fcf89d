"""The board's pages and cards: every card once in its order, and within its lines and columns."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tui.plan import NOW, at
from tui_tasks.core.operations.asks import OpenAsk
from tui_tasks.core.operations.tasks import AddTask, CreatePlan
from tui_tasks.core.read.pages import board_pages, list_pages
from tui_tasks.core.read.pages.board_pages import PARTS
from tui_tasks.core.read.pages.task_filter import ALL, Filter, Term
from tui_tasks.core.store import Store
from tui_tasks.text.safe import cell_len
from tui_tasks.tui.board.board_columns import CardsOfColumn
from tui_tasks.tui.board.cards import CardContent, lines_of, wrapped

# The pages of a column


@pytest.fixture
def many(tmp_path):
    """A plan with tasks in every part, in no order."""
    with Store(str(tmp_path / "many.db")) as store:
        home = store.commit(CreatePlan("Many"), actor="human", now=NOW)[0]
        for number in range(60):
            word = PARTS[number * 3 % len(PARTS)]
            part = "in_progress" if word == "needs_you" else word
            wish = AddTask(f"t{number} {'xy'[number % 2]}", home.uid, status=part)
            task = store.commit(wish, actor="a", now=at(9, 0))[0]
            if word == "needs_you":
                store.commit(OpenAsk("?", (), task.uid), OpenAsk("??", (), task.uid), actor="a", now=NOW)
        yield store.db, home.id


PLANS = [PARTS, ("failed", "done", "skipped", "cancelled"), ("pending",), ("in_progress", "needs_you")]


@pytest.mark.parametrize("parts", PLANS)
@pytest.mark.parametrize("only", [ALL, Filter((Term("word", "x"),))])
def test_pages_forwards_and_backwards_give_each_card_once_in_the_same_order(many, parts, only, monkeypatch):
    monkeypatch.setattr(board_pages, "MAX_PASSED", 2)
    db, list_id = many
    whole = [
        card
        for part in parts
        for card in board_pages.page(db, list_id, part, list_pages.FIRST, 100)
        if not only or card.name.endswith("x")
    ]
    assert len({card.uid for card in whole}) == len(whole) > 2
    source = CardsOfColumn(db, list_id, parts, only)
    for limit in (1, 3, 100):
        there = read_on(source.first(limit), lambda cards, n=limit: source.after(cards[-1], n), source.first, limit)
        assert [card.uid for card in there] == [card.uid for card in whole]
        back = list(source.last(limit))
        while True:
            more = source.before(back[0], limit) if back else source.last(limit)
            back[:0] = more
            if len(more) < limit and not more.cut:
                break
        assert [card.uid for card in back] == [card.uid for card in whole]
    assert source.find([card.uid for card in whole]).keys() == {card.uid for card in whole}
    assert [source.order(card) for card in whole] == sorted(source.order(card) for card in whole)


def read_on(page, after, first, limit):
    found = list(page)
    while page.cut or len(page) == limit:
        page = after(found) if found else first(limit)
        found += page
    return found


def test_counts_of_what_is_wanted_agree_with_the_pages(many):
    db, list_id = many
    only = Filter((Term("word", "y"),))
    for part in PARTS:
        found = board_pages.page(db, list_id, part, list_pages.FIRST, 100, only)
        assert board_pages.count(db, list_id, part, only) == (len(found), None)


def test_the_counts_of_reads_that_end_early_add_up(many, monkeypatch):
    monkeypatch.setattr(board_pages, "MAX_PASSED", 2)
    db, list_id = many
    only = Filter((Term("word", "t"),))
    for part in PARTS:
        whole = len(board_pages.page(db, list_id, part, list_pages.FIRST, 100))
        end: str | None = list_pages.FIRST
        counted = 0
        while end is not None:
            number, end = board_pages.count(db, list_id, part, only, after=end)
            counted += number
        assert counted == whole > 1


# How a card is laid out


def test_a_word_that_no_line_holds_is_broken():
    assert wrapped("a" * 25, 10, 3) == ["a" * 10, "a" * 10, "a" * 5]
    assert wrapped("a" * 25, 10, 2) == ["a" * 10, "a" * 9 + "…"]


words = st.text(st.sampled_from("abcd  数é-"), max_size=60)


@given(name=words, note=words, who=words, room=st.integers(8, 40), most=st.integers(1, 8), first=st.booleans())
@settings(max_examples=300)
def test_a_card_keeps_to_its_lines_and_columns(name, note, who, room, most, first):
    standing = ((wrapped(who, room, 1)[0], ""),) if who.strip() else ()
    face = CardContent(name, standing, (note, ""), ("?", ""), note_first=first)
    laid = lines_of(face, room, most)
    assert 1 <= len(laid) <= most
    for line in laid:
        assert sum(cell_len(text) for text, _ in line) <= room


@pytest.mark.parametrize("most", range(2, 9))
def test_a_card_keeps_who_has_it_and_since_when_and_its_reason_is_cut(most):
    standing = (("claude-2", "$muted"), ("17m", "$muted"))
    reason = "test_dst_gap: expected 02:30, got 03:30 on the day on which clocks go forward"
    laid = lines_of(CardContent("Fix flaky DST test", standing, (reason, "red"), note_first=True), 24, most)
    last = "".join(text for text, _ in laid[-1])
    assert last.startswith("claude-2 · 17m") and 2 <= len(laid) <= most
    assert any(style == "red" for line in laid for _, style in line) == (most > 2)


def test_a_reason_begins_behind_who_has_it_where_a_card_has_two_lines():
    face = CardContent("Fix it", (("claude-2", ""), ("17m", "")), ("expected 02:30, got 03:30", "red"), note_first=True)
    assert lines_of(face, 30, 2)[1][-1] == ("expected 02:…", "red")


def test_a_long_title_of_a_question_keeps_its_second_line_and_the_answers_stand_for_the_question():
    face = CardContent(
        "Pick JWT lib: jose or pyjwt",
        (("claude-1", "$muted"), ("9m", "$muted")),
        ("jose is maintained but heavier; pyjwt is in the lockfile. Which one?", "$muted"),
        note_first=True,
        is_question=True,
        choice="pyjwt or jose?",
        age="9m",
    )
    drawn = ["".join(text for text, _ in line) for line in lines_of(face, 21, 3)]
    assert drawn == ["Pick JWT lib: jose or", "pyjwt", "pyjwt or jose? · 9m"]
    drawn = ["".join(text for text, _ in line) for line in lines_of(face, 21, 4)]
    assert drawn == ["Pick JWT lib: jose or", "pyjwt", "jose is … Which one?", "claude-1 · 9m"]


def test_the_lines_of_a_card_stay_as_they_are_while_its_age_gains_and_loses_a_digit():
    def drawn(age: str, room: int) -> list[str]:
        face = CardContent("Fix it", (("claude-2", ""), (age, ""), ("!urgent", "")), age=age)
        return ["".join(text for text, _ in line).replace(age, "AGE") for line in lines_of(face, room, 6)]

    for room in range(10, 30):
        assert drawn("9s", room) == drawn("59s", room) == drawn("1m", room) == drawn("10m", room)


def test_a_title_that_fits_two_lines_shares_the_second_with_what_is_short():
    standing = (("⊘ after #5", ""),)
    face = CardContent("Write integration tests", standing)
    assert [text for text, _ in lines_of(face, 18, 2)[1]] == ["tests", "  ", "⊘ after #5"]
    assert lines_of(face, 14, 2) == [[("Write integra…", "")], [("⊘ after #5", "")]]
