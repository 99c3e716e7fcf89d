"""The types of the tools as methods.

Made from the tool table by `python -m tests.docs.tools_page`; a test holds that it is current.
"""

from collections.abc import Awaitable
from typing import Any, Generic, Literal, TypeVar

_Result = TypeVar("_Result", covariant=True)

class _Methods(Generic[_Result]):
    def _call(self, tool: str, arguments: dict[str, Any]) -> _Result: ...
    def control_hello(self, *, tools: list[str] | None = ...) -> _Result:
        """Learn your name here and the tools, in brief; name those that you want in full."""
    def control_history(self, *, since: int | None = ..., limit: int | None = ..., task: str | None = ...) -> _Result:
        """Read who changed what, when and why, with old and new values."""
    def control_task(self, *, uid: str) -> _Result:
        """Read one task with every field."""
    def control_find(
        self,
        *,
        text: str | None = ...,
        list: str | None = ...,
        status: list[Literal["cancelled", "done", "failed", "in_progress", "pending", "skipped"]] | None = ...,
        tag: str | None = ...,
        agent: str | None = ...,
        limit: int | None = ...,
        after: str | None = ...,
    ) -> _Result:
        """Find tasks in all lists that match every argument, oldest first."""
    def control_lists(self) -> _Result:
        """Read all lists and plans, oldest first, with counts by status."""
    def control_update_task(
        self,
        *,
        uid: str,
        name: str | None = ...,
        description: str | None = ...,
        status: Literal["cancelled", "done", "failed", "in_progress", "pending", "skipped"] | None = ...,
        priority: int | None = ...,
        tags: list[str] | None = ...,
        domain: str | None = ...,
        agent: str | None = ...,
        depends_on: list[str] | None = ...,
        due: str | None = ...,
        estimate: int | None = ...,
        result: dict[str, Any] | None = ...,
        list: str | None = ...,
        before: str | None = ...,
        after: str | None = ...,
    ) -> _Result:
        """Set any field of any task, its list and its place, in one change; null clears a field."""
    def control_delete_plan(self, *, plan_id: str) -> _Result:
        """Delete a plan with its tasks."""
    def control_link(
        self,
        *,
        uid: str,
        kind: Literal["branch", "commit", "file", "pull_request"],
        target: str,
        remove: bool | None = ...,
    ) -> _Result:
        """Link a task to a branch, commit, pull request or file; `remove` unlinks."""
    def control_agents(
        self, *, everyone: bool | None = ..., limit: int | None = ..., after: str | None = ...
    ) -> _Result:
        """List sessions of agent programs and agents of this channel, oldest first, with their states."""
    def control_undo(self) -> _Result:
        """Undo your newest change that still stands; a request or a batch is one."""
    def control_request_check(self, *, uid: str, check: str | None = ...) -> _Result:
        """Run a task's checks, set by the human, now."""
    def control_work_ready(self, *, uid: str, summary: str | None = ...) -> _Result:
        """Report your work on a task as ready for review."""
    def control_claim(
        self, *, list: str | None = ..., lease_seconds: int | None = ..., uid: str | None = ...
    ) -> _Result:
        """Take a task: `uid`, else the most urgent, then oldest pending one without open dependencies."""
    def control_heartbeat(self, *, claim: str) -> _Result:
        """Keep a claimed task: its lease restarts now."""
    def control_release(self, *, claim: str) -> _Result:
        """Return a claimed task as pending."""
    def ask(
        self,
        *,
        question: str,
        options: list[str] | None = ...,
        task: str | None = ...,
        timeout: float | None = ...,
        wait: float | None = ...,
    ) -> _Result:
        """Ask the human, for approval and for decisions that are not yours."""
    def control_answer_of(self, *, ask: str, wait: float | None = ...) -> _Result:
        """Read the human's answer to your earlier question; `state`: open, answered, withdrawn or timeout."""
    def tasklist_add_task(self, *, name: str, description: str | None = ...) -> _Result:
        """Append a task to the tasklist, to plan work in steps."""
    def tasklist_add_task_before(self, *, uid: str, name: str, description: str | None = ...) -> _Result:
        """Insert a task right before another."""
    def tasklist_add_task_after(self, *, uid: str, name: str, description: str | None = ...) -> _Result:
        """Insert a task right after another."""
    def tasklist_delete_task(self, *, uid: str) -> _Result:
        """Delete a task."""
    def tasklist_update_task(
        self,
        *,
        uid: str,
        name: str | None = ...,
        description: str | None = ...,
        status: Literal["done", "failed", "in_progress", "pending", "skipped"] | None = ...,
    ) -> _Result:
        """Set a task's name, description or status; at least one."""
    def tasklist_swap_tasks(self, *, uid1: str, uid2: str) -> _Result:
        """Swap two tasks of one list."""
    def tasklist_set_task_pending(self, *, uid: str) -> _Result:
        """Set a task's status to "pending": not started yet."""
    def tasklist_set_task_in_progress(self, *, uid: str) -> _Result:
        """Set a task's status to "in_progress": you start it."""
    def tasklist_set_task_done(self, *, uid: str) -> _Result:
        """Set a task's status to "done": completed successfully."""
    def tasklist_set_task_failed(self, *, uid: str) -> _Result:
        """Set a task's status to "failed": not completed."""
    def tasklist_set_task_skipped(self, *, uid: str) -> _Result:
        """Set a task's status to "skipped": not to be done, kept for reference."""
    def tasklist_log_task_progress(self, *, uid: str, message: str) -> _Result:
        """Add a log entry to a task, for the human and your later self."""
    def tasklist_get_task_logs(self, *, uid: str) -> _Result:
        """Read a task's log, oldest first."""
    def tasklist_get_task_in_progress(self) -> _Result:
        """Read your task in progress, else one without another agent, else null."""
    def tasklist_get_task(self, *, uid: str) -> _Result:
        """Read one task of any list."""
    def tasklist_get_tasks(
        self,
        *,
        status: list[Literal["done", "failed", "in_progress", "pending", "skipped"]],
        limit: int | None = ...,
        after: str | None = ...,
        brief: bool | None = ...,
    ) -> _Result:
        """Read the tasks with one of these statuses, in order."""
    def tasklist_clear(self) -> _Result:
        """Delete every task of the tasklist."""
    def tasklist_display(
        self, *, limit: int | None = ..., after: str | None = ..., brief: bool | None = ...
    ) -> _Result:
        """Read the tasklist in order; tasklist:get_task_logs reads logs."""
    def task(
        self,
        *,
        action: Literal["create", "list", "update"],
        title: str | None = ...,
        description: str | None = ...,
        status: Literal["cancelled", "completed", "in_progress", "open"] | None = ...,
        priority: Literal["high", "low", "medium", "urgent"] | None = ...,
        tags: list[str] | None = ...,
        domain: str | None = ...,
        metadata: dict[str, Any] | None = ...,
        task_id: str | None = ...,
        result: dict[str, Any] | None = ...,
        query: str | None = ...,
        limit: int | None = ...,
        after: str | None = ...,
        brief: bool | None = ...,
    ) -> _Result:
        """The task board: tasks with priority, tags and domain."""
    def agent(self, *, action: str) -> _Result:
        """Deprecated: use `task`."""
    def memory(
        self,
        *,
        action: Literal["get", "list", "search"],
        query: str | None = ...,
        domain: str | None = ...,
        limit: int | None = ...,
        memory_id: str | None = ...,
    ) -> _Result:
        """Results of completed tasks, kept even if the task is deleted."""
    def todo(
        self,
        *,
        merge: bool,
        todos: list[dict[str, Any]],
        as_type: Literal["dict", "pretty_str", "str"] | None = ...,
        filter_empty_fields: bool | None = ...,
        filter_metadata_fields: bool | None = ...,
    ) -> _Result:
        """Write your todo list: replace it, or merge items into it by their ids."""
    def scheduler_list_tasks(
        self,
        *,
        state: list[Literal["disabled", "error", "idle", "running"]] | None = ...,
        type: list[Literal["adhoc", "planned", "scheduled"]] | None = ...,
    ) -> _Result:
        """List the jobs, oldest first; check it before you create one."""
    def scheduler_find_task_by_name(self, *, name: str) -> _Result:
        """Find jobs by part of their name, oldest first."""
    def scheduler_show_task(self, *, uuid: str) -> _Result:
        """Read one job: its prompt, next run and last result."""
    def scheduler_run_task(self, *, uuid: str, context: str | None = ..., force: bool | None = ...) -> _Result:
        """Start an ad hoc job now, others only with `force`."""
    def scheduler_delete_task(self, *, uuid: str) -> _Result:
        """Delete a job; its run is ended first."""
    def scheduler_create_scheduled_task(
        self,
        *,
        name: str,
        system_prompt: str,
        prompt: str,
        schedule: dict[str, Any],
        timezone: str | None = ...,
        dedicated_context: bool | None = ...,
    ) -> _Result:
        """Create a job that repeats by a cron schedule."""
    def scheduler_create_planned_task(
        self,
        *,
        name: str,
        system_prompt: str,
        prompt: str,
        plan: list[str],
        timezone: str | None = ...,
        dedicated_context: bool | None = ...,
    ) -> _Result:
        """Create a job that runs at given times."""
    def scheduler_create_adhoc_task(
        self,
        *,
        name: str,
        system_prompt: str,
        prompt: str,
        timezone: str | None = ...,
        dedicated_context: bool | None = ...,
    ) -> _Result:
        """Create a job that runs only when it is started."""
    def scheduler_wait_for_task(self, *, uuid: str, timeout: float | None = ...) -> _Result:
        """Wait for the end of a running job with dedicated_context, retries included; outcome null: it never ran."""
    def scheduler_update_task(
        self,
        *,
        uuid: str,
        name: str | None = ...,
        system_prompt: str | None = ...,
        prompt: str | None = ...,
        schedule: dict[str, Any] | None = ...,
        plan: list[str] | None = ...,
        timezone: str | None = ...,
        dedicated_context: bool | None = ...,
        catch_up: Literal["all", "none", "one"] | None = ...,
        catch_up_cap: int | None = ...,
        stagger: int | None = ...,
        start_deadline: int | None = ...,
        overlap: Literal["allow", "queue", "skip"] | None = ...,
        starts_per_hour: int | None = ...,
        jitter: int | None = ...,
        timeout: int | None = ...,
        retries: int | None = ...,
        retry_delay: int | None = ...,
        pause_after: int | None = ...,
        keep_runs: int | None = ...,
        runner: str | None = ...,
    ) -> _Result:
        """Change a job: at least one field."""
    def scheduler_enable_task(self, *, uuid: str) -> _Result:
        """Switch a disabled job on again."""
    def scheduler_disable_task(self, *, uuid: str) -> _Result:
        """Switch a job off; a started run continues."""
    def scheduler_get_runs(self, *, uuid: str, limit: int | None = ...) -> _Result:
        """Read a job's runs, newest first, and missed due times with the reason; outcome null: still running."""
    def scheduler_finish_run(
        self, *, run_id: str, outcome: Literal["error", "interrupted", "success"], result: str | None = ...
    ) -> _Result:
        """Report the end of a run that the event run.requested gave you."""
    def tasks(
        self,
        *,
        action: Literal[
            "add_tasks",
            "create_plan",
            "get_state",
            "link_nodes",
            "list_plans",
            "notes",
            "pending",
            "save_state",
            "update",
        ],
        title: str | None = ...,
        tasks: list[dict[str, Any]] | None = ...,
        description: str | None = ...,
        agent_id: str | None = ...,
        plan_id: str | None = ...,
        limit: int | None = ...,
        after: str | None = ...,
        suggest_next: bool | None = ...,
        brief: bool | None = ...,
        id: str | None = ...,
        status: Literal["cancelled", "done", "in_progress", "pending"] | None = ...,
        notes: str | None = ...,
        intent: str | None = ...,
        task_id: str | None = ...,
        approach: str | None = ...,
        files_modified: list[str] | None = ...,
        completed_steps: list[str] | None = ...,
        remaining_steps: list[str] | None = ...,
        blockers: list[str] | None = ...,
        decisions: list[str] | None = ...,
        context_snapshot: str | None = ...,
        node_ids: list[str] | None = ...,
    ) -> _Result:
        """Plans: tasks with agents and saved states, across sessions."""
    def create_plan(
        self, *, title: str, tasks: list[dict[str, Any]], description: str | None = ..., agent_id: str | None = ...
    ) -> _Result:
        """Make a plan, its own list, whose tasks outlast the session."""
    def get_plans(self, *, agent_id: str | None = ..., limit: int | None = ..., after: str | None = ...) -> _Result:
        """Read plans, oldest first, with their numbers of tasks."""
    def get_pending_tasks(
        self,
        *,
        plan_id: str | None = ...,
        agent_id: str | None = ...,
        suggest_next: bool | None = ...,
        limit: int | None = ...,
        after: str | None = ...,
        brief: bool | None = ...,
    ) -> _Result:
        """Read the open tasks of a plan, or of all lists; with `agent_id` only that agent's and unassigned ones."""
    def update_task(
        self,
        *,
        id: str,
        status: Literal["cancelled", "done", "in_progress", "pending"] | None = ...,
        notes: str | None = ...,
        intent: str | None = ...,
        agent_id: str | None = ...,
    ) -> _Result:
        """Change a task: at least one other field; `agent_id` assigns it."""
    def save_session_state(
        self,
        *,
        task_id: str,
        agent_id: str | None = ...,
        approach: str | None = ...,
        files_modified: list[str] | None = ...,
        completed_steps: list[str] | None = ...,
        remaining_steps: list[str] | None = ...,
        blockers: list[str] | None = ...,
        decisions: list[str] | None = ...,
        context_snapshot: str | None = ...,
    ) -> _Result:
        """Save the state to resume a task from, before your context ends; omitted fields keep their value."""
    def get_session_state(self, *, task_id: str, agent_id: str | None = ...) -> _Result:
        """Read a task's saved state, or null."""
    def link_task_nodes(self, *, task_id: str, node_ids: list[str], agent_id: str | None = ...) -> _Result:
        """Link a task to graph nodes."""
    def get_my_tasks(
        self,
        *,
        plan_id: str | None = ...,
        agent_id: str | None = ...,
        suggest_next: bool | None = ...,
        limit: int | None = ...,
        after: str | None = ...,
        brief: bool | None = ...,
    ) -> _Result:
        """Read the open tasks that are yours alone (or `agent_id`'s)."""

class Tools(_Methods[Any]):
    """Each tool as a method that returns its result."""

class AsyncTools(_Methods[Awaitable[Any]]):
    """Each tool as a method whose result is awaited."""

WRITES: frozenset[str]
METHODS: dict[str, str]
