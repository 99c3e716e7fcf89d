"""Every entry of a journal, for tests that look at all of it."""

from collections.abc import Iterator

from tui_tasks.core.commit import journal
from tui_tasks.core.engine.database import Database
from tui_tasks.core.snapshots import Entry

PAGE = 1_000


def all_entries(db: Database) -> Iterator[Entry]:
    """Yield every entry that was not compacted away, oldest first, reading a page at a time."""
    seq = journal.oldest(db) - 1
    while page := journal.since(db, seq, PAGE):
        yield from page
        seq = page[-1].seq
