"""Every tool that reads, asked for sixty things of a megabyte each and for a list of very many: what each takes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from tests.benchmarks.fill import fill
from tests.soak.speaking import Speaker, memory, serve
from tui_tasks import clock
from tui_tasks.core.operations.tasks import EnsureList
from tui_tasks.core.store import Store
from tui_tasks.dialects.tool_table import TABLE

LONG: Final = 900_000
COUNT: Final = 60
MANY: Final = "many"
# Tools that tell of one thing, or of what no agent can make long.
SHORT: Final = frozenset(
    {
        *(
            "control:hello",
            "control:subscribe",
            "control:unsubscribe",
            "control:cancel",
            "control:task",
            "control:agents",
        ),
        *("control:answer_of", "tasklist:get_task_in_progress", "tasklist:get_task", "scheduler:show_task"),
        *("scheduler:wait_for_task", "get_session_state"),
    }
)
_STATUSES: Final = ["pending", "in_progress", "done", "failed", "skipped"]


def reads(*, task: str, job: str) -> dict[str, list[dict[str, Any]]]:
    """What is asked of each tool that may have much to tell."""
    return {
        "control:find": [{"limit": 100}, {"text": "task"}],
        "control:history": [{"limit": 10_000}],
        "control:lists": [{}],
        "tasklist:get_task_logs": [{"uid": task}],
        "tasklist:get_tasks": [{"status": _STATUSES}],
        "tasklist:display": [{}],
        "task": [{"action": "list"}, {"action": "list", "query": "task", "limit": 10_000_000}],
        "agent": [{"action": "list_tasks"}],
        "todo": [{"merge": True, "todos": [{"id": word, "content": word, "status": "pending"} for word in "ab"]}],
        "memory": [{"action": "list"}, {"action": "search", "query": "d"}],
        "scheduler:list_tasks": [{}],
        "scheduler:find_task_by_name": [{"name": "job"}],
        "scheduler:get_runs": [{"uuid": job, "limit": 100_000}],
        "tasks": [{"action": "list_plans"}, {"action": "pending"}, {"action": "notes", "id": task}],
        "get_plans": [{}],
        "get_pending_tasks": [{"suggest_next": True}],
        "get_my_tasks": [{"agent_id": "agent"}],
    }


def fill_long(ok: Callable[..., Any], count: int, length: int = LONG) -> dict[str, str]:
    """Put so many long things of each kind into a database by requests that `ok` makes; return what `reads` takes."""
    text = "d" * length
    for number in range(count):
        task = ok("tasklist:add_task", name=f"task {number}", description=text)["uid"]
        ok("tasks", action="update", id=task, agent_id="agent")
        board = ok("task", action="create", title=f"task {number}", description=text)["structuredContent"]["task"]
        ok("task", action="update", task_id=board["task_id"], status="completed", result={"text": text})
        ok("create_plan", title=f"plan {number}", description=text, tasks=[])
        ok("scheduler:create_adhoc_task", name=f"job {number}", system_prompt="s", prompt=text)
        items = [{"id": f"{number} {end}", "content": "c" * 9_000, "status": "pending"} for end in "ab"]
        ok("todo", merge=True, todos=items)
    job = ok("scheduler:create_adhoc_task", name="of runs", system_prompt="s", prompt="p")["uuid"]
    for _ in range(count):
        ok("tasklist:log_task_progress", uid=task, message=text)
        run = ok("scheduler:run_task", uuid=job)["run_id"]
        ok("scheduler:finish_run", run_id=run, outcome="success", result=text)
    return {"task": task, "job": job}


def fill_many(database: Path, count: int) -> dict[str, str]:
    """Put so many small tasks into the list `MANY`; return what `reads` takes."""
    with Store(str(database)) as store:
        store.commit(EnsureList(MANY, "task"), actor="agent", now=clock.now())
    fill(database, count, MANY)
    with serve(database) as speaker:
        task = speaker.ok("tasklist:display", {"list": MANY}, limit=1)[0]["uid"]
        job = speaker.ok("scheduler:create_adhoc_task", name="job", system_prompt="s", prompt="p")["uuid"]
    return {"task": task, "job": job}


def of_tools(database: Path, named: dict[str, str], most: int, *options: str) -> dict[str, tuple[int, int]]:
    """What each tool's longest reply took of memory, and how many bytes it had; no more than `most` is taken."""
    told: dict[str, tuple[int, int]] = {}
    for tool, calls in reads(**named).items():
        with serve(database, *options) as speaker:
            speaker.ok("control:hello")
            before = memory(speaker.pid, "VmHWM")
            size = max(_size(speaker, tool, arguments) for arguments in calls)
            took = memory(speaker.pid, "VmHWM") - before
        assert took <= most, f"{tool}: {took >> 20} MiB for a reply of {size >> 20} MiB"
        told[tool] = took, size
    return told


def not_asked(named: dict[str, str]) -> set[str]:
    """The tools of the table that read and are neither short nor looked at."""
    of_table = {name for name, tool in TABLE.tools.items() if not tool.ever_writes and not tool.human}
    return of_table - SHORT - reads(**named).keys()


def _size(speaker: Speaker, tool: str, arguments: dict[str, Any]) -> int:
    """Ask, and read the reply without holding it; return how long it is."""
    speaker.send(json.dumps({"id": 1, "tool": tool, "args": arguments}).encode() + b"\n")
    assert speaker.process.stdout is not None
    fd, size, head, last = speaker.process.stdout.fileno(), 0, b"", b""
    while not last.endswith(b"\n"):
        last = os.read(fd, 1 << 16)
        assert last, "it has ended"
        head = head or last[:40]
        size += len(last)
    assert b'"ok":true' in head, last[:1_000]
    return size
