import subprocess
import sys
from datetime import date
from itertools import islice, takewhile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tui_tasks.core.schedule.cron import FIELDS, Cron, ScheduleError, dates, describe, nominal

EPOCH = date(1970, 1, 1).toordinal()
ALWAYS = dict.fromkeys(FIELDS, "*")


def cron(text):
    return Cron(*text.split())


def days_in_june(text):
    """The days of June 2026, which begins on a Monday."""
    first = date(2026, 6, 1).toordinal() - EPOCH
    return [day - first + 1 for day in takewhile(lambda day: day < first + 30, dates(cron(text), first))]


def test_strings_and_integers_make_a_schedule():
    fields = {"minute": 0, "hour": "9", "day": "*", "month": "*", "weekday": "mon-FRI"}
    assert Cron.parse(fields) == cron("0 9 * * mon-FRI")
    assert str(Cron.parse(fields)) == "0 9 * * mon-FRI"


@pytest.mark.parametrize("same", ["0", "7", "sun", "Sun", "7-7", "*/7", "0,7", "sun-sun"])
def test_sunday_is_zero_seven_and_sun(same):
    assert days_in_june(f"0 0 * * {same}") == [7, 14, 21, 28]


def test_a_range_of_weekdays_may_end_on_sunday():
    assert days_in_june("0 0 * * fri-sun") == days_in_june("0 0 * * 5-7")
    assert days_in_june("0 0 * * sat-sun") == [6, 7, 13, 14, 20, 21, 27, 28]


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        " ",
        "1 2",
        "* ",
        "1\n",
        "5-1",
        "60",
        "-1",
        "1,,2",
        ",",
        "5/10",
        "*/0",
        "*/61",
        "*/-1",
        "5-7-9",
        "1.5",
        "**",
        "R",
        "H",
        "L",
        "?",
        "1#2",
        "1W",
        "mon",
        "@daily",
        "１",
        "a" * 300,
        "1," * 200 + "1",
        "\ud800",
        "\0",
    ],
)
def test_what_is_not_cron_is_refused_for_its_field(wrong):
    with pytest.raises(ScheduleError) as refused:
        Cron.parse(ALWAYS | {"minute": wrong})
    assert refused.value.field == "minute"
    assert str(refused.value).isprintable() and len(str(refused.value)) < 300


@pytest.mark.parametrize("value", [True, False, None, 1.0, ["1"], {"a": 1}, 10**400, -(10**400), b"1"])
def test_a_field_is_a_string_or_an_integer(value):
    with pytest.raises(ScheduleError) as refused:
        Cron.parse(ALWAYS | {"hour": value})
    assert refused.value.field == "hour"


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("hour", "24"),
        ("day", "0"),
        ("day", "32"),
        ("day", "L"),
        ("month", "0"),
        ("month", "13"),
        ("month", "mon"),
        ("weekday", "8"),
        ("weekday", "mon#1"),
        ("weekday", "fri-mon"),
        ("weekday", "monday"),
    ],
)
def test_each_field_has_its_own_bounds_and_names(field, wrong):
    with pytest.raises(ScheduleError) as refused:
        Cron.parse(ALWAYS | {field: wrong})
    assert refused.value.field == field


def test_all_five_fields_are_needed_and_no_other_is_known():
    with pytest.raises(ScheduleError, match="month is missing") as refused:
        Cron.parse({name: "*" for name in FIELDS if name != "month"})
    assert refused.value.field == "month"
    with pytest.raises(ScheduleError, match="second") as refused:
        Cron.parse(ALWAYS | {"second": "0"})
    assert refused.value.field == "second"
    with pytest.raises(ScheduleError):
        Cron.parse("* * * * *")


@pytest.mark.parametrize("never", ["0 0 31 2 *", "0 0 30 2 */7", "0 0 31 4,6,9,11 *", "* * 31 jun */2"])
def test_a_schedule_that_never_fires_is_refused_as_a_whole(never):
    with pytest.raises(ScheduleError, match="never fires") as refused:
        cron(never)
    assert refused.value.field == ""


