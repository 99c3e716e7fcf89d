"""The page of clients: the client in bash works, and the schemas are those of what is said on the channel."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

from tests.contract.client import DEADLINE, ROOT, environment, program
from tests.docs import schema_page
from tui_tasks.cli.main import main

PAGE = (ROOT / "tui_tasks" / "docs" / "clients.md").read_text()


def test_the_client_in_bash_asks_hears_refusals_and_ends(tmp_path: Path) -> None:
    (code,) = re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL)
    assert len([line for line in code.splitlines() if line.strip()]) <= 20
    (tmp_path / "client.sh").write_text(code)
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "tui-tasks"
    script.write_text("#!/bin/sh\nexec " + " ".join(f'"{word}"' for word in program()) + ' "$@"\n')
    script.chmod(0o755)
    (tmp_path / "use.sh").write_text(
        ". ./client.sh; tasks_open --no-scheduler\n"
        "tasks control:subscribe\n"
        """tasks tasklist:add_task '{"name": "Build"}'\n"""
        "tasks tasklist:display\n"
        "tasks no:such || echo refused\n"
        "tasks_close; echo status $?\n"
    )
    env = environment(tmp_path)
    env["PATH"] = f"{tmp_path / 'bin'}:{env.get('PATH', '/usr/bin:/bin')}"
    done = subprocess.run(
        ["bash", "use.sh"], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=DEADLINE, check=False
    )
    *replies, refused, word, status = done.stdout.splitlines()
    assert [json.loads(reply)["id"] for reply in replies] == [1, 2, 3], done.stderr
    assert json.loads(replies[2])["result"][0]["name"] == "Build"
    assert json.loads(refused)["error"]["code"] == "unknown_tool"
    assert (word, status) == ("refused", "status 0")


def test_the_schemas_are_those_of_the_tool_table_and_are_printed(capsys) -> None:
    assert schema_page.FILE.read_text() == schema_page.text(), "python -m tests.docs.tools_page writes it anew"
    assert main(["schema"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["requests"].keys() == told["replies"].keys()
    assert {"message", "task.created", "lagged"} <= set(told["event"]["properties"]["event"]["enum"])
    assert "not_found" in told["refusal"]["properties"]["error"]["properties"]["code"]["enum"]
