from __future__ import annotations

import enum
import gc
import json
import math
import sys
import time
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_mcp._codec._json import (
    MAX_INTEGER_DIGITS,
    MAX_JSON_DEPTH,
    JsonError,
    checked_copy,
    dumps,
    dumps_lines,
    loads,
)

JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
)


def nested(depth: int, inner: str = "") -> str:
    return "[" * depth + inner + "]" * depth


def nested_list(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth - 1):
        value = [value]
    return value


@given(JSON_VALUES)
def test_what_is_written_is_read_back(value: Any) -> None:
    assert loads(dumps(value)) == value
    assert json.loads(dumps(value)) == value
    assert b"\n" not in dumps(value)
    assert b"\r" not in dumps(value)


@pytest.mark.parametrize(
    "text", ["0", "-1", "9007199254740993", "18446744073709551616", "-" + "9" * 400]
)
def test_integers_of_any_size_are_exact(text: str) -> None:
    assert loads(text) == int(text)
    assert type(loads(text)) is int
    assert dumps(int(text)) == text.encode()


def test_number_types_are_kept() -> None:
    assert [type(each) for each in loads("[1, 1.0, 1e2, true]")] == [int, float, float, bool]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b" ",
        b"{",
        b'{"a":1',
        b"NaN",
        b"[Infinity]",
        b"-Infinity",
        b"1e999",
        b"1" * 5000,
        b"[1,]",
        b"{'a':1}",
        b"{}{}",
        b"01",
        b'"\n"',
        b'"\xff"',
        b"\xff\xfe{}\n",
        b'"\xed\xa0\x80"',
        rb'"\ud800"',
        rb'"\udc00 and text behind it"',
        rb'"\ud800\u0041"',
        '"\ud800"',
        "Server listening on port 3000",
    ],
)
def test_what_is_not_json_is_refused(data: bytes | str) -> None:
    with pytest.raises(JsonError):
        loads(data)


@pytest.mark.req("R-075")
def test_text_beyond_ascii_travels_as_utf_8() -> None:
    text = "é ü 日本 \U0001f600 \u2028 \x00"
    assert loads(dumps(text)) == text
    assert "日本".encode() in dumps(text)
    assert loads(rb'"\ud83d\ude00"') == "\U0001f600"


def test_the_last_of_equal_names_counts() -> None:
    assert loads('{"a": 1, "b": 2, "a": 3}') == {"a": 3, "b": 2}


@pytest.mark.parametrize("levels", [1, 7, 8, 9, 10, 50, 99])
@pytest.mark.parametrize("place", ["before", "behind"])
def test_the_depth_limit_is_exact_beside_what_is_less_deep(levels: int, place: str) -> None:
    def text(depth: int) -> str:
        shallow = [nested(levels)] * 200
        parts = [*shallow, nested(depth)] if place == "before" else [nested(depth), *shallow]
        return f"[{','.join(parts)}]"

    loads(text(MAX_JSON_DEPTH - 1))
    with pytest.raises(JsonError, match="nested deeper than 100"):
        loads(text(MAX_JSON_DEPTH))


@pytest.mark.parametrize("inner", ["", '"]]"', '"\\"[[[["', '"\\\\"', '"[","]"'])
def test_the_depth_limit_is_exact(inner: str) -> None:
    loads(nested(MAX_JSON_DEPTH, inner))
    with pytest.raises(JsonError, match="nested deeper than 100"):
        loads(nested(MAX_JSON_DEPTH + 1, inner))


def test_objects_count_like_arrays() -> None:
    loads('{"a":[' * 50 + "]}" * 50)
    with pytest.raises(JsonError, match="nested deeper"):
        loads('{"a":[' * 51 + "]}" * 51)


@pytest.mark.parametrize("count", [500, 999, 5_000, 1_000_000])
def test_deep_texts_are_errors_and_no_crash(count: int) -> None:
    with pytest.raises(JsonError):
        loads(nested(count))
    with pytest.raises(JsonError):
        loads("[" * count)
    with pytest.raises(JsonError):
        loads('{"a":' * count)


