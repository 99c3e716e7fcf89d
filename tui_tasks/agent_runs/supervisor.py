"""`python -m tui_tasks.agent_runs.supervisor`: executes one run of an agent program (see `runner.supervisor`)."""

from __future__ import annotations

from tui_tasks.agent_runs.conversation import AgentConversation
from tui_tasks.core.store import Store
from tui_tasks.runner import supervisor
from tui_tasks.runner.launch import Assignment
from tui_tasks.settings import config, paths


def converse(store: Store, assignment: Assignment) -> AgentConversation:
    """Return the conversation of a run, with the human's settings as they are now."""
    return AgentConversation(store, assignment, config.load(paths.configuration())[0].sessions)


if __name__ == "__main__":
    supervisor.main(converse)
