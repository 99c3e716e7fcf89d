import random
from datetime import datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.schedule.schedule_oracle import DAY, START, STOP, ZONES, Oracle, differences, random_crons
from tui_tasks.core.errors import InvalidArgument
from tui_tasks.core.schedule.cron import Cron, ScheduleError
from tui_tasks.core.schedule.fire_times import fires_between, next_fire, parse_plan, system_zone, zone_of
from tui_tasks.core.schedule.policy import Decision, Load, Settings, changed_settings, decide, jitter, retry_delay
from tui_tasks.text.times import SECOND

HOUR = 3600 * SECOND
NOW = 1_790_000_000 * SECOND
CRONS = random_crons(200, seed=4)
bounded = settings(max_examples=60)


def cron(text):
    return Cron(*text.split())


def at(text):
    return int(datetime.fromisoformat(text).timestamp() * SECOND)


def local_times(instants, zone):
    """Instants as a clock in the zone shows them, with its offset."""
    return [datetime.fromtimestamp(i / SECOND, ZoneInfo(zone)).isoformat(timespec="minutes") for i in instants]


def fires(text, zone, start, stop):
    return local_times(fires_between(cron(text), zone, at(start) - 1, at(stop) - 1, 1000), zone)


# Changes of clocks: Berlin skips 02:00-03:00 on 29 March 2026 and repeats it on 25 October


@pytest.mark.parametrize("text", ["30 2 * * *", "0,15,30 2 * * *", "30 2,3-3 * * 0", "0 2,3 * * *", "59 2 29 3 *"])
def test_fixed_times_in_a_gap_fire_once_at_the_jump(text):
    day = fires(text, "Europe/Berlin", "2026-03-29T00:00+01:00", "2026-03-29T03:30+02:00")
    assert day == ["2026-03-29T03:00+02:00"]


def test_next_fire_from_just_before_a_jump_and_from_the_jump_itself():
    jump = at("2026-03-29T01:00Z")
    half_past = cron("30 2 * * *")
    assert next_fire(half_past, "Europe/Berlin", jump - 1) == jump
    assert next_fire(half_past, "Europe/Berlin", jump) == at("2026-03-30T02:30+02:00")


def test_a_fixed_time_that_comes_twice_fires_the_first_time():
    night = fires("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00Z", "2026-10-25T12:00Z")
    assert night == ["2026-10-25T02:30+02:00"]
    for between in ("02:45+02:00", "02:15+01:00", "02:45+01:00"):
        after = at(f"2026-10-25T{between}")
        assert next_fire(cron("30 2 * * *"), "Europe/Berlin", after) == at("2026-10-26T02:30+01:00")


def test_an_interval_runs_on_through_a_repeated_hour():
    night = fires("0 * * * *", "Europe/Berlin", "2026-10-25T01:00+02:00", "2026-10-25T03:01+01:00")
    assert [hour[11:] for hour in night] == ["01:00+02:00", "02:00+02:00", "02:00+01:00", "03:00+01:00"]


def test_an_interval_makes_nothing_up_for_a_gap():
    night = fires("*/30 * * * *", "Europe/Berlin", "2026-03-29T01:30+01:00", "2026-03-29T03:31+02:00")
    assert [hour[11:] for hour in night] == ["01:30+01:00", "03:00+02:00", "03:30+02:00"]
    assert fires("*/30 2 * * *", "Europe/Berlin", "2026-03-29T00:00Z", "2026-03-29T20:00Z") == []


def test_a_day_that_was_skipped_fires_as_the_next_begins():
    week = fires("0 9 * * *", "Pacific/Apia", "2011-12-29T00:00-10:00", "2012-01-01T00:00+14:00")
    assert week == ["2011-12-29T09:00-10:00", "2011-12-31T00:00+14:00", "2011-12-31T09:00+14:00"]


def test_a_clock_set_back_into_the_day_before_repeats_no_fixed_time():
    night = fires("0 0 * * *", "America/St_Johns", "2010-11-06T12:00Z", "2010-11-07T12:00Z")
    assert night == ["2010-11-07T00:00-02:30"]


def test_midnight_in_a_gap_fires_when_the_day_begins():
    night = fires("0 0 * * *", "America/Santiago", "2026-09-05T12:00Z", "2026-09-06T12:00Z")
    assert night == ["2026-09-06T01:00-03:00"]


