import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.started import DEADLINE
from tui_tasks.core.engine import driver
from tui_tasks.core.engine.driver import Driver, is_faulty

HERE = f"{Path(driver.__file__).parents[2]}"


@pytest.mark.parametrize(
    ("version", "faulty"),
    [
        ((3, 40, 1), True),
        ((3, 44, 5), True),
        ((3, 44, 6), False),
        ((3, 45, 0), True),
        ((3, 50, 6), True),
        ((3, 50, 7), False),
        ((3, 51, 0), True),
        ((3, 51, 2), True),
        ((3, 51, 3), False),
        ((3, 53, 4), False),
        ((4, 0, 0), False),
    ],
)
def test_a_library_with_the_wal_reset_bug_is_told(version, faulty):
    assert is_faulty(version) is faulty


def started(folder: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess:
    """A process that finds the modules of `folder` before those that are installed."""
    return subprocess.run(
        [sys.executable, *arguments],
        env=os.environ | {"PYTHONPATH": f"{folder}{os.pathsep}{HERE}", driver.DRIVER: ""} | environ,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )


def pretend(folder: Path, name: str, text: str) -> None:
    """A package of that name, in place of the one that is installed."""
    (folder / name).mkdir()
    (folder / name / "__init__.py").write_text(text)
    (folder / name / "dbapi2.py").write_text(text)


OLD = "from _sqlite3 import *\nsqlite_version_info = (3, 40, 1)\n"
OLDER = "from _sqlite3 import *\nsqlite_version_info = (3, 34, 1)\n"
GONE = "raise ModuleNotFoundError"
BROKEN = "raise ImportError('GLIBC_2.38 not found')"
USED = "from tui_tasks.core.engine import driver; from tui_tasks.core.engine import orm; print(driver.driver_name)"


@pytest.mark.parametrize("pysqlite3", [OLD, GONE, BROKEN], ids=["linked to an old SQLite", "not there", "broken"])
def test_apsw_is_used_where_pysqlite3_is_of_no_use(tmp_path, pysqlite3):
    pretend(tmp_path, "pysqlite3", pysqlite3)
    assert started(tmp_path, "-c", USED).stdout == "apsw\n"


def test_pysqlite3_is_used_where_it_brings_a_sound_sqlite(tmp_path):
    pytest.importorskip("pysqlite3", reason="this platform has no wheels of it")
    assert started(tmp_path, "-c", USED).stdout == "pysqlite3\n"


def test_a_process_loads_no_driver_but_the_one_it_uses_and_one_for_peewee(tmp_path):
    for name, peewees in (("pysqlite3", []), ("apsw", ["sqlite3"])):
        loaded = "import sys; print(sorted({'sqlite3', 'pysqlite3', 'apsw'} & sys.modules.keys()))"
        if name == "pysqlite3":
            pytest.importorskip("pysqlite3", reason="this platform has no wheels of it")
        done = started(tmp_path, "-c", f"{USED}\n{loaded}", TUI_TASKS_SQLITE_DRIVER=name)
        assert done.stdout == f"{name}\n{[name, *peewees]}\n", done.stderr


def test_what_peewee_hardly_uses_is_imported_at_its_first_use_and_is_the_module_itself(tmp_path):
    script = (
        "import sys, tui_tasks.core.engine.orm, peewee\n"
        "names = 'calendar', 'inspect', 'json', 'socket'\n"
        "assert not {*names} & {*sys.modules}\n"
        "assert peewee.isclass(int) and not peewee.isclass(1)\n"
        "timegm = peewee.calendar.timegm\n"
        "import calendar, inspect\n"
        "assert timegm is calendar.timegm\n"
        "assert inspect.isclass.__module__ == 'inspect'\n"
        "assert not hasattr(peewee.socket, 'nothing')\n"
    )
    done = started(tmp_path, "-c", script)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_refusal_tells_a_driver_that_is_not_installed_from_one_with_an_old_sqlite(tmp_path):
    pretend(tmp_path, "pysqlite3", OLD)
    pretend(tmp_path, "apsw", GONE)
    pretend(tmp_path, "sqlite3", OLDER)
    done = started(tmp_path, "-m", "tui_tasks", "add", "a task", "--db", str(tmp_path / "state" / "tasks.db"))
    assert done.returncode == 1
    assert "pysqlite3 is installed and linked to SQLite 3.40.1" in done.stderr
    assert "apsw is not installed" in done.stderr
    assert "Python's own is linked to SQLite 3.34.1" in done.stderr
    assert f"{sys.executable} -m pip install --upgrade --only-binary apsw" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "state").exists()


def test_the_refusal_tells_what_is_installed_and_does_not_load(tmp_path):
    pretend(tmp_path, "pysqlite3", BROKEN)
    pretend(tmp_path, "apsw", "def sqlite_lib_version(): return '3.46.0'")
    pretend(tmp_path, "sqlite3", OLDER)
    done = started(tmp_path, "-m", "tui_tasks", "add", "a task", "--db", str(tmp_path / "tasks.db"))
    assert "pysqlite3 is installed and cannot be loaded (GLIBC_2.38 not found)" in done.stderr
    assert "apsw is installed and cannot be loaded" in done.stderr


@pytest.mark.parametrize(
    "command", [("add", "a task"), ("doctor",), ("serve",), ("watch", "--plain"), ()], ids=" ".join
)
def test_without_any_driver_a_command_is_refused_in_one_line(tmp_path, command):
    for name in ("pysqlite3", "apsw", "sqlite3"):
        pretend(tmp_path, name, GONE)
    done = started(tmp_path, "-m", "tui_tasks", *command, "--db", str(tmp_path / "state" / "tasks.db"))
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "no SQLite driver" in line
    assert "pysqlite3 is not installed; apsw is not installed; sqlite3 is not installed" in line
    assert f"{sys.executable} -m pip install --upgrade --only-binary apsw" in line
    assert not (tmp_path / "state").exists()


def test_each_driver_is_named_with_what_was_found():
    module = type("module", (), {"sqlite_version_info": (3, 50, 4)})
    said = driver.refusal([Driver("pysqlite3", None, "pysqlite3 is not installed"), Driver("apsw", module)])
    assert "pysqlite3 is not installed; apsw is installed and linked to SQLite 3.50.4." in said
