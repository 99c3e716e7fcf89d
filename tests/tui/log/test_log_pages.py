"""The log's pages: every entry once in its order, and a page far back as cheap as one near."""

import contextlib
import sqlite3

import pytest

from tests.tui.plan import NOW, at
from tui_tasks.core.commit import journal
from tui_tasks.core.maintenance.compaction_steps import compact
from tui_tasks.core.operations.jobs import CreateJob, FinishRun, RunJob
from tui_tasks.core.operations.tasks import ClaimTask, CreatePlan, EditTask, ExtendClaim, LogTask
from tui_tasks.core.operations.work import SetAuto, StopAuto
from tui_tasks.core.read import job_queries
from tui_tasks.core.read.pages import log_folds, log_lines, log_pages, log_words
from tui_tasks.core.read.pages.task_filter import ALL, Filter, Term
from tui_tasks.core.read.tasks import task_records
from tui_tasks.core.store import Store
from tui_tasks.tui.log.log_rows import EntriesOfJournal
from tui_tasks.tui.log.log_text import EARLIER, SEEN, text_of
from tui_tasks.tui.state.app_state import AppState

LOOKED = (0, 1, 7, 30, 10**9)
# The mark of the last look goes between pages in one way, whatever they are filtered by.
CASES = [
    *((None, looked) for looked in LOOKED),
    *((Term("kind", "log"), looked) for looked in LOOKED),
    (Term("word", "the"), 7),
    (Term("who", "c", prefix=True), 7),
]


@pytest.mark.parametrize(("term", "looked"), CASES)
def test_pages_forwards_and_backwards_give_each_entry_once_in_order(plan, monkeypatch, term, looked):
    only = Filter((term,)) if term else ALL
    monkeypatch.setattr(log_pages, "MAX_PASSED", 3)
    with Store(plan.path) as store:
        state = AppState(store.db, NOW)
        state.seen.looked = type(state.seen.looked)(looked, NOW)
        newest = journal.newest(store.db)
        source = EntriesOfJournal(store.db, state, only)
        found = log_pages.find(store.db, range(newest + 1), only, source.fold)
        whole = [found[seq] for seq in sorted(found)]
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
        state = AppState(store.db, NOW)
        state.seen.looked = type(state.seen.looked)(looked, NOW)
        source = EntriesOfJournal(store.db, state)
        keys = [EARLIER, *map(str, log_pages.find(store.db, range(oldest, newest + 1), fold=source.fold))]
        keys.insert(1 + sum(key != EARLIER and int(key) <= looked for key in keys), SEEN)
        for limit in (1, 2, 5, 1000):
            assert [source.key(row) for row in read(source.first, source.after, limit, -1)] == keys
            assert [source.key(row) for row in read(source.last, source.before, limit, 0)] == keys
        assert source.find(keys).keys() == set(keys)
        assert EARLIER not in EntriesOfJournal(store.db, state, Filter((Term("kind", "log"),))).find(keys)


def test_a_line_says_whether_agents_start_on_a_list_by_themselves(plan):
    with Store(plan.path) as store:
        newest = journal.newest(store.db)
        switched = (
            SetAuto(plan.list_uid, "/opt/api"),
            SetAuto(plan.list_uid, "/opt/api", at_once=3),
            StopAuto(plan.list_uid, "3 agents failed in a row"),
        )
        for operation in switched:
            store.commit(operation, actor="human", now=NOW)
        assert [text_of(line) for line in log_pages.page(store.db, newest, 100)] == [
            "agents start on a list by themselves",
            "whether agents start on a list by themselves, and how",
            "no agents start on a list by themselves: 3 agents failed in a row",
        ]
        assert not log_pages.page(store.db, newest, 100, Filter((Term("word", "acceptance"),)))


def test_a_run_of_one_agents_progress_on_one_task_is_one_line(plan):
    with Store(plan.path) as store:
        newest = journal.newest(store.db)

        def log(actor, place, text):
            store.commit(LogTask(plan[place], text), actor=actor, now=NOW)

        for number in range(4):
            log("claude-1", 5, f"first {number}")
            log("claude-2", 7, f"beside {number}")
        log("claude-1", 4, "elsewhere")
        log("claude-1", 5, "second")
        store.commit(EditTask(plan[5], {"priority": 1}), actor="human", now=NOW)
        log("claude-1", 5, "third")
        lines = log_pages.page(store.db, newest, 100, fold=log_pages.LAST)
        assert [(line.count, line.new.get("message")) for line in lines] == [
            # What the agent had said before belongs to its run.
            (7, "first 3"),
            (4, "beside 3"),
            (1, "elsewhere"),
            (1, "second"),
            (1, None),
            (1, "third"),
        ]
        words = [text for _, text in log_lines.progress_of(store.db, lines[0])]
        assert words[:5] == ["first 3", "first 2", "first 1", "first 0", "running tests 14/22"]
        still = log_pages.page(store.db, newest - 1, 100, fold=newest)
        assert [line.count for line in still][:3] == [3, 1, 1]
        assert len(log_pages.page(store.db, newest, 100)) == 12


