"""The log's pages: every entry once in its order, and a page far back as cheap as one near."""

import pytest

from tests.tui.plan import NOW, at
from tui_tasks.core import journal, log_pages, queries
from tui_tasks.core.compacting import compact
from tui_tasks.core.operations import LogTask
from tui_tasks.core.store import Store
from tui_tasks.core.wanted import ALL, Filter, Term
from tui_tasks.tui.log_lines import EntriesOfJournal
from tui_tasks.tui.log_words import EARLIER, SEEN
from tui_tasks.tui.situation import Situation


@pytest.mark.parametrize("only", [ALL, Filter((Term("kind", "log"),)), Filter((Term("word", "the"),))])
@pytest.mark.parametrize("looked", [0, 1, 7, 30, 10**9])
def test_pages_forwards_and_backwards_give_each_entry_once_in_order(plan, monkeypatch, only, looked):
    monkeypatch.setattr(log_pages, "MOST_PASSED", 3)
    with Store(plan.path) as store:
        seen = Situation(store.db, NOW)
        seen.looked = type(seen.looked)(looked, NOW)
        newest = journal.newest(store.db)
        source = EntriesOfJournal(store.db, seen, only)
        whole = [line for seq in range(newest + 1) for line in log_pages.find(store.db, [seq], only).values()]
        keys = [str(line.seq) for line in whole]
        marks = [mark.word for mark in source.marks()]
        if marks:
            keys.insert(sum(line.seq <= looked for line in whole), SEEN)
        assert marks == ([SEEN] if 0 < looked < newest else [])
        for limit in (1, 2, 5, 1000):
            assert [source.key(row) for row in read(source.first, source.after, limit, -1)] == keys
            assert [source.key(row) for row in read(source.last, source.before, limit, 0)] == keys
        assert source.find(keys).keys() == set(keys)


@pytest.mark.parametrize("after", [-5, -1, 0, 3])
def test_pages_of_what_was_compacted_begin_with_a_mark_that_tells_so(plan, after):
    with Store(plan.path) as store:
        compact(store, at(19, 58), NOW)
        oldest, newest = log_pages.edges(store.db)
        looked = oldest + after
        seen = Situation(store.db, NOW)
        seen.looked = type(seen.looked)(looked, NOW)
        source = EntriesOfJournal(store.db, seen)
        keys = [EARLIER, *map(str, log_pages.find(store.db, range(oldest, newest + 1)))]
        keys.insert(1 + sum(key != EARLIER and int(key) <= looked for key in keys), SEEN)
        for limit in (1, 2, 5, 1000):
            assert [source.key(row) for row in read(source.first, source.after, limit, -1)] == keys
            assert [source.key(row) for row in read(source.last, source.before, limit, 0)] == keys
        assert source.find(keys).keys() == set(keys)
        assert EARLIER not in EntriesOfJournal(store.db, seen, Filter((Term("kind", "log"),))).find(keys)


def read(edge, onwards, limit, end):
    """Everything a source has, page by page from one end."""
    found = list(edge(limit))
    while True:
        page = onwards(found[end], limit) if found else edge(limit)
        found = [*page, *found] if end == 0 else [*found, *page]
        if not page and not page.cut:
            return found


def test_a_page_far_back_looks_at_no_more_entries_than_one_near(plan):
    with Store(plan.path) as store:
        with store.transaction(NOW) as transaction:
            for number in range(3_000):
                with transaction.change():
                    transaction.speak("claude-1")
                    transaction.run(LogTask(plan[5], f"{number}"))
        steps = []
        for seq in (200, 2_900):
            counted = [0]
            store.db._connection.set_progress_handler(
                lambda counted=counted: counted.__setitem__(0, counted[0] + 1), 100
            )
            log_pages.page(store.db, seq, 50)
            log_pages.page(store.db, seq, 50, backwards=True)
            store.db._connection.set_progress_handler(None, 0)
            steps.append(counted[0])
        assert steps[1] <= steps[0] * 1.2 + 2
        assert queries.logs(store.db, plan[5])
