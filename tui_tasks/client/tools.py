"""The tools as methods, and which of them write.

Made from the tool table by `python -m tests.docs.tools_page`; a test holds that it is current.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Literal

WRITES = frozenset(
    {
        "agent",
        "ask",
        "control:claim",
        "control:heartbeat",
        "control:link",
        "control:release",
        "control:request_check",
        "control:undo",
        "control:update_task",
        "create_plan",
        "link_task_nodes",
        "save_session_state",
        "scheduler:create_adhoc_task",
        "scheduler:create_planned_task",
        "scheduler:create_scheduled_task",
        "scheduler:delete_task",
        "scheduler:disable_task",
        "scheduler:enable_task",
        "scheduler:finish_run",
        "scheduler:run_task",
        "scheduler:update_task",
        "task",
        "tasklist:add_task",
        "tasklist:add_task_after",
        "tasklist:add_task_before",
        "tasklist:clear",
        "tasklist:delete_task",
        "tasklist:log_task_progress",
        "tasklist:set_task_done",
        "tasklist:set_task_failed",
        "tasklist:set_task_in_progress",
        "tasklist:set_task_pending",
        "tasklist:set_task_skipped",
        "tasklist:swap_tasks",
        "tasklist:update_task",
        "tasks",
        "todo",
        "update_task",
    }
)


class Tools:
    """Each tool as a method that returns its result."""

    def _call(self, tool: str, arguments: dict[str, Any]) -> Any:
        raise NotImplementedError

    def control_hello(self, *, tools: list[str] | None = None) -> Any:
        """Learn how you are known here, and which tools there are."""
        return self._call("control:hello", {"tools": tools})

    def control_history(self, *, since: int | None = None, limit: int | None = None, task: str | None = None) -> Any:
        """Read what happened: who changed what, when, from what to what, and why."""
        return self._call("control:history", {"since": since, "limit": limit, "task": task})

    def control_task(self, *, uid: str) -> Any:
        """Read one task with every field; its `version`, as `if_version`, lets you write only if it is unchang."""
        return self._call("control:task", {"uid": uid})

    def control_update_task(self, *, uid: str, due: str | None = None, estimate: int | None = None) -> Any:
        """Set what no other tool sets: when a task is due, and how long it is thought to take."""
        return self._call("control:update_task", {"uid": uid, "due": due, "estimate": estimate})

    def control_link(
        self,
        *,
        uid: str,
        kind: Literal["branch", "commit", "file", "pull_request"],
        target: str,
        remove: bool | None = None,
    ) -> Any:
        """Link a task to its work: a branch, a commit, a pull request or a file; `remove` unlinks."""
        return self._call("control:link", {"uid": uid, "kind": kind, "target": target, "remove": remove})

    def control_agents(self, *, everyone: bool | None = None) -> Any:
        """See who works here: sessions of agent programs, and agents of this channel, oldest first, each with ."""
        return self._call("control:agents", {"everyone": everyone})

    def control_undo(self) -> Any:
        """Take back your own newest change that still stands: a request, or a batch, is one."""
        return self._call("control:undo", {})

    def control_request_check(self, *, uid: str, check: str | None = None) -> Any:
        """Run a task's checks, which the human has set, now."""
        return self._call("control:request_check", {"uid": uid, "check": check})

    def control_claim(self, *, list: str | None = None, lease_seconds: int | None = None) -> Any:
        """Take the next task for yourself: the most urgent, then oldest pending one that waits for no other."""
        return self._call("control:claim", {"list": list, "lease_seconds": lease_seconds})

    def control_heartbeat(self, *, claim: str) -> Any:
        """Keep a claimed task: its lease runs anew from now."""
        return self._call("control:heartbeat", {"claim": claim})

    def control_release(self, *, claim: str) -> Any:
        """Give a claimed task back as pending, for another to take."""
        return self._call("control:release", {"claim": claim})

    def ask(
        self,
        *,
        question: str,
        options: list[str] | None = None,
        task: str | None = None,
        timeout: float | None = None,
        wait: float | None = None,
    ) -> Any:
        """Ask the human a question, for decisions that are not yours and for approval."""
        return self._call(
            "ask", {"question": question, "options": options, "task": task, "timeout": timeout, "wait": wait}
        )

    def control_answer_of(self, *, ask: str, wait: float | None = None) -> Any:
        """Read the human's answer to a question that you asked before; `state`: open, answered, withdrawn or t."""
        return self._call("control:answer_of", {"ask": ask, "wait": wait})

    def tasklist_add_task(self, *, name: str, description: str | None = None) -> Any:
        """Append a task to the tasklist, to plan work as steps."""
        return self._call("tasklist:add_task", {"name": name, "description": description})

    def tasklist_add_task_before(self, *, uid: str, name: str, description: str | None = None) -> Any:
        """Insert a task right before another, into its list."""
        return self._call("tasklist:add_task_before", {"uid": uid, "name": name, "description": description})

    def tasklist_add_task_after(self, *, uid: str, name: str, description: str | None = None) -> Any:
        """Insert a task right after another, into its list."""
        return self._call("tasklist:add_task_after", {"uid": uid, "name": name, "description": description})

    def tasklist_delete_task(self, *, uid: str) -> Any:
        """Remove a task."""
        return self._call("tasklist:delete_task", {"uid": uid})

    def tasklist_update_task(
        self,
        *,
        uid: str,
        name: str | None = None,
        description: str | None = None,
        status: Literal["done", "failed", "in_progress", "pending", "skipped"] | None = None,
    ) -> Any:
        """Set a task's name, description or status; at least one."""
        return self._call(
            "tasklist:update_task", {"uid": uid, "name": name, "description": description, "status": status}
        )

    def tasklist_swap_tasks(self, *, uid1: str, uid2: str) -> Any:
        """Let two tasks of one list change places."""
        return self._call("tasklist:swap_tasks", {"uid1": uid1, "uid2": uid2})

    def tasklist_set_task_pending(self, *, uid: str) -> Any:
        """Set a task's status to "pending": it is to be done, and nobody works on it."""
        return self._call("tasklist:set_task_pending", {"uid": uid})

    def tasklist_set_task_in_progress(self, *, uid: str) -> Any:
        """Set a task's status to "in_progress": you start to work on it."""
        return self._call("tasklist:set_task_in_progress", {"uid": uid})

    def tasklist_set_task_done(self, *, uid: str) -> Any:
        """Set a task's status to "done": it was completed successfully."""
        return self._call("tasklist:set_task_done", {"uid": uid})

    def tasklist_set_task_failed(self, *, uid: str) -> Any:
        """Set a task's status to "failed": it could not be completed."""
        return self._call("tasklist:set_task_failed", {"uid": uid})

    def tasklist_set_task_skipped(self, *, uid: str) -> Any:
        """Set a task's status to "skipped": you will not do it, but keep it for reference."""
        return self._call("tasklist:set_task_skipped", {"uid": uid})

    def tasklist_log_task_progress(self, *, uid: str, message: str) -> Any:
        """Add a log entry to a task, for the human and for your later self."""
        return self._call("tasklist:log_task_progress", {"uid": uid, "message": message})

    def tasklist_get_task_logs(self, *, uid: str) -> Any:
        """Read a task's log, oldest first."""
        return self._call("tasklist:get_task_logs", {"uid": uid})

    def tasklist_get_task_in_progress(self) -> Any:
        """Read the task that is in progress; null when there is none."""
        return self._call("tasklist:get_task_in_progress", {})

    def tasklist_get_task(self, *, uid: str) -> Any:
        """Read one task, whichever list it is in."""
        return self._call("tasklist:get_task", {"uid": uid})

    def tasklist_get_tasks(
        self,
        *,
        status: list[Literal["done", "failed", "in_progress", "pending", "skipped"]],
        limit: int | None = None,
        after: str | None = None,
        brief: bool | None = None,
    ) -> Any:
        """Read the tasks that have one of the given statuses, in order."""
        return self._call("tasklist:get_tasks", {"status": status, "limit": limit, "after": after, "brief": brief})

    def tasklist_clear(self) -> Any:
        """Delete every task of the tasklist, whatever its status."""
        return self._call("tasklist:clear", {})

    def tasklist_display(self, *, limit: int | None = None, after: str | None = None, brief: bool | None = None) -> Any:
        """Read the tasklist in order; logs are read apart, with tasklist:get_task_logs."""
        return self._call("tasklist:display", {"limit": limit, "after": after, "brief": brief})

    def task(
        self,
        *,
        action: Literal["create", "list", "update"],
        title: str | None = None,
        description: str | None = None,
        status: Literal["cancelled", "completed", "in_progress", "open"] | None = None,
        priority: Literal["high", "low", "medium", "urgent"] | None = None,
        tags: list[str] | None = None,
        domain: str | None = None,
        metadata: dict[str, Any] | None = None,
        task_id: str | None = None,
        result: dict[str, Any] | None = None,
        query: str | None = None,
        limit: int | None = None,
        after: str | None = None,
        brief: bool | None = None,
    ) -> Any:
        """The task board: tasks that have a priority, tags and a domain."""
        return self._call(
            "task",
            {
                "action": action,
                "title": title,
                "description": description,
                "status": status,
                "priority": priority,
                "tags": tags,
                "domain": domain,
                "metadata": metadata,
                "task_id": task_id,
                "result": result,
                "query": query,
                "limit": limit,
                "after": after,
                "brief": brief,
            },
        )

    def agent(self, *, action: str) -> Any:
        """Deprecated: use `task`."""
        return self._call("agent", {"action": action})

    def memory(
        self,
        *,
        action: Literal["get", "list", "search"],
        query: str | None = None,
        domain: str | None = None,
        limit: int | None = None,
        memory_id: str | None = None,
    ) -> Any:
        """The memories: results of completed tasks, kept though the task be deleted."""
        return self._call(
            "memory", {"action": action, "query": query, "domain": domain, "limit": limit, "memory_id": memory_id}
        )

    def todo(
        self,
        *,
        merge: bool,
        todos: list[dict[str, Any]],
        as_type: Literal["dict", "pretty_str", "str"] | None = None,
        filter_empty_fields: bool | None = None,
        filter_metadata_fields: bool | None = None,
    ) -> Any:
        """Write your todo list: replace it, or merge items into it by their ids."""
        return self._call(
            "todo",
            {
                "merge": merge,
                "todos": todos,
                "as_type": as_type,
                "filter_empty_fields": filter_empty_fields,
                "filter_metadata_fields": filter_metadata_fields,
            },
        )

    def scheduler_list_tasks(
        self,
        *,
        state: list[Literal["disabled", "error", "idle", "running"]] | None = None,
        type: list[Literal["adhoc", "planned", "scheduled"]] | None = None,
    ) -> Any:
        """List the jobs, oldest first; look here before you create one."""
        return self._call("scheduler:list_tasks", {"state": state, "type": type})

    def scheduler_find_task_by_name(self, *, name: str) -> Any:
        """Find jobs by a part of their name, oldest first."""
        return self._call("scheduler:find_task_by_name", {"name": name})

    def scheduler_show_task(self, *, uuid: str) -> Any:
        """Read one job: what it does, when it runs next, how it last ended."""
        return self._call("scheduler:show_task", {"uuid": uuid})

    def scheduler_run_task(self, *, uuid: str, context: str | None = None, force: bool | None = None) -> Any:
        """Start an ad hoc job now, others only with `force`."""
        return self._call("scheduler:run_task", {"uuid": uuid, "context": context, "force": force})

    def scheduler_delete_task(self, *, uuid: str) -> Any:
        """Delete a job; what it runs is ended first."""
        return self._call("scheduler:delete_task", {"uuid": uuid})

    def scheduler_create_scheduled_task(
        self,
        *,
        name: str,
        system_prompt: str,
        prompt: str,
        schedule: dict[str, Any],
        timezone: str | None = None,
        dedicated_context: bool | None = None,
    ) -> Any:
        """Create a job that runs again and again by a cron."""
        return self._call(
            "scheduler:create_scheduled_task",
            {
                "name": name,
                "system_prompt": system_prompt,
                "prompt": prompt,
                "schedule": schedule,
                "timezone": timezone,
                "dedicated_context": dedicated_context,
            },
        )

    def scheduler_create_planned_task(
        self,
        *,
        name: str,
        system_prompt: str,
        prompt: str,
        plan: list[str],
        timezone: str | None = None,
        dedicated_context: bool | None = None,
    ) -> Any:
        """Create a job that runs at given moments."""
        return self._call(
            "scheduler:create_planned_task",
            {
                "name": name,
                "system_prompt": system_prompt,
                "prompt": prompt,
                "plan": plan,
                "timezone": timezone,
                "dedicated_context": dedicated_context,
            },
        )

    def scheduler_create_adhoc_task(
        self,
        *,
        name: str,
        system_prompt: str,
        prompt: str,
        timezone: str | None = None,
        dedicated_context: bool | None = None,
    ) -> Any:
        """Create a job that runs only when it is started."""
        return self._call(
            "scheduler:create_adhoc_task",
            {
                "name": name,
                "system_prompt": system_prompt,
                "prompt": prompt,
                "timezone": timezone,
                "dedicated_context": dedicated_context,
            },
        )

    def scheduler_wait_for_task(self, *, uuid: str, timeout: float | None = None) -> Any:
        """Wait until a running job with dedicated_context has ended, retries included; a null outcome: it neve."""
        return self._call("scheduler:wait_for_task", {"uuid": uuid, "timeout": timeout})

    def scheduler_update_task(
        self,
        *,
        uuid: str,
        name: str | None = None,
        system_prompt: str | None = None,
        prompt: str | None = None,
        schedule: dict[str, Any] | None = None,
        plan: list[str] | None = None,
        timezone: str | None = None,
        dedicated_context: bool | None = None,
        catch_up: Literal["all", "none", "one"] | None = None,
        catch_up_cap: int | None = None,
        stagger: int | None = None,
        start_deadline: int | None = None,
        overlap: Literal["allow", "queue", "skip"] | None = None,
        starts_per_hour: int | None = None,
        jitter: int | None = None,
        timeout: int | None = None,
        retries: int | None = None,
        retry_delay: int | None = None,
        pause_after: int | None = None,
        keep_runs: int | None = None,
        runner: str | None = None,
    ) -> Any:
        """Change a job, or how it is scheduled and run: at least one field."""
        return self._call(
            "scheduler:update_task",
            {
                "uuid": uuid,
                "name": name,
                "system_prompt": system_prompt,
                "prompt": prompt,
                "schedule": schedule,
                "plan": plan,
                "timezone": timezone,
                "dedicated_context": dedicated_context,
                "catch_up": catch_up,
                "catch_up_cap": catch_up_cap,
                "stagger": stagger,
                "start_deadline": start_deadline,
                "overlap": overlap,
                "starts_per_hour": starts_per_hour,
                "jitter": jitter,
                "timeout": timeout,
                "retries": retries,
                "retry_delay": retry_delay,
                "pause_after": pause_after,
                "keep_runs": keep_runs,
                "runner": runner,
            },
        )

    def scheduler_enable_task(self, *, uuid: str) -> Any:
        """Switch a disabled job on again."""
        return self._call("scheduler:enable_task", {"uuid": uuid})

    def scheduler_disable_task(self, *, uuid: str) -> Any:
        """Switch a job off: it starts no more; a run that has begun goes on."""
        return self._call("scheduler:disable_task", {"uuid": uuid})

    def scheduler_get_runs(self, *, uuid: str, limit: int | None = None) -> Any:
        """Read a job's runs, newest first, and the due times not run, with the reason; null outcome: it runs."""
        return self._call("scheduler:get_runs", {"uuid": uuid, "limit": limit})

    def scheduler_finish_run(
        self, *, run_id: str, outcome: Literal["error", "interrupted", "success"], result: str | None = None
    ) -> Any:
        """Say how a run ended that the event run.requested asked you to do."""
        return self._call("scheduler:finish_run", {"run_id": run_id, "outcome": outcome, "result": result})

    def tasks(
        self,
        *,
        action: Literal[
            "create_plan", "get_state", "link_nodes", "list_plans", "notes", "pending", "save_state", "update"
        ],
        title: str | None = None,
        tasks: list[dict[str, Any]] | None = None,
        description: str | None = None,
        agent_id: str | None = None,
        plan_id: str | None = None,
        suggest_next: bool | None = None,
        limit: int | None = None,
        after: str | None = None,
        brief: bool | None = None,
        id: str | None = None,
        status: Literal["cancelled", "done", "in_progress", "pending"] | None = None,
        notes: str | None = None,
        intent: str | None = None,
        task_id: str | None = None,
        approach: str | None = None,
        files_modified: list[str] | None = None,
        completed_steps: list[str] | None = None,
        remaining_steps: list[str] | None = None,
        blockers: list[str] | None = None,
        decisions: list[str] | None = None,
        context_snapshot: str | None = None,
        node_ids: list[str] | None = None,
    ) -> Any:
        """Plans: tasks, who does them, and the state to resume one from, for work of several agents or session."""
        return self._call(
            "tasks",
            {
                "action": action,
                "title": title,
                "tasks": tasks,
                "description": description,
                "agent_id": agent_id,
                "plan_id": plan_id,
                "suggest_next": suggest_next,
                "limit": limit,
                "after": after,
                "brief": brief,
                "id": id,
                "status": status,
                "notes": notes,
                "intent": intent,
                "task_id": task_id,
                "approach": approach,
                "files_modified": files_modified,
                "completed_steps": completed_steps,
                "remaining_steps": remaining_steps,
                "blockers": blockers,
                "decisions": decisions,
                "context_snapshot": context_snapshot,
                "node_ids": node_ids,
            },
        )

    def create_plan(
        self, *, title: str, tasks: list[dict[str, Any]], description: str | None = None, agent_id: str | None = None
    ) -> Any:
        """Make a plan, a list of its own whose tasks outlast the session."""
        return self._call(
            "create_plan", {"title": title, "tasks": tasks, "description": description, "agent_id": agent_id}
        )

    def get_plans(self, *, agent_id: str | None = None) -> Any:
        """Read all plans, oldest first, with how many tasks each has."""
        return self._call("get_plans", {"agent_id": agent_id})

    def get_pending_tasks(
        self,
        *,
        plan_id: str | None = None,
        agent_id: str | None = None,
        suggest_next: bool | None = None,
        limit: int | None = None,
        after: str | None = None,
        brief: bool | None = None,
    ) -> Any:
        """Read the open tasks of a plan, or of all lists; with `agent_id` that agent's and nobody's."""
        return self._call(
            "get_pending_tasks",
            {
                "plan_id": plan_id,
                "agent_id": agent_id,
                "suggest_next": suggest_next,
                "limit": limit,
                "after": after,
                "brief": brief,
            },
        )

    def update_task(
        self,
        *,
        id: str,
        status: Literal["cancelled", "done", "in_progress", "pending"] | None = None,
        notes: str | None = None,
        intent: str | None = None,
        agent_id: str | None = None,
    ) -> Any:
        """Change a task: one of the others at least; `agent_id` assigns it."""
        return self._call(
            "update_task", {"id": id, "status": status, "notes": notes, "intent": intent, "agent_id": agent_id}
        )

    def save_session_state(
        self,
        *,
        task_id: str,
        agent_id: str | None = None,
        approach: str | None = None,
        files_modified: list[str] | None = None,
        completed_steps: list[str] | None = None,
        remaining_steps: list[str] | None = None,
        blockers: list[str] | None = None,
        decisions: list[str] | None = None,
        context_snapshot: str | None = None,
    ) -> Any:
        """Save what it takes to resume a task, before your context ends; what you leave out keeps its last val."""
        return self._call(
            "save_session_state",
            {
                "task_id": task_id,
                "agent_id": agent_id,
                "approach": approach,
                "files_modified": files_modified,
                "completed_steps": completed_steps,
                "remaining_steps": remaining_steps,
                "blockers": blockers,
                "decisions": decisions,
                "context_snapshot": context_snapshot,
            },
        )

    def get_session_state(self, *, task_id: str, agent_id: str | None = None) -> Any:
        """Read a task's saved state, to resume it; null: none was saved."""
        return self._call("get_session_state", {"task_id": task_id, "agent_id": agent_id})

    def link_task_nodes(self, *, task_id: str, node_ids: list[str], agent_id: str | None = None) -> Any:
        """Link a task to graph nodes."""
        return self._call("link_task_nodes", {"task_id": task_id, "node_ids": node_ids, "agent_id": agent_id})

    def get_my_tasks(
        self,
        *,
        plan_id: str | None = None,
        agent_id: str | None = None,
        suggest_next: bool | None = None,
        limit: int | None = None,
        after: str | None = None,
        brief: bool | None = None,
    ) -> Any:
        """Read the open tasks that are yours alone (or `agent_id`'s)."""
        return self._call(
            "get_my_tasks",
            {
                "plan_id": plan_id,
                "agent_id": agent_id,
                "suggest_next": suggest_next,
                "limit": limit,
                "after": after,
                "brief": brief,
            },
        )


