"""The tmux server of our own: private, without its starter's variables, and one key leads back."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tui_tasks.core.errors import Conflict
from tui_tasks.work import terminals
from tui_tasks.work.terminals import Terminals

needs_tmux = pytest.mark.skipif(not terminals.is_there(), reason="tmux is not installed")


@pytest.fixture
def tmux(tmp_path: Path):
    runtime = Path("/tmp", f"t{os.getpid()}")
    runtime.mkdir(mode=0o700)
    made = Terminals(str(tmp_path / "tasks.db"), {**os.environ, "XDG_RUNTIME_DIR": str(runtime), "SECRET": "x"})
    yield made
    for name in made.names():
        made.end(name)
    for file in sorted(runtime.rglob("*"), reverse=True):
        file.rmdir() if file.is_dir() else file.unlink()
    runtime.rmdir()


@needs_tmux
def test_a_terminal_stays_with_its_last_lines_when_its_program_has_ended(tmux: Terminals, tmp_path: Path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    tmux.start("work-1-abc", ["sh", "-c", f'pwd; echo "<$SECRET>"; echo done > {fifo}'], tmp_path)
    fifo.read_text()
    assert tmux.lines("work-1-abc", 100)[:2] == [str(tmp_path), "<>"]
    assert tmux.has("work-1-abc")
    assert tmux.names() == ["work-1-abc"]
    assert stat.S_IMODE(tmux.folder.stat().st_mode) == 0o700
    assert tmux.attach_argv("work-1-abc")[-2:] == ["-t", "=work-1-abc"]
    tmux.end("work-1-abc")
    assert not tmux.has("work-1-abc")
    assert tmux.lines("work-1-abc", 9) == []


@needs_tmux
def test_a_folder_that_others_may_enter_is_refused(tmux: Terminals, tmp_path: Path):
    tmux.folder.mkdir(mode=0o755)
    with pytest.raises(Conflict, match="is not yours alone"):
        tmux.start("x", ["true"], tmp_path)


@pytest.mark.parametrize(("found", "told"), [(None, "tmux is not installed"), ((1, 8), "tmux 1.8 is too old")])
def test_no_tmux_or_an_old_one_says_what_to_do(found, told, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(terminals, "version", lambda: found)
    with pytest.raises(Conflict, match=told):
        Terminals(str(tmp_path / "tasks.db")).start("x", ["true"], tmp_path)
    assert not terminals.is_there()
