"""The lines above everything say the same in the same place on every pane and every screen."""

from __future__ import annotations

import re

import pytest

from tests.tui.driving import (
    above,
    agents_line,
    below,
    by_agent,
    counts_line,
    lines,
    needs_rows,
    opened,
    place,
    press,
    shown,
    until,
)
from tests.tui.plan import NOW
from tui_tasks.core.agent_snapshots import Process
from tui_tasks.core.commit import journal
from tui_tasks.core.operations.asks import NoteStuck, OpenAsk
from tui_tasks.core.operations.tasks import AddTask, EditTask, LogTask
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import connections, local_values
from tui_tasks.tui.layout import has_air
from tui_tasks.tui.needs.needs_entries import NeedsEntries
from tui_tasks.tui.needs.open_needs import Kind, Need

PLACES = ("1", "2", "3", "4", "a", "A", "D", "S")
LATE = "! S3 Restore test: due 19:50, no scheduler runs"


async def heads(app, pilot) -> list[list[str]]:
    """The lines above each pane and each screen, with the failures and what is late in words."""
    found = []
    for key in PLACES:
        await press(app, pilot, key)
        await until(pilot, lambda: "S " not in lines(app)[0] or "Stats" in lines(app)[0])
        found.append(lines(app))
        if key in "aADS":
            await press(app, pilot, "escape")
    return found


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (60, 16)])
async def test_counts_and_agents_stand_in_the_same_lines_on_every_pane_and_screen(plan, jobs, make_app, size):
    app = make_app(plan.path)
    async with opened(app, size) as pilot:
        found = await heads(app, pilot)
        at = 3 if has_air(app.size) else 2
        others = [head for place, head in zip(PLACES, found, strict=True) if place not in "DS"]
        ((agents, counts),) = {(head[1], head[at]) for head in others}
        assert re.match(
            " +[?] 2( questions)? +▲ 0( stuck or gone)? +✗ 2 failed +(◐ S1 slow(: 41s, usually 9s)? +)?! (1|S3 late)",
            counts,
        )
        changes = "• 5 changed" if size[1] < 24 else "• unseen since 19:58: failed #3, asked #4 #7, slow S1, started #5"
        assert all(head[at + (size[1] >= 24)].endswith(changes) for head in others) and "─" not in counts
        assert {bool(head[2]) for head in found} == {not has_air(app.size)}, "with air above the counts"
        digest = found[PLACES.index("D")]
        assert digest[1] == agents and re.match(" +[?] 2 .*✓ 2 done", digest[at]), "it counts its rows"
        assert re.match(r" [?] claude-2 (waiting )?#7", agents) and " ◐ claude-1 #5 " in agents
        for head in found:
            assert "next #8" in head[0] and "late 25m" not in head[0]


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_no_screen_leaves_out_failures_and_what_is_late(plan, jobs, make_app, size):
    app = make_app(plan.path)
    async with opened(app, size) as pilot:
        *others, digest, _ = await heads(app, pilot)
        rows = [" ".join(line.split()) for line in digest[3:]]
        assert sum("test_dst_gap: " in line for line in rows) == 1, "once, among its lines"
        assert sum("✗ S4 failed claude-1 Digest mail smtp:" in line.replace(": smtp", " smtp") for line in rows) == 1
        assert sum("! S3 late Restore test" in line for line in rows) == 1
        for head in others:
            # The inbox lists them itself, with the mark of what is new.
            said = [" ".join(line.strip(" >•").split()) for line in head[2 : 16 if "Inbox" in head[0] else 10]]
            assert any("✗ #3 " in line and "test_dst_gap" in line for line in said), said
            if size[1] < 30:
                assert any("✗ S4 " in line and "smtp: 535" in line for line in said), said
            else:
                assert any(line.startswith("✗ S4 Digest mail: smtp: 535") for line in said), said
                assert any(line.startswith(LATE) and line.endswith(" 25m") for line in said), said


async def test_many_questions_of_one_agent_push_no_other_agent_out_of_the_rows(plan, make_app):
    with Store(plan.path) as store:
        store.commit(*(OpenAsk(f"Question {number}?") for number in range(8)), actor="hog", now=NOW - 3_600_000_000)
    app = make_app(plan.path)
    async with opened(app, (80, 40)):
        rows = above(app)
        assert (
            re.search(r"Question 0\? +hog ", rows) and "? #4  jose is" in rows and "? 10 questions" in counts_line(app)
        )
        assert "Approve: delete the old GA property" in rows


