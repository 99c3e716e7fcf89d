"""What waits in the inbox beside questions, held tasks and failures, each kind with its source.

- Agents in trouble: unfinished tasks whose agent is gone, and agents that do not go on or have failed.
- Work to review: what its agent says of it, its files, and what there is to merge.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from typing_extensions import override

from tui_tasks.core.agent_snapshots import Work
from tui_tasks.core.errors import DatabaseRefused, Refusal
from tui_tasks.core.read import work_queries, work_text
from tui_tasks.core.read.agents import stuck_signs
from tui_tasks.core.read.agents.agent_views import AgentView
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.pages.list_pages import TaskLine
from tui_tasks.core.read.tasks import task_queries, task_records
from tui_tasks.core.store import Store
from tui_tasks.runner.git import GitFailed
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import age, age_lasts
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.agents.agent_actions import give_back, why_not_given_back
from tui_tasks.tui.inbox.inbox_lines import InboxItem, RowSource
from tui_tasks.tui.keys.action_table import Action
from tui_tasks.tui.needs.open_needs import Kind, Need
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.painting.text_lines import Drawn, block, quoted
from tui_tasks.tui.state.context import Context
from tui_tasks.tui.work import work_actions
from tui_tasks.tui.work.review_rows import file_summary

# The most failures of an agent that are shown.
_MAX_FAILURES: Final = 8
_FAILED: Final = "$state-failed"


class LeftTasks(RowSource[TaskLine]):
    """Lists the unfinished tasks whose agent is gone; sets their status, so that others can go on."""

    KIND = "left"
    KINDS = (Kind.AGENTS,)
    ONE = "task of an agent that is gone"
    OPEN = "left_open"
    FOOT = ("left_give_back", "agent_message", "left_open", "dismiss")

    @override
    def items(self, needs: Sequence[Need]) -> Iterator[InboxItem]:
        for need in needs:
            row = list_pages.line(self.context.db, need.task) if need.word == "gone" and need.task else None
            if row is not None:
                lapsed = ", its claim lapsed" if need.row.has_lapsed else ""
                title = f"{safe_line(row.name)}: {agent_text.who(need.agent)} is gone{lapsed}"
                yield InboxItem(need, self.KIND, row, "left", title, f"#{row.number}", need.agent)

    @override
    def more(self, row: TaskLine) -> list[Part]:
        said = task_records.last_said(self.context.db, row.uid, self._agent(row))
        return [(f'"{said}"', "$muted")] if said else []

    def _agent(self, row: TaskLine) -> str:
        """Return the agent that has left a task. A task whose claim has lapsed does not name it."""
        left = self.context.state.without_agent(row.uid)
        return row.who if left is None else left.agent

    @override
    def name(self, row: TaskLine) -> str:
        return row.name

    @override
    def lines(self, row: TaskLine, room: int, is_named: bool) -> list[Drawn]:
        """Return its name, its agent, what that said last, and the description."""
        task = task_queries.task_or_deleted(self.context.db, row.uid)
        agent = self._agent(row)
        left = self.context.state.without_agent(row.uid)
        facts = [f"left {self.ago(left.at)}"] if left is not None and left.agent_is == "gone" else []
        facts.append(f"the task changed {self.ago(row.updated_at)}")
        claim, now = task_records.last_of_task(self.context.db, row.uid), self.context.clock.now()
        if claim is not None and claim.state == "active" and claim.expires_at > now:
            self.lasts(age_lasts(claim.expires_at, now))
            facts.append(f"its claim ends {age(claim.expires_at, now)}")
        lines = [] if is_named else block(f"#{row.number} {safe_line(row.name)}", room, "bold")
        lines += block(f"{agent_text.who(agent, 40)} is gone: {', '.join(facts)}", room, "$state-overdue")
        if said := task_records.last_said(self.context.db, row.uid, agent):
            lines += block(f'"{said}"', room)
        return lines + ([[], *block(task.description, room)] if task.description else [])

    @override
    def foot(self, row: TaskLine) -> Sequence[str]:
        """Leave out to give back what nobody has."""
        why = why_not_given_back(self.context, row)
        return [name for name in self.FOOT if name != "left_give_back" or why is None]

    async def do_left_give_back(self) -> None:
        """Ask for the status of the task that the agent left."""
        if self.row is not None:
            await give_back(self.context, self.row)

    def do_left_open(self) -> None:
        """Show the task in full."""
        row = self.row
        if row is not None:
            self.open_task(row.uid)


class StuckAgents(RowSource[AgentView]):
    """Lists the agents that are there and do not go on, and those that failed."""

    KIND = "stuck"
    KINDS = (Kind.AGENTS,)
    ONE = "agent in trouble"
    OPEN = "stuck_open"
    FOOT = ("stuck_start", "stuck_give_back", "agent_message", "agent_pause", "agent_peek", "stuck_open", "dismiss")

    @override
    def foot(self, row: AgentView) -> Sequence[str]:
        """Leave out what this agent cannot do, or has no task for."""
        without = {"agent_message", "agent_pause"} if row.failed_work is not None else {"stuck_start"}
        task = row.last_task
        can_give = task is not None and why_not_given_back(self.context, task) is None
        without |= set() if can_give else {"stuck_give_back"}
        without |= set() if row.is_there or row.paused else {"agent_pause"}
        without |= set() if work_queries.of_agent(self.context.db, row.name) is not None else {"agent_peek"}
        return [name for name in self.FOOT if name not in without]

    @override
    def items(self, needs: Sequence[Need]) -> Iterator[InboxItem]:
        for need in needs:
            if need.word != "gone":
                entry = need.row
                about = entry.trouble, entry.number, need.agent
                yield InboxItem(need, self.KIND, entry.member, need.word, *about, brief=entry.reason)

    @override
    def more(self, row: AgentView) -> list[Part]:
        about = f"at work on {row.task.name}" if row.task is not None else ""
        if failed := stuck_signs.repeated_failures(self.context.db, row.stuck):
            return [*([(about, "$muted")] if about else []), (agent_text.failure(failed[-1], self.context), _FAILED)]
        return [(text, "$muted") for text in (about, _last_words(row, self.context)) if text]

    @override
    def name(self, row: AgentView) -> str:
        return row.last_task.name if row.last_task is not None else agent_text.who(row.name, 40)

    @override
    def lines(self, row: AgentView, room: int, is_named: bool) -> list[Drawn]:
        """Return its name, why it does not go on, its task, and its failures, else its last words."""
        why, color = agent_text.matter(row, self.context, row.state)
        lines = [] if is_named else block(agent_text.who(row.name, 40), room, "bold")
        lines += block(why or "not heard", room, color)
        if (task := row.last_task) is not None and not is_named:
            lines += block(f"#{task.number} {task.name}", room)
        if task is not None and task.deleted:
            key = self.context.keymap.key_of("stuck_give_back")
            lines += [[], *block(f"{key} brings the task back.", room, "$muted")]
        failed = stuck_signs.repeated_failures(self.context.db, row.stuck)
        for one in failed[: -_MAX_FAILURES - 1 : -1]:
            when = f" {self.context.clock.time_of(one.at)}  "
            text = safe_line(agent_text.failure(one, self.context), max(8, room - len(when)))
            lines.append([(when, "$muted"), (text, _FAILED)])
        said = "" if failed else _last_words(row, self.context)
        return lines + ([[], *block(said, room, "$muted")] if said else [])

    @override
    def why_not(self, action: Action) -> str | None:
        """Some of these agents have no task; that of others is deleted."""
        task = self.row.last_task if self.row is not None else None
        if self.row is not None and action.id in ("stuck_start", "stuck_give_back"):
            if task is None:
                return f"{agent_text.who(self.row.name, 30)} has no task."
            if task.deleted and action.id == "stuck_start":
                key = self.context.keymap.key_of("stuck_give_back")
                return f"#{task.number} is deleted: {key} brings it back."
        return super().why_not(action)

    async def do_stuck_give_back(self) -> None:
        """Ask for the status of the agent's task; bring one back that was deleted."""
        if self.row is not None and (task := self.row.last_task) is not None:
            await give_back(self.context, task)

    async def do_stuck_start(self) -> None:
        """Start another agent on the task."""
        from tui_tasks.tui.work import start_form  # for those who start agents alone

        if self.row is not None and (task := self.row.last_task) is not None:
            await start_form.start(self.context, [task.uid], lambda: self.row is not None)

    def do_stuck_open(self) -> None:
        """Show the agent among the others, from where Back leads to the row."""
        from tui_tasks.tui.agents.agents_screen import AgentsScreen

        if (row := self.row) is not None:
            self.context.link.check()
            self.context.push(AgentsScreen(self.context, row.name))


