"""The kinds of journal entries as the log names them."""

from __future__ import annotations

from typing import Final

from tui_tasks.core import vocab
from tui_tasks.core.commit import rebalancing

KINDS: Final[dict[str, tuple[str, ...]]] = {
    "new": ("task.created", "list.created", "job.created"),
    "status": ("task.updated",),
    "fail": ("task.updated", "run.finished", "check.finished", "tool.failed", "session.failed"),
    "log": ("task.logged",),
    "edit": ("task.updated", "list.updated", "job.updated"),
    "move": ("task.moved",),
    "delete": ("task.deleted", "list.deleted", "job.deleted"),
    "back": ("task.restored", "list.restored", "job.restored"),
    "link": ("task.linked",),
    "save": ("state.saved", "memory.saved"),
    "ask": ("ask.opened",),
    "answer": ("ask.answered", "ask.timeout", "ask.withdrawn"),
    "claim": ("claim.taken", "claim.extended", "claim.released", "claim.finished", "claim.lapsed", "claim.restored"),
    "run": ("run.requested", "run.started", "run.finished", "job.decided"),
    "tell": ("message.sent", "message.delivered", "message.returned", "message"),
    "pause": ("agent.paused",),
    "resume": ("agent.resumed",),
    "refuse": ("agent.refused",),
    "review": ("task.accepted", "task.declined"),
    "stuck": ("agent.stuck", "agent.unstuck"),
    "check": ("check.finished", "check.requested", "check.waived", "check.stale", "check.defined"),
    "session": (
        *("session.started", "session.prompted", "session.waiting", "session.idle"),
        *("session.failed", "session.interrupted", "session.ended"),
    ),
    "tool": ("tool.failed",),
    "compact": ("journal.compacted",),
}
"""For each word of a filter, the kinds of journal entries that it selects."""
WORD_OF_KIND: Final = {kind: word for word, kinds in reversed(KINDS.items()) if word != "fail" for kind in kinds}
FAILED_OUTCOMES: Final = ("error", "interrupted")
FAILURES: Final = ("tool.failed", "session.failed")
# Entries that are not shown: the scheduler's bookkeeping, reordering of lists, and steps of checks.
HIDDEN: Final = (
    *("job.advanced", "job.pruned", "job.stopping", "run.agent", rebalancing.KIND),
    *("check.queued", "check.started", "check.ended", "check.pruned"),
)
assert set(FAILED_OUTCOMES) < set(vocab.OUTCOMES)