@pytest.mark.parametrize("key", ["a", "A", "D"])
async def test_a_screen_that_lists_questions_itself_does_not_repeat_them_above(plan, make_app, key):
    app = make_app(plan.path)
    async with opened(app, (120, 40)) as pilot:
        assert "jose is maintained" in above(app)
        await press(app, pilot, key)
        assert "jose is maintained" not in above(app) and ("✗ #3  " in above(app)) is (key == "A")
        assert "jose is maintained" in shown(app)


@pytest.mark.parametrize("key", ["A", "D"])
async def test_work_that_waits_for_review_stands_above_the_screens_that_do_not_list_it(
    plan, make_app, checks, report, key
):
    report(plan[6], "failed")
    async with opened(make_app(plan.path), (120, 40)) as pilot:
        await press(pilot.app, pilot, key)
        assert bool(re.search(r"✗ #6  .*: \w+ failed", above(pilot.app))) is (key == "A")


async def test_an_agent_that_is_stuck_and_one_that_is_gone_are_counted_named_and_told_with_the_reason(app, plan):
    by_agent(plan, "claude-2", EditTask(plan[7], {"status": "in_progress"}))
    by_agent(plan, "system", NoteStuck("claude-2", "failure", "the same failure 3 times: pytest", NOW))
    with Store(plan.path) as store, store.db.transaction(write=True):
        connections.end(store.db, "claude-1", Process(), NOW)
    async with opened(app, (120, 40)) as pilot:
        await until(pilot, lambda: "▲ 1 stuck, 1 gone" in counts_line(app))
        assert agents_line(app).startswith(
            " ▲ claude-2 stuck #7 Migrate analytics GA to Plausible   ▲ claude-1 gone #5 Ship auth flow"
        )
        assert re.search(r"▲ #7  stuck: the same failure 3 times: pytest +claude-2 ", above(app))
        assert re.search(r"▲ #5  gone: Ship auth flow +claude-1 ", above(app))


async def test_on_a_low_screen_each_thing_has_its_own_row(app, plan):
    by_agent(plan, "claude-1", *(OpenAsk(f"Question {number}?") for number in range(12)))
    async with opened(app, (80, 24)) as pilot:
        await until(pilot, lambda: "14 questions" in counts_line(app))
        blocking, other, newest, failed = needs_rows(app)
        assert re.fullmatch(r" • \? #4  jose is maintained.* in the lockfile. Which one\?", blocking)
        assert re.fullmatch(r" • \? #7  Approve: delete the old GA property +claude-2    4m", other)
        assert re.fullmatch(r" • \? #5  Question 0\? +claude-1   now", newest)
        assert re.fullmatch(r" • ✗ #3  Fix flaky DST test: test_dst_gap.* got 03:30 +17m", failed)
        await pilot.click("#needs", offset=(41, 4))
        await until(pilot, lambda: any(line.startswith(">• ✗ #3 ") for line in lines(app)))
        await pilot.click("#needs", offset=(3, 2))
        await until(pilot, lambda: "Inbox" in lines(app)[0])


async def test_a_click_on_a_count_goes_to_what_it_counts(plan, jobs, make_app):
    app = make_app(plan.path)
    async with opened(app, (120, 40)) as pilot:
        await pilot.click(offset=place(app, "S3 late"))
        await until(pilot, lambda: any(line.startswith(">  ! S3") for line in lines(app)))
        await pilot.click(offset=place(app, "S1 slow"))
        await until(pilot, lambda: any(line.startswith(">  ◐ S1") for line in lines(app)))
        await pilot.click(offset=place(app, "2 questions"))
        await until(pilot, lambda: lines(app)[0].startswith(" Inbox"))


