"""The page of scripts: its clients work, and the schemas are those of what is said on the channel."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.client.test_client import CUTTER
from tests.contract.client import DEADLINE, ROOT, environment, program
from tests.docs import schema_page
from tui_tasks.cli.help import BASH
from tui_tasks.cli.main import main

PAGE = (ROOT / "tui_tasks" / "docs" / "scripts.md").read_text()


@pytest.fixture
def shell(tmp_path: Path):
    """Runs a script that has the client in bash; the lines that it prints."""
    (tmp_path / "bin").mkdir()
    starter = tmp_path / "bin" / "tui-tasks"
    starter.write_text("#!/bin/sh\nexec " + " ".join(f'"{word}"' for word in program()) + ' "$@"\n')
    starter.chmod(0o755)

    def run(script: str, options: str = "-euo pipefail") -> list[str]:
        (tmp_path / "use.sh").write_text(f"set {options}\nsource '{BASH}'\n{script}")
        env = environment(tmp_path)
        env["PATH"] = f"{starter.parent}:{env.get('PATH', '/usr/bin:/bin')}"
        done = subprocess.run(
            ["bash", "use.sh"], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=DEADLINE, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    run.starter = starter
    return run


def test_the_example_in_bash_loads_the_client_from_the_program_and_adds_a_task(shell) -> None:
    (code,) = re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL)
    (reply,) = shell(code)
    assert json.loads(reply)["result"]["name"] == "Build"


def test_the_client_in_bash_asks_hears_refusals_and_ends(shell) -> None:
    *replies, refused, word, status = shell(
        "tasks_open --no-scheduler\n"
        "tasks control:subscribe\n"
        """tasks tasklist:add_task '{"name": "Build"}'\n"""
        "tasks tasklist:display\n"
        "tasks no:such || echo refused\n"
        "tasks_close; echo status $?\n"
    )
    assert all(json.loads(reply)["ok"] for reply in replies)
    assert len({json.loads(reply)["id"] for reply in replies}) == 3
    assert json.loads(replies[2])["result"][0]["name"] == "Build"
    assert json.loads(refused)["error"]["code"] == "unknown_tool"
    assert (word, status) == ("refused", "status 0")


def test_the_client_in_bash_answers_what_cannot_be_parsed_and_takes_arguments_of_several_lines(shell) -> None:
    *refused, spread, there = shell(
        "tasks_open --no-scheduler\n"
        """for bad in '{' '[' '"' '{"name":' '{"name": "a'$'\\n''b"}'; do\n"""
        """  tasks tasklist:add_task "$bad" || [[ $? == 1 ]]\n"""
        "done\n"
        """tasks 'no"such' || [[ $? == 1 ]]\n"""
        """tasks tasklist:add_task $'{\\n  "name": "spread"\\n}\\n'\n"""
        "tasks tasklist:display\n"
        "tasks_close\n"
    )
    assert [json.loads(reply)["error"]["code"] for reply in refused] == ["parse_error"] * 6
    assert json.loads(spread)["result"]["name"] == "spread"
    assert [task["name"] for task in json.loads(there)["result"]] == ["spread"]


def test_the_client_in_bash_works_in_pipes_and_in_subshells(shell) -> None:
    replies = shell(
        "tasks_open --no-scheduler\n"
        """tasks tasklist:add_task '{"name": "one"}' | cat\n"""
        """(trap "" PIPE; echo from a pipe || true) | tasks tasklist:add_task '{"name": "two"}'\n"""
        """made=$(tasks tasklist:add_task '{"name": "three"}'); echo "$made"\n"""
        "tasks tasklist:display\n"
        "tasks_close\n"
    )
    assert [json.loads(reply)["result"]["name"] for reply in replies[:3]] == ["one", "two", "three"]
    assert [task["name"] for task in json.loads(replies[3])["result"]] == ["one", "two", "three"]


def test_the_client_in_bash_starts_another_server_where_one_was_killed_and_writes_once(shell, tmp_path) -> None:
    # The first server is killed in the midst of its reply to the second request.
    real, cut = shell.starter.with_name("real"), tmp_path / "cut.py"
    shell.starter.rename(real)
    cut.write_text(CUTTER)
    shell.starter.write_text(
        f'#!/bin/sh\n[ -e was-cut ] && exec "{real}" "$@"\n'
        f'exec "{sys.executable}" "{cut}" midst was-cut "{real}" "$@"\n'
    )
    shell.starter.chmod(0o755)
    *_, there, after, last = shell(
        "tasks_open --no-scheduler\n"
        """tasks tasklist:add_task '{"name": "first"}'\n"""
        """tasks tasklist:add_task '{"name": "in the midst"}'\n"""
        "tasks tasklist:display\n"
        'kill -9 "$TASKS_SERVER"\n'
        """tasks tasklist:add_task '{"name": "after"}'\n"""
        "tasks tasklist:display\n"
        "tasks_close\n"
    )
    assert (tmp_path / "was-cut").exists()
    assert [task["name"] for task in json.loads(there)["result"]] == ["first", "in the midst"]
    assert json.loads(after)["ok"]
    assert [task["name"] for task in json.loads(last)["result"]] == ["first", "in the midst", "after"]


def test_the_client_in_bash_gives_up_where_no_server_starts(shell) -> None:
    shell.starter.write_text("#!/bin/sh\nexit 1\n")
    assert shell("tasks_open; tasks tasklist:display || echo status $?\n", "-u") == ["status 2"]


def test_the_example_in_python_takes_a_task_and_says_where_there_is_none(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(from tui_tasks\.client.*?)```", PAGE, re.DOTALL)
    env = environment(tmp_path, TUI_TASKS_DB=str(tmp_path / "tasks.db"))

    def run(*command: str) -> tuple[int, str]:
        done = subprocess.run(
            command, env=env, capture_output=True, text=True, timeout=DEADLINE, check=False, cwd=tmp_path
        )
        return done.returncode, done.stdout + done.stderr

    assert run(sys.executable, "-c", code) == (1, "nothing to do\n")
    assert run(*program("call", "tasklist:add_task", "name=Build"))[0] == 0
    assert run(sys.executable, "-c", code) == (0, "")
    status, told = run(*program("call", "tasklist:display"))
    assert (status, json.loads(told)[0]["status"]) == (0, "done")


def test_the_schemas_are_those_of_the_tool_table_and_are_printed(capsys) -> None:
    assert schema_page.FILE.read_text() == schema_page.text(), "python -m tests.docs.tools_page writes it anew"
    assert main(["schema"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["requests"].keys() == told["replies"].keys()
    assert {"message", "task.created", "lagged"} <= set(told["event"]["properties"]["event"]["enum"])
    assert "not_found" in told["refusal"]["properties"]["error"]["properties"]["code"]["enum"]
