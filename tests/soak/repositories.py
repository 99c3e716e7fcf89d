"""Repositories that name programs in each way that git knows, with names that harm a terminal, at work from end to end.

Each is played by the real commands: an agent is started, its work listed, shown, reviewed, merged, taken back,
commented on, discarded, brought back, pushed for a pull request and cleaned up; and its review opened on a screen. None
of the programs runs, and nothing of the names reaches the terminal as it is.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from unittest import mock

from tests.payloads import leaks, text
from tests.runner.test_git import SETTINGS
from tests.soak.budget import Budget
from tests.soak.speaking import program
from tests.terminals import Terminal
from tests.work.repositories import commit, git, write
from tui_tasks import clock
from tui_tasks.cli.main import main
from tui_tasks.core.operations.tasks import AddTask, EnsureList
from tui_tasks.core.read import work_queries
from tui_tasks.core.store import Store
from tui_tasks.runner import git as git_process
from tui_tasks.state import callers

HOOKS: Final = (
    "post-index-change", "reference-transaction", "post-checkout", "post-merge", "pre-merge-commit", "pre-commit",
    "commit-msg", "prepare-commit-msg", "post-commit", "post-rewrite", "pre-auto-gc", "fsmonitor-watchman", "pre-push",
)  # fmt: skip
WAYS: Final[dict[str, dict[str, str]]] = {
    **SETTINGS,
    "merge options": {"branch.main.mergeoptions": "--no-ff -s evil"},
    "stash and gc": {"merge.autoStash": "true", "gc.auto": "1", "maintenance.auto": "true"},
    "renormalized": {"merge.renormalize": "true", "filter.x.clean": "{program}", "merge.default": "x"},
}
PLACES: Final = ("local", "include", "worktrees")
"""Where settings stand: in the repository, in a file that it includes, or in one for worktrees alone."""
TABLE: Final = tuple(itertools.product(WAYS, PLACES))
NAMES: Final = (
    "-rf",
    "a\nb",
    "\x1b]52;c;eA==\x07",
    ":(top)x",
    "--upload-pack=touch x",
    "\u202e\u200bx",
    "[@click=app.quit]x",
    os.fsdecode(b"\xff\x9b2Jx"),
)
FOLDERS: Final = ("repo", *NAMES[:5], "[bold]x[/nope]", "\u202erepo")
METHODS: Final = ("squash", "merge", "rebase", "ff")
SETTLE: Final = 60.0
LOOKS: Final = 3
"""The review of one in so many repositories is opened on a screen, which takes as long as all the rest."""
# What an agent does in its worktree beside its files, in a shell; $git is the folder of git's own files.
TRICKS: Final[dict[str, str]] = {
    "none": "",
    "a branch with a bad name": r"""
branch=$(sed 's|ref: ||' "$git/HEAD")
cp "$git/../../$branch" "$git/../../refs/heads/--upload-pack=x" && echo 'ref: refs/heads/--upload-pack=x' > "$git/HEAD"
""",
    "settings of the worktree": r"""
printf '[core]\n\tfsmonitor = {program}\n[filter "x"]\n\tclean = {program}\n' > "$git/config.worktree"
printf '[extensions]\n\tworktreeConfig = true\n' >> "$git/../../config"
""",
    "a repository of its own": r"""
rm .git; git init -q .; printf '[core]\n\tfsmonitor = {program}\n' >> .git/config
""",
    "a worktree elsewhere": r"""
printf '[core]\n\tworktree = /\n' >> "$git/../../config"
""",
    "links that lead out": r"""
rm -f .gitattributes; ln -s /etc/passwd .gitattributes; ln -s / root; ln -s {program} .mailmap
""",
    "modules that shadow ours": r"""
mkdir tui_tasks
for module in tui_tasks/__init__ sitecustomize json msgspec peewee; do
    echo 'import os; os.system("{program}")' > $module.py
done
""",
    "a repository within": r"""
