"""Names that a person would take for one another, and those that they would not."""

import pytest

from tests.conftest import START
from tui_tasks.core import agent_names, vocab
from tui_tasks.core.errors import InvalidRequest, ReservedName
from tui_tasks.core.operations.tasks import EnsureList
from tui_tasks.dialects.requests import checked_agent_name
from tui_tasks.tui.agents import agent_text

OF_THE_HUMAN = (
    *("human", " Human", "HUMAN", "human\u3164", "\u029cuman", "hum\u0251n", "hurnan", "h\u200buman", "\uff48uman"),
    *("you", "y\u043eu", "you\u3164", "YOU", "y\u00f3u", "you\U000e0041", "you\ufe0f", "you\u200d", "yo\u0075\u0301"),
    # Beside other words and signs
    *("human(you)", "(human)", "[human]", "<human>", "human!", "human?", "human:", "@human", "*human*", "`human`"),
    *("human.", "human-", "_human_", "hu-man", "h.u.m.a.n", "h u m a n", "the human", "human (claude)", "you, yes"),
    *("claude (human)", "claude/human", "human|claude", "human \u2014 claude", "human\u00a0you", "\u201chuman\u201d"),
    *("human-1", "human2", "you 3", "real human", "YOU!", "\u00abyou\u00bb", "human\u2713", "\u25cf human"),
    # Letters of other alphabets, whole or in part
    *("\u04bbum\u0430n", "hum\u0430n", "h\u057dman", "hu\u043can", "huma\u0578", "\u0570uman", "\u13c2uman"),
    *("\u041dUMAN", "\u0397UMAN", "\u2c8eUMAN", "HUM\u0410N", "HU\u039cAN", "HUMA\u039d", "HU\ua4dfAN", "H\u144cMAN"),
    *("\u0443\u043e\u03c5", "\u04afou", "y\u03c3u", "yo\u057d", "\u0263ou", "\u028fou", "y\u1d0fu", "yo\u1d1c"),
    # Letters in other shapes
    *("\u29c9human", "\u24d7\u24e4\u24dc\u24d0\u24dd", "\u24a3\u24b0\u24a8\u249c\u24a9", "\u1d34uman"),
    "\U0001d421\U0001d42e\U0001d426\U0001d41a\U0001d427",
    "\U0001d5c1\U0001d5ce\U0001d5c6\U0001d5ba\U0001d5c7",
    "\U0001f177\U0001f184\U0001f17c\U0001f170\U0001f17d",
    "\U0001f1ed\U0001f1fa\U0001f1f2\U0001f1e6\U0001f1f3",
    *(
        "\u029c\u1d1c\u1d0d\u1d00\u0274",
        "h\u0338u\u0338m\u0338a\u0338n\u0338",
        "\u0127uman",
        "hum\u0105n",
        "huma\u0144",
    ),
    # Signs for letters
    *("hum4n", "hum@n", "y0u"),
    # Letters that resemble others
    *(
        "h\u1d1dman",
        "huma\u043f",
        "hum\u0250n",
        "\u029cu\u1d1fan",
        "h\u0438man",
        "\u04bb\u1d1d\u043c\u0430\u043f",
        "huma\u03b7",
    ),
    # What is not seen
    *("hum\u00adan", "hum\u2060an", "hum\ufeffan", "\u202ehuman", "hum\u180ean", "human\u2800", "h\u034fuman"),
)
OF_THE_PROGRAM = (
    *("system", "System", "system\u2060", "\u0455ystem", "sy\u0455tem", "\u0405YSTEM", "sy5tem", "$ystem", "syst3m"),
    *("system!", "(system)", "the system", "syst\u0435m", "\uff53ystem", "sys-tem", "\u0455\u0443\u0455t\u0435m"),
    *("shell", "she11", "she|l", "sheIl", "SHELL", "shell:", "5hell", "\u0455hell", "sh\u0435ll", "she\u217c\u217c"),
    *(
        "tui-tasks",
        "tui_tasks",
        "Tui Tasks",
        "tui-t\u0430sks",
        "admin",
        "Admin!",
        "4dmin",
        "Administrator",
    ),
    *("ADMIN", "ADM1N", "admln", "Adm|n", "ADMINISTRATOR", "TUI-TASKS", "TUI_TASKS", "TUI Tasks", "tu1-tasks"),
    *("scheduler", "schedu1er", "\u0455cheduler", "s\u0441heduler", "scheduler.", "schedu\u0142er"),
)
OF_IMPORTS = (
    "imported:human",
    "imported:bob",
    "Imported: you",
    "\u0456mported:x",
    "imported\ua789x",
    "imported\uff1ax",
)
FREE = (
    *("claude-1", "yours", "humane", "hu man", "bob", "\u0431\u043e\u0431", "agent", "sys", "agent-\u03b1", "agent-5"),
    *("Bj\u00f8rn", "jos\u00e9", "human-in-the-loop", "shell-1", "system-2", "systemd", "importer", "youth", "thumann"),
    *("numan", "\u043f\u0438\u043f", "\u03c0-agent", "\u0438\u0432\u0430\u043d", "\u03b7\u03c1\u03c9"),
    *(
        "\u9b8d\u52c3",
        "\u4f50\u85e4",
        "gpt-5.1",
        "o3",
        "Mar\u00eda L\u00f3pez",
        "\u05d0\u05d1\u05d2",
        "nutshell",
        "admin-1",
        "ADMIN 1",
        "administrator-bot",
        "builder",
        "db-admin",
        "tasks",
    ),
)
# Names in whose words another alphabet is mixed; they read as Latin, but as nobody's who is known.
MIXED = ("human\u0578", "h\u0443bot", "ag\u0435nt", "c\u0430laude", "r\u0435viewer", "\u0391gent")


