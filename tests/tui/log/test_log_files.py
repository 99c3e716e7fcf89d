"""The log in a file, and the log made shorter: export and compaction."""

import json

from tests.tui.driving import by_agent, named, settle, shown, until
from tests.tui.logs import HOSTILE, log_of, texts
from tests.tui.plan import NOW, at
from tui_tasks.core.commit import journal
from tui_tasks.core.maintenance.compaction_steps import compact
from tui_tasks.core.operations.tasks import LogTask
from tui_tasks.core.store import Store
from tui_tasks.tui.log.log_text import EARLIER

# In a file


async def export(pilot, key: str, path) -> None:
    await settle(pilot, *named("export"), key)
    pilot.app.screen.query_one("#answer").value = str(path)
    await pilot.press("enter")
    await until(pilot, lambda: "Wrote" in shown(pilot.app) or "nothing was written" in shown(pilot.app))


async def test_the_whole_log_is_exported_as_the_events_of_the_channel(plan, make_app, tmp_path):
    app = make_app(plan.path, pane="log")
    file = tmp_path / "log.jsonl"
    async with app.run_test(size=(120, 40)) as pilot:
        await export(pilot, "j", file)
    events = [json.loads(line) for line in file.read_text().splitlines()]
    with Store(plan.path) as store:
        assert [event["seq"] for event in events] == list(range(1, journal.newest(store.db) + 1))
    assert events[-1]["log"]["message"] == "running tests 14/22"
    assert file.stat().st_mode & 0o777 == 0o600


async def test_what_the_filter_shows_is_exported_as_markdown_in_which_nothing_of_an_agent_is_markup(
    plan, make_app, tmp_path
):
    by_agent(plan, "claude-2", LogTask(plan[7], f"*bold* <script> {HOSTILE}"))
    app = make_app(plan.path, pane="log")
    file = tmp_path / "log.md"
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        log_of(app).filter_by("who:claude-2 kind:log")
        await export(pilot, "m", file)
        assert str(file) in shown(app)
    text = file.read_text()
    assert "## Sat 21 Nov\n" in text
    assert "- 20:11:30 **log** claude-2 _Migrate analytics GA to Plausible_: exported the old figures\n" in text
    assert "\\*bold\\* \\<script\\>" in text
    assert "started" not in text
    assert not set(text) & set("\x1b\x07\u202e\r")


async def test_the_file_of_an_export_has_the_date_as_iso_8601_writes_it(plan, make_app):
    app = make_app(plan.path, pane="log")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, *named("export"), "j")
        assert app.screen.query_one("#answer").value.endswith("/tui-tasks-log-2026-11-21-2015.jsonl")


async def test_an_export_writes_over_no_file(plan, make_app, tmp_path):
    app = make_app(plan.path, pane="log")
    file = tmp_path / "log.md"
    file.write_text("mine")
    async with app.run_test(size=(120, 40)) as pilot:
        await export(pilot, "m", file)
        assert "is there already; nothing was written" in shown(app)
    assert file.read_text() == "mine"


async def test_a_read_only_log_can_be_exported(plan, make_app, tmp_path):
    app = make_app(plan.path, pane="log", read_only=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await export(pilot, "m", tmp_path / "log.md")
    assert "running tests 14/22" in (tmp_path / "log.md").read_text()


# Compaction


async def test_the_human_drops_old_entries_after_being_told_how_many(plan, make_app):
    with Store(plan.path) as store:
        newest = journal.newest(store.db)
        (kept,) = journal.latest(store.db, 1)
    app = make_app(plan.path, pane="log")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        app.pane.action_act("log_compact")
        await until(pilot, lambda: app.screen.query("#answer"))
        app.screen.query_one("#answer").value = "0d"
        await pilot.press("enter")
        await until(pilot, lambda: f"Drop {newest} entries" in shown(app))
        await pilot.press("d")
        await until(pilot, lambda: f"Dropped {newest} entries" in shown(app))
        await until(
            pilot,
            lambda: (
                texts(app)[-1:] == [f"earlier entries, up to {newest}, were compacted away"] and len(texts(app)) <= 3
            ),
        )
    with Store(plan.path) as store:
        assert journal.oldest(store.db) == newest + 1 == kept.seq + 1


async def test_a_log_that_was_compacted_says_at_its_oldest_end_that_there_was_more(plan, make_app):
    with Store(plan.path) as store:
        compact(store, at(19, 58), NOW)
    app = make_app(plan.path, pane="log")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "g")
        assert texts(app)[0] == "earlier entries were compacted away"
        assert app.pane.row_list.row.word == EARLIER
        await settle(pilot, "enter")
        assert "Earlier entries were compacted away." in shown(app)
        await settle(pilot, "escape", "slash", *"kind:log", "enter")
        assert "earlier entries" not in shown(app)


async def test_a_log_that_was_never_compacted_begins_with_its_first_entry(plan, make_app):
    app = make_app(plan.path, pane="log")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "g")
        assert app.pane.row_list.row.seq == 1


async def test_nothing_is_dropped_where_the_human_thinks_better_of_it_or_nothing_is_that_old(plan, make_app):
    app = make_app(plan.path, pane="log")
    async with app.run_test(size=(120, 40)) as pilot:
        for age, key, said in (("0d", "k", ""), ("9999d", "d", "nothing was dropped"), ("soon", "", "neither an age")):
            await settle(pilot)
            app.pane.action_act("log_compact")
            await until(pilot, lambda: app.screen.query("#answer"))
            app.screen.query_one("#answer").value = age
            await pilot.press("enter", *([key] if key else []))
            await until(pilot, lambda said=said: said in shown(app))
    with Store(plan.path) as store:
        assert journal.oldest(store.db) == 1


async def test_the_folder_of_somebody_unknown_is_refused_plainly(plan, make_app):
    app = make_app(plan.path, pane="log")
    async with app.run_test(size=(100, 24)) as pilot:
        await export(pilot, "j", "~nobody-here/log.jsonl")
        assert "no user of that name has a folder here" in shown(app)