async def test_at_each_width_the_counts_have_the_same_words_and_what_has_changed_the_same_place(plan, jobs, make_app):
    by_agent(plan, "claude-1", *(AddTask(f"Job {number}", plan.list_uid) for number in range(2)))
    by_agent(plan, "claude-2", LogTask(plan[8], "looked"), EditTask(plan[6], {"status": "done"}))
    counts = "? 2 questions ▲ 0 stuck or gone ✗ 2 failed ◐ S1 slow ! S3 late •"
    few = "? 2 ▲ 0 stuck or gone ✗ 2 failed ! 1 late •"
    first, brief = "failed #3, asked #4 #7, slow S1", "✗ #3 ? #4 #7 ◐ S1"
    whole = f"{counts} unseen since 19:58: {first}, done #6, started #5, new #10 #11, logged #8"
    expected = {
        (140, 40): whole.replace("S1 slow !", "S1 slow: 41s, usually 9s !"),
        (120, 40): whole.replace("S1 slow !", "S1 slow: 41s, usually 9s !"),
        (80, 24): whole.replace(first, "failed #3, ? #4 #7 ◐ S1").replace(" since 19:58", ""),
        (60, 24): f"{few.replace('! 1 late', '◐ S1 slow ! 1 late')} unseen: {brief}, done #6, started #5, +3",
        (99, 23): f"{few} {brief}, done #6, started #5, +3",
        (80, 16): f"{few} {brief}, +5",
    }
    app = make_app(plan.path)
    async with opened(app, (140, 40)) as pilot:
        for size, said in expected.items():
            await pilot.resize_terminal(*size)
            await until(pilot, lambda size=size: len(lines(app)) == size[1] and len(lines(app)[2]) <= size[0])
            for key in ("2", "A", "1"):
                assert " ".join(counts_line(app).split()) == said
                await press(app, pilot, *(["escape"] if app.screen is not app.screen_stack[0] else []), key)
        await press(app, pilot, "full_stop")
        assert lines(app)[2].endswith(" late   • 0 changed")


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_the_digest_and_the_statistics_do_not_repeat_above_what_their_lines_say_in_full(
    plan, jobs, make_app, size
):
    app = make_app(plan.path)
    async with opened(app, size) as pilot:
        await press(app, pilot, "D")
        await until(pilot, lambda: "Digest" in lines(app)[0] and shown(app).count("test_dst_gap") == 1)
        counts = 2 + has_air(app.size)
        assert not needs_rows(app) and any(line.startswith(" • unseen since 19:58: ") for line in lines(app))
        assert not lines(app)[counts + 2], "no rule ends rows that are not there"
        assert lines(app)[counts + 3], "one empty line is enough"
        await press(app, pilot, "escape", "S")
        await until(pilot, lambda: "Stats" in lines(app)[0] and "#3" in "\n".join(below(app)))
        assert shown(app).count("test_dst_gap") == 1
        assert re.search("✗ S4  (Digest mail: )?smtp: 535", above(app)), "of jobs, the figures have no reason"


async def test_the_digest_without_room_for_all_its_lines_keeps_failures_above(plan, jobs, make_app):
    by_agent(plan, "claude-1", *(OpenAsk(f"Question {number}?") for number in range(30)))
    app = make_app(plan.path)
    async with opened(app, (80, 24)) as pilot:
        await press(app, pilot, "D")
        await until(pilot, lambda: re.search(r"✗ #3  .*test_dst_gap", above(app)) is not None)
        assert "✗ S4  Digest mail: smtp: 535" in above(app)


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_the_statistics_keep_above_a_reason_that_their_line_cuts(plan, make_app, size):
    by_agent(plan, "claude-2", EditTask(plan[8], {"status": "failed"}), LogTask(plan[8], "a very long reason " * 8))
    app = make_app(plan.path)
    async with opened(app, size) as pilot:
        await press(app, pilot, "S")
        await until(pilot, lambda: "Stats" in lines(app)[0] and "#3" in "\n".join(below(app)))
        assert "✗ #8  " in above(app) and "very long reason a very" in above(app)


@pytest.mark.parametrize(
    ("hours", "title", "changes"),
    [
        (2, " Digest   last 8 hours, since 12:15 ", " • unseen since 18:15: failed #3"),
        (30, " While you were away   since you looked at ", " • failed #3"),
    ],
)
async def test_the_digest_says_once_what_it_covers_and_since_when_tasks_have_changed_if_that_is_another_time(
    plan, make_app, hours, title, changes
):
    with Store(plan.path) as store:
        local_values.put(store.db, local_values.LOOKED, {"seq": 1, "at": NOW - hours * 3_600_000_000})
    app = make_app(plan.path)
    async with opened(app, (120, 40)) as pilot:
        await press(app, pilot, "D")
        assert lines(app)[0].startswith(title)
        (line,) = (line for line in lines(app)[1:] if "failed #3" in line)
        assert line.startswith(changes)
        assert not any("since" in other for other in lines(app)[1:] if other != line), "there is one beginning"


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_what_is_new_of_what_needs_the_human_is_marked_in_its_row_until_it_was_seen(plan, jobs, make_app, size):
    by_agent(plan, "claude-2", OpenAsk("May I use the other key?"), LogTask(plan[8], "looked"))
    app = make_app(plan.path)
    async with opened(app, size) as pilot:
        marked = re.findall(r"• [?✗] +(#\d|May I use)", above(app))
        assert {*marked} >= {"#4" if size[0] > 80 else "#3", "#7", "May I use"}
        assert not re.search("• [^+] S[34]", above(app))
        assert size[0] > 80 or re.search(r"• ✗ #3  Fix flaky DST test: test_dst_gap: [^+]* 17m$", above(app))
        since = " since 19:58" * (size[0] > 80)
        says = f"• unseen{since}: failed #3, asked #4 #7 claude-2, slow S1, started #5, logged #8"
        assert counts_line(app).endswith(says)
        await press(app, pilot, "a")
        marked = {line[5:7] for line in below(app)[:9] if line[1:2] == "•"}
        assert marked == {"#4", "#7", "#3", "  "}
        await press(app, pilot, "escape", ".")
        assert counts_line(app).endswith("• 0 changed") and not any(line[1:2] == "•" for line in lines(app))