@pytest.mark.parametrize("place", range(len(ZONES)), ids=ZONES)
def test_random_schedules_equal_the_oracle_when_clocks_change_and_when_not(place):
    zone, chance = ZONES[place], random.Random(place)
    offsets = [datetime.fromtimestamp(s, ZoneInfo(zone)).utcoffset() for s in range(START, STOP, DAY)]
    days = [day for day, (before, then) in enumerate(pairwise(offsets)) if before != then]
    oracle = Oracle([CRONS[(place * 9 + k) % 200] for k in range(30)])
    for day in (*chance.sample(days, min(6, len(days))), *chance.sample(range(3600), 2)):
        start = START + (day - 1) * DAY
        assert differences(oracle, zone, start, start + 3 * DAY) == []


# Searching


@bounded
@given(st.sampled_from(CRONS), st.sampled_from(ZONES), st.integers(START, STOP), st.integers(0, SECOND - 1))
def test_next_fire_is_the_first_of_those_between(schedule, zone, second, fraction):
    after = second * SECOND + fraction
    first = next_fire(schedule, zone, after)
    assert first > after
    assert fires_between(schedule, zone, after, first, 5) == [first]
    assert fires_between(schedule, zone, after, first - 1, 5) == []


@bounded
@given(st.sampled_from(CRONS), st.sampled_from(ZONES), st.integers(START, STOP), st.integers(0, 20 * DAY))
def test_a_span_cut_anywhere_gives_the_same_firings(schedule, zone, second, cut):
    start, middle, stop = (s * SECOND for s in (second, second + cut, second + 20 * DAY))
    whole = fires_between(schedule, zone, start, stop, 100_000)
    parts = [(start, middle), (middle, stop)]
    assert whole == [fire for part in parts for fire in fires_between(schedule, zone, *part, 100_000)]


def test_a_rare_schedule_is_found_decades_ahead():
    leap_sunday = cron("30 4 29 2 */7")
    assert next_fire(leap_sunday, "Europe/Berlin", at("2032-03-01T00:00Z")) == at("2060-02-29T04:30+01:00")
    assert next_fire(leap_sunday, "UTC", at("2088-03-01T00:00Z")) == at("2128-02-29T04:30Z")


def test_a_limit_keeps_the_first_and_a_clock_set_back_finds_nothing():
    assert len(fires_between(cron("* * * * *"), "UTC", NOW, NOW + HOUR, 7)) == 7
    assert fires_between(cron("* * * * *"), "UTC", NOW, NOW - 2 * HOUR, 7) == []
    assert fires_between(cron("* * * * *"), "UTC", NOW, NOW + HOUR, 0) == []


def test_no_schedule_fires_after_the_end_of_the_calendar():
    assert next_fire(cron("0 0 1 1 *"), "UTC", at("9998-06-01T00:00Z")) is None
    assert next_fire(cron("0 0 1 1 *"), "UTC", 10**20) is None


# Plans


def test_a_plan_is_sorted_and_repeats_are_dropped():
    now = at("2026-01-01T00:00Z")
    texts = ["2026-06-01T10:00:00", "2026-03-01T09:00:00Z", "2026-06-01T08:00Z", "20260301T100000+0100"]
    assert parse_plan(texts, "Europe/Berlin", now) == (at("2026-03-01T09:00Z"), at("2026-06-01T08:00Z"))


def test_a_planned_time_in_a_gap_is_the_jump_and_one_that_comes_twice_the_first():
    now = at("2026-01-01T00:00Z")
    plan = parse_plan(["2026-03-29T02:30:15.5", "2026-10-25T02:30:15.5"], "Europe/Berlin", now)
    assert plan == (at("2026-03-29T01:00Z"), at("2026-10-25T00:30:15.500Z"))
    assert parse_plan(["2026-10-25T03:00"], "Europe/Berlin", now) == (at("2026-10-25T03:00+01:00"),)
    assert parse_plan(["2011-12-30T12:00"], "Pacific/Apia", 0) == (at("2011-12-31T00:00+14:00"),)