def test_brackets_inside_strings_do_not_count() -> None:
    text = json.dumps(["[" * 500, '{"' * 500, "\\[" * 500, {"[[": '\\"'}] * 20)
    assert loads(text) == json.loads(text)


def test_strings_cannot_hide_depth() -> None:
    # Read as brackets alone, this text looks flat.
    text = '["]",' * 101 + "1" + ',"["]' * 101
    assert loads('["]",' * 100 + "1" + ',"["]' * 100)
    with pytest.raises(JsonError, match="nested deeper"):
        loads(text)


@given(
    st.recursive(
        st.text(st.sampled_from('[]{}"\\a')),
        lambda x: st.lists(x) | st.dictionaries(st.text('[]{"\\'), x),
    ),
    st.integers(0, 110),
)
def test_the_depth_check_agrees_with_a_walk(value: Any, levels: int) -> None:
    for _ in range(levels):
        value = {"[": value, "]": "}"} if levels % 2 else ["]", value]
    text = json.dumps([value, ["["] * 120])

    def depth(node: Any) -> int:
        if isinstance(node, dict):
            node = list(node.values())
        return 1 + max(map(depth, node), default=0) if isinstance(node, list) else 0

    too_deep = depth(json.loads(text)) > MAX_JSON_DEPTH
    if too_deep:
        with pytest.raises(JsonError, match="nested deeper"):
            loads(text)
    else:
        assert loads(text) == json.loads(text)


def test_time_grows_with_size_alone() -> None:
    small, large = (
        json.dumps([{"a": ["[" * 8, n]} for n in range(size)]) for size in (4_000, 64_000)
    )

    def cost(text: str) -> float:
        times = []
        # What other tests left behind would be searched for garbage meanwhile.
        gc.disable()
        try:
            for _ in range(3):
                began = time.process_time()
                loads(text)
                times.append(time.process_time() - began)
        finally:
            gc.enable()
        return min(times)

    # 16 times as much; what looks at everything for every bracket would cost 256 times as much.
    assert cost(large) < 16 * 8 * max(cost(small), 1e-4)


@pytest.mark.parametrize("write", [dumps, lambda value: dumps_lines([1, value])])
def test_what_is_written_nests_no_deeper_than_what_is_read(write: Any) -> None:
    assert nested(MAX_JSON_DEPTH).encode() in write(nested_list(MAX_JSON_DEPTH))
    for depth in (MAX_JSON_DEPTH + 1, 5000):
        with pytest.raises(ValueError, match="nested deeper than 100 levels"):
            write(nested_list(depth))
    # Many brackets are not many levels.
    assert write([nested_list(60) for _ in range(100)])


def test_dumps_refuses_what_it_cannot_say() -> None:
    with pytest.raises(ValueError, match="surrogates"):
        dumps("\ud800")
    with pytest.raises(ValueError, match="nested deeper"):
        dumps(nested_list(100_000))
    with pytest.raises(TypeError):
        dumps(object())  # type: ignore[arg-type]


class Colour(enum.StrEnum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Point(NamedTuple):
    x: int
    y: float


class Loud(str):
    __slots__ = ()

    def __str__(self) -> str:
        return "LOUD"


class Half(float):
    __slots__ = ()


class Bag(dict[str, Any]):
    pass


def test_a_checked_copy_is_plain_and_apart() -> None:
    inner = {"list": [1, 2.5, None, True, "é"]}
    copied = checked_copy(inner, "arguments")
    assert copied == inner
    inner["list"].append(3)
    assert copied == {"list": [1, 2.5, None, True, "é"]}


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        ((1, (2,)), [1, [2]]),
        (Point(1, 2.0), [1, 2.0]),
        (Colour.RED, "red"),
        (Level.HIGH, 3),
        (Loud("quiet"), "quiet"),
        (Half(0.5), 0.5),
        (Bag(a=1), {"a": 1}),
        ({Colour.RED: 1}, {"red": 1}),
        ({"ключ": 1}, {"ключ": 1}),
        (2**70, 2**70),
    ],
)
def test_subclasses_become_the_plain_type(value: Any, plain: Any) -> None:
    copied = checked_copy(value, "x")
    assert copied == plain
    assert type(copied) is type(plain)
    if isinstance(copied, dict):
        assert [type(name) for name in copied] == [str]
    assert loads(dumps(copied)) == plain