_MAX_FILES: Final = 30
_GAP: Final = "   "


def _last_words(row: AgentView, context: Context) -> str:
    """Return the last words of an agent in trouble; that it has begun a task or ended it is none of them."""
    is_status = row.word is not None and row.word.kind == "status"
    return "" if is_status else agent_text.quoted_words(row.word, context)


class WorkFiles:
    """The files that works have changed, read by git in a thread, again when there is something else to review."""

    def __init__(self, context: Context, come: Callable[[], None]) -> None:
        """`come` is called when files have been read."""
        self._context = context
        self._come = come
        self._found: dict[str, tuple[object, Sequence[str]]] = {}
        self._turn = asyncio.Lock()

    def of(self, work: Work) -> Sequence[str]:
        """Return the files of a work as `M src/keys.py +31 -7`; none while they are read, or cannot be."""
        version = work.state, work_text.counts(self._context.db, work.uid)
        known = self._found.get(work.uid)
        if known is None or known[0] != version:
            self._found[work.uid] = version, known[1] if known is not None else ()
            self._context.run(self._read(work, version))
        return self._found[work.uid][1]

    async def _read(self, work: Work, version: object) -> None:
        try:
            async with self._turn:
                files = await asyncio.to_thread(self._ask_git, work)
        except (GitFailed, OSError, Refusal, DatabaseRefused):
            files = []
        if files != self._found[work.uid][1]:
            self._found[work.uid] = version, files
            self._come()

    def _ask_git(self, work: Work) -> Sequence[str]:
        from tui_tasks.work.accepting import Acceptance

        with Store(self._context.link.path, makes=False) as store:
            files = Acceptance(store, self._context.link.clock).review(work).files
        more = [f"and {len(files) - _MAX_FILES} more"] if len(files) > _MAX_FILES else []
        return [*map(file_summary, files[:_MAX_FILES]), *more]


