"""Runs with real supervisors (docs: scheduling, "Who executes")."""

import errno
import os
import shlex
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.runner.hosting import ROOT, STUBBORN, Host, alive, hosted, job_of, pids, runners, shell
from tests.started import DEADLINE, until
from tui_tasks.core.operations.jobs import DeleteJob, EditJob, StopRun
from tui_tasks.core.unjournaled import heartbeats
from tui_tasks.runner import processes, supervisor_launch
from tui_tasks.runner.run_records import private_folder

LEAVES_A_CHILD = """
import os, signal, subprocess, sys
from tui_tasks.runner import processes
child = subprocess.Popen(["sleep", "1000"], stdout=subprocess.DEVNULL, preexec_fn=processes.die_with_parent)
print(child.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
INSIDE = """
import os, sys
sys.path.insert(0, sys.argv[1])
from tui_tasks.core.engine.database import Database
from tui_tasks.runner.run_marks import inside_run
print(inside_run(os.environ, Database(sys.argv[2])))
"""


@pytest.fixture
def host(store):
    return Host(store)


def test_context_and_prompt_come_on_standard_input_byte_for_byte(host, store, path):
    prompt = "é\x1b[31m\r\n\n\U0001f600 'quoted' $HOME `id`\n"
    with hosted(str(path), runners(command=["cat"])):
        first = host.run_to_end("cat")
        job = host.jobs.commit(EditJob(job_of(host, first).uid, {"prompt": prompt}), "agent")
        from tui_tasks.core.operations.jobs import RunJob

        alone = host.ended(host.jobs.commit(RunJob(job.uid), "agent"))
        with_context = host.ended(host.jobs.commit(RunJob(job.uid, "the\ncontext"), "agent"))
    assert alone.result == prompt
    assert with_context.result == f"the\ncontext\n\n{prompt}"
    assert with_context.outcome == "success"
    assert with_context.exit_code == 0


def test_a_prompt_larger_than_a_pipe_is_given_whole_even_to_one_that_does_not_read_it(host, store, path):
    with hosted(str(path), runners(command=["wc", "-c"], deaf=shell("true"))):
        counted, deaf = host.run_to_end("count", "x" * 900_000), host.run_to_end("deaf", "x" * 900_000, runner="deaf")
    assert counted.result.strip() == str(900_000 + 2 + len("do it"))
    assert deaf.outcome == "success"


def test_the_environment_is_scrubbed_the_folder_its_own_and_the_system_prompt_private(host, path, monkeypatch):
    monkeypatch.setenv("SECRET", "s")
    monkeypatch.setenv("WANTED", "w")
    text = 'cat "$0"; echo; pwd; stat -c %a "$TUI_TASKS_SYSTEM_PROMPT_FILE"; env'
    table = {"command": ["sh", "-c", text, "{system_prompt_file}"], "environment": ["WANTED"]}
    with hosted(str(path), runners(**table)):
        run = host.run_to_end("env")
    prompt, cwd, mode, *environment = run.result.splitlines()
    told = dict(line.split("=", 1) for line in environment)
    assert prompt == "be brief"
    assert mode == "600"
    assert "SECRET" not in told
    assert told["WANTED"] == "w"
    assert (told["TUI_TASKS_RUN_ID"], told["TUI_TASKS_DB"]) == (run.uid, str(path))
    assert Path(cwd) != Path.cwd()
    assert not Path(cwd).exists()
    assert not Path(told["TUI_TASKS_SYSTEM_PROMPT_FILE"]).exists()


@pytest.mark.parametrize("umask", [0, 0o777])
def test_the_folder_of_a_run_is_its_users_alone_from_its_first_instant(tmp_path, monkeypatch, umask):
    made = []
    mkdir = Path.mkdir

    def noting(folder, *given, **more):
        mkdir(folder, *given, **more)
        made.append(stat.S_IMODE(folder.stat().st_mode))

    monkeypatch.setattr(Path, "mkdir", noting)
    before = os.umask(umask)
    try:
        private_folder(tmp_path / "run")
    finally:
        os.umask(before)
    assert made == [0o700 & ~umask]
    assert stat.S_IMODE((tmp_path / "run").stat().st_mode) == 0o700


def test_a_configured_folder_is_used_and_one_that_is_none_is_told(host, path, tmp_path):
    nowhere = {"absent": "/nowhere/at/all", "homeless": "~no-such-user/project"}
    table = runners(command=["pwd"], cwd=str(tmp_path), **{name: {"cwd": cwd} for name, cwd in nowhere.items()})
    with hosted(str(path), table):
        assert host.run_to_end("here").result == f"{tmp_path}\n"
        lost = {name: host.run_to_end(name, runner=name) for name in nowhere}
    assert {name: (run.outcome, run.reason) for name, run in lost.items()} == {
        name: ("error", f"the runner's cwd is not a folder: {cwd}") for name, cwd in nowhere.items()
    }


def test_output_and_errors_are_the_log_and_the_last_error_is_the_reason(host, path):
    with hosted(str(path), runners(**shell("echo out; echo 'smtp: 535' >&2; exit 3"))):
        run = host.run_to_end("fails")
    assert (run.outcome, run.exit_code, run.result, run.reason) == ("error", 3, "out\n", "exit 3: smtp: 535")
    assert sorted(host.log(run).splitlines()) == ["out", "smtp: 535"]
    assert job_of(host, run).state == "error"


def test_the_log_can_be_read_while_the_run_goes_on(host, path, tmp_path):
    go_on = tmp_path / "go on"
    text = f"echo first; while [ ! -e '{go_on}' ]; do sleep 0.05; done; echo last"
    with hosted(str(path), runners(**shell(text))):
        run = host.start("streams")
        until(lambda: host.log(run) == "first\n", "the first line")
        assert host.run(run.uid).state == "running"
        go_on.touch()
        assert host.ended(run).result == "first\nlast\n"


def test_a_command_that_cannot_be_started_is_an_error_that_says_so(host, path):
    with hosted(str(path), runners(command=["/no/such/program"])):
        run = host.run_to_end("nothing")
    assert run.outcome == "error"
    assert "/no/such/program" in run.reason


def test_where_no_process_can_be_started_the_run_is_an_error_at_once(host, path, monkeypatch):
    def too_many(*_, **__):
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(supervisor_launch.subprocess, "Popen", too_many)
    with hosted(str(path), runners(command=["true"]), is_forking=False):
        run = host.run_to_end("nothing")
    assert (run.outcome, run.reason) == ("error", f"cannot start a supervisor: {os.strerror(errno.EAGAIN)}")


def test_without_a_command_the_run_ends_at_once_and_names_the_file(host, path):
    with hosted(str(path), runners()):
        plain, named = host.run_to_end("plain", retries=3), host.run_to_end("named", runner="codex")
    assert plain.outcome == named.outcome == "error"
    assert "the file" in plain.reason
    assert "[runner.codex]" in named.reason
    assert plain.started_at is None
    assert len(host.jobs.runs(plain.job_uid)) == 1


@pytest.mark.linux
def test_a_timeout_ends_even_what_ignores_it_and_what_has_escaped(host, path, tmp_path):
    file = tmp_path / "pids"
    # On a busy machine it may not have begun within a second.
    for timeout in (1, 10, 100):
        file.unlink(missing_ok=True)
        with hosted(str(path), runners(**shell(STUBBORN.replace("PIDS", str(file))))):
            ended = host.run_to_end(f"stubborn {timeout}", timeout=timeout)
        if len(pids(file)) == 3:
            break
    assert (ended.outcome, ended.reason, len(pids(file))) == ("error", f"timed out after {timeout} s", 3)
    assert ended.exit_code == 128 + signal.SIGKILL
    assert [pid for pid in pids(file) if alive(pid)] == []


@pytest.mark.linux
def test_what_a_run_leaves_behind_is_ended_with_it(host, path, tmp_path):
    file = tmp_path / "pids"
    text = f"setsid sh -c 'echo $$ > {file}; sleep 1000' & while [ ! -s {file} ]; do sleep 0.02; done; echo done"
    with hosted(str(path), runners(**shell(text))):
        run = host.run_to_end("leaves")
    assert (run.outcome, run.result) == ("success", "done\n")
    assert [alive(pid) for pid in pids(file)] == [False]


def test_the_human_stops_a_run(host, path):
    with hosted(str(path), runners(**shell("echo begun; sleep 1000"))):
        run = host.start("long")
        until(lambda: host.log(run), "its first word")
        host.jobs.commit(StopRun(run.uid), "human")
        ended = host.ended(run)
    assert (ended.outcome, ended.reason, ended.result) == ("interrupted", "stopped by human", "begun\n")


def test_deleting_a_running_job_ends_its_processes(host, path, tmp_path):
    file = tmp_path / "pids"
    with hosted(str(path), runners(**shell(f"echo $$ > {file}; sleep 1000"))):
        run = host.start("long")
        (pid,) = until(lambda: pids(file), "its pid")
        host.jobs.commit(DeleteJob(run.job_uid), "agent")
        assert host.run(run.uid).outcome == "interrupted"
        until(lambda: not alive(pid), "its end")


def test_a_run_that_is_stopped_while_its_command_is_being_started_is_ended(host, path, monkeypatch):
    monkeypatch.setattr(supervisor_launch, "SUPERVISOR", "tests.runner.stopping_at_once")
    with hosted(str(path), runners(**shell("sleep 1000"))):
        ended = host.run_to_end("long")
    assert (ended.outcome, ended.reason) == ("interrupted", "stopped by human")


def test_a_run_outlives_its_scheduler_and_is_recorded(host, store, path, tmp_path):
    go_on = tmp_path / "go on"
    with hosted(str(path), runners(**shell(f"while [ ! -e '{go_on}' ]; do sleep 0.05; done; echo over"))):
        run = host.start("outlives")
        until(lambda: host.run(run.uid).state == "running", "its beginning")
    go_on.touch()
    assert host.ended(run).result == "over\n"
    assert heartbeats.heartbeat_of(store.db, run.uid) is None


def test_a_supervisor_that_is_told_to_end_ends_its_run(host, store, path, tmp_path):
    file = tmp_path / "pids"
    with hosted(str(path), runners(**shell(f"echo $$ > {file}; sleep 1000"))):
        run = host.start("long")
        (pid,) = until(lambda: pids(file), "its pid")
        os.kill(heartbeats.heartbeat_of(store.db, run.uid).pid, signal.SIGTERM)
        ended = host.ended(run)
    assert (ended.outcome, ended.reason) == ("interrupted", "its supervisor got a signal to end")
    assert not alive(pid)


ESCAPES = """
env -i setsid sh -c 'echo $$ > PIDS; while [ ! -e GO_ON ]; do sleep 0.05; done; ASK > ANSWER.part; mv ANSWER.part ANSWER
sleep 1000' >/dev/null 2>&1 </dev/null &
sleep 1000
"""


class Escape:
    """A run whose command has started something with an empty environment, in a session of its own."""

    def __init__(self, host: Host, path: Path, folder: Path) -> None:
        self.file, self.go_on, self.answer = folder / "pids", folder / "go", folder / "answer"
        script = folder / "inside.py"
        script.write_text(INSIDE)
        # It stands within single quotes.
        ask = " ".join(f'"{word}"' for word in (sys.executable, script, ROOT, path))
        text = ESCAPES.replace("PIDS", str(self.file)).replace("GO_ON", str(self.go_on))
        table = runners(**shell(text.replace("ASK", ask).replace("ANSWER", str(self.answer))))
        # No scheduler is left that could look after it.
        with hosted(str(path), table):
            self.run = host.start("escapes")
            (self.pid,) = until(lambda: pids(self.file), "what it starts")
        self.table = table
        self.supervisor = heartbeats.heartbeat_of(host.jobs.store.db, self.run.uid).pid
        self.keeper = next(processes.ancestors(self.supervisor))


@pytest.mark.linux
def test_a_run_that_kills_its_supervisor_is_ended_whole_though_no_scheduler_is_there(host, path, tmp_path):
    escape = Escape(host, path, tmp_path)
    os.kill(escape.supervisor, signal.SIGKILL)
    until(lambda: not alive(escape.pid), "its end")
    until(lambda: not alive(escape.keeper), "the keeper's end")
    with hosted(str(path), escape.table):
        assert host.ended(escape.run).reason == "its supervisor died"


@pytest.mark.linux
def test_a_run_that_kills_the_keeper_of_its_supervisor_is_ended_whole(host, path, tmp_path):
    escape = Escape(host, path, tmp_path)
    os.kill(escape.keeper, signal.SIGKILL)
    ended = host.ended(escape.run)
    assert (ended.outcome, ended.reason) == ("interrupted", "its supervisor's keeper died")
    assert not alive(escape.pid)


@pytest.mark.linux
def test_what_a_run_started_before_it_killed_all_that_watched_it_makes_no_jobs_and_is_ended(host, path, tmp_path):
    escape = Escape(host, path, tmp_path)
    os.kill(escape.supervisor, signal.SIGSTOP)
    os.kill(escape.keeper, signal.SIGKILL)
    os.kill(escape.supervisor, signal.SIGKILL)
    until(lambda: not alive(escape.supervisor), "the supervisor's end")
    escape.go_on.touch()
    until(escape.answer.exists, "what it is told")
    assert escape.answer.read_text() == "True\n"
    assert alive(escape.pid)
    with hosted(str(path), escape.table):
        assert host.ended(escape.run).reason == "its supervisor died"
        until(lambda: not alive(escape.pid), "its end")


KEEPER = "$(ps -o ppid= $PPID | tr -d ' ')"


def stopping(*which: str, file: Path, forever: bool = False) -> dict:
    """A command that suspends what supervises it, once or for ever, and goes on."""
    once = f"kill -STOP {' '.join(which)}"
    text = f"keeper={KEEPER}; echo $$ $PPID $keeper > {file}; " + (f"while :; do {once}; done" if forever else once)
    return shell(f"{text}; sleep 1000")


@pytest.mark.linux
@pytest.mark.parametrize("which", [["$PPID"], ["$keeper"], ["$PPID", "$keeper"]])
def test_a_run_that_stops_its_supervisor_or_keeper_ends_at_its_timeout_and_frees_its_place(host, path, tmp_path, which):
    file = tmp_path / "pids"
    table = runners(**stopping(*which, file=file), after=shell("echo mine"), max_parallel=1)
    with hosted(str(path), table, lease=1.0):
        ended = host.run_to_end("stops", timeout=1)
        assert host.run_to_end("after", runner="after").result == "mine\n"
        until(lambda: [pid for pid in pids(file) if alive(pid)] == [], "the end of all three processes")
    assert (ended.outcome, ended.reason) == ("error", "timed out after 1 s")


@pytest.mark.linux
def test_the_human_stops_a_run_that_has_stopped_its_supervisor(host, path, tmp_path):
    file = tmp_path / "pids"
    with hosted(str(path), runners(**stopping("$PPID", file=file)), lease=1.0):
        run = host.start("stops")
        until(lambda: pids(file), "its pids")
        host.jobs.commit(StopRun(run.uid), "human")
        ended = host.ended(run)
    assert (ended.outcome, ended.reason) == ("interrupted", "stopped by human")


@pytest.mark.linux
def test_a_run_that_stops_its_supervisor_again_and_again_is_ended_whole(host, store, path, tmp_path):
    file = tmp_path / "pids"
    table = runners(**stopping("$PPID", "$keeper", file=file, forever=True), after=shell("echo mine"), max_parallel=1)
    with hosted(str(path), table, lease=1.0):
        ended = host.run_to_end("stops")
        assert host.run_to_end("after", runner="after").result == "mine\n"
        until(lambda: [pid for pid in pids(file) if alive(pid)] == [], "the end of all three processes")
    assert (ended.outcome, ended.reason) == ("interrupted", "its supervisor was stopped again and again")
    assert heartbeats.heartbeats(store.db) == []


@pytest.mark.linux
@pytest.mark.parametrize("secret", ["SECRET", "PGPASSWORD"])
def test_a_run_reads_in_the_environment_of_its_supervisor_what_it_is_given_itself(host, path, monkeypatch, secret):
    monkeypatch.setenv(secret, "hunter2")
    read = "tr '\\0' '\\n' < /proc/$PPID/environ; tr '\\0' '\\n' < /proc/$(ps -o ppid= $PPID | tr -d ' ')/environ"
    with hosted(str(path), runners(**shell(read)), is_forking=False):
        run = host.run_to_end("reads")
    names = {line.partition("=")[0] for line in run.result.splitlines()}
    assert run.outcome == "success"
    assert "PATH" in names
    assert names <= {name for name in os.environ if name != secret} | {"PYTHONPATH"}
    assert "hunter2" not in run.result


@pytest.mark.linux
def test_a_command_ends_with_the_one_that_started_it():
    argv = [sys.executable, "-c", LEAVES_A_CHILD]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, timeout=DEADLINE, check=False)
    assert done.returncode == -signal.SIGKILL
    until(lambda: not alive(int(done.stdout)), "the end of what it started")


@pytest.mark.linux
def test_whatever_a_run_starts_is_known_also_where_it_scrubs_its_environment(host, store, path, tmp_path):
    script = tmp_path / "inside.py"
    script.write_text(INSIDE)
    ask = shlex.join(["env", "-i", sys.executable, str(script), str(ROOT), str(path)])
    told, part = shlex.quote(str(tmp_path / "orphan")), shlex.quote(str(tmp_path / "orphan.part"))
    orphan = f"(setsid sh -c {shlex.quote(f'sleep 0.2; {ask} > {part}; mv {part} {told}')} &)"
    wait = f"while [ ! -e {told} ]; do sleep 0.05; done"
    with hosted(str(path), runners(**shell(f"{ask}; {orphan}; {wait}; cat {told}"))):
        run = host.run_to_end("asks")
    assert run.result == "True\nTrue\n"
    from tui_tasks.runner.run_marks import inside_run

    assert not inside_run({}, store.db)
    assert inside_run({"TUI_TASKS_RUN_TOKEN": "any"}, store.db)


def test_an_agent_cannot_let_a_run_take_longer_than_the_human_allows(host, path):
    with hosted(str(path), runners(**shell("sleep 1000"), max_timeout=1)):
        run = host.run_to_end("long", timeout=10_000)
    assert run.reason == "timed out after 1 s"
