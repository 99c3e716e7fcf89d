"""What agent programs record of their sessions, as people read it; the records are those of the programs themselves."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Clock
from tests.hooks.test_records import Program
from tui_tasks.core.store import Store
from tui_tasks.hooks import session_records
from tui_tasks.hooks.programs import opencode
from tui_tasks.hooks.session_records import Item, Source, Transcript

RECORDED = Path(__file__).parent / "recorded"
SHELL = {"claude": "Bash", "codex": "exec_command", "gemini": "run_shell_command"}


@pytest.mark.parametrize("record", sorted(RECORDED.glob("*.jsonl")), ids=lambda path: path.stem)
def test_a_record_has_prompts_words_tools_with_results_and_edits_as_diffs(record):
    program = record.name.partition("-")[0]
    transcript = Transcript(Source(program, str(record)))
    assert transcript.read_on()
    items = transcript.items
    assert items[0] == Item("prompt", "Do the thing")
    assert items[1] == Item("words", "I look first.")
    assert items[2] == Item("tool", "echo out-ok; ls /nonexistent", SHELL[program])
    assert items[3].kind in ("result", "error") and "out-ok\nls: cannot access" in items[3].text
    first, second = [one for one in items if one.kind == "edit"]
    assert first.name.endswith(".txt") and ("+one" in first.text or "+hello" in first.text)
    assert "-two\n+three" in second.text or "-hello\n+bye" in second.text
    assert items[-1] == Item("words", "All done.")
    assert not transcript.read_on()


@pytest.mark.parametrize("record", sorted(RECORDED.glob("*.jsonl")), ids=lambda path: path.stem)
def test_a_record_that_grows_line_by_line_gives_the_same_items(record, tmp_path):
    program = record.name.partition("-")[0]
    whole, grown = Transcript(Source(program, str(record))), tmp_path / "grown.jsonl"
    whole.read_on()
    growing = Transcript(Source(program, str(grown)))
    for line in record.read_text().splitlines(keepends=True):
        with grown.open("a") as file:
            file.write(line[:10])
            file.flush()
            growing.read_on()
            file.write(line[10:])
        growing.read_on()
    assert growing.items == whole.items


@pytest.mark.parametrize("program", ["claude", "codex", "gemini"])
@pytest.mark.parametrize(
    "lines",
    ['{"id"', "\x00\xff", '{"type":"user","message":7}', '{"id":1,"type":"gemini","toolCalls":[7]}', "[" * 9_999],
)
def test_a_line_that_is_no_record_is_passed_over(program, lines, tmp_path):
    path = tmp_path / "record.jsonl"
    path.write_text(f'{lines}\n{{"type":"response_item","payload":[]}}\n')
    transcript = Transcript(Source(program, str(path)))
    transcript.read_on()
    assert transcript.items == []


def test_what_programs_send_themselves_is_no_prompt(tmp_path):
    path = tmp_path / "record.jsonl"
    told = [
        {"type": "user", "message": {"role": "user", "content": "<task-notification>done</task-notification>"}},
        {"type": "user", "isMeta": True, "message": {"role": "user", "content": "caveat"}},
        {"type": "user", "message": {"role": "user", "content": "go on"}},
    ]
    path.write_text("".join(json.dumps(one, separators=(",", ":")) + "\n" for one in told))
    transcript = Transcript(Source("claude", str(path)))
    transcript.read_on()
    assert transcript.items == [Item("prompt", "go on")]


def exported() -> dict[str, Any]:
    """A session as opencode 1.18.33 exports it."""

    def tool(name: str, given: dict[str, Any], **state: Any) -> dict[str, Any]:
        return {"type": "tool", "tool": name, "state": {"status": "completed", "input": given, **state}}

    return {
        "info": {"id": "ses_1"},
        "messages": [
            {"info": {"role": "user"}, "parts": [{"type": "text", "text": "Do the thing"}]},
            {
                "info": {"role": "assistant"},
                "parts": [
                    {"type": "step-start"},
                    {"type": "text", "text": "I look first."},
                    tool("bash", {"command": "echo out-ok", "description": "ok"}, output="out-ok\n"),
                    tool("edit", {"filePath": "/a.txt", "oldString": "two", "newString": "three"}, output="Done"),
                    tool("read", {"filePath": "/nofile"}, error="no such file"),
                ],
            },
        ],
    }


def test_a_session_of_opencode_is_read_from_its_export():
    assert list(opencode.items_of_export(exported())) == [
        Item("prompt", "Do the thing"),
        Item("words", "I look first."),
        Item("tool", "echo out-ok", "bash"),
        Item("result", "out-ok\n"),
        Item("edit", "@@ -1 +1 @@\n-two\n+three", "/a.txt"),
        Item("tool", "filePath: /nofile", "read"),
        Item("error", "no such file"),
    ]


def test_opencode_is_asked_for_it_in_an_empty_folder_and_what_fails_is_told(tmp_path, monkeypatch):
    program = tmp_path / "opencode"
    program.write_text(
        f'#!/bin/sh\n[ -z "$(ls -A)" ] || exit 3\n[ "$*" = \'export ses_1\' ] || exit 4\ncat {tmp_path}/out\n'
    )
    program.chmod(0o700)
    (tmp_path / "out").write_text(json.dumps(exported()))
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    transcript = Transcript(Source("opencode", session="ses_1"))
    assert transcript.read_on() and transcript.items[0] == Item("prompt", "Do the thing")
    assert not transcript.read_on()
    (tmp_path / "out").write_text("Session not found")
    with pytest.raises(OSError, match="no record"):
        transcript.read_on()
    program.unlink()
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(OSError, match="not installed"):
        transcript.read_on()


def test_the_record_of_a_session_is_the_file_that_its_program_names(store: Store, clock: Clock, tmp_path: Path):
    claude = Program(store, clock, "claude", tmp_path)
    claude.fires("SessionStart")
    assert session_records.source(store.db, "claude-1") == Source("claude", str(claude.path))
    assert isinstance(session_records.source(store.db, "robin"), str)
