"""The human's comments on the lines of a work, and the one message in which its agent gets them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from tui_tasks.core.engine.database import Database
from tui_tasks.core.read import views
from tui_tasks.text.safe import path_text
from tui_tasks.tui.work.diff_lines import DiffLine

if TYPE_CHECKING:
    from tui_tasks.work.git_review import Review

KEPT: Final = "comments"
"""Under this key `views` keeps comments that are not sent yet, by the uid of their work."""
_MAX_FILES: Final = 20
_MAX_QUOTE: Final = 200


class Comment(msgspec.Struct, frozen=True):
    """A comment.

    Attributes:
        path: the file.
        line: the number of its line; 0: it is on the file.
        is_old: whether the line was removed, so that the number is that in the old file.
        quote: the line.
        text: the human's words.
    """

    path: str
    line: int
    is_old: bool
    quote: str
    text: str

    def is_about(self, line: DiffLine) -> bool:
        """Return whether it is on a line of the diff of its file."""
        return self.line > 0 and line.kind in "+- " and self.is_old == (line.kind == "-") and line.number == self.line


def kept(db: Database, work_uid: str) -> list[Comment]:
    """Return the comments on a work that are not sent yet."""
    found = (views.get(db, KEPT) or {}).get(work_uid, [])
    return [msgspec.convert(one, Comment) for one in found]


def to_keep(db: Database, work_uid: str, comments: Sequence[Comment], live: Iterable[str]) -> dict[str, Any]:
    """Return what `views` is to keep; comments on works that are over are dropped."""
    found: dict[str, Any] = {uid: one for uid, one in (views.get(db, KEPT) or {}).items() if uid in set(live)}
    found.pop(work_uid, None)
    return found | ({work_uid: msgspec.to_builtins(list(comments))} if comments else {})


def message(comments: Sequence[Comment], review: Review, conflicts: Sequence[str]) -> str:
    """Return what the agent is sent: all comments, and how to go on; empty if there is nothing to say."""
    parts = []
    for comment in comments:
        where = f"{comment.path}:{comment.line}" if comment.line else comment.path
        old = " (removed line)" if comment.is_old else ""
        quote = f"\n> {comment.quote[:_MAX_QUOTE]}" if comment.quote.strip() else ""
        parts.append(f"{where}{old}{quote}\n{comment.text}")
    if parts:
        parts.insert(0, "Review of your work:" if len(parts) > 1 else "A comment on your work:")
    if conflicts:
        parts.append(
            f"Your work does not merge into {review.base}: conflicts in {_named(conflicts)}."
            f" Merge {review.base} into your branch and resolve them."
        )
    if review.is_dirty and (not parts or conflicts):
        parts.append(f"Not committed: {_named(review.uncommitted)}. Commit what belongs to the work, remove the rest.")
    return "\n\n".join([*parts, "Report it ready again when you are done."]) if parts else ""


def _named(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _MAX_FILES} more" if len(paths) > _MAX_FILES else ""
    return f"{', '.join(map(path_text, paths[:_MAX_FILES]))}{more}"
