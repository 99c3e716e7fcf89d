"""The review lane as real processes have it from the configuration file (docs: protocol, section 11)."""

from __future__ import annotations

import json
from pathlib import Path

from tests import fork_server
from tests.contract.client import DEADLINE, Agent, environment, program


def test_what_the_configuration_names_is_held_whichever_process_files_it(tmp_path: Path) -> None:
    config, db = tmp_path / "config.toml", tmp_path / "tasks.db"
    config.write_text('[review]\nlists = ["tasklist"]\nlimit = 2\n')
    config.chmod(0o600)
    with Agent(db, "--no-scheduler", TUI_TASKS_CONFIG=str(config)) as agent:
        uid = agent.ok("tasklist:add_task", name="by a channel")["uid"]
        command = program("call", "--db", str(db), "tasklist:add_task", "name=by call")
        made = fork_server.run(
            command,
            capture_output=True,
            check=True,
            env=environment(tmp_path, TUI_TASKS_CONFIG=str(config)),
            timeout=DEADLINE,
        )
        for held in (uid, json.loads(made.stdout)["uid"]):
            assert agent.ok("control:task", uid=held)["held"]
        assert agent.refused("tasklist:add_task", name="a third")["data"]["limit"] == 2
        # What is said there holds at once, also in a process that has begun before.
        config.write_text('[review]\nlists = ["tasklist"]\nlimit = 25\n')
        agent.ok("tasklist:add_task", name="a third")
        agent.finish()
