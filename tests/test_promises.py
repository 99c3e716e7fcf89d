"""The promises of the README, each by the short form of its soak (`python -m tests.soak --quick`)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests import fork_server

ROOT = Path(__file__).parent.parent


def soak(name: str) -> str:
    """What the soak told at its end; it fails where a promise does not hold."""
    command = [sys.executable, "-m", "tests.soak", name, "--quick"]
    done = fork_server.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    if "not done here" in done.stdout:
        pytest.skip(done.stdout)
    return done.stdout


def test_what_was_acknowledged_outlives_kill_9_of_any_of_eight_writers() -> None:
    assert "0 lost, 0 doubled" in soak("kills")


def test_what_was_acknowledged_outlives_a_power_cut() -> None:
    assert "0 acknowledged lost" in soak("power_cut")


def test_a_disk_that_is_full_or_fails_or_is_gone_costs_nothing_that_was_acknowledged() -> None:
    assert "0 lost, none refused and yet there, on by itself each time" in soak("storage")


def test_every_line_has_one_reply_whatever_bytes_it_holds() -> None:
    assert "fuzzed lines and" in soak("lines")


def test_one_that_stops_stops_nobody_else() -> None:
    told = soak("stopped")
    assert "replies in order afterwards" in told
    assert "done at the second try" in told


def test_monitors_change_nothing_and_hold_nothing_back() -> None:
    told = soak("read_only")
    assert "the file as before to the byte and its times" in told
    assert "emptied afterwards" in told


def test_backups_under_load_are_whole_and_can_be_restored() -> None:
    assert "2 of 2 backups opened, passed and held an exact prefix of the journal" in soak("backups")


def test_tasks_go_out_to_every_format_and_back_and_what_is_lost_is_told_exactly() -> None:
    assert "40 tasks out and back" in soak("formats")


def test_a_backup_that_is_restored_under_load_is_whole_and_what_comes_after_it_is_kept() -> None:
    told = soak("restore")
    assert "0 lost that came after or were not kept aside, 0 mixed" in told


def test_the_journal_cannot_be_altered_unnoticed() -> None:
    assert "40 of 40 random changes" in soak("journal")


def test_each_due_time_is_decided_once_by_eight_schedulers() -> None:
    told = soak("scheduler")
    assert "none double" in told
    assert "2 of 2 stubborn runs gone" in told


def test_each_due_time_is_decided_once_by_eight_schedulers_on_two_machines() -> None:
    assert "starts, none double, equal replicas" in soak("server_jobs")


def test_two_machines_on_a_server_that_crashes_lose_and_double_nothing() -> None:
    told = soak("server")
    assert "0 lost, 0 doubled, equal replicas" in told
    assert "4 claimers on 40 tasks: each claimed once" in told


def test_a_killed_merge_of_a_servers_work_is_completed_or_undone() -> None:
    told = soak("server_merges")
    assert "none lost, no orphan" in told
    assert "equal on another machine" in told


def test_a_clock_that_jumps_days_both_ways_harms_nothing_for_good() -> None:
    told = soak("clocks")
    assert "0 keys forgotten" in told
    assert "0 claims lapsed, nothing decided ahead of its time" in told


def test_ages_and_times_are_right_across_midnight_and_the_end_of_summer_time() -> None:
    told = soak("days")
    assert "right at 4 of 4 looks" in told


def test_what_agents_write_does_nothing_to_the_terminal() -> None:
    assert "no byte of theirs went out, no action ran, nothing moved" in soak("payloads")


def test_few_rows_of_megabytes_fill_no_process() -> None:
    assert "and nothing kept" in soak("bytes")


def test_a_paste_presses_no_key() -> None:
    assert "no action ran" in soak("pastes")


def test_no_program_runs_and_nothing_is_painted_that_a_hostile_repository_names() -> None:
    assert "nothing ran, nothing was painted" in soak("repositories")
