"""JSON as the channel takes it (docs: protocol, section 3), on the shapes that JSON readers are known to get wrong."""

import contextlib
import json
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_tasks.core.errors import ParseError
from tui_tasks.dialects.requests.strict_json import load_line, loads, loads_either

TAKEN = {
    "[]": [],
    "[[]   ]": [[]],
    '[""]': [""],
    '[null, 1, "1", {}]': [None, 1, "1", {}],
    " [true] ": [True],
    '\t{"a"\r: 1 }\r': {"a": 1},
    "42": 42,
    '"text"': "text",
    "null": None,
    "-0": 0,
    "-0.0": -0.0,
    "1E+2": 100.0,
    "1e-2": 0.01,
    "0e1": 0.0,
    "123.456e78": 123.456e78,
    "1e-400": 0.0,
    "-9223372036854775808": -(2**63),
    "9223372036854775807": 2**63 - 1,
    '"\\u0041\\n\\/\\b\\f\\r\\t\\"\\\\"': 'A\n/\b\f\r\t"\\',
    '"\\u0000"': "\0",
    '"\\ud83d\\ude00"': "\U0001f600",
    '"\\uDBFF\\uDFFF"': "\U0010ffff",
    '"\\\\ud800"': "\\ud800",
    '"\U0001f600\u2028\u2029\x7f"': "\U0001f600\u2028\u2029\x7f",
    '{"a":{"b":1},"b":{"a":1}}': {"a": {"b": 1}, "b": {"a": 1}},
    '{"":0}': {"": 0},
    "[" * 64 + "]" * 64: None,
    '{"a":' * 64 + "1" + "}" * 64: None,
    json.dumps("[" * 500): "[" * 500,
    "[" + "[]," * 500 + "[]]": [[]] * 501,
}

REFUSED = {
    "NaN": "NaN",
    "Infinity within": "[Infinity]",
    "minus Infinity": "[-Infinity]",
    "minus NaN": "[-NaN]",
    "nan in small letters": "[nan]",
    "a number that overflows to infinity": "[1e400]",
    "a negative one": "[-1e999]",
    "a key twice": '{"a":1,"a":1}',
    "a key twice by escape": '{"a":1,"\\u0061":2}',
    "a key twice deep within": '[{"x":[{"k":1,"j":2,"k":3}]}]',
    "a lone high surrogate": '["\\ud800"]',
    "a lone low surrogate": '["\\udc00"]',
    "surrogates the wrong way round": '"\\udc00\\ud800"',
    "a high surrogate before a letter": '"\\ud800a"',
    "a lone surrogate in a key": '{"\\udfff":1}',
    "a high surrogate and a broken escape": '["\\ud800\\u1"]',
    "nesting over 64": "[" * 65 + "]" * 65,
    "nesting over 64 of both kinds": '[{"a":' * 33 + "1" + "}]" * 33,
    "nesting without end": "[" * 100_000,
    "an object nested without end": '{"a":' * 100_000,
    "an integer beyond 64 bits": "18446744073709551616",
    "a negative one beyond 64 bits": "-9223372036854775809",
    "an integer of 5,000 digits": "9" * 5_000,
    "a comma too many": "[1,]",
    "a comma too many in an object": '{"a":1,}',
    "two commas": "[1,,2]",
    "no comma": '["a" "b"]',
    "two texts": "{} {}",
    "a text and some more": '{"a":1}#',
    "a closing too many": "[1]]",
    "unclosed": '{"a":1',
    "an unclosed string": '"abc',
    "single quotes": "{'a':1}",
    "a bare key": "{a:1}",
    "a number as a key": "{1:1}",
    "a comment": "[1] // one",
    "a block comment": "[/* */1]",
    "a leading zero": "[012]",
    "a leading zero after the minus": "[-01]",
    "a plus": "[+1]",
    "a bare point": "[.5]",
    "a trailing point": "[1.]",
    "a bare exponent": "[1e]",
    "two minuses": "[--1]",
    "hexadecimal": "[0x42]",
    "an underscore in a number": "[1_000]",
    "full-width digits": "[\uff11]",
    "Arabic digits": "[\u0661]",
    "a control character in a string": '["\x01"]',
    "a newline in a string": '["a\nb"]',
    "a tab in a string": '["\t"]',
    "an unknown escape": '["\\x41"]',
    "half an escape": '["\\u00A"]',
    "an escape of no digits": '["\\u\uff10\uff10\uff11\uff11"]',
    "an escape of a sign and digits": '["\\u+041"]',
    "a byte order mark": "\ufeff{}",
    "a no-break space": "[\u00a01]",
    "a form feed": "[\x0c1]",
    "a vertical tab": "[1]\x0b",
    "True": "[True]",
    "nul": "[nul]",
    "nothing": "",
    "blanks alone": "   ",
    "a NUL byte": "\0",
    "a NUL after the text": "{}\0",
}


@pytest.mark.parametrize("text", TAKEN, ids=lambda text: text[:30])
def test_what_is_json_is_taken(text):
    value = loads(text)
    assert value == (TAKEN[text] if TAKEN[text] is not None else json.loads(text))


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_strict_json_is_a_parse_error(name):
    with pytest.raises(ParseError) as refused:
        loads(REFUSED[name])
    assert refused.value.code == "parse_error"


