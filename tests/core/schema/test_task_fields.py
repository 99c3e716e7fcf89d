from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import START
from tui_tasks.core.operations.tasks import AddTask, EnsureList
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.pages.task_filter import Filter, Term
from tui_tasks.core.schema.due_dates import Range, is_overdue
from tui_tasks.core.schema.task_fields import FIELDS
from tui_tasks.core.snapshots import Task
from tui_tasks.core.vocab import SET_FIELDS

BERLIN = ZoneInfo("Europe/Berlin")
# A Wednesday, 23:30 in Berlin, 22:30 in UTC.
NOW = datetime(2026, 1, 28, 23, 30, tzinfo=BERLIN)
DUE, ESTIMATE = FIELDS["due"], FIELDS["estimate"]

ZONES = st.sampled_from([ZoneInfo(name) for name in ("UTC", "Europe/Berlin", "America/New_York", "Pacific/Kiritimati")])
TIMES = st.builds(
    lambda at, zone: at.replace(tzinfo=UTC).astimezone(zone),
    st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1)),
    ZONES,
)
DATES = st.dates(date(2020, 1, 1), date(2030, 1, 1)).map(date.isoformat)
INSTANTS = TIMES.map(lambda at: at.astimezone(UTC).isoformat(timespec="milliseconds"))
DUES = DATES | INSTANTS
WORDS = st.sampled_from(["today", "tomorrow", "<3d", "<=3d", ">1w", ">=1w", "fri", "2026-01-31", "<2026-01-31"])


def is_in(value: str, ranges: list[Range]) -> bool:
    return any(
        (each.low is None or value >= each.low)
        and (each.high is None or value < each.high)
        and (each.is_date is None or each.is_date == (len(value) == 10))
        for each in ranges
    )


def day_of(due: str, now: datetime) -> date:
    return date.fromisoformat(due) if len(due) == 10 else datetime.fromisoformat(due).astimezone(now.tzinfo).date()


@given(value=DUES, now=TIMES)
def test_what_is_written_of_a_due_date_is_read_again(value, now):
    written = DUE.write(value, now)
    again = DUE.parse(written, now)
    assert again == value if len(value) == 10 else again[:16] == value[:16]


@given(minutes=st.integers(1, 525_600), now=TIMES)
def test_what_is_written_of_an_estimate_is_read_again(minutes, now):
    assert ESTIMATE.parse(ESTIMATE.write(minutes, now), now) == minutes


@given(value=DUES, now=TIMES, word=WORDS)
def test_a_filter_of_days_means_the_local_days(value, now, word):
    day = day_of(value, now)
    sign = word.rstrip("-0123456789abcdefghijklmnopqrstuvwxyz")
    meant = date.fromisoformat(DUE.parse(word.removeprefix(sign), now))
    expected = {"": day == meant, "<": day < meant, "<=": day <= meant, ">": day > meant, ">=": day >= meant}[sign]
    assert is_in(value, DUE.ranges(word, now)) == expected


