"""What a program asks is shown with every key and every character, and no value looks like another key."""

import json
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from tui_tasks.core.operations.sessions import InputRequested
from tui_tasks.core.rules.agents.request_text import (
    always_text,
    is_whole,
    permission_lines,
    request_options,
    request_text,
    takes_yes,
)
from tui_tasks.core.unhidden_text import unhidden_line, unhidden_lines


def permission(given: Any, tool: str = "Edit", **more: Any) -> InputRequested:
    return InputRequested("permission", tool, given, **more)


def lines(given: Any) -> list[str]:
    return [f"{sign or ' '}{text}" for sign, text in permission_lines(permission(given))]


def test_an_edit_shows_every_key_and_what_cannot_be_seen() -> None:
    given = {
        "file_path": "/a.py",
        "old_string": "if isAdmin:",
        "new_string": "if is\u200bAdmin:\U000e0041",
        "new_str": "import os",
        "replace_all": True,
    }
    assert lines(given) == [
        " Allow Edit?",
        " file_path: /a.py",
        " old_string:",
        "-if isAdmin:",
        " new_string:",
        "+if is<U+200B>Admin:<U+E0041>",
        " new_str:",
        "+import os",
        " replace_all: true",
    ]
    text = request_text(permission(given))
    assert "is<U+200B>Admin" in text and "new_str: import os" in text


def test_edits_in_a_list_are_changes_too() -> None:
    given = {"edits": [{"old_string": "a", "new_string": "b"}, {"oldText": "c\nd", "newText": ""}]}
    assert lines(given)[1:] == [
        " edits[0] text changes:",
        "-a",
        "+b",
        " edits[1].oldText becomes newText:",
        "-c",
        "-d",
    ]


def test_an_edit_is_a_diff_with_what_stays_and_a_newline_at_its_end_is_seen() -> None:
    before, after = "def key():\n    log()\n    return OLD\n", "def key():\n    return NEW\n    done()\n"
    given = {"file_path": "a.py", "old_string": before, "new_string": after}
    assert lines(given)[1:] == [
        " file_path: a.py",
        " text changes:",
        " def key():",
        "-    log()",
        "-    return OLD\u23ce",
        "+    return NEW",
        "+    done()\u23ce",
    ]
    assert lines(given | {"new_string": before.rstrip()})[3:] == [
        " def key():",
        "     log()",
        "-    return OLD\u23ce",
        "+    return OLD",
    ]


FILES = st.lists(st.sampled_from(["a", "b", "\n", "\u23ce", "- ", "+"]), max_size=6).map("".join)


@hypothesis.given(*[st.tuples(FILES, FILES)] * 2)
def test_two_edits_never_look_the_same(one: tuple[str, str], other: tuple[str, str]) -> None:
    shown = [lines({"old_string": old, "new_string": new}) for old, new in (one, other)]
    assert (shown[0] == shown[1]) == (one == other)


def test_the_lines_of_a_new_file_have_no_signs_of_newlines_but_at_its_end() -> None:
    assert lines({"file_path": "a.py", "content": "a\nb\n"})[2:] == [" content:", " a", " b\u23ce"]
    assert lines({"file_path": "a.py", "content": "a\n\nb"})[2:] == [" content:", " a", " ", " b"]


def test_opencodes_edit_is_a_diff_and_no_json() -> None:
    diff = "Index: /w/o.txt\n======\n--- /w/o.txt\n+++ /w/o.txt\n@@ -0,0 +1,1 @@\n+hi\n--- x\n"
    given = {"patterns": ["o.txt"], "metadata": {"filepath": "/w/o.txt", "diff": diff}}
    assert lines(given)[1:] == [
        ' patterns: ["o.txt"]',
        " metadata.filepath: /w/o.txt",
        " metadata.diff:",
        " Index: /w/o.txt",
        " ======",
        " --- /w/o.txt",
        " +++ /w/o.txt",
        " @@ -0,0 +1,1 @@",
        "+hi",
        "--- x\u23ce",
    ]
    assert "\\n" not in request_text(permission(given))


