"""Long texts: in the human's own editor, and in the forms."""

from __future__ import annotations

import contextlib
import shlex
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tui.driving import by_agent, opened, press, said, settle, shown, task, until, write
from tui_tasks.core.operations.tasks import EditTask
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store
from tui_tasks.text.safe import one_to_one
from tui_tasks.tui.app.task_app import TaskApp
from tui_tasks.tui.inputs import editor
from tui_tasks.tui.inputs.edit_conflicts import ConflictScreen


def line_text(**options):
    return st.text(**options).filter(lambda text: "\n" not in text and "\r" not in text)


@given(name=line_text(min_size=1).map(str.strip).filter(bool), description=st.text())
def test_a_document_is_read_back_as_it_was_written(name, description):
    assert editor.from_document(editor.as_document(name, description), description) == (name, description)


@given(description=st.text())
def test_the_end_of_line_that_an_editor_adds_is_no_change(description):
    document = editor.as_document("x", description)
    added = document if document.endswith("\n") else document + "\n"
    assert editor.from_document(added, description)[1] == description


def test_the_editor_is_visual_then_editor_then_one_that_is_there(tmp_path):
    vi = tmp_path / "vi"
    vi.touch(mode=0o755)
    assert editor.command({"VISUAL": "code -w", "EDITOR": "ed"}) == ["code", "-w"]
    assert editor.command({"VISUAL": "", "EDITOR": "ed"}) == ["ed"]
    assert editor.command({"PATH": str(tmp_path)}) == ["vi"]


def test_an_editor_that_cannot_be_read_is_told_with_the_name_of_what_is_set():
    with pytest.raises(editor.NoEditor, match=r"\$EDITOR cannot be read: No closing quotation"):
        editor.command({"EDITOR": 'vim "'})


def test_a_signal_that_ended_the_editor_is_named():
    ends = {-2: "was interrupted by ^C", 130: "was interrupted by ^C", -15: "was ended by SIGTERM"}
    ends |= {1: "ended with status 1", 255: "was ended by signal 127"}
    assert {status: editor.how_ended(status) for status in ends} == ends


@pytest.fixture
def app(plan, make_app, monkeypatch):
    monkeypatch.setattr(TaskApp, "suspend", contextlib.nullcontext)
    return make_app(plan.path)


def set_editor(monkeypatch, tmp_path, code):
    """Make Python code the editor; `file` in it is the file's path."""
    script = tmp_path / "editor.py"
    script.write_text(f"import sys, pathlib\nfile = pathlib.Path(sys.argv[1])\n{code}\n")
    monkeypatch.setenv("EDITOR", shlex.join([sys.executable, str(script)]))


async def test_capital_e_edits_title_and_description_in_the_editor(app, plan, monkeypatch, tmp_path):
    set_editor(monkeypatch, tmp_path, "file.write_text(file.read_text().replace('Ship', 'Sail') + 'And tea.')")
    async with opened(app) as pilot:
        await press(app, pilot, "j", "j", "j", "j", "E")
        row = task(app, plan[5])
        assert row.name == "Sail auth flow"
        assert row.description.endswith("before merge.\nAnd tea.")


async def test_what_the_editor_leaves_as_it_was_is_no_change_whatever_its_ends_of_line(
    app, plan, monkeypatch, tmp_path, agent
):
    agent(EditTask(plan[1], {"description": "one\r\ntwo\rthree\n"}))
    set_editor(monkeypatch, tmp_path, "")
    async with opened(app) as pilot:
        version = task(app, plan[1]).version
        await press(app, pilot, "E")
        assert task(app, plan[1]).version == version


async def test_an_editor_that_fails_or_empties_the_title_changes_nothing(app, plan, monkeypatch, tmp_path):
    async with opened(app) as pilot:
        for code, told in (("sys.exit(3)", "status 3"), ("file.write_text('')", "needs a title")):
            set_editor(monkeypatch, tmp_path, code)
            await press(app, pilot, "E")
            assert told in said(app)
        monkeypatch.setenv("EDITOR", str(tmp_path / "missing"))
        await press(app, pilot, "E")
        assert "missing" in said(app)
        monkeypatch.setattr(editor.tempfile, "tempdir", str(tmp_path / "no folder"))
        await press(app, pilot, "E")
        assert "cannot write a file" in said(app)
        assert task(app, plan[1]).version == 2


