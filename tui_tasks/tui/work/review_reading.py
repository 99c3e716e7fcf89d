"""What a review reads by git, in threads: the work with its checks, and the diffs of its files, which are held."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import msgspec

from tui_tasks.core.agent_snapshots import Check, Work
from tui_tasks.core.store import Store
from tui_tasks.runner.git import GitFailed
from tui_tasks.tui.work import diff_lines
from tui_tasks.tui.work.diff_lines import Colours, DiffLine
from tui_tasks.work.accepting import Acceptance
from tui_tasks.work.git import reviewing

if TYPE_CHECKING:
    from tui_tasks.work.git.reviewing import FileChange, Review

_MAX_CACHED: Final = 50


class FileText(msgspec.Struct):
    """The diff of a file: its lines and their colours, or a note instead."""

    lines: list[DiffLine]
    colours: Colours
    note: str = ""


class FileTexts:
    """The diffs that were read last, by the keys of their files."""

    def __init__(self) -> None:
        self._texts: dict[str, FileText] = {}

    def __contains__(self, key: str) -> bool:
        return key in self._texts

    def get(self, key: str) -> FileText | None:
        """Return the diff of a file; None if it is not read yet."""
        return self._texts.get(key)

    def put(self, key: str, text: FileText) -> None:
        """Hold the diff of a file, and drop the oldest where there are many."""
        while len(self._texts) >= _MAX_CACHED:
            del self._texts[next(iter(self._texts))]
        self._texts[key] = text

    def clear(self) -> None:
        """Drop all, as the work has changed."""
        self._texts.clear()


def read_review(path: str, clock: Callable[[], int], work: Work) -> tuple[Review, tuple[Check, ...]]:
    """Return what git has of a work, and its checks with their states on that tree; called in a thread.

    Raises:
        Refusal: it cannot be read, as the message says.
    """
    with Store(path, makes=False) as store:
        acceptance = Acceptance(store, clock)
        review = acceptance.review(work)
        return review, acceptance.checks(work, review)


def file_text(review: Review, change: FileChange) -> FileText:
    """Return the diff of a file; called in a thread."""
    try:
        diff = reviewing.file_diff(review.folder, review.merge_base, review.tree, change)
    except (GitFailed, OSError) as error:
        return FileText([], {}, f"{error}")
    if diff.is_binary:
        return FileText([], {}, "A binary file: its bytes are not shown.")
    lines = diff_lines.parse(diff.text)
    note = "The rest of this diff is too long to be shown: look at it in the worktree." if diff.is_cut else ""
    if not lines and not note:
        note = "No line differs."
    return FileText(lines, {}, note)
