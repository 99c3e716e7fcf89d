"""Which rows of what needs the human there are, and what gives way in them."""

from __future__ import annotations

import re

import pytest

from tests.tui.driving import SIZES, above, by_agent, counts_line, lines, needs_rows, opened, settle, shown, until
from tests.tui.evening import in_order
from tests.tui.plan import NOW, SECOND, at
from tui_tasks.core import vocab
from tui_tasks.core.operations.asks import NoteStuck, OpenAsk
from tui_tasks.core.operations.tasks import AddTask, SetListReview
from tui_tasks.tui.needs import open_needs
from tui_tasks.tui.needs.open_needs import Kind, Need
from tui_tasks.tui.widgets.needs_lines import chosen


async def test_the_words_of_a_question_come_before_its_agent_and_its_age(plan, jobs, make_app):
    async with opened(make_app(plan.path), (80, 24)) as pilot:
        first, second, failed, last = needs_rows(pilot.app)
        assert first == " • ? #4  jose is maintained but heavier; pyjwt is in the lockfile. Which one?"
        assert second == " • ? #7  Approve: delete the old GA property                     claude-2    4m"
        assert failed == " • ✗ #3  Fix flaky DST test: test_dst_gap: expected 02:30, got 03:30        17m"
        assert last == "   ✗ S4  Digest mail: smtp: 535 authentication failed           (1 more: a)  4h"
        await pilot.resize_terminal(62, 24)
        await until(pilot, lambda: "…" in needs_rows(pilot.app)[0])
        first, *_, last = needs_rows(pilot.app)
        assert first.endswith(" Which one?") and "9m" not in first, "only then is it cut"
        assert last == "   ✗ S4  Digest mail: smtp: 535 authentication failed      4h"
        await pilot.resize_terminal(85, 24)
        await until(pilot, lambda: re.search(r"Which one\? +9m$", needs_rows(pilot.app)[0]))


async def test_the_words_of_a_question_come_before_its_agent_and_its_age_in_the_inbox(plan, make_app):
    app = make_app(plan.path)
    async with opened(app, (80, 24)) as pilot:
        await settle(pilot, "a")
        assert " ? #4  jose is maintained but heavier; pyjwt is in the lockfile. Which one?" in shown(app)
        (row,) = (line for line in lines(app) if "? #7 " in line)
        assert re.search(r"delete the old GA property +claude-2 +4m$", row)


async def test_the_newest_is_never_hidden(plan, jobs, make_app):
    by_agent(plan, "claude-2", *(OpenAsk(f"Which host is number {number}?") for number in range(3)), now=NOW + SECOND)
    by_agent(plan, "claude-2", OpenAsk("Which port?"), now=NOW + 2 * SECOND)
    async with opened(make_app(plan.path), (80, 24)) as pilot:
        assert "Which port?" in above(pilot.app)
        assert re.search(r" • ✗ #3  Fix flaky DST test: test_dst_gap: .* 17m$", above(pilot.app))


async def test_a_high_screen_has_as_many_rows_as_fit_and_the_counts_tell_of_the_others(plan, jobs, make_app):
    by_agent(plan, "claude-2", *(OpenAsk(f"Which host is number {number}?") for number in range(5)))
    async with opened(make_app(plan.path), (120, 40)) as pilot:
        *rows, last, more = needs_rows(pilot.app)
        assert len(rows) == 5 and re.search("! S3  [^+]* 25m$", last), above(pilot.app)
        assert more == "     4 more: a", "10 things need the human: 7 questions, 2 failures, and a job that is late"
        assert counts_line(pilot.app).startswith(" ? 7 questions ")
        at = next(at for at, line in enumerate(lines(pilot.app)) if line == more)
        await pilot.click(offset=(6, at))
        await until(pilot, lambda: lines(pilot.app)[0].startswith(" Inbox "))


async def test_no_row_says_that_there_are_more_where_each_thing_has_one(plan, make_app):
    app = make_app(plan.path)
    for size in SIZES:
        async with opened(app, size):
            assert " more: " not in shown(app)
        app = make_app(plan.path)


def test_a_failure_never_gives_way_to_a_review_or_a_proposal():
    kinds = (
        (Kind.ASKS, "question"),
        (Kind.CHECKS, "check failed"),
        (Kind.FAILED, "failed"),
        (Kind.FAILED, "failed"),
        (Kind.JOBS, "failed"),
    )
    needs = [
        Need(kind, str(at), word)
        for at, (kind, word) in enumerate((*kinds, (Kind.REVIEW, "to review"), (Kind.HELD, "")))
    ]
    assert [need.kind for need in chosen(needs, 5, (), newest="5")] == [
        Kind.ASKS,
        Kind.CHECKS,
        Kind.FAILED,
        Kind.FAILED,
        Kind.JOBS,
    ]
    assert [need.key for need in chosen(needs, 6, (), newest="5")] == ["0", "1", "2", "3", "4", "5"]


def test_the_kinds_of_needs_have_the_one_order_that_every_list_has() -> None:
    words = ("question", "stuck", "failed", "failed", "failed", "late", "late", "to review", "proposed")
    places = [vocab.NEEDS.index(word) for word in words]
    assert len(words) == len(open_needs.ALL) and places == sorted(places)


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (60, 16), (40, 12)])
@pytest.mark.parametrize("key", ["", "D"])
async def test_the_counts_have_the_order_of_the_rows_above_panes_and_in_the_digest(plan, jobs, make_app, size, key):
    by_agent(plan, "system", NoteStuck("claude-2", "failure", "the same failure 3 times: pytest", NOW))
    by_agent(plan, "human", SetListReview(plan.list_uid, True))
    by_agent(plan, "bot", AddTask("Try it", plan.list_uid))
    async with opened(make_app(plan.path), size) as pilot:
        await settle(pilot, *key)
        line = next(line for line in lines(pilot.app) if re.search(r"[?] \d.*✗ \d", line))
        marks = re.findall("[?▲✗!◇](?= )", line[line.index("? ") :].partition("•")[0])
        assert marks == sorted(marks, key="?▲✗!◇".index) and len(marks) > 2, line


async def test_of_what_is_proposed_all_is_named_in_its_row_and_what_is_new_in_the_row_of_changes(tmp_path, make_app):
    def by(actor, operation):
        return lambda store, now: store.commit(operation, actor=actor, now=now)

    def steps(plan):
        one, *others = (by("bot", AddTask(name, plan.list_uid)) for name in ("Rewrite it", "Test a", "Test b"))
        later = [(at(20, minute), step) for minute, step in enumerate(others, 9)]
        return [(at(19, 0), by("human", SetListReview(plan.list_uid, True))), (at(19, 44), one), *later]

    async with opened(make_app(in_order(tmp_path / "auth.db", steps).path), (120, 40)) as pilot:
        assert "proposed #11 #12" in counts_line(pilot.app)
        row = above(pilot.app).splitlines()[-1].split("  ")
        assert [part.strip() for part in row if part.strip()][-3:] == [
            "3 new tasks? #10 Rewrite it, #11 Test a, #12 Test b",
            "bot",
            "31m",
        ]