def of_job(store, uid, **how):
    """What the lines of a job say, oldest first."""
    lines = log_pages.page(store.db, log_pages.FIRST, 500, **how)
    return [(line.new.get("outcome"), text_of(line).partition("  ")[2]) for line in lines if line.job == uid]


def test_a_run_is_one_line_once_it_has_ended_and_good_runs_in_a_row_of_a_job_are_one(jobs):
    with Store(jobs.plan.path) as store:
        status = of_job(store, jobs[1], fold=log_pages.LAST)
        assert status[-5:] == [
            ("success", "4 runs ok, last 9s"),
            ("error", ""),
            ("success", "3 runs ok, last 9s"),
            (None, "where it runs"),
            (None, "started"),
        ]
        assert of_job(store, jobs[2], fold=log_pages.LAST)[-3:] == [
            ("success", "8 runs ok, last 28s"),
            (None, "requested"),  # the human has asked for it
            ("success", "ok 28s"),
        ]
        assert len([said for outcome, said in of_job(store, jobs[1]) if outcome == "success"]) == 7
        lines = log_pages.page(store.db, log_pages.FIRST, 500, fold=log_pages.LAST)
        (last,) = [line for line in lines if line.job == jobs[1] and line.count == 3]
        runs = log_folds.good_runs(store.db, [last.seq])[last.seq].ends
        assert [(time, log_folds.took(store.db, run)) for time, run in runs] == [
            (at(20, 0, 9), 9_000_000),
            (at(19, 45, 9), 9_000_000),
            (at(19, 30, 9), 9_000_000),
        ]


def test_while_lines_stand_still_no_run_that_ends_takes_one_away(jobs):
    with Store(jobs.plan.path) as store:
        store.commit(RunJob(jobs[2], force=True), actor="claude-1", now=NOW)
        (run,) = job_queries.open_runs(store.db, jobs[2])
        newest = journal.newest(store.db)
        before = of_job(store, jobs[2], fold=newest)
        assert before[-2:] == [("success", "ok 28s"), (None, "requested")]
        store.commit(FinishRun(run.uid, "success", "12 logins"), actor="claude-1", now=NOW)
        assert of_job(store, jobs[2], fold=newest) == [*before, ("success", "ok 0ms")]
        assert of_job(store, jobs[2], fold=log_pages.LAST) == [*before[:-2], ("success", "2 runs ok, last 0ms")]


def test_a_run_far_from_the_one_before_has_a_line_of_its_own(jobs):
    def run(store):
        store.commit(RunJob(jobs[2], force=True), actor="claude-1", now=NOW)
        (run,) = job_queries.open_runs(store.db, jobs[2])
        store.commit(FinishRun(run.uid, "success", "12 logins"), actor="claude-1", now=NOW)

    with Store(jobs.plan.path) as store:
        with store.transaction(NOW) as transaction:
            for number in range(300):
                with transaction.change():
                    transaction.speak("claude-1" if number % 2 else "claude-2")
                    transaction.run(LogTask(jobs.plan[5], f"{number}"))
        run(store)
        run(store)
        said = [said for _, said in of_job(store, jobs[2], fold=log_pages.LAST)]
        assert said[-2:] == ["ok 28s", "2 runs ok, last 0ms"]


@pytest.mark.parametrize("before", [None, 1_000, 2])
@pytest.mark.parametrize(("passed", "apart"), [(2_000, 200), (7, 200), (7, 9)])
def test_runs_are_folded_alike_in_pages_of_every_length_and_one_by_one(jobs, monkeypatch, passed, apart, before):
    """`before`: how far back the job of a run is searched for; None: all runs are kept."""
    monkeypatch.setattr(log_pages, "MAX_PASSED", passed)
    monkeypatch.setattr(log_folds, "_APART", apart)
    if before is not None:
        monkeypatch.setattr(log_folds, "_DECIDED_BEFORE", before)
        with contextlib.closing(sqlite3.connect(jobs.plan.path, isolation_level=None)) as db:
            db.execute("DELETE FROM run")
    with Store(jobs.plan.path) as store:
        source = EntriesOfJournal(store.db, AppState(store.db, NOW))
        found = source.find([str(seq) for seq in range(journal.newest(store.db) + 1)])
        whole = [found[key] for key in sorted(found, key=int)]
        counts = [line.count for line in whole if line.word == "run"]
        if before != 2:
            assert max(counts) == 8 if apart == 200 else max(counts) in range(2, 8)
        for limit in (1, 5, 1000):
            for rows in (read(source.first, source.after, limit, -1), read(source.last, source.before, limit, 0)):
                assert [row for row in rows if row.word != SEEN] == whole


