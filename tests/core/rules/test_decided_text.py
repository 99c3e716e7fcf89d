"""What a person decides about is written so that nothing in it is hidden or looks like something else."""

import pytest

from tui_tasks.core.operations.sessions import InputRequested
from tui_tasks.core.rules.agents.decided_text import decided_line, decided_lines
from tui_tasks.core.rules.agents.request_text import request_text


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
    assert decided_lines(text) == shown
    assert decided_lines(text, ascii_only=True) == (in_ascii or shown)


def test_a_name_of_a_tool_is_one_line() -> None:
    assert decided_line("Bash?\ncommand: ls") == "Bash?<U+000A>command: ls"


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
    assert decided_lines(text, is_prose=True) == [text]


def test_in_prose_a_word_of_two_alphabets_is_written_out() -> None:
    assert decided_line("Заходим на g\u0456thub.com?", is_prose=True) == "Заходим на g<U+0456>thub.com?"


def test_a_value_of_several_lines_stands_behind_a_bar() -> None:
    forged = {"description": "List files\ncommand: ls -l", "command": "id"}
    text = request_text(InputRequested("permission", "Bash", forged))
    assert text == "Allow Bash?\ndescription:\n│ List files⏎\n│ command: ls -l\ncommand: id"