@pytest.mark.parametrize("text", [*TAKEN, *REFUSED.values()], ids=lambda text: text[:30])
def test_a_line_is_read_or_refused_as_its_text_is(text):
    try:
        value = loads(text)
    except ParseError as refused:
        with pytest.raises(ParseError, match=re.escape(refused.message)):
            load_line(text.encode(errors="surrogatepass"))
    else:
        assert load_line(text.encode()) == value


@pytest.mark.parametrize(
    "line",
    [
        b'{"a":1,"a":1}',
        b'{"a":":","a":""}',
        b'{"a":"::","b":{"c":1,"c":":"}}',
        b'{"a":"\\u003a","a":1}',
        b'{"a\\u003a":"","a:":1}',
        b'{"x":{"a":1,"a":{"b":1,"b":2}},":":":::"}',
    ],
)
def test_a_key_twice_is_seen_whatever_colons_stand_around_it(line):
    with pytest.raises(ParseError, match="comes twice"):
        load_line(line)


@pytest.mark.parametrize(
    "line",
    [b"\xff", b'"\xc3\x28"', b'"\xed\xa0\x80"', b'"\xc0\xaf"', b'"\xf4\x90\x80\x80"', b'"\xe2\x82"', b'"\xe9"'],
    ids=["ff", "cut", "surrogate", "overlong", "beyond", "short", "latin-1"],
)
def test_bad_utf_8_is_a_parse_error(line):
    with pytest.raises(ParseError):
        load_line(line)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32-le", "utf-8-sig"])
def test_other_encodings_are_a_parse_error(encoding):
    with pytest.raises(ParseError):
        load_line('{"tool": "control:hello"}'.encode(encoding))


TEXTS = st.text(st.characters(blacklist_categories=["Cs"]), max_size=20)
NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


@given(VALUES, st.booleans())
def test_every_json_value_comes_back_as_it_was(value, ascii_only):
    assert load_line(json.dumps(value, ensure_ascii=ascii_only).encode()) == value


NEARLY_JSON = st.text("[]{}\",:0123456789.eE+-\\utrfalsn '\ud800", max_size=40)


@given(st.binary(max_size=60) | NEARLY_JSON.map(lambda text: text.encode(errors="surrogatepass")))
def test_any_bytes_are_read_or_refused_and_never_more_leniently_than_pythons_reader(line):
    try:
        value = load_line(line)
    except ParseError:
        return
    assert json.loads(line.decode()) == value


def test_a_key_that_comes_twice_among_many_costs_no_more_than_reading_them():
    keys = ",".join(f'"{number:x}":0' for number in range(20_000))

    def spent(text: str) -> float:
        began = time.process_time()
        with contextlib.suppress(ParseError):
            loads(text)
        return time.process_time() - began

    twice = f'{{{keys},"4e1f":1}}'
    with pytest.raises(ParseError, match="'4e1f' comes twice"):
        loads(twice)
    assert spent(twice) < 50 * spent(f"{{{keys}}}")


EITHER = {
    "['done','failed']": ["done", "failed"],
    """['a', "it's", 'say "no"', 'it\\'s']""": ["a", "it's", 'say "no"', "it's"],
    "{'a': true, 'b': null, 'c': True, 'd': None, 'e': 'True'}": {
        "a": True,
        "b": None,
        "c": True,
        "d": None,
        "e": "True",
    },
    """['\\ud83d\\ude00', 'b\\/', '\\n\\\\', '\\\\"']""": ["\U0001f600", "b/", "\n\\", '\\"'],
    '["a", "None of it"]': ["a", "None of it"],
    "['', \"\"]": ["", ""],
    repr(["a\xa0b", "\x1b[2J", "\\xa0"]): ["a\xa0b", "\x1b[2J", "\\xa0"],
}


@pytest.mark.parametrize("text", EITHER)
def test_a_text_in_quotes_of_either_kind_is_read_as_json_means_it(text):
    assert loads_either(text) == EITHER[text]


STRICT_YET = {name: text for name, text in REFUSED.items() if name not in ("single quotes", "True")}
STRICT_YET |= {
    "strings side by side": "['a' 'b']",
    "a quote within": "['it's']",
    "an unclosed single quote": "['a",
    "Python's escape in double quotes": '["\\xa0"]',
    "bytes": "[b'x']",
    "a set": "[{1,2}]",
    "a tuple": "('a',)",
    "a key twice in single quotes": "{'a':1,'a':2}",
    "a key twice in both": "{'a':1,\"a\":2}",
    "a newline in single quotes": "['a\nb']",
    "a number too large": "{'ms': 1e999}",
    "an escape at the end": "['a\\",
    # Each of these would take minutes if it were tried again at every quote.
    "quotes and escapes without end": "[" + '"\\' * 200_000 + "]",
    "escaped quotes without end": '["' + '\\"' * 200_000 + "]",
    "single quotes and escapes without end": "[" + "'\\" * 200_000 + "]",
    "escaped single quotes without end": "['" + "\\'" * 200_000,
}


@pytest.mark.parametrize("name", STRICT_YET)
def test_it_is_as_strict_in_all_else(name):
    with pytest.raises(ParseError):
        loads_either(STRICT_YET[name])


@given(VALUES)
def test_what_is_written_in_single_quotes_is_what_it_is_in_double_ones(value):
    text = json.dumps(value)
    single = re.sub(
        r'"((?:[^"\\]|\\.)*)"', lambda found: "'" + found[1].replace('\\"', '"').replace("'", "\\'") + "'", text
    )
    assert loads_either(single) == loads_either(text) == loads(text)