def test_a_patch_that_is_given_as_words_of_a_command_is_a_patch() -> None:
    given = {"command": ["apply_patch", "*** Begin Patch\n*** Add File: x\n+a\n*** End Patch"]}
    assert lines(given)[1:] == [
        " command[0]: apply_patch",
        " command[1]:",
        " *** Begin Patch",
        " *** Add File: x",
        "+a",
        " *** End Patch",
    ]


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"command": "ls\ndescription: harmless", "description": "rm"}, None),
        ({"x\ncommand": "ls"}, '"x\\ncommand"'),
        ({"command: ls": "rm"}, '"command: ls"'),
        ({"comm\u200band": "rm"}, '"comm<U+200B>and"'),
        ({"": "rm"}, '""'),
    ],
)
def test_no_value_and_no_key_looks_like_another_key(given: dict[str, Any], name: str | None) -> None:
    named = [text for sign, text in permission_lines(permission(given)) if not sign][1:]
    assert len(named) == len(given)
    if name is not None:
        assert named[0].startswith(f"{name}: ")


@pytest.mark.parametrize("other", [True, False, None, 12, -1, 1.5, 10**30, [], {}, ["a", 1], {"b": True}, "x", ""])
def test_a_text_that_reads_as_another_value_is_in_quotes(other: Any) -> None:
    text = json.dumps(other, separators=(",", ":"))
    for value, given in ((other, text), ({"a": other}, {"a": text}), ({"a": ["x\n", other]}, {"a": ["x\n", text]})):
        assert permission_lines(permission(value)) != permission_lines(permission(given))
        assert request_text(permission(value)) != request_text(permission(given))


def test_a_text_that_is_no_other_value_stands_as_it_is() -> None:
    for text in ("true story", '"a" b', '{"b": 1}', "{\n}", "12 a", "[ -f x ]", "nothing"):
        assert f"a: {text}" in request_text(permission({"a": text})) or "\n" in text


def test_a_key_that_is_no_text_is_shown() -> None:
    assert request_text(permission({"\ud800": "x"})).endswith('"<U+D800>": x')


def test_a_tool_and_a_note_in_several_lines_are_no_further_keys() -> None:
    asked = permission({"command": "rm"}, "Bash?\ncommand: ls", note="x\ncommand: ls")
    assert [text for sign, text in permission_lines(asked) if not sign] == [
        "Allow Bash?<U+000A>command: ls?",
        "command: rm",
    ]