@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [
        (b"x", TypeError, "arguments: bytes has no JSON form"),
        ({"a": {1, 2}}, TypeError, "arguments.a: set has no JSON form"),
        (
            {"a": [0, {"b c": object()}]},
            TypeError,
            r"arguments.a\[1\]\['b c'\]: object has no JSON form",
        ),
        ({1: 2}, TypeError, r"arguments\[1\]: the name of a member is a string, not 1"),
        ({"a": math.nan}, ValueError, "arguments.a: JSON has no nan"),
        ([math.inf], ValueError, r"arguments\[0\]: JSON has no inf"),
        ([1, -math.inf], ValueError, r"arguments\[1\]: JSON has no -inf"),
        ({"a": "\ud800"}, ValueError, "arguments.a: the text holds a lone surrogate"),
        ({"\ud800": 1}, ValueError, r"arguments\['\\ud800'\]: the text holds a lone surrogate"),
        ([10**5000], ValueError, r"arguments\[0\]: the integer has too many digits"),
        ([Half(math.nan)], ValueError, r"arguments\[0\]: JSON has no nan"),
    ],
)
def test_what_json_cannot_say_is_refused_with_its_place(
    value: Any, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=f"^{message}") as caught:
        checked_copy(value, "arguments")
    assert caught.value.__cause__ is None


def test_a_copy_has_the_depth_limit_of_the_wire() -> None:
    assert checked_copy(nested_list(MAX_JSON_DEPTH), "x") == nested_list(MAX_JSON_DEPTH)
    with pytest.raises(ValueError, match="nested deeper than 100"):
        checked_copy(nested_list(MAX_JSON_DEPTH + 1), "x")


def test_a_value_that_holds_itself_is_refused() -> None:
    value: dict[str, Any] = {}
    value["self"] = value
    with pytest.raises(ValueError, match=r"^x\.self\.self.*nested deeper"):
        checked_copy(value, "x")


@given(JSON_VALUES)
def test_json_values_are_copied_as_they_are(value: Any) -> None:
    copied = checked_copy(value, "x")
    assert copied == value
    assert dumps(copied) == dumps(value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("9" * 4301, "an integer of 4301 digits, 4300 at most are read (byte 0)"),
        (
            f'{{"a":["é",-{"1" * 5000}]}}',
            "an integer of 5000 digits, 4300 at most are read (byte 11)",
        ),
        (
            f'{{"{"1" * 5000}":"{"2" * 5000}\\"","b":[1,{"3" * 4300},{"4" * 4302}]}}',
            "an integer of 4302 digits, 4300 at most are read (byte 14317)",
        ),
        ("1e999", "a number beyond what a float holds, 1e999 (byte 0)"),
        ("[1.5,-2.5E+400]", "a number beyond what a float holds, -2.5E+400 (byte 5)"),
        # Far behind, the decoder's own words have to do: looking for it takes too long.
        (f"[{'1,' * 20_000}1e999]", "Number out of range - at `$[20000]`"),
        (f"[{'1' * 400}.0]", "a number beyond what a float holds, one of many digits (byte 1)"),
    ],
)
@pytest.mark.parametrize("encode", [str, str.encode])
def test_a_number_that_cannot_be_read_is_named_with_its_place(text, said, encode):
    with pytest.raises(JsonError) as caught:
        loads(encode(text))
    assert str(caught.value) == said


def test_the_longest_integers_are_exact():
    assert dumps(loads("9" * MAX_INTEGER_DIGITS)) == b"9" * MAX_INTEGER_DIGITS


def test_a_lower_limit_of_the_interpreter_is_told():
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    try:
        with pytest.raises(JsonError, match="an integer of 641 digits, 640 at most are read"):
            loads("1" * 641)
    finally:
        sys.set_int_max_str_digits(before)
