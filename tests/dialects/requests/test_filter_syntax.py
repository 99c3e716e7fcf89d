import pytest

from tui_tasks.core.read.pages.task_filter import Term
from tui_tasks.dialects.requests.filter_syntax import (
    OF_TASKS,
    Language,
    candidates,
    complete,
    other_syntax,
    parse,
    quick_add_candidates,
)
from tui_tasks.tui.log.log_pane import OF_LOG


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
        ("#docs", (Term("tag", "docs"),)),
        ('-#"two words" @bob', (Term("tag", "two words", True), Term("who", "bob"))),
        ("@me", (Term("who", "human"),)),
        ("!urgent", (Term("prio", "urgent"),)),
        ("!hi -!4", (Term("prio", "high"), Term("prio", "low", True))),
        ("#5 -number:7 \\#docs", (Term("number", "5"), Term("number", "7", True), Term("word", "#docs"))),
        ('"#5"', (Term("word", "#5"),)),
        ('"is:failed"', (Term("word", "is:failed"),)),
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


def test_a_value_that_there_is_not_is_told_as_it_was_written():
    assert parse("sort:-Due").problem.startswith("no sort '-Due'; use one of due")
    assert parse("status:in-progress").terms == (Term("status", "in_progress"),)


@pytest.mark.parametrize("text", ["size:failed", "pr:", "-size:open", "size:failed x"])
def test_a_field_that_there_is_not_is_told_with_those_that_there_are(text):
    parsed = parse(text)
    assert "no filter word" in parsed.problem
    for field in OF_TASKS.fields:
        assert f"{ {'who': 'agent', 'prio': 'priority'}.get(field, field) }:" in parsed.problem
    assert parsed.terms, "it is looked for as text all the same"


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        ("+home jwt", "#home for +home"),
        ("pri:H", "priority:high for pri:H"),
        ("project:web 12", "list:web for project:web, #12 for 12"),
        ("due.before:fri", "due:<fri for due.before:fri"),
        ("TAG:home statu:done", "tag:home for TAG:home, status:done for statu:done"),
        ("overdue -open", "due:late for overdue, status:open for open"),
        ("/milk/ / //", "milk for /milk/"),
        ("tag:home #home priority:high jwt x:1 http://list:80 + 2+2", ""),
    ],
)
def test_words_of_other_programs_have_what_to_type_instead(text, instead):
    assert other_syntax(text) == instead


def test_a_kind_of_entry_in_the_past_has_what_to_type_instead():
    of_entries = Language(("kind",), {"kind": ("delete", "edit")})
    assert other_syntax("deleted edited red", of_entries) == "kind:delete for deleted, kind:edit for edited"
    assert other_syntax("deleted") == ""


def test_a_field_of_another_program_is_told_with_its_name_here():
    assert parse("pri:H").problem == "no filter word 'pri:'; type priority:high"


def test_a_status_of_another_program_is_told_with_its_name_here():
    assert parse("status:completed").problem == "no status 'completed'; type status:done"


def test_a_field_is_named_as_it_is_suggested():
    assert parse("agent:").problem == "agent: wants a value"
    assert parse("priority:<high").problem.startswith("no priority '<high'")


def test_a_number_that_is_none_is_told():
    assert parse("number:x").problem == "number: takes a task's number, such as 12"


def test_the_logs_filter_knows_an_agent_by_its_sign_and_no_tags():
    parsed = parse("@bob #docs !urgent", language=OF_LOG)
    assert parsed.terms == (Term("who", "bob"), Term("word", "#docs"), Term("word", "!urgent"))
    assert "kind:" in parse("prio:high", language=OF_LOG).problem


def test_a_priority_that_there_is_not_is_told():
    assert "urgent" in parse("!soon").problem
    assert parse("!soon").terms == ()


def test_while_typing_a_sign_alone_is_nothing_yet():
    for sign in "#!@":
        assert parse(sign, typing=True) == parse("")
        assert parse(f"x {sign}", typing=True).terms == (Term("word", "x"),)
    assert parse("#do", typing=True).terms == (Term("tag", "do", prefix=True),)


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
    assert complete("x #two", candidates("x #two", known)) == 'x #"two words" '
    assert complete("-@cod", candidates("-@cod", known)) == "-@codex "
    assert candidates("!", known) == ["!urgent", "!high", "!medium", "!low"]
    assert complete("zzz", candidates("zzz", known)) == "zzz"


@pytest.mark.parametrize(("named", "short"), [("priority:high", "prio:high"), ("-agent:you", "-who:you")])
def test_a_field_has_its_own_name_beside_the_short_one(named, short):
    assert parse(named) == parse(short)
    assert parse(named).problem == ""


def test_the_names_of_fields_are_completed():
    assert candidates("pri", {}) == ["priority:"]
    assert candidates("w", {}) == ["who:"]
    assert candidates("a", {}) == ["agent:"]


def test_a_weekday_is_completed_in_a_filter_and_in_quick_add():
    assert complete("due:fr", candidates("due:fr", {})) == "due:fri "
    assert "due:fri 17:00" in quick_add_candidates("Buy milk due:", {})
    assert complete("Buy milk due:we", quick_add_candidates("Buy milk due:we", {})) == "Buy milk due:wed "
    assert candidates("priority:h", {}) == ["priority:high"]
    assert candidates("agent:b", {"who": ["bob"]}) == ["agent:bob"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("due:<3x", "no due '<3x': due: takes late"),
        ("due:>", "no due '>': "),
        ("estimate:1d", "no estimate '1d': estimate takes minutes, such as 90, 45m or 1h30m"),
        ("links:some", "no links 'some': links: takes any or none"),
    ],
)
def test_a_value_that_is_not_read_is_named(text, problem) -> None:
    assert parse(text).problem.startswith(problem)


def test_each_value_that_is_not_read_is_named() -> None:
    problem = parse("due:<3x milk estimate:1d status:bogus age:<3x").problem
    assert [word for word in ("'<3x'", "'1d'", "'bogus'", "'age:'") if word in problem] == [
        "'<3x'",
        "'1d'",
        "'bogus'",
        "'age:'",
    ]


@pytest.mark.parametrize("text", ["due:<3x", "due:2026x", "estimate:1d", "estimate:1h30s", "links:z", "due:fry"])
def test_while_it_is_typed_a_value_that_can_be_read_no_more_is_named_at_once(text) -> None:
    assert repr(text.partition(":")[2]) in parse(text, typing=True).problem


@pytest.mark.parametrize(
    "text",
    [
        "due:<",
        "due:<3",
        "due:2026-0",
        "due:to",
        "due:wedn",
        "due:ov",
        "due:no",
        "estimate:>1h3",
        "estimate:<=",
        "links:a",
    ],
)
def test_while_it_is_typed_the_beginning_of_a_value_is_no_mistake(text) -> None:
    assert parse(text, typing=True).problem == ""