async def test_where_the_screen_cannot_step_aside_it_says_so(plan, make_app):
    app = make_app(plan.path)
    async with opened(app) as pilot:
        await press(app, pilot, "E")
        assert "cannot be suspended" in said(app)


async def test_what_was_changed_while_the_editor_was_open_is_a_conflict(app, plan, monkeypatch, tmp_path):
    code = (
        "from tui_tasks.core.store import Store\nfrom tui_tasks.core.operations.tasks import EditTask\n"
        f"with Store({plan.path!r}) as store:\n"
        f"    store.commit(EditTask({plan[1]!r}, {{'name': 'theirs'}}), actor='claude-1', now=1)\n"
        "file.write_text('mine')"
    )
    set_editor(monkeypatch, tmp_path, code)
    async with opened(app) as pilot:
        await pilot.press("E")
        await until(pilot, lambda: isinstance(app.screen, ConflictScreen))
        await press(app, pilot, "m")
        assert task(app, plan[1]).name == "mine"


async def test_quick_add_takes_its_description_from_the_editor(app, plan, monkeypatch, tmp_path):
    set_editor(monkeypatch, tmp_path, "file.write_text(file.read_text() + 'At length.\\n')")
    async with opened(app) as pilot:
        await pilot.press("n")
        await write(pilot, "Long")
        await press(app, pilot, "ctrl+e")
        row = task(app, app.pane.row_list.cursor)
        assert (row.name, row.description) == ("Long", "At length.")


async def test_a_title_that_is_changed_in_the_editor_is_the_title(app, plan, monkeypatch, tmp_path):
    set_editor(monkeypatch, tmp_path, "file.write_text('Longer\\n\\nAt length.\\n')")
    async with opened(app) as pilot:
        await pilot.press("n")
        await write(pilot, "Long")
        await press(app, pilot, "ctrl+e")
        row = task(app, app.pane.row_list.cursor)
        assert (row.name, row.description) == ("Longer", "At length.")


async def test_a_description_too_long_for_the_keys_is_shown_at_its_beginning_and_kept_whole(plan, make_app):
    long = "begins so " + "[x]数" * 200_000
    by_agent(plan, "claude-1", EditTask(plan[1], {"description": long}))
    app = make_app(plan.path)
    async with app.run_test(size=(80, 40)) as pilot:
        await settle(pilot, "e")
        assert "begins so" in shown(app)
        assert "^e opens it in $EDITOR" in shown(app)
        await settle(pilot, "tab", "tab", "x", "shift+tab", "shift+tab", "A", "ctrl+s")
        await settle(pilot)
        with Store(plan.path) as store:
            task = task_queries.any_task(store.db, plan[1])
    assert task is not None
    assert task.name.endswith("A")
    assert task.description == long


async def test_a_description_that_was_not_changed_is_kept_to_the_letter(plan, make_app):
    odd = "a\r\nb\x0bc\x85d\u2028e\x1cf\rg\n\r\n"
    by_agent(plan, "claude-1", EditTask(plan[1], {"description": odd}))
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "e", "escape")
        assert "Edit #1" not in shown(app)
        await settle(pilot, "e", "A", "ctrl+s")
        await settle(pilot)
        with Store(plan.path) as store:
            task = task_queries.any_task(store.db, plan[1])
    assert task is not None
    assert (task.name[-1], task.description) == ("A", odd)


def test_marks_beyond_the_third_on_a_letter_are_told_and_not_drawn():
    assert one_to_one("e" + "\u0301" * 5 + "n\u0303") == "e" + "\u0301" * 3 + "\ufffd" * 2 + "n\u0303"
    assert one_to_one("\u0301x") == "\ufffdx"


@pytest.mark.parametrize("code", [0x200B, 0xFE0E, 0xFE0F, 0x20E3, 0x1F3FD, 0xE0041, 0x202E, 0x9B])
def test_nothing_that_terminals_disagree_on_or_obey_is_shown_where_it_is_typed(code):
    assert one_to_one(f"a{chr(code)}\u0301b") == "a\ufffd\u0301b"
