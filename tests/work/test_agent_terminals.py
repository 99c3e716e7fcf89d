"""The tmux server of our own: private, without its starter's variables, and one key leads back."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.started import until
from tui_tasks.core.errors import Conflict
from tui_tasks.work import agent_terminals
from tui_tasks.work.agent_terminals import Terminals

needs_tmux = pytest.mark.skipif(not agent_terminals.is_there(), reason="tmux is not installed")


@pytest.fixture
def tmux(tmp_path: Path):
    runtime = Path(tempfile.mkdtemp(prefix="t", dir="/tmp"))  # the path of a socket is limited
    made = Terminals(str(tmp_path / "tasks.db"), {**os.environ, "XDG_RUNTIME_DIR": str(runtime), "SECRET": "x"})
    yield made
    for name in made.names():
        made.end(name)
    shutil.rmtree(runtime)


@needs_tmux
def test_a_terminal_stays_with_its_last_lines_when_its_program_has_ended(tmux: Terminals, tmp_path: Path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    tmux.start("work-1-abc", ["sh", "-c", f'pwd; echo "<$SECRET>"; echo done > {fifo}'], tmp_path)
    # tmux may not read what a program has written just before its end.
    until(lambda: "<" in "".join(tmux.lines("work-1-abc", 100)), "tmux to read what the program has written")
    assert tmux.runs("work-1-abc")
    fifo.read_text()
    until(lambda: not tmux.runs("work-1-abc"), "the program to end")
    assert tmux.lines("work-1-abc", 100) == [str(tmp_path), "<>"]
    assert tmux.has("work-1-abc")
    assert tmux.names() == ["work-1-abc"]
    assert stat.S_IMODE(tmux.folder.stat().st_mode) == 0o700
    assert tmux.attach_argv("work-1-abc")[-2:] == ["-t", "=work-1-abc"]
    tmux.end("work-1-abc")
    assert not tmux.has("work-1-abc")
    assert tmux.lines("work-1-abc", 9) == []


@needs_tmux
@pytest.mark.parametrize(("columns", "lines", "made"), [("100", "30", "100x29"), ("20", "5", "80x23")])
def test_a_terminal_is_as_large_as_that_of_its_starter(
    columns: str, lines: str, made: str, tmux: Terminals, tmp_path: Path, monkeypatch
):
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("LINES", lines)
    tmux.start("work-1-abc", ["sleep", "9"], tmp_path)
    words = ("list-windows", "-t", "=work-1-abc", "-F", "#{window_width}x#{window_height}")
    assert subprocess.run(tmux._argv(*words), capture_output=True, text=True, check=True).stdout.strip() == made


@needs_tmux
def test_a_folder_that_others_may_enter_is_refused(tmux: Terminals, tmp_path: Path):
    tmux.folder.mkdir(mode=0o755)
    with pytest.raises(Conflict, match="is not yours alone"):
        tmux.start("x", ["true"], tmp_path)


@pytest.mark.parametrize(("found", "told"), [(None, "tmux is not installed"), ((1, 8), "tmux 1.8 is too old")])
def test_no_tmux_or_an_old_one_says_what_to_do(found, told, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(agent_terminals, "version", lambda: found)
    with pytest.raises(Conflict, match=told):
        Terminals(str(tmp_path / "tasks.db")).start("x", ["true"], tmp_path)
    assert not agent_terminals.is_there()


# It takes an Enter within 30 ms of another key as a new line, and takes its keys late.
_PASTE_GUARD = """
import os, sys, time, tty
tty.setraw(0)
print("ready", flush=True)
open(sys.argv[1], "w").close()
text, last = b"", 0.0
while not text.endswith((b"!", b"\\n")):
    if not text:
        time.sleep(0.3)
    for key in os.read(0, 99):
        is_fast = time.monotonic() - last < 0.03
        last = time.monotonic()
        text += bytes([key]) if key != 13 else b"\\n" if is_fast else b"!"
        os.write(1, bytes([key]))
open(sys.argv[1], "w").write(repr(text))
"""


@needs_tmux
def test_an_enter_that_comes_after_what_is_typed_is_no_part_of_it(tmux: Terminals, tmp_path: Path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    tmux.start("work-1-abc", [sys.executable, "-c", _PASTE_GUARD, str(fifo)], tmp_path)
    fifo.read_text()
    tmux.type_line("work-1-abc", "Go on")
    assert fifo.read_text() == repr(b"Go on!")


_DIALOG = """
import os, sys, tty
tty.setraw(0)
sys.stdout.write("\\033[?2004h> Yes\\r\\n  No")
sys.stdout.flush()
open(sys.argv[1], "w").close()
while os.read(0, 99).find(b"\\r") < 0:
    pass
open(sys.argv[1] + ".answered", "w").close()
"""


@needs_tmux
def test_a_dialog_that_does_not_show_what_is_typed_is_not_answered(tmux: Terminals, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(agent_terminals, "_SHOWN_SECONDS", 0.3)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    tmux.start("work-1-abc", [sys.executable, "-c", _DIALOG, str(fifo)], tmp_path)
    fifo.read_text()
    assert tmux.type_line("work-1-abc", "Go on") is False
    assert not (tmp_path / "fifo.answered").exists()
    assert tmux.has("work-1-abc")