mkdir inner; git -C inner init -q; printf '[core]\n\tfsmonitor = {program}\n' >> inner/.git/config; echo x > inner/x
""",
}
_AGENT: Final = r"""#!/bin/sh
unset GIT_DIR GIT_WORK_TREE
git=$(sed 's/gitdir: //' .git)
cp -- {files}/* .
echo changed >> a.txt
"""


class Repository:
    """A hostile repository, a database of its own beside it, and what was said of it.

    Args:
        folder: where all of it is.
        number: chooses names, method and trick.
        way: the settings, a key of `WAYS`.
        where: where they stand, one of `PLACES`.
    """

    def __init__(self, folder: Path, number: int, way: str, where: str) -> None:
        self.number = number
        self.folder = folder
        self.ran = folder / "ran"
        self.program = folder / "program"
        self.root = folder / "made" / FOLDERS[number % len(FOLDERS)]
        self.database = folder / "tasks.db"
        self.remote = folder / "remote.git"
        self.said: list[str] = []
        self.state = ""
        self.trick = list(TRICKS)[number % len(TRICKS)]
        self._make()
        self._plant(way, where)
        self._write_agent()

    def _make(self) -> None:
        self.root.mkdir(parents=True)
        git(self.root, "init", "-q", "-b", "main")
        modules = f'[submodule "inner"]\n\tpath = inner\n\turl = ext::{self.program}\n\tupdate = !{self.program}\n'
        lines = "".join(f"line {at}\n" for at in range(20))
        write(self.root, a_txt=lines, b_txt="b\n", _gitignore="*.log\n", _gitmodules=modules)
        write(self.root, _gitattributes="* diff=x filter=x merge=x\na.txt filter=x.y\nc.txt filter=far\n")
        (self.root / NAMES[self.number % len(NAMES)]).write_text("x\n")
        commit(self.root, self._text("commit"))
        git(self.root, "branch", "older")
        commit(self.root, "Main moves on", b_txt="b\nb2\n", c_txt="c\n")
        git(self.root, "remote", "add", "origin", "git@forge.example:ada/api.git")
        self.remote.mkdir()
        git(self.remote, "init", "-q", "--bare")
        with Store(str(self.database)) as store:
            (home,) = store.commit(EnsureList("work", "task"), actor="human", now=clock.now())
            store.commit(AddTask(self._text("task"), home.uid), actor="human", now=clock.now())

    def _text(self, field: str) -> str:
        """Return a text that harms a terminal, as words of a command can have it."""
        return text(self.number % 60, field, 200).replace("\0", "")

    def _plant(self, way: str, where: str) -> None:
        self.program.write_text(f"#!/bin/sh\ntouch {self.ran}\nexit 1\n")
        self.program.chmod(0o755)
        (hooks := self.folder / "hooks").mkdir()
        for hook in HOOKS:
            shutil.copy(self.program, hooks / hook)
            shutil.copy(self.program, self.root / ".git" / "hooks" / hook)
        (self.root / ".git" / "info").mkdir(exist_ok=True)
        (self.root / ".git" / "info" / "attributes").write_text("* diff=x filter=x merge=x\n")
        (attributes := self.folder / "attributes").write_text("* filter=far\n")
        (included := self.folder / "included").write_text(f'[filter "x"]\n\tsmudge = {self.program}\n')
        values = {"program": self.program, "hooks": hooks, "attributes": attributes, "included": included}
        target = self.root / ".git" / "config" if where == "local" else self.folder / "settings"
        for name, value in WAYS[way].items():
            subprocess.run(["git", "config", "--file", target, name, value.format(**values)], check=True)
        if where != "local":
            name = {"include": "include.path", "worktrees": "includeIf.gitdir:**/worktrees/**.path"}[where]
            subprocess.run(["git", "config", "--file", self.root / ".git" / "config", name, target], check=True)
        self.ran.unlink(missing_ok=True)

    def _write_agent(self) -> None:
        agent, files = self.folder / "agent", self.folder / "files"
        files.mkdir()
        for name in NAMES:
            (files / name).write_text("x\x1b]52;c;eA==\x07\u202e\n")
        script = _AGENT.replace("{files}", str(files)) + TRICKS[self.trick].replace("{program}", str(self.program))
        agent.write_text(script)
        agent.chmod(0o755)
        (self.folder / "config.toml").write_text(
            'bell = false\nnotify = "off"\n[work]\nterminal = "none"\ncopy = [".env", "b.txt"]\nsetup = ["true"]\n'
            f'[work.program.robot]\ncommand = ["{agent}", "{{prompt}}"]\n'
        )
        (self.folder / "config.toml").chmod(0o600)
        (self.folder / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n")
        (bin_ := self.folder / "bin").mkdir()
        (bin_ / "gh").write_text("#!/bin/sh\necho https://forge.example/ada/api/pull/7\n")
        (bin_ / "gh").chmod(0o755)

    def run(self, *words: str) -> int:
        """Run a command of the program as a person in the repository does; return its status."""
        return self.run_for(*words)[0]

    def run_for(self, *words: str) -> tuple[int, str]:
        """Do the same; return its status and what it has printed."""
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            status = main(list(words))
        told = f"$ tui-tasks {' '.join(words)}\n{out.getvalue()}= {status}"
        self.said.append(told)
        assert not self.ran.exists(), told
        assert "Traceback" not in told, told
        # `doctor` lists what it has found.
        assert not status or out.getvalue().count("\n") == 1 or words == ("doctor",), told
        assert not (found := leaks(out.getvalue().encode("utf-8", "surrogateescape"))), (found[0], told)
        return status, out.getvalue()

    def merge(self, method: str) -> int:
        """Merge what the review shows; return the status."""
        status, printed = self.run_for("work", "review", "1", "--base", "main", "--json")
        if status:
            return status
        shown = ("--reviewed", json.loads(printed)["review"]["version"])
        words = ("work", "merge", "1", "--base", "main", "--method", method, "--commit", self._text("message"))
        return self.run(*words, *shown)

    def wait(self) -> str:
        """Wait until the agent has ended, and return the state of its work."""
        deadline = time.monotonic() + SETTLE
        while time.monotonic() < deadline:
            self.run("work", "ls")
            with Store(str(self.database), read_only=True) as store:
                (work, *_) = work_queries.everything(store.db)[-1:]
            if work.state not in ("starting", "working"):
                return work.state
            time.sleep(0.05)
        raise AssertionError("the agent has not ended")

    def play(self) -> str:
        """Play all of it; return the last state of the work."""
        if self.run("work", "start", "1", "--program", "robot", "--base", "older"):
            return "refused"
        self.wait()
        self.run("work", "show", "1")
        self.run("work", "review", "1")
        self.run("work", "review", "1", "--json")
        if self.number % LOOKS == 0:
            self.look()
        self.run("work", "merge", "1")  # what is not committed is refused
        method = METHODS[self.number % len(METHODS)]
        merged = self.merge(method)
        if merged and method == "ff":
            merged = self.merge("merge")
        if not merged:
            self.run("work", "restore", "1")
        pushed = self.run("work", "pr", "1", "--to", "https://forge.example/ada/api.git")
        if not self.run("work", "comment", "1", "Again, please."):
            self.wait()
        self.run("work", "discard", "1")
        self.run("work", "clean")
        self.run("work", "restore", "1")
        self.run("work", "review", "1")
        self.run("work", "discard", "1")
        self.run("work", "clean")
        self.run("doctor")
        return f"{'not merged' if merged else 'merged'}, {'not pushed' if pushed else 'pushed'}"

    def look(self) -> None:
        """Open the review on the screen of a real terminal, and walk through its files."""
        screen = Terminal(program("--db", self.database, "--no-scheduler"), lines=24, columns=100, piped=False)
        try:
            screen.wait_for(lambda: screen.shows("? Help"))
            for key in ("\r", "j", "\t", "\x04", "\t", "j", "G", "c", "\x1b", "a", "\x1b", "\x1b"):
                screen.type_bytes(key.encode())
                _settle(screen)
        finally:
            screen.close()
        assert not self.ran.exists(), "something ran beside the screen"
        assert not (found := leaks(screen.raw, told=True)), found[0]

    def is_armed(self) -> bool:
        """Return whether git itself, as anybody runs it, starts the program here."""
        for words in (("worktree", "add", "../armed"), ("status",), ("commit", "--allow-empty", "-m", "x")):
            subprocess.run(["git", *words], cwd=self.root, capture_output=True, check=False)
        return self.ran.exists()


def _settle(screen: Terminal) -> None:
    """Wait until nothing more is painted."""
    painted = -1
    while painted != len(screen.raw):
        painted = len(screen.raw)
        time.sleep(0.15)


@contextlib.contextmanager
def at(repository: Repository) -> Iterator[None]:
    """Stand in a repository as its person: home, settings, database, and a forge that is a folder."""
    folder = repository.folder
    environment = {
        "HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder / ".config"),
        "TUI_TASKS_CONFIG": str(folder / "config.toml"),
        "TUI_TASKS_DB": str(repository.database),
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
    }
    push = git_process.push

    def to_folder(objects: Path, _: str, commit: str, branch: str, *, helper: str) -> None:
        push(objects, str(repository.remote), commit, branch, helper=helper, protocols="file")

    with (
        mock.patch.dict(os.environ, environment),
        mock.patch.object(callers, "has_terminal", lambda: True),
        mock.patch.object(git_process, "push", to_folder),
        contextlib.chdir(repository.root),
    ):
        yield


def play(folder: Path, number: int, way: str, where: str) -> Repository:
    """Play one repository."""
    folder.mkdir()
    repository = Repository(folder, number, way, where)
    try:
        with at(repository):
            repository.state = repository.play()
            assert repository.is_armed(), "the trap is none"
    except BaseException:
        print("\n".join(repository.said[-4:]))
        print(json.dumps([number, way, where, repository.trick]))
        raise
    return repository


def soak(folder: Path, budget: Budget) -> str:
    """Return how many repositories were played, and how many of them were merged."""
    states: list[str] = []
    commands = 0
    for number in budget.times(len(TABLE), 2):
        # Neighbours of the table differ little: a short form takes them from all over it.
        way, where = TABLE[number * 71 % len(TABLE)]
        place = folder / str(number)
        repository = play(place, number, way, where)
        states.append(repository.state)
        commands += len(repository.said)
        shutil.rmtree(place)
    assert "merged, pushed" in states, states
    told = "; ".join(f"{states.count(state)} {state}" for state in sorted(set(states)))
    return f"{len(states)} repositories ({told}), {commands} commands: nothing ran, nothing was painted"