@pytest.mark.parametrize("name", OF_THE_HUMAN, ids=ascii)
def test_what_reads_as_the_human_is_the_humans_name(name):
    assert agent_names.reserved(name) == "human"
    with pytest.raises(ReservedName):
        checked_agent_name(name)
    assert name == "human" or agent_names.display_name(name)[0] == '"'


@pytest.mark.parametrize("name", [*OF_THE_PROGRAM, *OF_IMPORTS], ids=ascii)
def test_no_agent_has_a_name_that_reads_as_the_program_or_an_import(name):
    with pytest.raises(ReservedName):
        checked_agent_name(name)


def test_a_name_of_an_import_is_refused_by_what_it_reads_as():
    with pytest.raises(ReservedName, match="no agent speaks as an imported author; leave agent out"):
        checked_agent_name("imported:bob")
    with pytest.raises(ReservedName, match="the name admin is reserved: no agent speaks as the program"):
        checked_agent_name("admin")


@pytest.mark.parametrize("name", FREE, ids=ascii)
def test_what_reads_otherwise_is_nobodys(name):
    assert checked_agent_name(name) == name
    assert agent_names.display_name(name) == name


@pytest.mark.parametrize("name", MIXED, ids=ascii)
def test_a_word_of_two_alphabets_is_no_name(name):
    with pytest.raises(InvalidRequest, match="mixes two alphabets"):
        checked_agent_name(name)
    assert agent_names.display_name(name) == f'"{name}"'


def test_each_character_of_unicodes_table_is_read_as_the_letter_it_looks_like():
    letters = {
        chr(code): like for code, like in agent_names._confusables().items() if like.isascii() and like.isalpha()
    }
    assert len(letters) > 1_000
    missed = [
        char for char, like in letters.items() if agent_names.skeleton(f"x{char}x") != agent_names.skeleton(f"x{like}x")
    ]
    assert missed == []
    for letter in "human":
        for char in (char for char, like in letters.items() if like == letter):
            assert agent_names.reserved("human".replace(letter, char)) == "human", ascii(char)


@pytest.mark.parametrize(
    "other",
    [
        *("c1aude", "claud\u0435", "claude\u2060", "cIaude", "c|aude", "\u0441laude", "cl\u0251ude", "\uff43laude"),
        *("\u217claude", "clau\u217ee", "cla\u028bde", "\u1d04laude", "claud\u212f", "c\u0406aude", "\U0001d41claude"),
    ],
    ids=ascii,
)
def test_names_that_look_the_same_have_one_skeleton(other):
    assert agent_names.skeleton(other).casefold() == agent_names.skeleton("claude") or other == "\u217claude"


@pytest.mark.parametrize(
    "name", ["\u0185uilder", "\u0184uilder", "bui1der", "bu\u0131lder", "\uff42uilder", "builde\u0280"]
)
def test_no_new_agent_looks_like_one_that_has_spoken(store, name):
    store.commit(EnsureList("web", "tasklist", None), actor="builder", now=START)
    with store.transaction(START) as transaction:
        assert transaction.state_cache.agent_like(name) == "builder"


@pytest.mark.parametrize("old", ["agent\u2800", "agent\u200b", "agent "])
def test_a_name_of_an_older_journal_that_no_agent_may_have_now_keeps_nobody_from_the_plain_one(store, old):
    store.commit(EnsureList("web", "tasklist", None), actor=old, now=START)
    with store.transaction(START) as transaction:
        assert transaction.state_cache.agent_like("agent") is None


def test_names_that_differ_to_the_eye_have_not():
    told = ["claude", "Claude", "claude-1", "claude-2", "claude 1", "codex", "\u9b8d\u52c3", "\u4f50\u85e4"]
    assert len(set(map(agent_names.skeleton, told))) == len(told)


def test_you_stands_for_the_human_alone():
    assert agent_text.who("human") == "you"
    assert agent_text.who("you") == '"you"'
    assert agent_text.who("you\u3164") == '"you<U+3164>"'
    assert agent_text.who("bob") == "bob"


@pytest.mark.parametrize("name", sorted(vocab.RESERVED_AGENTS))
def test_an_imported_author_is_shown_as_imported(name):
    assert agent_names.display_name(agent_names.IMPORTED + name) == f"imported:{name}"
    assert agent_names.display_name(agent_names.IMPORTED + name + "\u2060") == f'imported:"{name}<U+2060>"'
    assert agent_text.who(agent_names.IMPORTED + "claude") == "imported:claude"


def test_a_name_with_a_gap_or_a_comma_in_it_stands_in_quotes_as_it_looks_like_two() -> None:
    assert agent_names.display_name("ada, bob") == '"ada, bob"'
    assert agent_names.display_name("x   \u25d0 claude-2") == '"x   \u25d0 claude-2"'


def test_a_name_with_a_mark_of_a_state_stands_in_quotes() -> None:
    for name in ("\u2717 3 failed", "\u21e1 9 to review", "? 4 asks"):
        assert agent_names.display_name(name) == f'"{name}"'


def test_names_of_people_and_programs_stand_without_quotes() -> None:
    assert agent_names.display_name("Mar\u00eda L\u00f3pez") == "Mar\u00eda L\u00f3pez"


@pytest.mark.parametrize("name", ["9", "+12", "#4", "S3", "١٢"])
def test_a_name_that_reads_as_a_count_a_task_or_a_job_stands_in_quotes(name: str) -> None:
    assert agent_names.display_name(name) == f'"{name}"'
    assert agent_names.display_name(f"agent-{name.lstrip('#+')}")[0] != '"'
