"""Files are the user's own: their modes under any umask, and who is warned of what others can reach."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import platformdirs
import pytest

from tui_tasks.core.store import Store
from tui_tasks.installation import NAME, default_configuration, default_database
from tui_tasks.settings import config, paths

# Everything that the program makes by itself, under the umask of its first argument.
MAKER = """
import os, sys, threading
from pathlib import Path
from zoneinfo import ZoneInfo
os.umask(int(sys.argv[1], 8))
here = Path(sys.argv[2])
from tui_tasks.core.engine.database import Database
from tui_tasks.core.maintenance.backup import backup
from tui_tasks.core.store import Store
from tui_tasks.todo_tool import TodoTool
from tui_tasks.tui.log.log_actions import JSON_LINES, MARKDOWN, Export
from tui_tasks.runner import run_records as records
with Store(str(here / "new" / "deep" / "tasks.db")) as store:
    backup(store.db, here / "copy.db")
    for form in (JSON_LINES, MARKDOWN):
        export = Export(here / f"log-{form}", store.path, lambda: Database(store.path), form, ZoneInfo("UTC"))
        export.run(lambda written: None, threading.Event())
    records.private_folder(here / "run")
    records._prompt_file(here / "run", "be kind")
    (here / "todo").mkdir()
    (here / "todo").chmod(0o700)
    tool = TodoTool(checkpoint=here / "todo")
    tool.execute(merge=False, todos=[{"id": n, "content": n, "status": "pending"} for n in "ab"])
    for file in sorted(here.rglob("*")):
        print(f"{file.stat().st_mode & 0o7777:04o} {'folder' if file.is_dir() else 'file'} {file.relative_to(here)}")
"""


@pytest.mark.parametrize("umask", ["000", "022", "077", "777"])
def test_everything_that_is_made_is_private_under_any_umask(tmp_path: Path, umask: str) -> None:
    command = [sys.executable, "-c", MAKER, umask, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    modes = [line.split(maxsplit=2) for line in done.stdout.splitlines() if line.startswith("0")]
    names = {line[2] for line in modes}
    beside = {f"new/deep/tasks.db{suffix}" for suffix in ("", "-wal", "-shm")}
    assert names >= beside | {"copy.db", "run/system-prompt.txt", "todo/todos.json", "log-md", "log-jsonl"}
    wrong = [line for line in modes if line[0] != ("0700" if line[1] == "folder" else "0600")]
    assert not wrong


@pytest.fixture
def made_database(path: Path) -> Path:
    with Store(str(path)):
        return path


def test_what_only_the_user_can_reach_is_not_warned_of(made_database: Path) -> None:
    assert list(paths.findings_on_database(made_database)) == []


def test_a_link_and_what_others_can_reach_is_warned_of_with_what_to_do(made_database: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.db"
    link.symlink_to(made_database)
    (said,) = paths.findings_on_database(link)
    assert "is a link" in said
    made_database.chmod(0o660)
    (said,) = paths.findings_on_database(made_database)
    assert f"chmod 600 '{made_database}'" in said
    made_database.chmod(0o600)
    made_database.parent.chmod(0o770)
    (said,) = paths.findings_on_database(made_database)
    assert f"chmod go-w '{made_database.parent}'" in said


@pytest.mark.skipif(os.getuid() != 0, reason="to give a file away takes root")
def test_a_file_of_another_user_is_warned_of_and_as_settings_not_believed(made_database: Path, tmp_path: Path) -> None:
    os.chown(made_database, 12345, -1)
    assert "another user's (id 12345)" in next(paths.findings_on_database(made_database))
    settings = tmp_path / "config.toml"
    settings.write_text('[runner]\ncommand = ["evil"]\n')
    os.chown(settings, 12345, -1)
    held, (problem,) = config.load(settings)
    assert held == config.Config()
    assert "another user's" in str(problem)


@pytest.mark.parametrize("what", ["the file", "its folder", "what a link leads to"])
def test_settings_that_everybody_can_write_are_not_believed(tmp_path: Path, what: str) -> None:
    settings = tmp_path / "own" / "config.toml"
    settings.parent.mkdir(mode=0o700)
    settings.write_text('[runner]\ncommand = ["evil"]\n')
    settings.chmod(0o600)
    assert config.load(settings)[0].runner
    if what == "the file":
        settings.chmod(0o602)
    elif what == "its folder":
        settings.parent.chmod(0o703)
    else:
        real = tmp_path / "real.toml"
        settings.rename(real)
        real.chmod(0o606)
        settings.symlink_to(real)
    held, (problem,) = config.load(settings)
    assert held == config.Config()
    assert "not used: everybody can write" in str(problem)
    assert "chmod go-w" in str(problem)


def test_settings_and_themes_that_the_group_can_write_are_warned_of(tmp_path: Path) -> None:
    themes = tmp_path / "themes"
    themes.mkdir(mode=0o700)
    assert list(paths.findings_on_settings(themes, "themes")) == []
    themes.chmod(themes.stat().st_mode | stat.S_IWGRP)
    (said,) = paths.findings_on_settings(themes, "themes")
    assert f"others can write the themes at {themes}" in said


def test_the_commands_say_who_else_can_reach_the_database(made_database: Path, tmp_path: Path) -> None:
    made_database.chmod(0o666)
    command = [sys.executable, "-m", "tui_tasks", "serve", "--no-scheduler", "--db", str(made_database)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
    assert f"chmod 600 '{made_database}'" in done.stderr


@pytest.mark.parametrize("data", [None, "", "/data", "/data/", "relative", " ", "~/data", "/with a/space"])
@pytest.mark.parametrize("home", ["/home/someone", "/", "relative", None])
def test_they_are_what_platformdirs_says(monkeypatch: pytest.MonkeyPatch, data: str | None, home: str | None) -> None:
    for name, value in (("XDG_DATA_HOME", data), ("XDG_CONFIG_HOME", data), ("HOME", home)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    assert default_database() == str(platformdirs.user_data_path(NAME, appauthor=False) / "tasks.db")
    assert default_configuration() == str(platformdirs.user_config_path(NAME, appauthor=False) / "config.toml")
