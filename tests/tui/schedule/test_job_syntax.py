"""What is typed for a job's times and settings, read and written again."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tui.evening import Jobs
from tests.tui.plan import NOW
from tui_tasks.core.errors import InvalidArgument
from tui_tasks.core.read import job_queries
from tui_tasks.core.schedule.cron import ScheduleError
from tui_tasks.core.store import Store
from tui_tasks.dialects.requests import job_syntax
from tui_tasks.dialects.requests.job_syntax import preview, read_settings, read_times

ZONE = "Europe/Berlin"


def cron(text: str) -> str:
    times = read_times(text, ZONE, NOW)
    assert times.kind == "scheduled"
    return " ".join(times.schedule.values())


def test_five_fields_are_a_cron_and_nothing_is_by_hand():
    assert cron("  0 8  * * mon-fri ") == "0 8 * * mon-fri"
    assert read_times("  ", ZONE, NOW).kind == "adhoc"


def test_common_words_are_taken_for_what_they_mean():
    assert cron("every 15m") == "*/15 * * * *"
    assert cron("every minute") == "* * * * *"
    assert cron("every 2 hours") == "0 */2 * * *"
    assert cron("9:05") == "5 9 * * *"
    assert cron("daily 21:30") == "30 21 * * *"
    assert cron("9:00 mon-fri") == "0 9 * * mon-fri"
    assert cron("9:00 weekends") == "0 9 * * sat,sun"


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("every day at 9", "0 9 * * *"),
        ("each day 21:30", "30 21 * * *"),
        ("9am every day", "0 9 * * *"),
        ("at 9 every weekday", "0 9 * * mon-fri"),
        ("weekdays at 6 pm", "0 18 * * mon-fri"),
        ("every monday at 9:15", "15 9 * * mon"),
        ("mondays at 9", "0 9 * * mon"),
        ("every mon, wed 8:00", "0 8 * * mon,wed"),
        ("9:00 tuesday-thursday", "0 9 * * tue-thu"),
        ("daily noon", "0 12 * * *"),
    ],
)
def test_days_that_repeat_and_a_time_of_day_are_taken_in_either_order(text: str, fields: str):
    assert cron(text) == fields


@pytest.mark.parametrize("text", ["every foo at 9", "every day", "mon-foo 9:00", "every day at 25"])
def test_words_that_name_no_days_or_no_time_are_refused_with_what_is_taken(text: str):
    with pytest.raises(ScheduleError, match=r"no times '.*: give five fields of a cron, .* or every day at 9"):
        read_times(text, ZONE, NOW)


def test_the_nicknames_of_crontab_are_taken():
    assert cron("@daily") == "0 0 * * *"
    assert cron("@Hourly") == "0 * * * *"
    assert cron("@weekly") == "0 0 * * 0"
    with pytest.raises(ScheduleError, match="@daily"):
        read_times("@reboot", ZONE, NOW)


def test_noon_and_midnight_are_times_of_day():
    assert cron("noon") == "0 12 * * *"
    assert cron("Noon mon-fri") == "0 12 * * mon-fri"
    assert cron("midnight") == "0 0 * * *"
    assert read_times("tomorrow noon", ZONE, NOW).plan == ("2026-11-22T12:00",)


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("next friday", "2026-11-27T00:00"),
        ("Next Friday 9:00", "2026-11-27T09:00"),
        ("friday noon", "2026-11-27T12:00"),
        ("24 december at 6 pm", "2026-12-24T18:00"),
        ("1 march 2027 at 8am", "2027-03-01T08:00"),
        ("on the 24th of December 9 pm", "2026-12-24T21:00"),
        ("may 5", "2027-05-05T00:00"),
        ("29 feb", "2028-02-29T00:00"),
        ("9am tomorrow", "2026-11-22T09:00"),
        ("tomorrow at 12am", "2026-11-22T00:00"),
        ("saturday", "2026-11-28T00:00"),
        ("2w", "2026-12-05T00:00"),
        ("9am", "2026-11-22T09:00"),
        ("11 pm", "2026-11-21T23:00"),
    ],
)
def test_dates_in_english_are_taken(text, instant):
    assert read_times(text, ZONE, NOW).plan == (instant,)


def test_dates_in_english_are_counted_from_the_day_that_it_is_in_the_jobs_zone():
    assert read_times("sunday 9:00", "Europe/Berlin", NOW).plan == ("2026-11-22T09:00",)
    assert read_times("sunday 9:00", "Pacific/Auckland", NOW).plan == ("2026-11-29T09:00",)


NO_DATES = [
    "5",
    "a",
    "soon",
    "12/24",
    "end of time",
    "0 8 * *",
    "mon-fri",
    "may",
    "31 feb",
    "tomorrow 13pm",
    "fri 25:00",
]


@pytest.mark.parametrize("text", NO_DATES)
def test_what_is_only_the_beginning_of_a_date_is_none(text):
    with pytest.raises(ScheduleError, match="cron"):
        read_times(text, ZONE, NOW)


def test_a_date_that_is_over_is_refused_as_such():
    with pytest.raises(ScheduleError, match="past"):
        read_times("1 march 2020", ZONE, NOW)


def test_a_date_that_is_repeated_is_read_once():
    assert read_times("monday 9:00, " * 9, ZONE, NOW).plan == ("2026-11-23T09:00",)


def test_dates_are_a_plan_in_the_zone_of_the_job():
    times = read_times("2026-12-24 18:00, tomorrow 7:30; in 2h", ZONE, NOW)
    assert times.kind == "planned"
    assert times.plan == ("2026-12-24 18:00", "2026-11-22T07:30", "2026-11-21T21:15:42+00:00")
    words, instants = preview(times, ZONE, NOW)
    assert (words, len(instants)) == ("3 dates", 3)


@pytest.mark.parametrize("text", ["0 8 * *", "0 25 * * *", "2020-01-01 09:00", "soon", "9:00 someday", "every 7 years"])
def test_what_cannot_be_meant_is_refused_with_words_for_people(text):
    with pytest.raises(ScheduleError) as refused:
        read_times(text, ZONE, NOW)
    assert len(str(refused.value)) > 10


def test_a_zone_that_is_none_is_refused():
    with pytest.raises(ScheduleError, match="no time zone"):
        read_times("", "Mars/Olympus", NOW)


def test_the_kind_of_a_job_stays():
    with pytest.raises(ScheduleError, match="five fields"):
        read_times("2026-12-24 18:00", ZONE, NOW, "scheduled")
    with pytest.raises(ScheduleError, match="dates"):
        read_times("", ZONE, NOW, "planned")


def test_the_preview_gives_the_next_five():
    words, instants = preview(read_times("0 8 * * *", ZONE, NOW), ZONE, NOW)
    assert words == "08:00 daily"
    assert len(instants) == 5
    assert [b - a for a, b in itertools.pairwise(instants)] == [86_400_000_000] * 4


def test_what_is_written_is_read_as_the_same_times(plan):
    jobs = Jobs(plan)
    with Store(plan.path) as store:
        for uid in jobs.uids:
            job = job_queries.job(store.db, uid)
            times = read_times(job_syntax.written(job), job.timezone, NOW, job.type)
            assert times.kind == job.type
            if job.schedule is not None:
                assert times.schedule == job.schedule
            if job.plan is not None:
                assert job_syntax.parse_plan(times.plan, job.timezone, 0) == job.plan


@given(st.lists(st.integers(0, 4_000_000_000_000_000), min_size=1, max_size=4, unique=True))
def test_any_instants_of_a_plan_are_written_so_that_they_are_read_again(instants):
    zone = job_syntax.zone_of(ZONE)
    texts = [job_syntax._iso(instant, zone) for instant in instants]
    again = read_times(", ".join(texts), ZONE, -1, "planned").plan
    assert job_syntax.parse_plan(again, ZONE, -1) == tuple(sorted(instants))


def test_settings_are_words_with_values():
    assert read_settings("retries=2 overlap=queue runner=codex") == {
        "retries": 2,
        "overlap": "queue",
        "runner": "codex",
    }
    for wrong in ("retries", "retires=2", "retries=many", "retries=-1", "overlap=maybe"):
        with pytest.raises(InvalidArgument):
            read_settings(wrong)


def test_a_setting_that_is_taken_away_goes_back_to_its_default(plan):
    jobs = Jobs(plan)
    with Store(plan.path) as store:
        job = job_queries.job(store.db, jobs[1])
    import msgspec

    job = msgspec.structs.replace(job, settings={"retries": 3, "timeout": 60})
    assert job_syntax.changed_settings(job, {"timeout": 60}) == {"retries": 0, "timeout": 60}
