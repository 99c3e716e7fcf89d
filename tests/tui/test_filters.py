import pytest

from tui_tasks.core.wanted import Term
from tui_tasks.tui.filters import candidates, complete, parse


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("", ()),
        ("jwt", (Term("word", "jwt"),)),
        ("jwt lib", (Term("word", "jwt"), Term("word", "lib"))),
        ('"jwt lib"', (Term("word", "jwt lib"),)),
        ("status:open", (Term("status", "open"),)),
        ("status:in-progress", (Term("status", "in_progress"),)),
        ("-status:done -x", (Term("status", "done", True), Term("word", "x", True))),
        ("who:claude-1", (Term("who", "claude-1"),)),
        ("who:you", (Term("who", "human"),)),
        ('tag:"two words"', (Term("tag", "two words"),)),
        ("prio:high", (Term("prio", "high"),)),
        ("domain:infra list:Plan", (Term("domain", "infra"), Term("list", "Plan"))),
        ("http://x", (Term("word", "http://x"),)),
        ("-", (Term("word", "-"),)),
    ],
)
def test_words_are_read_as_terms(text, terms):
    parsed = parse(text)
    assert parsed.terms == terms
    assert not parsed.problem


def test_what_means_nothing_is_told_and_the_rest_still_holds():
    parsed = parse("jwt status:opne")
    assert parsed.terms == (Term("word", "jwt"),)
    assert "opne" in parsed.problem
    assert "open" in parsed.problem


def test_while_typing_the_last_word_may_be_unfinished():
    assert parse("status:", typing=True) == parse("")
    assert parse("status:p", typing=True).terms == (Term("status", "pending"),)
    assert parse("status:c", typing=True) == parse("")
    assert parse("who:cl", typing=True).terms == (Term("who", "cl", prefix=True),)
    assert parse("who:cl ", typing=True).terms == (Term("who", "cl"),)
    assert parse('who:"my ag', typing=True).terms == (Term("who", "my ag", prefix=True),)
    assert parse('who:"my ', typing=True).terms == (Term("who", "my ", prefix=True),)
    assert parse('-who:"my agent" ', typing=True).terms == (Term("who", "my agent", True),)


def test_tab_completes_fields_and_values():
    known = {"who": ["claude-1", "claude-2", "codex"], "tag": ["two words"]}
    assert complete("jwt st", candidates("jwt st", known)) == "jwt status:"
    assert complete("who:cl", candidates("who:cl", known)) == "who:claude-"
    assert candidates("who:claude-", known) == ["who:claude-1", "who:claude-2"]
    assert complete("-who:cod", candidates("-who:cod", known)) == "-who:codex "
    assert complete("tag:two", candidates("tag:two", known)) == 'tag:"two words" '
    assert complete('x tag:"two w', candidates('x tag:"two w', known)) == 'x tag:"two words" '
    assert complete('tag:"two words" st', candidates('tag:"two words" st', known)) == 'tag:"two words" status:'
    assert complete("zzz", candidates("zzz", known)) == "zzz"