def test_a_planned_time_already_past_is_refused_by_its_place():
    with pytest.raises(ScheduleError, match="past") as refused:
        parse_plan(["2026-06-01T10:00Z", "2026-01-01T00:00Z"], "UTC", at("2026-01-01T00:00Z") + 1)
    assert (refused.value.field, refused.value.index) == ("plan", 1)
    assert parse_plan(["2026-01-01T00:00Z"], "UTC", at("2026-01-01T00:00Z"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "2026-06-01",
        "2026-13-01T00:00",
        "2026-06-01T25:00",
        "10:00",
        None,
        5,
        "2026-06-01T10:00\0",
        "9999-12-31T23:59:59-14:00",
        "9999-12-31T23:59",
        "0001-01-01T00:00+14:00",
        "２026-06-01T10:00",
        "2" * 5000,
    ],
)
def test_what_is_no_date_with_a_time_is_refused_by_its_place(text):
    with pytest.raises(ScheduleError) as refused:
        parse_plan(["2040-01-01T00:00", text], "Europe/Berlin", 0)
    assert refused.value.index == 1


@pytest.mark.parametrize("nothing", [[], "2040-01-01T00:00", None, {}])
def test_a_plan_is_a_list_of_one_or_more(nothing):
    with pytest.raises(ScheduleError) as refused:
        parse_plan(nothing, "UTC", 0)
    assert (refused.value.field, refused.value.index) == ("plan", None)


# Zones


@pytest.mark.parametrize(
    "name",
    [
        "",
        "Mars/Olympus",
        "../UTC",
        "/etc/passwd",
        "Europe",
        "right/UTC",
        "posix/UTC",
        "localtime",
        "a\0b",
        "\ud800",
        "x" * 999,
        None,
        5,
    ],
)
def test_a_zone_nobody_knows_is_refused(name):
    with pytest.raises(ScheduleError) as refused:
        zone_of(name)
    assert refused.value.field == "timezone"


def test_the_machine_is_asked_for_its_zone_in_the_usual_places(tmp_path):
    etc = tmp_path / "etc"
    etc.mkdir()
    assert system_zone({}, tmp_path) == "UTC"
    (etc / "timezone").write_text("Asia/Tokyo\n")
    assert system_zone({}, tmp_path) == "Asia/Tokyo"
    (etc / "localtime").symlink_to("../usr/share/zoneinfo/Europe/Berlin")
    assert system_zone({}, tmp_path) == "Europe/Berlin"
    assert system_zone({"TZ": "CET-1CEST,M3.5.0,M10.5.0/3"}, tmp_path) == "Europe/Berlin"
    for zone in ("America/Lima", ":America/Lima", "/usr/share/zoneinfo/America/Lima"):
        assert system_zone({"TZ": zone}, tmp_path) == "America/Lima"
    assert system_zone({"TZ": ""}, tmp_path) == "UTC"
    assert zone_of(system_zone()) is not None


# Decisions


def minutes(*ago):
    return [NOW - minute * 60 * SECOND for minute in ago]


def verdicts(*args, **kwargs):
    return [decision.decision for decision in decide(*args, **kwargs)]


def test_a_time_noticed_at_once_runs_now():
    assert decide([NOW - 5], NOW, Settings()) == [Decision(NOW - 5, "ran", "", NOW)]
    assert decide([], NOW, Settings()) == []


def test_forty_days_of_minutes_run_once_and_the_rest_is_counted():
    due = fires_between(cron("* * * * *"), "Europe/Berlin", NOW - 40 * DAY * SECOND, NOW, 10**6)
    decisions = decide(due, NOW, Settings())
    assert [decision.scheduled_for for decision in decisions] == due
    assert [decision.decision for decision in decisions] == ["coalesced"] * 57_599 + ["ran"]


def test_without_catching_up_only_what_is_on_time_runs():
    assert verdicts(minutes(120, 60, 0), NOW, Settings(catch_up="none")) == ["missed", "missed", "ran"]
    assert verdicts(minutes(120, 60), NOW, Settings(catch_up="none")) == ["missed", "missed"]


def test_catching_up_with_all_is_capped_staggered_and_one_after_the_other():
    settings = Settings(catch_up="all", catch_up_cap=2, stagger=30)
    decisions = decide(minutes(180, 120, 60), NOW, settings)
    assert [decision.decision for decision in decisions] == ["coalesced", "ran", "ran"]
    assert [decision.start_at for decision in decisions[1:]] == [NOW, NOW + 30 * SECOND]
    assert [decision.queued for decision in decisions[1:]] == [False, True]
    assert decisions[1].reason == "caught up, 2:00:00 late"


