"""A standing answer allows what its words say, and nothing that a shell would read in another way."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from tui_tasks.core.rules.agents import standing_answers
from tui_tasks.core.rules.agents.standing_answers import AnswerRule

NOW = int(datetime(2026, 6, 1, 12, tzinfo=UTC).timestamp()) * 1_000_000
# What a human would never mean by `git status` or by `ls *`.
HOSTILE = (
    "git status; rm -rf x",
    "git status && rm x",
    "git status || rm x",
    "git status | sh",
    "git status & rm x",
    "git status\nrm x",
    "git status\rrm x",
    "git status $(rm x)",
    "git status `rm x`",
    "git status ${IFS}x",
    "git status $'\\n'rm",
    'git status "$(rm x)"',
    "git status > x",
    "git status >> x",
    "git status < x",
    "git status 2>&1",
    "git status <(rm x)",
    "git status \\\nrm",
    "git status {a,b}",
    "git status *",
    "git status ?",
    "git status [a]",
    "git status !!",
    "git status #x",
    "git status ~",
    "git status ^a",
    "(git status)",
    "{ git status; }",
    "! git status",
    "time git status",
    "if git status",
    "while git status",
    "coproc git status",
    "A=1 git status",
    "PATH=/tmp git status",
    "A+=1 git status",
    "=git status",
    "git status =ls",
    "-git status",
    "git \u200bstatus",
    "git status\u00a0",
    "git\tstatus",
    "g\u0456t status",
    "git 'status",
    'git "status',
    "git '' status",
    "git status -c x",
    "git -c alias.status=!sh status",
    "git --git-dir=x status",
    "git  status x",
    "/tmp/git status",
    "./git status",
    "env git status",
    "xargs git status",
    "sh -c 'git status'",
    "GIT status",
    "",
    " ",
    "git",
    "git statusx",
)
# Behind the bar: what an agent writes where a rule allows all that stands before it, and any further words.
STARTING = """
git | status
git | -c core.pager=sh log
git log | --output=/etc/x
git log | --outpu=/etc/x
git log | --ext-diff
git log | --show-signature
git log | --format=%GG
git show | --pretty=format:%G
git diff | --textconv
git diff | --ext x
git diff | --textcon x
git grep | -Osh x
git grep | -nOsh x
git grep | --open=sh x
git grep | --open-files-in-page=sh x
git bisect | run ./x
git commit | --template=x -e
git commit | -a
git commit | --amend
git commit | -m x -e
git commit | -m x -S
git commit | --author -m
git commit | -t -m
git commit | -tm
git commit | -- -m
git commit -m | x --gpg-si
git add | -e
git tag | -a v1
git tag | --annotate v1
git tag | -s v1 -m x
git tag | -v v1
git tag | --verif v1
git submodule | foreach x
git push | ext::sh
git ls-remote | --upload-pac=/tmp/x .
git ls-remote | ext::sh
git archive | --remote=. --exe=/tmp/x HEAD
git fetch-pack | --exe=/tmp/x .
git branch | --edit-description
git help | -w x
git notes | edit
git for-each-repo | --config=x sh
git credential | fill
git interpret-trailers | --trailer x
git svn | x
git daemon | --access-hook=/tmp/x
git apply | --directory=.git/hooks x
git worktree | add x
git init | --template=/tmp/x
git merge | -s /x y
git cat-file | --textcon x
git.exe | x
GIT | x
find | . -exec sh
find | . -execdir sh
find | . -delete
find | . -fprintf /x
fd | -x rm
fd | . -X rm
fd | -HX rm
fd | --exec-batch rm
env | rm x
/usr/bin/env | x
xargs | rm
ssh | host rm
npm run | x
npx | x
sudo | rm
pkexec | sh
python3 | x.py
python3.11 | -m x
python3-dbg | x
python3.11d | x
pypy3.10 | x
perl5.36 | x
nodejs18 | x
bash5 | x
ash | x
toybox | sh
pwsh | x
vim | x
vim.tiny | x
gawk-5 | x
clang-15 | x
gcc | -wrapper sh,x y.c
nice | rm
chrt | 1 sh
taskset | 1 sh
fakeroot | sh
bwrap | sh
run-parts | x
start-stop-daemon | -S -x sh
systemctl | start x
/lib64/ld-linux-x86-64.so.2 | ./x
ldd | ./x
valgrind | ./x
hyperfine | x
direnv | exec . x
pyenv | exec x
conda | run x
make | x
bazel | run x
eslint | -c x.js
pre-commit | run
docker run | x
apt-get | -oDpkg::Pre-Invoke=sh x
nc | -e sh x 1
socat | - EXEC:sh
tui-tasks | accept 5
java | -jar x
Rscript | x
psql | -f x
sqlite3 | x.db '.shell rm'
mysql | -e 'system sh'
gh | extension exec x
hg | --config=alias.x=sh x
ip | netns exec x sh
tar | --to-command=sh -xf x
tar | --to-comm=sh -xf x
tar | -Ish -xf x
tar | xIf sh x
tar | -xzFsh x
tar | --info-script=sh -xMf x
tar | --rmt-command=sh -xf h:x
rg | --pre sh x
rg | -nz x
sort | --compress-program=sh x
sort | --compress-prog=sh x
sort | -uo/x y
split | --filter=sh x
zip | -T -TTsh x
wget | --use-askpass=/tmp/x u
install | --strip-program=/tmp/x -s a b
sdiff | --diff-program=/tmp/x a b
bat | --pager=sh x
cpio | --rsh-command=sh
pdflatex | --shell-escape x
sed | e x
 | ls