@pytest.mark.parametrize("rare", ["0 0 29 2 *", "0 0 29 2 */7", "0 0 31 2 mon", "0 0 31 2,3 *"])
def test_a_schedule_that_fires_some_day_is_accepted(rare):
    assert next(dates(cron(rare), 20_000), None) is not None


texts = st.text(alphabet="0123456789*/-,mon?LR# ", max_size=12) | st.sampled_from(["*", "1", "*/2", "1-5"])


@settings(max_examples=120)
@given(st.fixed_dictionaries(dict.fromkeys(FIELDS, texts)))
def test_any_five_texts_are_refused_in_words_or_fire(fields):
    try:
        schedule = Cron.parse(fields)
    except ScheduleError as refused:
        assert str(refused) and refused.field in ("", *FIELDS)
    else:
        assert next(dates(schedule, 20_000)) >= 20_000
        assert describe(schedule)


def test_day_and_weekday_given_both_match_either():
    assert days_in_june("0 0 2 * mon") == [1, 2, 8, 15, 22, 29]
    assert days_in_june("0 0 31 * mon") == [1, 8, 15, 22, 29]
    assert days_in_june("0 0 31 6 mon") == [1, 8, 15, 22, 29]
    assert days_in_june("0 0 1-31 * mon") == list(range(1, 31))
    assert days_in_june("0 0 3 * 0-6") == list(range(1, 31))


def test_a_star_at_the_front_of_day_or_weekday_makes_both_match():
    assert days_in_june("0 0 */2 * mon") == [1, 15, 29]
    assert days_in_june("0 0 1-7 * */2") == [2, 4, 6, 7]
    assert days_in_june("0 0 * * mon") == [1, 8, 15, 22, 29]


def test_a_single_value_may_be_written_as_a_range():
    assert days_in_june("0 0 5-5 6-6 *") == [5]


def test_nominal_times_are_those_of_the_wall_clock_from_start_up_to_stop():
    assert list(nominal(cron("*/30 22,23 * * *"), 23 * 3600, 86_400 + 81_000)) == [
        82_800, 84_600, 165_600, # 23:00 and 23:30, and 22:00 of the next day
    ]  # fmt: skip
    assert list(nominal(cron("* * * * *"), 60, 60)) == []
    assert list(islice(nominal(cron("* * * * *"), -60, 10**9), 2)) == [-60, 0]


def test_reading_a_schedule_does_not_import_croniter():
    code = "import sys; from tui_tasks.core.schedule import cron, fire_times; cron.Cron(*'*****'); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = set(done.stdout.split())
    assert "tui_tasks.core.schedule.fire_times" in modules
    assert not modules & {"croniter", "cron_descriptor", "json", "peewee", "textual"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("* * * * *", "every minute"),
        ("*/15 * * * *", "every 15 minutes"),
        ("0 * * * *", "every hour"),
        ("30 */6 * * *", "every 6 hours at :30"),
        ("*/10 * * * 1-5", "every 10 minutes, Mon–Fri"),
        ("0 9 * * 1-5", "09:00 Mon–Fri"),
        ("0 8 * * *", "08:00 daily"),
        ("30 9,17 * * sun,wed", "09:30, 17:30 Wed, Sun"),
        ("0 8 * * fri-sun", "08:00 Fri–Sun"),
        ("0 3 1,15 * *", "03:00 on day 1, 15"),
        ("5 4 29 2 *", "04:05 on 29 Feb"),
        ("*/13 * * * *", "at 0, 13, 26, 39, and 52 minutes past the hour"),
        ("0 9 1 jan mon", "at 09:00, on day 1 of the month, or on Mon, in Jan"),
        ("0 0 */10 * mon", "at 00:00, on day 1, 11, 21, and 31 of the month, but only on Mon"),
        ("0 0 1-31 * mon", "00:00 daily"),
        ("0 6,9,12,15 * * *", "06:00, 09:00, 12:00, 15:00 daily"),
        ("0 0 */10 * */1", "at 00:00, on day 1, 11, 21, and 31 of the month"),
        ("0 0 31 2 mon", "at 00:00, only on Monday, only in February"),
    ],
)
def test_a_schedule_is_told_in_words(text, words):
    assert describe(cron(text)) == words