def test_a_start_deadline_gives_up_what_is_older():
    assert verdicts(minutes(10, 5, 2), NOW, Settings(start_deadline=300)) == ["missed", "coalesced", "ran"]
    assert verdicts(minutes(10), NOW, Settings(start_deadline=300)) == ["missed"]


def test_overlap_skips_queues_one_or_allows():
    busy = Load(active=1)
    assert verdicts(minutes(5, 0), NOW, Settings(), busy) == ["skipped", "skipped"]
    (queued,) = decide(minutes(0), NOW, Settings(overlap="queue"), busy)
    assert (queued.decision, queued.queued) == ("ran", True)
    assert verdicts(minutes(0), NOW, Settings(overlap="queue"), Load(active=1, queued=1)) == ["skipped"]
    (allowed,) = decide(minutes(0), NOW, Settings(overlap="allow"), busy)
    assert (allowed.decision, allowed.queued) == ("ran", False)


def test_no_more_than_so_many_start_in_an_hour():
    settings = Settings(catch_up="all", starts_per_hour=3)
    assert verdicts(minutes(3, 2, 1, 0), NOW, settings, Load(started=1)) == ["skipped", "skipped", "ran", "ran"]
    assert "3 starts an hour" in decide(minutes(0), NOW, settings, Load(started=3))[0].reason


def test_a_backlog_decided_in_parts_ends_like_one_decided_whole():
    due = minutes(*range(50, 0, -1))
    for chosen in (Settings(), Settings(catch_up="all", catch_up_cap=4), Settings(catch_up="none")):
        parts = decide(due[:30], NOW, chosen, later=4) + decide(due[30:], NOW, chosen)
        assert [d.decision for d in parts] == verdicts(due, NOW, chosen)


@bounded
@given(
    st.lists(st.integers(0, 300), unique=True, max_size=30),
    st.builds(
        Settings,
        catch_up=st.sampled_from(["none", "one", "all"]),
        catch_up_cap=st.integers(1, 5),
        start_deadline=st.just(0) | st.integers(1, 20_000),
        overlap=st.sampled_from(["skip", "queue", "allow"]),
        starts_per_hour=st.integers(0, 4),
        jitter=st.integers(0, 100),
    ),
    st.builds(Load, active=st.integers(0, 2), queued=st.integers(0, 1), started=st.integers(0, 5)),
)
def test_each_due_time_gets_one_decision_and_no_limit_is_passed(ago, chosen, load):
    due = minutes(*sorted(ago, reverse=True))
    decisions = decide(due, NOW, chosen, load, job="j")
    assert [decision.scheduled_for for decision in decisions] == due
    ran = [decision for decision in decisions if decision.decision == "ran"]
    assert len(ran) <= (chosen.catch_up_cap if chosen.catch_up == "all" else 1)
    assert not chosen.starts_per_hour or len(ran) <= max(0, chosen.starts_per_hour - load.started)
    assert all(decision.start_at >= NOW for decision in ran)
    assert all(decision.reason for decision in decisions if decision.decision != "ran")
    coalesced = [decision.scheduled_for for decision in decisions if decision.decision == "coalesced"]
    assert not coalesced or coalesced[-1] < ran[0].scheduled_for


def test_a_time_that_is_not_due_yet_cannot_be_decided():
    with pytest.raises(ValueError, match="not due"):
        decide([NOW + 1], NOW, Settings())


@pytest.mark.parametrize(
    "wrong",
    [
        {"catch_up": "some"},
        {"overlap": "no"},
        {"catch_up_cap": 0},
        {"stagger": -1},
        {"start_deadline": -1},
    ],
)
def test_a_setting_that_cannot_be_meant_is_refused(wrong):
    with pytest.raises(InvalidArgument) as refused:
        changed_settings({}, wrong)
    assert refused.value.data["argument"] == next(iter(wrong))


# Delays


def test_retries_wait_twice_as_long_each_time_up_to_a_cap():
    assert [retry_delay(attempt, 10, 60) for attempt in (1, 2, 3, 4, 10**9)] == [10, 20, 40, 60, 60]


def test_jitter_is_the_same_everywhere_and_spread_over_its_whole_range():
    delays = [jitter("job", NOW + minute * 60 * SECOND, 100) for minute in range(1000)]
    assert delays[0] == jitter("job", NOW, 100) != jitter("other", NOW, 100)
    assert 0 <= min(delays) < 5 * SECOND and 95 * SECOND < max(delays) < 100 * SECOND
    assert jitter("job", NOW, 0) == 0
