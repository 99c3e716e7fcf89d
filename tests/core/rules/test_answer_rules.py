"""A standing answer allows what its words say, and nothing that a shell would read in another way."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from tui_tasks.core.rules.agents import answer_rules
from tui_tasks.core.rules.agents.answer_rules import AnswerRule

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
STARTING = (
    ("git *", "git status"),
    ("git *", "git -c core.pager=sh log"),
    ("git log *", "git log --output=/etc/x"),
    ("git log *", "git log --ext-diff"),
    ("git diff *", "git diff --textconv"),
    ("git grep *", "git grep -Osh x"),
    ("git bisect *", "git bisect run ./x"),
    ("git submodule *", "git submodule foreach x"),
    ("git push *", "git push ext::sh"),
    ("find *", "find . -exec sh"),
    ("find *", "find . -execdir sh"),
    ("find *", "find . -delete"),
    ("find *", "find . -fprintf /x"),
    ("env *", "env rm x"),
    ("xargs *", "xargs rm"),
    ("ssh *", "ssh host rm"),
    ("npm run *", "npm run x"),
    ("npx *", "npx x"),
    ("sudo *", "sudo rm"),
    ("python3 *", "python3 x.py"),
    ("python3.11 *", "python3.11 -m x"),
    ("/usr/bin/env *", "/usr/bin/env x"),
    ("nice *", "nice rm"),
    ("make *", "make x"),
    ("docker run *", "docker run x"),
    ("tar *", "tar --to-command=sh -xf x"),
    ("tar *", "tar -Ish -xf x"),
    ("rg *", "rg --pre sh x"),
    ("sort *", "sort --compress-program=sh x"),
    ("sed *", "sed e x"),
    ("vim *", "vim x"),
    ("*", "ls"),
)


def rule(answer: str, pattern: str = "", **more: str) -> AnswerRule:
    return msgspec.convert({"answer": answer, "tool": "Bash", "pattern": pattern, **more}, AnswerRule)


def answer(
    rules: list[AnswerRule], command: Any, *, tool: str = "Bash", is_whole: bool = True, now: int = NOW, **more: Any
) -> str:
    given = {"command": command, **more}
    found = answer_rules.find(rules, tool, given, program="claude", project="site", now=now, is_whole=is_whole)
    return "ask" if found is None else found.answer


@pytest.mark.parametrize("command", HOSTILE)
def test_what_is_more_than_the_words_of_a_rule_is_asked(command: str) -> None:
    assert answer([rule("allow", "git status"), rule("allow", "ls *")], command) == "ask"


@pytest.mark.parametrize(("pattern", "command"), STARTING)
def test_what_starts_other_commands_is_never_allowed_by_a_star(pattern: str, command: str) -> None:
    assert answer([rule("allow", pattern)], command) == "ask"
    assert answer([rule("deny", pattern)], command) == "deny"


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