class WorkToReview(RowSource[Work]):
    """Lists works that are ready, or do not merge; Enter reviews one."""

    KIND = "work"
    KINDS = (Kind.REVIEW,)
    ONE = "work to review"
    OPEN = "work_review"
    FOOT = ("work_review", "agent_message", "agent_peek")

    def __init__(
        self,
        context: Context,
        item_here: Callable[[], InboxItem | None],
        has_stood: Callable[[InboxItem], bool],
        files_come: Callable[[], None],
    ) -> None:
        """`files_come` is called when the files of a work have been read; the others are those of `RowSource`."""
        super().__init__(context, item_here, has_stood)
        self._files = WorkFiles(context, files_come)

    @override
    def found_by(self, row: Work) -> Iterator[str]:
        """Without its files, which git would have to read."""
        db = self.context.db
        yield from (work_text.counts_text(db, row.uid), work_text.obstacle(db, row), row.summary or "")

    @override
    def items(self, needs: Sequence[Need]) -> Iterator[InboxItem]:
        names = task_queries.numbers_and_names(self.context.db, filter(None, (need.task for need in needs)))
        for need in needs:
            if need.task in names:
                number, name = names[need.task]
                yield InboxItem(need, self.KIND, need.row, "reviewable", name, f"#{number}", need.agent)

    @override
    def more(self, row: Work) -> list[Part]:
        counts = work_text.counts_text(self.context.db, row.uid)
        files = _GAP.join(filter(None, (counts, *self._files.of(row))))
        texts = (files, "$muted"), (f'"{row.summary}"' if row.summary else "", "$muted")
        return [part for part in ((work_text.obstacle(self.context.db, row), "$state-failed"), *texts) if part[0]]

    @override
    def name(self, row: Work) -> str:
        task = list_pages.line(self.context.db, row.task_uid)
        return task.name if task is not None else ""

    @override
    def lines(self, row: Work, room: int, is_named: bool) -> list[Drawn]:
        """Return the task, who worked on it and where, the agent's summary, and what stands in the way."""
        task = list_pages.line(self.context.db, row.task_uid)
        if task is None:
            return []
        who = f"{agent_text.who(row.agent, 40)} started {self.ago(row.started_at)}"
        host = work_queries.host_of_other(self.context.db, row)
        at = f" on {host}" if host is not None else ""
        where = f"on {row.base} itself{at}" if row.is_on_base else f"on {row.branch or row.worktree}{at}"
        where += f", to merge into {row.base}" if row.base is not None and not row.is_on_base else ""
        counts = work_text.counts_text(self.context.db, row.uid)
        lines = [] if is_named else block(f"#{task.number} {task.name}", room, "bold")
        lines += block(f"{who} {where}", room, "$muted")
        lines += block(counts, room) if counts else []
        for file in self._files.of(row):
            lines += block(file, max(8, room - 2), indent=3)
        if why := work_text.obstacle(self.context.db, row):
            lines += [[], *block(why, room, "$state-failed")]
        if row.summary:
            lines += [[], *quoted(row.summary, room, ascii_only=self.context.ascii_only)]
        key = self.context.keymap.key_of(self.OPEN)
        return [
            *lines,
            [],
            *block(f"{key} shows files, diff, commits and checks, to accept it or send it back.", room, "$muted"),
        ]

    def do_work_review(self) -> None:
        """Review it."""
        row = self.row
        if row is not None and not work_actions.review(self.context, row.task_uid, row.agent):
            self.context.say("It no longer waits for review.")
