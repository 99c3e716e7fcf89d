"""Files that are put in place of others: what a power cut can leave, and who else has a say in it."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests import fork_server
from tests.soak import disk
from tests.soak.disk import Disk, Record
from tests.soak.native import NotHere, preloaded
from tests.started import DEADLINE
from tui_tasks.core.engine import file_writes

TWICE = """
import sys
from pathlib import Path
from tui_tasks.settings import config
for theme in ("nord", "gruvbox"):
    config.keep_theme(Path(sys.argv[1]), theme)
"""
FILE = Path("new/config.toml")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder on which the recorder looks."""
    made = tmp_path_factory.mktemp("recorded") / "disk"
    made.mkdir()
    return made


@pytest.fixture(scope="module")
def calls(root: Path) -> list[Record]:
    """What is done to the disk when a theme is chosen, and then another, where there were no settings."""
    log = root.with_name("log")
    try:
        env = preloaded(root.parent, root, log=log)
    except NotHere as why:
        pytest.skip(str(why))
    subprocess.run([sys.executable, "-c", TWICE, str(root / FILE)], env=env, check=True, timeout=DEADLINE)
    assert (root / FILE).read_text() == 'theme = "gruvbox"\n'
    return [record for record in disk.records(log) if record.op not in ("read", "open")]


def test_a_settings_file_is_synced_before_it_has_its_name_and_its_folder_after(calls: list[Record]) -> None:
    first, second = [at for at, record in enumerate(calls) if record.op == "create"]
    assert [record.op for record in calls[:first]] == ["mkdir", "sync_folder"]
    for written in (calls[first:second], calls[second:]):
        assert [record.op for record in written] == ["create", "write", "sync", "rename", "sync_folder"]
        made, content, synced, renamed, folder = written
        assert made.path == content.path == synced.path == renamed.path
        assert Path(renamed.data.decode()).name == FILE.name
        assert Path(folder.path) == Path(made.path).parent


@pytest.mark.parametrize("way", sorted(set(disk.WAYS)))
def test_a_power_cut_leaves_the_old_settings_or_the_new_whole(calls: list[Record], root: Path, way: str) -> None:
    now, chance = Disk(root), random.Random(3)
    begun = [at for at, record in enumerate(calls) if record.op == "create"]
    for at, record in enumerate(calls):
        now.do(record)
        for _ in range(5):
            left = now.left(way, chance).get(FILE)
            may_be = {None} if at < begun[0] else {None, "nord"} if at < begun[1] else {"nord", "gruvbox"}
            assert left in {each and f'theme = "{each}"\n'.encode() for each in may_be}
    assert now.left(disk.NOTHING, chance)[FILE] == b'theme = "gruvbox"\n'


@pytest.mark.parametrize("umask", ["000", "002", "022", "077"])
def test_settings_that_a_theme_is_written_into_are_the_users_own(tmp_path: Path, umask: str) -> None:
    file = tmp_path / "deep" / FILE
    command = [sys.executable, "-c", f"import os; os.umask(0o{umask})\n{TWICE}", str(file)]
    fork_server.run(command, check=True, timeout=DEADLINE)
    assert file.stat().st_mode & 0o777 == 0o600
    for folder in (file.parent, tmp_path / "deep"):
        assert folder.stat().st_mode & 0o777 == 0o700


def test_a_file_is_written_beside_under_a_name_that_nobody_can_guess(tmp_path: Path, monkeypatch) -> None:
    beside = []
    replace = Path.replace

    def noted(self: Path, target: Path) -> Path:
        beside.append(self)
        assert self.parent == tmp_path
        assert self.stat().st_mode & 0o777 == 0o600
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", noted)
    for content in (b"one", b"two"):
        file_writes.replace(tmp_path / "file", content)
        assert (tmp_path / "file").read_bytes() == content
    assert len(set(beside)) == 2
    assert [each.name for each in tmp_path.iterdir()] == ["file"]
