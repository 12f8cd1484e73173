"""Sealing and opening, without a server."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_mcp.server import AESGCMRequestStateCodec, InvalidRequestState

KEY = b"k" * 32
OTHER = "another key, of text, long enough"

codec = AESGCMRequestStateCodec([KEY])


@given(st.binary(max_size=200))
def test_what_is_sealed_opens_again(payload: bytes) -> None:
    token = codec.seal(payload)
    assert token.isascii()
    assert codec.unseal(token) == payload
    assert codec.seal(payload) != token


@pytest.mark.req("R-182")
def test_no_character_can_be_changed() -> None:
    token = codec.seal(b"delete notes.txt")
    for index, character in enumerate(token):
        other = "A" if character != "A" else "B"
        with pytest.raises(InvalidRequestState):
            codec.unseal(token[:index] + other + token[index + 1 :])


@pytest.mark.parametrize(
    "token", ["", "s1.", "s1.AAAA", "s2.AAAA", "s1.%%%%", "s1.é", "plain", "s1." + "A" * 80]
)
def test_what_was_not_sealed_does_not_open(token: str) -> None:
    with pytest.raises(InvalidRequestState):
        codec.unseal(token)


@given(st.text(max_size=80))
def test_no_text_raises_anything_else(text: str) -> None:
    for token in (text, "s1." + text):
        with pytest.raises(InvalidRequestState):
            codec.unseal(token)


def test_padding_and_cut_tokens_are_other_tokens() -> None:
    token = codec.seal(b"x")
    for changed in (token + "=", token + "\n", token[:-1], " " + token):
        with pytest.raises(InvalidRequestState):
            codec.unseal(changed)


def test_keys_are_rotated_by_putting_the_new_one_in_front() -> None:
    old = codec.seal(b"x")
    rotated = AESGCMRequestStateCodec([OTHER, KEY])
    assert rotated.unseal(old) == b"x"
    new = rotated.seal(b"y")
    with pytest.raises(InvalidRequestState, match="not known"):
        codec.unseal(new)
    assert AESGCMRequestStateCodec([OTHER]).unseal(new) == b"y"


def test_a_key_that_is_wiped_afterwards_goes_on_sealing() -> None:
    key = bytearray(KEY)
    made = AESGCMRequestStateCodec([key])
    key[:] = bytes(32)
    assert codec.unseal(made.seal(b"x")) == b"x"


@pytest.mark.parametrize(
    ("keys", "error", "message"),
    [
        ([], ValueError, "empty"),
        ([b"short"], ValueError, r"keys\[0\] has 5 bytes; 32 are the least"),
        ([KEY, KEY], ValueError, "twice"),
        ([KEY, 7], TypeError, r"keys\[1\] must be bytes or text, not int"),
        (OTHER, TypeError, "a list of keys"),
    ],
)
def test_keys_that_will_not_do(keys: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        AESGCMRequestStateCodec(keys)  # type: ignore[arg-type]  # on purpose


def test_cryptography_loads_with_the_first_state_and_not_with_a_server() -> None:
    program = (
        "import sys; from trio_mcp import MCPServer; MCPServer('a'); "
        "print('cryptography' in sys.modules); "
        "from trio_mcp.server import AESGCMRequestStateCodec; "
        "AESGCMRequestStateCodec([b'k' * 32]).seal(b'x'); print('cryptography' in sys.modules)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=30
    )
    assert ran.stdout.split() == ["False", "True"]