async def test_what_an_agent_does_beside_its_question_is_named(plan, make_app):
    with Store(plan.path) as store:
        local_values.put(store.db, local_values.LOOKED, {"seq": journal.newest(store.db), "at": NOW - 1})
    (made,) = by_agent(plan, "codex-3", AddTask("Tidy docs", plan.list_uid))
    by_agent(plan, "codex-3", EditTask(made.uid, {"status": "in_progress"}), OpenAsk("May I remove old/?"))
    async with opened(make_app(plan.path), (120, 40)) as pilot:
        assert counts_line(pilot.app).endswith("• unseen since 20:15: started #10")


async def test_a_question_without_a_task_is_counted_among_what_has_changed(plan, make_app):
    with Store(plan.path) as store:
        local_values.put(store.db, local_values.LOOKED, {"seq": journal.newest(store.db), "at": NOW - 1})
    by_agent(plan, "claude-2", OpenAsk("May I use the other key?"))
    app = make_app(plan.path)
    async with opened(app, (80, 24)) as pilot:
        assert counts_line(app).endswith("• unseen since 20:15: asked by claude-2")
        assert "May I use" in above(app) and ". Seen" in lines(app)[-1]
        await press(app, pilot, "full_stop")
        assert counts_line(app).endswith("• 0 changed") and ". Seen" not in lines(app)[-1]
        assert "•" not in "".join(lines(app)[3:])


async def test_what_happens_to_a_task_is_said_in_place_of_its_question(plan, make_app):
    with Store(plan.path) as store:
        local_values.put(store.db, local_values.LOOKED, {"seq": journal.newest(store.db), "at": NOW - 1})
    by_agent(plan, "claude-2", OpenAsk("May I use the other key?", task_uid=plan[8]))
    app = make_app(plan.path)
    async with opened(app, (120, 40)) as pilot:
        await press(app, pilot, "4")
        assert counts_line(app).endswith("• unseen since 20:15: asked #8")
        by_agent(plan, "codex-1", EditTask(plan[8], {"status": "done"}), now=NOW + 1)
        await until(pilot, lambda: counts_line(app).endswith("• unseen since 20:15: done #8"))


async def test_what_happens_to_a_task_after_its_failure_was_hidden_is_said(plan, make_app):
    with Store(plan.path) as store:
        local_values.put(store.db, local_values.LOOKED, {"seq": journal.newest(store.db), "at": NOW - 1})
    by_agent(plan, "claude-2", EditTask(plan[8], {"status": "failed"}))
    app = make_app(plan.path)
    async with opened(app, (120, 40)) as pilot:
        await press(app, pilot, "4")
        await press(app, pilot, "a")
        while not (item := app.screen.item) or item.need.task != plan[8]:
            await press(app, pilot, "j")
        await press(app, pilot, "full_stop", "escape")
        assert "#8" not in above(app) and counts_line(app).endswith("• 0 changed")
        by_agent(plan, "codex-1", EditTask(plan[8], {"name": "Drop the backups"}), now=NOW + 1)
        await until(pilot, lambda: counts_line(app).endswith("• unseen since 20:15: edited #8"))


@pytest.mark.parametrize("kind", [Kind.FAILED, Kind.HELD])
async def test_one_that_is_left_besides_those_that_are_read_is_said_as_one_more(plan, make_app, kind):
    app = make_app(plan.path)
    async with opened(app, (120, 40)):
        need = Need(kind, {Kind.FAILED: "failed", Kind.HELD: "held"}[kind], "failed", count=1)
        assert NeedsEntries(app.context, lambda span: None).entry(need).text == f"1 more {need.word}"
