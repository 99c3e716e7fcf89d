"""Runs of the agent programs themselves, which npm has installed in a folder (see `tests.hooks.test_real_programs`)."""

from pathlib import Path

import pytest

from tests.hooks.test_real_programs import QUIET, scripted, touch
from tests.runner.hosting import Host, hosted, runners, until
from tui_tasks import clock
from tui_tasks.core.operations.asks import AnswerAsk, SendMessage
from tui_tasks.core.read.tasks import queries


@pytest.fixture
def programs(request: pytest.FixtureRequest) -> Path:
    folder = request.config.getoption("--agents")
    if folder is None:
        pytest.skip("not run: give --agents FOLDER, in which npm has installed the programs")
    return Path(folder).resolve() / "node_modules" / ".bin"


def test_claude_code_is_started_asked_and_written_to(programs, store, path, tmp_path):
    host = Host(store)
    with scripted([touch("one"), touch("two"), {"type": "text", "text": "Done."}]) as model:
        environment = [f"{name}=1" for name in QUIET]
        environment += [f"HOME={tmp_path}", "ANTHROPIC_API_KEY=sk-ant-dummy", f"PATH={programs}:/usr/bin:/bin"]
        environment += [f"ANTHROPIC_BASE_URL=http://127.0.0.1:{model.server_address[1]}"]
        folder = tmp_path / "project"
        folder.mkdir()
        table = runners(kind="claude", cwd=str(folder), environment=environment, args=["--permission-mode", "default"])
        with hosted(str(path), table):
            run = host.start("agent")
            for part, answer in (("touch one", "Allow"), ("touch two", "Deny: not that one")):
                (ask,) = until(lambda: queries.open_asks(store.db), f"the question about {part}")
                assert part in ask.question
                store.commit(SendMessage("claude-1", f"after {part}"), actor="human", now=clock.now())
                store.commit(AnswerAsk(ask.uid, answer), actor="human", now=clock.now())
                until(lambda: not queries.open_asks(store.db), "its end")
            ended = host.ended(run)
        assert (ended.outcome, ended.result) == ("success", "Done.")
        assert ended.cost_usd is not None
        assert [(folder / name).exists() for name in ("one", "two")] == [True, False]
        assert "after touch one" in model.heard[1]
