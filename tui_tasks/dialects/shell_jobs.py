"""The tool behind `jobs new`: apart from the other tools of commands, which import nothing of jobs."""

from __future__ import annotations

from typing import Any

from tui_tasks.core.operations.jobs import CreateJob
from tui_tasks.dialects.command_tools import SHELL
from tui_tasks.dialects.requests.arguments import Arguments, Name, Text
from tui_tasks.dialects.scheduler import Schedule, Type, job_json
from tui_tasks.dialects.tool_table import Call

TOOLS = SHELL


class _Create(Arguments, kw_only=True):
    name: Name
    prompt: Text
    system_prompt: Text
    timezone: Text
    dedicated_context: bool
    kind: Type
    schedule: Schedule | None = None
    plan: list[Text] | None = None
    settings: dict[str, Any] = {}


@TOOLS.tool("shell:create_job", _Create, writes=True)
def create_job(call: Call, given: _Create) -> dict[str, Any]:
    """Create a job."""
    job = call.run(
        CreateJob(
            given.name,
            given.kind,
            given.system_prompt,
            given.prompt,
            given.timezone,
            schedule=None if given.schedule is None else given.schedule.fields(),
            plan=None if given.plan is None else tuple(given.plan),
            dedicated_context=given.dedicated_context,
            settings=given.settings,
        )
    )
    return job_json(job)
