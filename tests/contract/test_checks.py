"""Checks over real processes: an agent that lies is told to have proven nothing (docs: protocol, section 11)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests import fork_server
from tests.fork_server import Forked
from tests.started import DEADLINE, until

REPORTS = 200


def test_an_agent_that_lies_gets_no_pass_by_any_door(tmp_path: Path) -> None:
    tree, database = tmp_path / "tree", tmp_path / "tasks.db"
    (tree / "src").mkdir(parents=True)
    source = tree / "src" / "code"
    source.write_text("wrong")
    config, forged = tmp_path / "config.toml", tmp_path / "forged.toml"
    config.write_text(
        f'[check.right]\ncommand = ["grep", "-q", "right", "src/code"]\ncwd = "{tree}"\n'
        'inputs = ["src/**"]\nlists = ["tasklist"]\n'
    )
    forged.write_text(f'[check.right]\ncommand = ["true"]\ncwd = "{tree}"\nlists = ["tasklist"]\n')
    for file in (config, forged):
        file.chmod(0o600)
    program = [sys.executable, "-m", "tui_tasks"]
    environment = os.environ | {"TUI_TASKS_CONFIG": str(config)}
    serve = Forked(
        [*program, "serve", "--db", str(database)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )

    def ask(tool: str, **arguments: object) -> dict:
        serve.stdin.write(json.dumps({"tool": tool, "arguments": arguments}) + "\n")
        serve.stdin.flush()
        return json.loads(serve.stdout.readline())

    def call(settings: Path, *words: str) -> None:
        given = environment | {"TUI_TASKS_CONFIG": str(settings)}
        command = [*program, "call", "--db", str(database), *words]
        fork_server.run(command, env=given, capture_output=True, timeout=DEADLINE, check=False)

    def verified(uid: str) -> str:
        return ask("control:task", uid=uid)["result"]["verified"]

    def states(uid: str) -> list[str]:
        return [check["state"] for check in ask("control:task", uid=uid)["result"]["checks"]]

    try:
        uids = [ask("tasklist:add_task", name=f"task {at}")["result"]["uid"] for at in range(REPORTS)]
        for uid in uids:
            assert ask("tasklist:set_task_done", uid=uid)["ok"]
            assert verified(uid) != "passed"
        call(forged, "control:request_check", f"uid={uids[0]}")
        call(forged, "tasklist:set_task_done", f"uid={uids[0]}", "verified=passed")
        until(lambda: "failed" in {verified(uid) for uid in (uids[0], uids[-1])}, "a check that fails")
        assert "passed" not in {verified(uid) for uid in uids}
        source.write_text("right")
        honest = ask("tasklist:add_task", name="honest")["result"]["uid"]
        ask("control:request_check", uid=honest)
        # The forged file has added a check of its own, which nobody runs, and taken none away.
        until(lambda: "passed" in states(honest), "a check that passes")
        assert sorted(states(honest)) == ["passed", "unproven"]
        source.write_text("edited after the pass")
        assert sorted(states(honest)) == ["stale", "unproven"]
    finally:
        serve.stdin.close()
        serve.wait(DEADLINE)