"""
# What is denied as `rm *` and `git push *`, by other words.
DENIED = (
    "rm x; true",
    "rm x\n",
    "/bin/rm x",
    "./rm x",
    "command rm x",
    "env rm x",
    "sudo -n rm x",
    "xargs rm",
    "$(echo rm) x",
    "r\\m x",
    "A=1 rm x",
    "\"$SHELL\" -c 'rm x'",
    "sh -c 'rm x'",
    "python3 -c x",
    "find . -delete",
    "rm\tx",
    "r\u200bm x",
    "git -C . push",
    "git --no-pager push origin",
    "/usr/bin/git -c a=b push",
    "git -c alias.x=push x",
    "git remote-x",
)


def rule(answer: str, pattern: str = "", **more: str) -> AnswerRule:
    return msgspec.convert({"answer": answer, "tool": "Bash", "pattern": pattern, **more}, AnswerRule)


def answer(
    rules: list[AnswerRule], command: Any, *, tool: str = "Bash", is_whole: bool = True, now: int = NOW, **more: Any
) -> str:
    given = {"command": command, **more}
    found = standing_answers.find(rules, tool, given, program="claude", project="site", now=now, is_whole=is_whole)
    return "ask" if found is None else found.answer


@pytest.mark.parametrize("command", HOSTILE)
def test_what_is_more_than_the_words_of_a_rule_is_asked(command: str) -> None:
    assert answer([rule("allow", "git status"), rule("allow", "ls *")], command) == "ask"


@pytest.mark.parametrize("line", STARTING.strip("\n").split("\n"))
def test_what_starts_other_commands_is_never_allowed_by_a_star(line: str) -> None:
    before, _, after = line.partition("| ")
    assert answer([rule("allow", f"{before}*")], before + after) == "ask"
    assert answer([rule("deny", f"{before}*")], before + after) == "deny"


@pytest.mark.parametrize("command", DENIED)
def test_what_may_be_denied_is_asked_where_all_commands_are_allowed(command: str) -> None:
    rules = [rule("allow"), rule("deny", "rm *"), rule("ask", "git push *")]
    assert answer(rules, command) == "ask"
    assert answer(rules, "rm x") == "deny"


def test_what_is_surely_not_denied_is_allowed() -> None:
    rules = [rule("allow"), rule("deny", "rm *"), rule("ask", "git push *"), rule("allow", "npm test")]
    for command in ("ls -la", "git status", "git log --oneline", "npm test", "cat rm"):
        assert answer(rules, command) == "allow"


@pytest.mark.parametrize(
    ("pattern", "command"),
    [
        ("git status", "git status"),
        ("git status", " git  'status' "),
        ('grep "a b" x', "grep 'a b' x"),
        ("git status *", "git status --short src"),
        ("git status *", "git status"),
        ("ls *", "ls -la src"),
        ("git diff *", "git diff --stat"),
        ("git log *", "git log --oneline -n 5 --format=%H"),
        ("git --no-pager log *", "git --no-pager log -p"),
        ("git commit *", "git commit -q -m 'a message' src"),
        ("git commit *", "git commit -am ready"),
        ("git commit *", "git commit --amend --no-edit"),
        ("git commit -m *", "git commit -m ready"),
        ("git tag *", "git tag -a -m first v1"),
        ("git tag *", "git tag --list"),
        ("git add *", "git add -A src"),
        ("sort *", "sort -u x"),
        ("md5sum *", "md5sum x"),
        ("git status", ["bash", "-lc", "git status"]),
    ],
)
def test_plain_words_are_allowed_one_by_one(pattern: str, command: Any) -> None:
    assert answer([rule("allow", pattern)], command) == "allow"


def test_a_deny_wins_over_an_ask_and_an_ask_over_an_allow() -> None:
    allow, ask, deny = rule("allow", "git status"), rule("ask", "git *"), rule("deny", "git status")
    assert answer([allow], "git status") == "allow"
    assert answer([allow, ask], "git status") == "ask"
    assert answer([allow, ask, deny], "git status") == "deny"


def test_nothing_that_was_shortened_or_that_has_more_than_the_command_is_allowed() -> None:
    rules = [rule("allow", "git status")]
    assert answer(rules, "git status", is_whole=False) == "ask"
    assert answer(rules, "git status", dangerouslyDisableSandbox=True) == "ask"
    assert answer(rules, "git status", workdir="/etc") == "ask"
    assert answer(rules, "git status", description="Show it", timeout=5) == "allow"
    assert answer([rule("deny", "git status")], "git status", is_whole=False, workdir="/etc") == "deny"


def test_a_rule_holds_for_its_tool_program_and_project_until_its_time() -> None:
    assert answer([rule("allow", "ls")], "ls", tool="bash") == "ask"
    assert answer([rule("allow", "ls", program="codex")], "ls") == "ask"
    assert answer([rule("allow", "ls", program="claude", project="site")], "ls") == "allow"
    assert answer([rule("allow", "ls", project="other")], "ls") == "ask"
    assert answer([rule("allow", "ls", until="2026-06-01")], "ls") == "allow"
    assert answer([rule("allow", "ls", until="2026-06-01T11:59:59")], "ls") == "ask"
    assert answer([rule("allow", "ls", until="2026-05-31")], "ls") == "ask"
    assert answer([rule("deny", tool="*")], "anything; at all") == "deny"
    assert answer([rule("allow", tool="Read")], None, tool="Read") == "allow"


@pytest.mark.parametrize(
    "fields",
    [
        {"answer": "allow", "tool": "*"},
        {"answer": "allow", "tool": "Bash", "pattern": "git $x"},
        {"answer": "allow", "tool": "Bash", "pattern": "git * x"},
        {"answer": "allow", "tool": "Bash", "pattern": "git sta*"},
        {"answer": "allow", "tool": "Bash", "until": "soon"},
        {"answer": "perhaps", "tool": "Bash"},
        {"answer": "allow"},
        {"answer": "allow", "tool": "Bash", "glob": "x"},
    ],
)
def test_a_rule_that_could_not_mean_what_it_says_is_refused(fields: dict[str, str]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(fields, AnswerRule)


def test_no_rule_is_offered_that_its_question_could_not_show_whole() -> None:
    def offered(tool: str, command: str) -> bool:
        return standing_answers.proposed("allow", tool, {"command": command}, program="claude") is not None

    assert offered("Bash", "git status")
    assert not offered("Bash", f"ls {'x/' * 100} /etc")
    assert not offered("Bash git", "status")
    assert not offered("B\u0430sh", "git status")
