"""`admin roles`: what is printed, without a server and without psycopg."""

import subprocess
import sys

import pytest

from tests.contract.client import environment
from tui_tasks.cli.main import main


def test_one_role_of_each_kind_is_printed_where_none_is_named(capsys) -> None:
    assert main(["admin", "roles"]) == 0
    printed = capsys.readouterr().out
    assert printed.count("LOGIN") == 3
    for row in ("(E'tasks_agent', 'agent', E'claude-*')", "(E'tasks_human', 'human', NULL)"):
        assert row in printed
    assert "tasks_monitor', 'human" not in printed


def test_named_roles_alone_are_printed(capsys) -> None:
    assert main(["admin", "roles", "--agent", "build=claude-*", "--agent", "robin", "--monitor", "board"]) == 0
    printed = capsys.readouterr().out
    assert "(E'build', 'agent', E'claude-*')" in printed
    assert "(E'robin', 'agent', E'robin')" in printed
    assert "human'" not in printed
    assert printed.count("LOGIN") == 3


@pytest.mark.parametrize("given", [["--agent", "build=*"], ["--human", 'a"b'], ["--agent", "=x"]])
def test_a_role_that_could_not_be_meant_is_refused(given, capsys) -> None:
    assert main(["admin", "roles", *given]) == 1
    assert capsys.readouterr().out == ""


def test_they_are_printed_without_psycopg(tmp_path) -> None:
    script = (
        "import sys; sys.modules['psycopg'] = None; from tui_tasks.cli.main import main; sys.exit(main(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "admin", "roles"], capture_output=True, text=True, env=environment(tmp_path)
    )
    assert (done.returncode, done.stderr) == (0, "")
