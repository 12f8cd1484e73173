from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_mcp._codec._headers import (
    HeaderValueError,
    decode_header_value,
    encode_header_value,
    header_text,
)

WRITTEN = [
    ("us-west1", "us-west1"),
    ("us west 1", "us west 1"),
    ("", ""),
    ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
    (" padded ", "=?base64?IHBhZGRlZCA=?="),
    ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
    ("\tindented", "=?base64?CWluZGVudGVk?="),
    ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
]


@pytest.mark.req("R-142", "R-143", "R-146")
@pytest.mark.parametrize(("text", "value"), WRITTEN)
def test_the_examples_of_the_specification(text: str, value: str) -> None:
    assert encode_header_value(text) == value
    assert decode_header_value(value) == text


@given(st.text())
def test_every_text_comes_through_in_visible_ascii(text: str) -> None:
    value = encode_header_value(text)
    assert value.isascii()
    assert value.isprintable()
    assert value == value.strip()
    assert decode_header_value(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (False, "false"),
        (42, "42"),
        (-7, "-7"),
        ("x", "x"),
        (2**53 - 1, "9007199254740991"),
    ],
)
def test_arguments_as_texts(value: object, text: str) -> None:
    assert header_text(value) == text


@pytest.mark.parametrize("value", [None, 1.5, [], {}])
def test_what_no_header_carries(value: object) -> None:
    assert header_text(value) is None


@pytest.mark.parametrize(
    "value",
    [
        "=?BASE64?SGk=?=",
        "=?base64?SGk=",
        "SGk=?=",
        "base64?SGk=?=",
        "=?base64?=",
        "=?utf-8?SGk=?=",
    ],
)
def test_only_the_exact_marks_mark(value: str) -> None:
    assert decode_header_value(value) == value


@pytest.mark.parametrize(
    "value",
    [
        "=?base64?SGk?=",  # no padding
        "=?base64?SGk==?=",
        "=?base64?SG k=?=",
        "=?base64?SG-_?=",  # of another alphabet
        "=?base64?/w==?=",  # no UTF-8
        "=?base64?SGl=?=",  # stray bits
        "=?base64?世界?=",
    ],
)
def test_what_is_marked_and_is_not_base64_is_refused(value: str) -> None:
    with pytest.raises(HeaderValueError, match="Base64"):
        decode_header_value(value)


def test_a_lone_surrogate_has_no_bytes() -> None:
    with pytest.raises(ValueError, match="surrogates"):
        encode_header_value("a\ud800")
