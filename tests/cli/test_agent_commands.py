"""`prime`: what an agent needs to know to start."""

from tests.talking import add
from tui_tasks.cli import agent_commands
from tui_tasks.core.read.tasks import ready_tasks


def test_prime_counts_what_is_open_and_reads_no_more_tasks_than_it_tells(talk, monkeypatch):
    uids = [add(talk, str(number)) for number in range(20)]
    talk.ok("tasklist:set_task_done", uid=uids[0])
    read = []
    made = ready_tasks.read_task
    monkeypatch.setattr(ready_tasks, "read_task", lambda row: read.append(row) or made(row))
    told = agent_commands.text(talk.session)
    assert "Open tasks: 19\n" in told
    assert "- and 7 more:" in told
    assert 0 < len(read) <= agent_commands.MAX_TASKS + 1