@given(value=DUES, now=TIMES)
def test_the_filter_finds_overdue_what_is_marked_so(value, now):
    now = now.replace(microsecond=now.microsecond // 1000 * 1000)
    assert is_in(value, DUE.ranges("overdue", now)) == is_overdue(value, now)


@given(value=DUES, now=TIMES)
def test_what_is_told_stays_true_for_as_long_as_it_says(value, now):
    later = (now.astimezone(UTC) + timedelta(microseconds=DUE.lasts(value, now) - 1)).astimezone(now.tzinfo)
    assert DUE.short(value, now) == DUE.short(value, later)


@pytest.mark.parametrize(
    ("value", "short", "long"),
    [
        ("2026-01-28", "due today", "due today (Wed 2026-01-28)"),
        ("2026-01-30", "due in 2d", "due in 2d (Fri 2026-01-30)"),
        ("2026-01-25", "late 2d", "late 2d (Sun 2026-01-25)"),
        ("2026-01-29T02:30:00.000+00:00", "due in 4h", "due in 4h (Thu 2026-01-29 03:30)"),
        ("2026-01-30T22:00:00.000+00:00", "due in 2d", "due in 2d (Fri 2026-01-30 23:00)"),
        ("2026-01-31T06:00:00.000+00:00", "due in 3d", "due in 3d (Sat 2026-01-31 07:00)"),
        ("2026-01-28T22:00:00.000+00:00", "late 30m", "late 30m (Wed 2026-01-28 23:00)"),
    ],
)
def test_a_due_date_is_told_in_words_with_the_date(value, short, long):
    assert (DUE.short(value, NOW), DUE.long(value, NOW)) == (short, long)


@pytest.mark.parametrize(("minutes", "told"), [(45, "45m"), (60, "1h"), (90, "1h 30m"), (525_600, "8,760h")])
def test_an_estimate_is_told_in_hours_and_minutes(minutes, told):
    assert ESTIMATE.short(minutes, NOW) == f"estimate {told}"


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("due", "<"),
        ("due", "<>3d"),
        ("due", "soon"),
        ("due", "=1d"),
        ("due", "9999-12-31"),
        ("estimate", "<"),
        ("estimate", "0"),
    ],
)
def test_a_filter_says_what_it_takes(name, word):
    with pytest.raises(ValueError, match=f"^{name}"):
        FIELDS[name].ranges(word, NOW)


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["today"], "today"),
        (["tomorrow"], "tonight late"),
        (["overdue"], "late"),
        (["none"], "never"),
        (["2026-01-25"], "late done"),
        (["<3d", ">=today"], "today tonight late"),
        (["today", "none"], "today never"),
        (["-today"], "late done tonight late never"),
    ],
)
def test_a_list_is_filtered_by_what_is_due(store, words, names):
    (home,) = store.commit(EnsureList("tasklist", "tasklist"), actor="a", now=START)
    due = {"late": "2026-01-25", "done": "2026-01-25", "today": "2026-01-28", "never": None}
    due["tonight late"] = "2026-01-28T23:15:00.000+00:00"
    for name in ("late", "done", "today", "tonight late", "never"):
        status = "done" if name == "done" else "pending"
        store.commit(AddTask(name, home.uid, status=status, fields={"due": due[name]}), actor="a", now=START)
    terms = tuple(Term("due", word.removeprefix("-"), word.startswith("-")) for word in words)
    page = list_pages.after(store.db, home.id, list_pages.FIRST, 10, Filter(terms, now=NOW))
    assert " ".join(task.name for task in page) == names
    shown = Filter((Term("word", "due"),), now=NOW, shown=lambda _: [])
    due = list_pages.after(store.db, home.id, list_pages.FIRST, 10, shown)
    assert [task.name for task in due] == ["late", "today", "tonight late"], "an open row shows when it is due"


def test_a_time_alone_is_due_today():
    assert DUE.parse("17:00", NOW) == DUE.parse("today 17:00", NOW)
    with pytest.raises(ValueError, match=r"^due takes today, tomorrow, fri, 17:00, "):
        DUE.parse("25:00", NOW)


def test_a_list_is_filtered_by_estimates(store):
    (home,) = store.commit(EnsureList("tasklist", "tasklist"), actor="a", now=START)
    for minutes in (30, 60, 90, None):
        store.commit(AddTask(str(minutes), home.uid, fields={"estimate": minutes}), actor="a", now=START)
    for word, names in {"<1h": ["30"], "60": ["60"], ">=1h": ["60", "90"], "none": ["None"]}.items():
        page = list_pages.after(store.db, home.id, list_pages.FIRST, 10, Filter((Term("estimate", word),), now=NOW))
        assert [task.name for task in page] == names


@pytest.mark.parametrize("word", ["0001-01-01", "<0001-01-01", ">=9999-12-30", "9999-12-30"])
@given(zone=ZONES)
def test_the_first_and_the_last_days_are_ranges_in_every_zone(word: str, zone: ZoneInfo) -> None:
    assert DUE.ranges(word, NOW.astimezone(zone))


def test_every_field_of_a_task_that_holds_several_values_is_one_of_which_each_counts_by_itself():
    several = {name for name, kind in Task.__annotations__.items() if str(kind).startswith("tuple[")}
    assert several - {"fenced", "checks"} == SET_FIELDS