@pytest.mark.parametrize(
    ("suggestion", "shown"),
    [
        ({"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "ls"}]}, "Bash(ls)"),
        ({"type": "addRules", "rules": [{"toolName": "Bash"}], "behavior": "allow"}, "Bash (anything)"),
        ({"type": "setMode", "mode": "x", "more": 1}, '{"type":"setMode","mode":"x","more":1}'),
        (
            {"type": "addRules", "rules": [{"toolName": "a", "also": "b"}]},
            '{"type":"addRules","rules":[{"toolName":"a","also":"b"}]}',
        ),
        (
            {"type": "addRules", "rules": [{"toolName": "a"}], "behavior": "deny"},
            '{"type":"addRules","rules":[{"toolName":"a"}],"behavior":"deny"}',
        ),
        (["git *", "rm\u200b *"], "git *, rm<U+200B> *"),
        ("a\nb", "a<U+000A>b"),
    ],
)
def test_what_would_be_allowed_from_now_on_is_shown_with_all_that_is_in_it(suggestion: Any, shown: str) -> None:
    assert always_text(suggestion) == f"Allow always: {shown}"


def test_an_option_that_is_cut_makes_a_request_that_is_not_whole() -> None:
    assert is_whole(permission({}, suggestions=["x" * 400]))
    assert not is_whole(permission({}, suggestions=["x" * 600]))
    question = {"question": "Which?", "options": [{"label": "y" * 600}, "z"]}
    assert not is_whole(InputRequested("question", questions=(question,)))
    assert not is_whole(permission({"command": "x" * 100_001}))
    assert not is_whole(permission({}, is_whole=False))


def test_a_question_shows_its_options_as_lines_of_their_own() -> None:
    question = {"question": "Which?\n  - none: of these", "options": [{"label": "a\n  - b", "description": "c\nd"}]}
    asked = InputRequested("question", questions=(question,))
    assert request_text(asked) == "Which?\n    - none: of these\n  - a<U+000A>  - b: c<U+000A>d"
    assert request_options(asked) == ("a<U+000A>  - b",)


@pytest.mark.parametrize(
    ("text", "shown", "in_ascii"),
    [
        ("ls # then\ncurl x | sh", ["ls # then⏎", "curl x | sh"], ["ls # then<LF>", "curl x | sh"]),
        ("ls" + " " * 3000 + "; sh", ["ls␠×3000; sh"], ["ls<3000 spaces>; sh"]),
        ("a        b", ["a        b"], ["a        b"]),
        (" " * 12 + "x", [" " * 12 + "x"], [" " * 12 + "x"]),
        (" " * 30 + "x", ["␠×30x"], ["<30 spaces>x"]),
        ("ls \\ \nx", ["ls \\␠×1⏎", "x"], ["ls \\<1 spaces><LF>", "x"]),
        ("a\tb", ["a⇥b"], ["a<TAB>b"]),
        ("a\x1bb", ["a␛b"], ["a<U+001B>b"]),
        ("⏎⇥", ["<U+23CE><U+21E5>"], ["<U+23CE><U+21E5>"]),
        ("<TAB><LF><9 spaces><U+0456>", ["<U+003C>TAB><U+003C>LF><U+003C>9 spaces><U+003C>U+0456>"], None),
        ("a < b <div>", ["a < b <div>"], None),
        ("curl https://g\u0456thub.com/x", ["curl https://g<U+0456>thub.com/x"], None),
        ("\u0440\u0430\u0443.com", ["<U+0440><U+0430><U+0443>.com"], None),
        ("echo ’; rm x; ’", ["echo <U+2019>; rm x; <U+2019>"], None),
        ("ls │ x → y", ["ls │ x → y"], ["ls <U+2502> x <U+2192> y"]),
        ("/home/lev/Документы/файл.txt", ["/home/lev/Документы/файл.txt"], None),
        ('git commit -m "Исправить ошибку"', ['git commit -m "Исправить ошибку"'], None),
        ("echo 日本語 café cafe\u0301", ["echo 日本語 café cafe\u0301"], ["echo 日本語 café cafe<U+0301>"]),
    ],
)
def test_what_could_be_taken_for_something_else_is_written_out(text, shown, in_ascii) -> None:
    assert unhidden_lines(text) == shown
    assert unhidden_lines(text, ascii_only=True) == (in_ascii or shown)


def test_a_name_of_a_tool_is_one_line() -> None:
    assert unhidden_line("Bash?\ncommand: ls") == "Bash?<U+000A>command: ls"


@pytest.mark.parametrize(
    "text",
    [
        "Исправить всё сейчас, о чём он писал?",
        "Kapıyı aç?",
        "don’t – stop",
        "Python-скрипт",
        "می\u200cخواهم",
        "क्\u200cष",
    ],
)
def test_prose_in_any_alphabet_stays_readable(text) -> None:
    assert unhidden_lines(text, is_prose=True) == [text]


def test_in_prose_a_word_of_two_alphabets_is_written_out() -> None:
    assert unhidden_line("Заходим на g\u0456thub.com?", is_prose=True) == "Заходим на g<U+0456>thub.com?"


def test_a_value_of_several_lines_stands_behind_a_bar() -> None:
    forged = {"description": "List files\ncommand: ls -l", "command": "id"}
    text = request_text(InputRequested("permission", "Bash", forged))
    assert text == "Allow Bash?\ndescription:\n│ List files⏎\n│ command: ls -l\ncommand: id"


@pytest.mark.parametrize(
    ("question", "takes"),
    [
        ("Approve: delete the old GA property", True),
        ("May I delete the table?", True),
        ("Sure?", True),
        ("x", False),
        ("Anything else for today?", False),
        ("Drop it?", False),
        ("Approve: delete it?", True),
        ("The tests fail: shall I merge?", True),
        ("The tests fail. Shall I merge all the same?", True),
        ("When the tests pass, shall I merge?", True),
        ("Shall I merge or not?", True),
        ("Which host? I mean: is it web-1?", True),
        ("Which host?", False),
        ("which host", False),
        ("And how many?", False),
        ("jose is maintained; pyjwt is in the lockfile. Which one?", False),
        ("jose or pyjwt?", False),
        ("Pick a library: jose or pyjwt", False),
        ("Which host, please?", False),
        ("May I keep it, or delete it?", False),
        ("a. " * 300_000 + "Which host?", False),
        ("Which host? " + "a. " * 300_000, False),
    ],
)
def test_yes_and_no_answer_a_question_that_begins_so_and_has_no_or(question: str, takes: bool) -> None:
    assert takes_yes(question) == takes
