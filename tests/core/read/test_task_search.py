"""A page of the board is the beginning of the whole, and costs the same however long the list is."""

from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import START
from tui_tasks.core import vocab
from tui_tasks.core.operations.tasks import AddTask, DeleteTask
from tui_tasks.core.read.tasks import ready_tasks, task_queries, task_search
from tui_tasks.core.store import Store

made = st.lists(
    st.tuples(st.sampled_from(vocab.STATUSES), st.integers(1, 6), st.booleans(), st.booleans()), min_size=1, max_size=30
)
wanted = st.sets(st.sampled_from(vocab.STATUSES), min_size=1)
priorities = st.sampled_from([task_search.ANY_PRIORITY, (1, 1), (2, 2), (vocab.LOW, 2**63 - 1)])


@given(made, wanted, priorities, st.integers(0, 12))
def test_a_page_is_the_beginning_of_all_and_tells_how_many_there_are(tasks, statuses, between, limit):
    with Store(":memory:") as store:
        home = task_queries.find_list(store.db, "task")
        first = None
        for status, priority, waits, goes in tasks:
            waiting = (first.uid,) if waits and first is not None else ()
            add = AddTask("t", home.uid, status=status, priority=priority, depends_on=waiting)
            (task,) = store.commit(add, actor="a", now=START)
            if goes:
                store.commit(DeleteTask(task.uid), actor="a", now=START)
            else:
                first = first or task
        found, total = task_search.tasks(store.db, home.id, statuses=statuses, priorities=between)
        everything = list(found)
        page, told = task_search.tasks(store.db, home.id, statuses=statuses, priorities=between, limit=limit)
        assert list(page) == everything[:limit]
        assert told == total == len(everything)


def test_a_page_and_the_next_to_do_are_read_from_an_index_in_their_order():
    of_list = "task_urgency (list_id=? AND status=? AND <expr>=?"
    read = {task_search._FIRST: of_list, ready_tasks._ready(True, False, False): of_list}
    read[ready_tasks._ready(False, False, False)] = "task_ready"
    with Store(":memory:") as store:
        for statement, index in read.items():
            asked = [1] * statement.sql.count("?")
            steps = [row[-1] for row in store.db.sql(f"EXPLAIN QUERY PLAN {statement.sql}", asked)]
            assert any(f"USING INDEX {index}" in step for step in steps)
            assert not any("TEMP B-TREE" in step for step in steps)