class AsyncTools:
    """Each tool as a method whose result is awaited."""

    def _call(self, tool: str, arguments: dict[str, Any]) -> Awaitable[Any]:
        raise NotImplementedError

    def control_hello(self, *, tools: list[str] | None = None) -> Awaitable[Any]:
        """Learn how you are known here, and which tools there are."""
        return self._call("control:hello", {"tools": tools})

    def control_history(
        self, *, since: int | None = None, limit: int | None = None, task: str | None = None
    ) -> Awaitable[Any]:
        """Read what happened: who changed what, when, from what to what, and why."""
        return self._call("control:history", {"since": since, "limit": limit, "task": task})

    def control_task(self, *, uid: str) -> Awaitable[Any]:
        """Read one task with every field; its `version`, as `if_version`, lets you write only if it is unchang."""
        return self._call("control:task", {"uid": uid})

    def control_update_task(self, *, uid: str, due: str | None = None, estimate: int | None = None) -> Awaitable[Any]:
        """Set what no other tool sets: when a task is due, and how long it is thought to take."""
        return self._call("control:update_task", {"uid": uid, "due": due, "estimate": estimate})

    def control_link(
        self,
        *,
        uid: str,
        kind: Literal["branch", "commit", "file", "pull_request"],
        target: str,
        remove: bool | None = None,
    ) -> Awaitable[Any]:
        """Link a task to its work: a branch, a commit, a pull request or a file; `remove` unlinks."""
        return self._call("control:link", {"uid": uid, "kind": kind, "target": target, "remove": remove})

    def control_agents(self, *, everyone: bool | None = None) -> Awaitable[Any]:
        """See who works here: sessions of agent programs, and agents of this channel, oldest first, each with ."""
        return self._call("control:agents", {"everyone": everyone})

    def control_undo(self) -> Awaitable[Any]:
        """Take back your own newest change that still stands: a request, or a batch, is one."""
        return self._call("control:undo", {})

    def control_request_check(self, *, uid: str, check: str | None = None) -> Awaitable[Any]:
        """Run a task's checks, which the human has set, now."""
        return self._call("control:request_check", {"uid": uid, "check": check})

    def control_claim(self, *, list: str | None = None, lease_seconds: int | None = None) -> Awaitable[Any]:
        """Take the next task for yourself: the most urgent, then oldest pending one that waits for no other."""
        return self._call("control:claim", {"list": list, "lease_seconds": lease_seconds})

    def control_heartbeat(self, *, claim: str) -> Awaitable[Any]:
        """Keep a claimed task: its lease runs anew from now."""
        return self._call("control:heartbeat", {"claim": claim})

    def control_release(self, *, claim: str) -> Awaitable[Any]:
        """Give a claimed task back as pending, for another to take."""
        return self._call("control:release", {"claim": claim})

    def ask(
        self,
        *,
        question: str,
        options: list[str] | None = None,
        task: str | None = None,
        timeout: float | None = None,
        wait: float | None = None,
    ) -> Awaitable[Any]:
        """Ask the human a question, for decisions that are not yours and for approval."""
        return self._call(
            "ask", {"question": question, "options": options, "task": task, "timeout": timeout, "wait": wait}
        )

    def control_answer_of(self, *, ask: str, wait: float | None = None) -> Awaitable[Any]:
        """Read the human's answer to a question that you asked before; `state`: open, answered, withdrawn or t."""
        return self._call("control:answer_of", {"ask": ask, "wait": wait})

    def tasklist_add_task(self, *, name: str, description: str | None = None) -> Awaitable[Any]:
        """Append a task to the tasklist, to plan work as steps."""
        return self._call("tasklist:add_task", {"name": name, "description": description})

    def tasklist_add_task_before(self, *, uid: str, name: str, description: str | None = None) -> Awaitable[Any]:
        """Insert a task right before another, into its list."""
        return self._call("tasklist:add_task_before", {"uid": uid, "name": name, "description": description})

    def tasklist_add_task_after(self, *, uid: str, name: str, description: str | None = None) -> Awaitable[Any]:
        """Insert a task right after another, into its list."""
        return self._call("tasklist:add_task_after", {"uid": uid, "name": name, "description": description})

    def tasklist_delete_task(self, *, uid: str) -> Awaitable[Any]:
        """Remove a task."""
        return self._call("tasklist:delete_task", {"uid": uid})

    def tasklist_update_task(
        self,
        *,
        uid: str,
        name: str | None = None,
        description: str | None = None,
        status: Literal["done", "failed", "in_progress", "pending", "skipped"] | None = None,
    ) -> Awaitable[Any]:
        """Set a task's name, description or status; at least one."""
        return self._call(
            "tasklist:update_task", {"uid": uid, "name": name, "description": description, "status": status}
        )

    def tasklist_swap_tasks(self, *, uid1: str, uid2: str) -> Awaitable[Any]:
        """Let two tasks of one list change places."""
        return self._call("tasklist:swap_tasks", {"uid1": uid1, "uid2": uid2})

    def tasklist_set_task_pending(self, *, uid: str) -> Awaitable[Any]:
        """Set a task's status to "pending": it is to be done, and nobody works on it."""
        return self._call("tasklist:set_task_pending", {"uid": uid})

    def tasklist_set_task_in_progress(self, *, uid: str) -> Awaitable[Any]:
        """Set a task's status to "in_progress": you start to work on it."""
        return self._call("tasklist:set_task_in_progress", {"uid": uid})

    def tasklist_set_task_done(self, *, uid: str) -> Awaitable[Any]:
        """Set a task's status to "done": it was completed successfully."""
        return self._call("tasklist:set_task_done", {"uid": uid})

    def tasklist_set_task_failed(self, *, uid: str) -> Awaitable[Any]:
        """Set a task's status to "failed": it could not be completed."""
        return self._call("tasklist:set_task_failed", {"uid": uid})

    def tasklist_set_task_skipped(self, *, uid: str) -> Awaitable[Any]:
        """Set a task's status to "skipped": you will not do it, but keep it for reference."""
        return self._call("tasklist:set_task_skipped", {"uid": uid})

    def tasklist_log_task_progress(self, *, uid: str, message: str) -> Awaitable[Any]:
        """Add a log entry to a task, for the human and for your later self."""
        return self._call("tasklist:log_task_progress", {"uid": uid, "message": message})

    def tasklist_get_task_logs(self, *, uid: str) -> Awaitable[Any]:
        """Read a task's log, oldest first."""
        return self._call("tasklist:get_task_logs", {"uid": uid})

    def tasklist_get_task_in_progress(self) -> Awaitable[Any]:
        """Read the task that is in progress; null when there is none."""
        return self._call("tasklist:get_task_in_progress", {})

    def tasklist_get_task(self, *, uid: str) -> Awaitable[Any]:
        """Read one task, whichever list it is in."""
        return self._call("tasklist:get_task", {"uid": uid})

    def tasklist_get_tasks(
        self,
        *,
        status: list[Literal["done", "failed", "in_progress", "pending", "skipped"]],
        limit: int | None = None,
        after: str | None = None,
        brief: bool | None = None,
    ) -> Awaitable[Any]:
        """Read the tasks that have one of the given statuses, in order."""
        return self._call("tasklist:get_tasks", {"status": status, "limit": limit, "after": after, "brief": brief})

    def tasklist_clear(self) -> Awaitable[Any]:
        """Delete every task of the tasklist, whatever its status."""
        return self._call("tasklist:clear", {})

    def tasklist_display(
        self, *, limit: int | None = None, after: str | None = None, brief: bool | None = None
    ) -> Awaitable[Any]:
        """Read the tasklist in order; logs are read apart, with tasklist:get_task_logs."""
        return self._call("tasklist:display", {"limit": limit, "after": after, "brief": brief})

    def task(
        self,
        *,
        action: Literal["create", "list", "update"],
        title: str | None = None,
        description: str | None = None,
        status: Literal["cancelled", "completed", "in_progress", "open"] | None = None,
        priority: Literal["high", "low", "medium", "urgent"] | None = None,
        tags: list[str] | None = None,
        domain: str | None = None,
        metadata: dict[str, Any] | None = None,
        task_id: str | None = None,
        result: dict[str, Any] | None = None,
        query: str | None = None,
        limit: int | None = None,
        after: str | None = None,
        brief: bool | None = None,
    ) -> Awaitable[Any]:
        """The task board: tasks that have a priority, tags and a domain."""
        return self._call(
            "task",
            {
                "action": action,
                "title": title,
                "description": description,
                "status": status,
                "priority": priority,
                "tags": tags,
                "domain": domain,
                "metadata": metadata,
                "task_id": task_id,
                "result": result,
                "query": query,
                "limit": limit,
                "after": after,
                "brief": brief,
            },
        )

    def agent(self, *, action: str) -> Awaitable[Any]:
        """Deprecated: use `task`."""
        return self._call("agent", {"action": action})

    def memory(
        self,
        *,
        action: Literal["get", "list", "search"],
        query: str | None = None,
        domain: str | None = None,
        limit: int | None = None,
        memory_id: str | None = None,
    ) -> Awaitable[Any]:
        """The memories: results of completed tasks, kept though the task be deleted."""
        return self._call(
            "memory", {"action": action, "query": query, "domain": domain, "limit": limit, "memory_id": memory_id}
        )

    def todo(
        self,
        *,
        merge: bool,
        todos: list[dict[str, Any]],
        as_type: Literal["dict", "pretty_str", "str"] | None = None,
        filter_empty_fields: bool | None = None,
        filter_metadata_fields: bool | None = None,
    ) -> Awaitable[Any]:
        """Write your todo list: replace it, or merge items into it by their ids."""
        return self._call(
            "todo",
            {
                "merge": merge,
                "todos": todos,
                "as_type": as_type,
                "filter_empty_fields": filter_empty_fields,
                "filter_metadata_fields": filter_metadata_fields,
            },
        )

    def scheduler_list_tasks(
        self,
        *,
        state: list[Literal["disabled", "error", "idle", "running"]] | None = None,
        type: list[Literal["adhoc", "planned", "scheduled"]] | None = None,
    ) -> Awaitable[Any]:
        """List the jobs, oldest first; look here before you create one."""
        return self._call("scheduler:list_tasks", {"state": state, "type": type})

    def scheduler_find_task_by_name(self, *, name: str) -> Awaitable[Any]:
        """Find jobs by a part of their name, oldest first."""
        return self._call("scheduler:find_task_by_name", {"name": name})

    def scheduler_show_task(self, *, uuid: str) -> Awaitable[Any]:
        """Read one job: what it does, when it runs next, how it last ended."""
        return self._call("scheduler:show_task", {"uuid": uuid})

    def scheduler_run_task(self, *, uuid: str, context: str | None = None, force: bool | None = None) -> Awaitable[Any]:
        """Start an ad hoc job now, others only with `force`."""
        return self._call("scheduler:run_task", {"uuid": uuid, "context": context, "force": force})

    def scheduler_delete_task(self, *, uuid: str) -> Awaitable[Any]:
        """Delete a job; what it runs is ended first."""
        return self._call("scheduler:delete_task", {"uuid": uuid})

    def scheduler_create_scheduled_task(
        self,
        *,
        name: str,
        system_prompt: str,
        prompt: str,
        schedule: dict[str, Any],
        timezone: str | None = None,
        dedicated_context: bool | None = None,
    ) -> Awaitable[Any]:
        """Create a job that runs again and again by a cron."""
        return self._call(
            "scheduler:create_scheduled_task",
            {
                "name": name,
                "system_prompt": system_prompt,
                "prompt": prompt,
                "schedule": schedule,
                "timezone": timezone,
                "dedicated_context": dedicated_context,
            },
        )

    def scheduler_create_planned_task(
        self,
        *,
        name: str,
        system_prompt: str,
        prompt: str,
        plan: list[str],
        timezone: str | None = None,
        dedicated_context: bool | None = None,
    ) -> Awaitable[Any]:
        """Create a job that runs at given moments."""
        return self._call(
            "scheduler:create_planned_task",
            {
                "name": name,
                "system_prompt": system_prompt,
                "prompt": prompt,
                "plan": plan,
                "timezone": timezone,
                "dedicated_context": dedicated_context,
            },
        )

    def scheduler_create_adhoc_task(
        self,
        *,
        name: str,
        system_prompt: str,
        prompt: str,
        timezone: str | None = None,
        dedicated_context: bool | None = None,
    ) -> Awaitable[Any]:
        """Create a job that runs only when it is started."""
        return self._call(
            "scheduler:create_adhoc_task",
            {
                "name": name,
                "system_prompt": system_prompt,
                "prompt": prompt,
                "timezone": timezone,
                "dedicated_context": dedicated_context,
            },
        )

    def scheduler_wait_for_task(self, *, uuid: str, timeout: float | None = None) -> Awaitable[Any]:
        """Wait until a running job with dedicated_context has ended, retries included; a null outcome: it neve."""
        return self._call("scheduler:wait_for_task", {"uuid": uuid, "timeout": timeout})

    def scheduler_update_task(
        self,
        *,
        uuid: str,
        name: str | None = None,
        system_prompt: str | None = None,
        prompt: str | None = None,
        schedule: dict[str, Any] | None = None,
        plan: list[str] | None = None,
        timezone: str | None = None,
        dedicated_context: bool | None = None,
        catch_up: Literal["all", "none", "one"] | None = None,
        catch_up_cap: int | None = None,
        stagger: int | None = None,
        start_deadline: int | None = None,
        overlap: Literal["allow", "queue", "skip"] | None = None,
        starts_per_hour: int | None = None,
        jitter: int | None = None,
        timeout: int | None = None,
        retries: int | None = None,
        retry_delay: int | None = None,
        pause_after: int | None = None,
        keep_runs: int | None = None,
        runner: str | None = None,
    ) -> Awaitable[Any]:
        """Change a job, or how it is scheduled and run: at least one field."""
        return self._call(
            "scheduler:update_task",
            {
                "uuid": uuid,
                "name": name,
                "system_prompt": system_prompt,
                "prompt": prompt,
                "schedule": schedule,
                "plan": plan,
                "timezone": timezone,
                "dedicated_context": dedicated_context,
                "catch_up": catch_up,
                "catch_up_cap": catch_up_cap,
                "stagger": stagger,
                "start_deadline": start_deadline,
                "overlap": overlap,
                "starts_per_hour": starts_per_hour,
                "jitter": jitter,
                "timeout": timeout,
                "retries": retries,
                "retry_delay": retry_delay,
                "pause_after": pause_after,
                "keep_runs": keep_runs,
                "runner": runner,
            },
        )

    def scheduler_enable_task(self, *, uuid: str) -> Awaitable[Any]:
        """Switch a disabled job on again."""
        return self._call("scheduler:enable_task", {"uuid": uuid})

    def scheduler_disable_task(self, *, uuid: str) -> Awaitable[Any]:
        """Switch a job off: it starts no more; a run that has begun goes on."""
        return self._call("scheduler:disable_task", {"uuid": uuid})

    def scheduler_get_runs(self, *, uuid: str, limit: int | None = None) -> Awaitable[Any]:
        """Read a job's runs, newest first, and the due times not run, with the reason; null outcome: it runs."""
        return self._call("scheduler:get_runs", {"uuid": uuid, "limit": limit})

    def scheduler_finish_run(
        self, *, run_id: str, outcome: Literal["error", "interrupted", "success"], result: str | None = None
    ) -> Awaitable[Any]:
        """Say how a run ended that the event run.requested asked you to do."""
        return self._call("scheduler:finish_run", {"run_id": run_id, "outcome": outcome, "result": result})

    def tasks(
        self,
        *,
        action: Literal[
            "create_plan", "get_state", "link_nodes", "list_plans", "notes", "pending", "save_state", "update"
        ],
        title: str | None = None,
        tasks: list[dict[str, Any]] | None = None,
        description: str | None = None,
        agent_id: str | None = None,
        plan_id: str | None = None,
        suggest_next: bool | None = None,
        limit: int | None = None,
        after: str | None = None,
        brief: bool | None = None,
        id: str | None = None,
        status: Literal["cancelled", "done", "in_progress", "pending"] | None = None,
        notes: str | None = None,
        intent: str | None = None,
        task_id: str | None = None,
        approach: str | None = None,
        files_modified: list[str] | None = None,
        completed_steps: list[str] | None = None,
        remaining_steps: list[str] | None = None,
        blockers: list[str] | None = None,
        decisions: list[str] | None = None,
        context_snapshot: str | None = None,
        node_ids: list[str] | None = None,
    ) -> Awaitable[Any]:
        """Plans: tasks, who does them, and the state to resume one from, for work of several agents or session."""
        return self._call(
            "tasks",
            {
                "action": action,
                "title": title,
                "tasks": tasks,
                "description": description,
                "agent_id": agent_id,
                "plan_id": plan_id,
                "suggest_next": suggest_next,
                "limit": limit,
                "after": after,
                "brief": brief,
                "id": id,
                "status": status,
                "notes": notes,
                "intent": intent,
                "task_id": task_id,
                "approach": approach,
                "files_modified": files_modified,
                "completed_steps": completed_steps,
                "remaining_steps": remaining_steps,
                "blockers": blockers,
                "decisions": decisions,
                "context_snapshot": context_snapshot,
                "node_ids": node_ids,
            },
        )

    def create_plan(
        self, *, title: str, tasks: list[dict[str, Any]], description: str | None = None, agent_id: str | None = None
    ) -> Awaitable[Any]:
        """Make a plan, a list of its own whose tasks outlast the session."""
        return self._call(
            "create_plan", {"title": title, "tasks": tasks, "description": description, "agent_id": agent_id}
        )

    def get_plans(self, *, agent_id: str | None = None) -> Awaitable[Any]:
        """Read all plans, oldest first, with how many tasks each has."""
        return self._call("get_plans", {"agent_id": agent_id})

    def get_pending_tasks(
        self,
        *,
        plan_id: str | None = None,
        agent_id: str | None = None,
        suggest_next: bool | None = None,
        limit: int | None = None,
        after: str | None = None,
        brief: bool | None = None,
    ) -> Awaitable[Any]:
        """Read the open tasks of a plan, or of all lists; with `agent_id` that agent's and nobody's."""
        return self._call(
            "get_pending_tasks",
            {
                "plan_id": plan_id,
                "agent_id": agent_id,
                "suggest_next": suggest_next,
                "limit": limit,
                "after": after,
                "brief": brief,
            },
        )

    def update_task(
        self,
        *,
        id: str,
        status: Literal["cancelled", "done", "in_progress", "pending"] | None = None,
        notes: str | None = None,
        intent: str | None = None,
        agent_id: str | None = None,
    ) -> Awaitable[Any]:
        """Change a task: one of the others at least; `agent_id` assigns it."""
        return self._call(
            "update_task", {"id": id, "status": status, "notes": notes, "intent": intent, "agent_id": agent_id}
        )

    def save_session_state(
        self,
        *,
        task_id: str,
        agent_id: str | None = None,
        approach: str | None = None,
        files_modified: list[str] | None = None,
        completed_steps: list[str] | None = None,
        remaining_steps: list[str] | None = None,
        blockers: list[str] | None = None,
        decisions: list[str] | None = None,
        context_snapshot: str | None = None,
    ) -> Awaitable[Any]:
        """Save what it takes to resume a task, before your context ends; what you leave out keeps its last val."""
        return self._call(
            "save_session_state",
            {
                "task_id": task_id,
                "agent_id": agent_id,
                "approach": approach,
                "files_modified": files_modified,
                "completed_steps": completed_steps,
                "remaining_steps": remaining_steps,
                "blockers": blockers,
                "decisions": decisions,
                "context_snapshot": context_snapshot,
            },
        )

    def get_session_state(self, *, task_id: str, agent_id: str | None = None) -> Awaitable[Any]:
        """Read a task's saved state, to resume it; null: none was saved."""
        return self._call("get_session_state", {"task_id": task_id, "agent_id": agent_id})

    def link_task_nodes(self, *, task_id: str, node_ids: list[str], agent_id: str | None = None) -> Awaitable[Any]:
        """Link a task to graph nodes."""
        return self._call("link_task_nodes", {"task_id": task_id, "node_ids": node_ids, "agent_id": agent_id})

    def get_my_tasks(
        self,
        *,
        plan_id: str | None = None,
        agent_id: str | None = None,
        suggest_next: bool | None = None,
        limit: int | None = None,
        after: str | None = None,
        brief: bool | None = None,
    ) -> Awaitable[Any]:
        """Read the open tasks that are yours alone (or `agent_id`'s)."""
        return self._call(
            "get_my_tasks",
            {
                "plan_id": plan_id,
                "agent_id": agent_id,
                "suggest_next": suggest_next,
                "limit": limit,
                "after": after,
                "brief": brief,
            },
        )