def test_a_line_counts_good_runs_a_part_of_the_journal_back_and_says_that_there_are_more(jobs, monkeypatch):
    monkeypatch.setattr(log_folds, "_COUNTED", 20)
    with Store(jobs.plan.path) as store:
        said = [said for _, said in of_job(store, jobs[2], fold=log_pages.LAST) if " runs ok" in said]
        assert said == ["2+ runs ok, last 28s"]


@pytest.mark.parametrize("often", [12, 105])
def test_runs_that_are_not_kept_are_folded_and_named_as_others_are(plan, often):
    with Store(plan.path) as store:
        made = CreateJob("Nightly", "adhoc", "", "Back up", "UTC", settings={"keep_runs": 3})
        (job,) = store.commit(made, actor="human", now=NOW)
        for _ in range(often):
            store.commit(RunJob(job.uid), actor="claude-1", now=NOW)
            (run,) = job_queries.open_runs(store.db, job.uid)
            store.commit(FinishRun(run.uid, "success", "ok"), actor="claude-1", now=NOW)
        folded = log_pages.page(store.db, log_pages.LAST, 3, backwards=True, fold=log_pages.LAST)
        counted = "12 runs ok" if often == 12 else "99+ runs ok"
        assert text_of(folded[-1]) == f"Nightly  {counted}, last 0ms"
        assert sum(line.entity == "run" for line in folded) == 1
        only = Filter((Term("who", "claude-1"),))
        for lines in (log_pages.page(store.db, folded[-1].seq - often, often), log_pages.page(store.db, 0, 500, only)):
            about = [line for line in lines if line.entity == "run"]
            assert about and {(line.job, line.name) for line in about} == {(job.uid, "Nightly")}


def test_heartbeats_of_a_claim_have_no_line_among_folded_ones_and_can_be_asked_for(plan):
    with Store(plan.path) as store:
        newest = journal.newest(store.db)
        ((_, claim),) = store.commit(ClaimTask("claude-1", 900_000_000, plan[8]), actor="claude-1", now=NOW)
        for _ in range(3):
            store.commit(ExtendClaim("claude-1", claim.uid), actor="claude-1", now=NOW)
        heartbeats = ["claim.extended"] * 3

        def kinds(**how):
            return [line.kind for line in log_pages.page(store.db, newest, 100, **how) if line.entity == "claim"]

        assert kinds(fold=log_pages.LAST) == ["claim.taken"]
        assert kinds() == kinds(only=Filter((Term("kind", "claim"),))) == ["claim.taken", *heartbeats]


def test_a_long_run_is_gone_through_piece_by_piece(plan):
    with Store(plan.path) as store:
        with store.transaction(NOW) as transaction:
            for number in range(4_000):
                with transaction.change():
                    transaction.speak("claude-1")
                    transaction.run(LogTask(plan[5], f"{number}"))
        page = log_pages.page(store.db, log_pages.LAST, 5, backwards=True, fold=log_pages.LAST)
        assert [(line.count, line.new["message"]) for line in page] == [(log_folds.MAX_FOLDED, "3999")]
        assert page.reached is not None


def test_the_condition_of_a_word_is_built_once_for_all_pages_that_are_read(plan, monkeypatch):
    built, build = [], log_words.contains_word
    monkeypatch.setattr(log_words, "contains_word", lambda word: built.append(word) or build(word))
    only = Filter((Term("word", "sketched"),))
    with Store(plan.path) as store:
        for seq in (log_pages.FIRST, 5, 10):
            (line,) = log_pages.page(store.db, seq, 10, only)
        assert log_pages.page(store.db, log_pages.LAST, 10, only, backwards=True) == [line]
        assert log_pages.find(store.db, range(100), only) == {line.seq: line}
    assert built == ["sketched"]


@pytest.mark.parametrize("term", [Term("list", "late"), Term("project", "late"), Term("word", "S1")])
def test_a_filter_that_was_read_before_finds_the_lists_and_jobs_that_are_made_later(plan, term):
    only = Filter((term,))
    with Store(plan.path) as store:
        assert not log_pages.page(store.db, log_pages.FIRST, 10, only)
        (home,) = store.commit(CreatePlan("Late", project="late"), actor="human", now=NOW)
        (job,) = store.commit(CreateJob("Nightly", "adhoc", "", "Back up", "UTC"), actor="human", now=NOW)
        found = {line.uid for line in log_pages.page(store.db, log_pages.FIRST, 10, only)}
        assert found == {job.uid if term.field == "word" else home.uid}


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
        assert task_records.logs(store.db, plan[5])
