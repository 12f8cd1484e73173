"""What is kept for a while: things that expire, identifiers that may come once, secrets of types."""

from __future__ import annotations

import pytest

from tests.auth.server._authorization_server import Clock
from trio_mcp.auth import (
    AuthorizationCode,
    AuthorizeError,
    RefreshToken,
    RegistrationError,
    TokenError,
    construct_redirect_uri,
)
from trio_mcp.auth.server._expiring import Expiring
from trio_mcp.auth.server._replays import Replays


def test_thing_is_kept_until_its_time():
    clock = Clock(100.0)
    store = Expiring(10, clock)
    store.put("a", 1, 105.0)
    clock.now = 104.9
    assert store.get("a") == 1
    assert store.values() == [1]
    clock.now = 105.0
    assert store.values() == []
    assert store.get("a") is None
    assert len(store) == 0


def test_thing_that_is_taken_is_there_no_more():
    store = Expiring(10, Clock())
    store.put("a", 1, 2e9)
    assert (store.pop("a"), store.pop("a"), store.get("a")) == (1, None, None)


def test_oldest_goes_where_there_is_no_room_and_one_put_again_is_young():
    store = Expiring(2, Clock())
    store.put("a", 1, 2e9)
    store.put("b", 2, 2e9)
    store.put("a", 3, 2e9)
    store.put("c", 4, 2e9)
    assert (store.get("a"), store.get("b"), store.get("c")) == (3, None, 4)


def test_what_has_expired_goes_when_something_comes():
    clock = Clock(0.0)
    store = Expiring(100, clock)
    for number in range(50):
        store.put(str(number), number, number + 1.0)
    clock.now = 40.0
    store.put("new", 0, 100.0)
    assert len(store) == 11


def test_oldest_of_an_owner_goes_where_that_one_has_no_room():
    gone = []
    store = Expiring(5, Clock(), most_each=2, gone=gone.append)
    store.put("other", 0, 2e9, "b")
    for name in "xyzx":
        store.put(name, name, 2e9, "a")
    assert [store.get(name) for name in ("other", "x", "y", "z")] == [0, "x", None, "z"]
    assert gone == ["x", "y"]
    store.put("z", "Z", 2e9, "a")
    store.pop("x")
    assert (gone, store.get("z")) == (["x", "y", "x"], "Z")


def test_what_expires_is_told_as_gone():
    gone = []
    clock = Clock(0.0)
    store = Expiring(5, clock, gone=gone.append)
    store.put("a", "a", 1.0)
    store.put("b", "b", 2.0)
    clock.now = 1.0
    store.put("c", "c", 3.0)
    clock.now = 2.0
    assert store.get("b") is None
    assert gone == ["a", "b"]
    assert len(store) == 1


def test_identifier_comes_once_for_each_who_chose_it():
    replays = Replays()
    assert replays.is_first("a", "1", until=10.0, now=0.0)
    assert not replays.is_first("a", "1", until=10.0, now=9.9)
    assert replays.is_first("b", "1", until=10.0, now=0.0)
    assert replays.is_first("a", "2", until=10.0, now=0.0)


def test_identifier_is_forgotten_when_it_could_come_no_more():
    replays = Replays()
    for number in range(5):
        replays.is_first("a", str(number), until=10.0 + number, now=0.0)
    assert replays.is_first("a", "0", until=30.0, now=12.0)
    assert len(replays) == 3


def test_nobody_takes_all_the_room():
    replays = Replays(10, most_each=2)
    assert replays.is_first("a", "1", until=10.0, now=0.0)
    assert replays.is_first("a", "2", until=20.0, now=0.0)
    assert not replays.is_first("a", "3", until=10.0, now=0.0)
    assert replays.is_first("b", "3", until=10.0, now=0.0)
    assert replays.is_first("a", "3", until=20.0, now=10.0)
    assert not replays.is_first("a", "4", until=20.0, now=10.0)


def test_nothing_is_forgotten_to_make_room():
    replays = Replays(2)
    assert replays.is_first("a", "1", until=10.0, now=0.0)
    assert replays.is_first("a", "2", until=10.0, now=0.0)
    assert not replays.is_first("a", "3", until=10.0, now=0.0)
    assert not replays.is_first("a", "1", until=10.0, now=0.0)
    assert replays.is_first("a", "3", until=20.0, now=10.0)


@pytest.mark.parametrize(
    ("base", "params", "expected"),
    [
        ("https://a.example", {"code": "x"}, "https://a.example?code=x"),
        ("https://a.example/", {"code": "x y&z"}, "https://a.example/?code=x+y%26z"),
        ("https://a.example/?A=%41", {"code": "x"}, "https://a.example/?A=%41&code=x"),
        ("https://a.example/?", {"code": "x"}, "https://a.example/?code=x"),
        ("https://a.example/", {"code": "x", "state": None}, "https://a.example/?code=x"),
        ("https://a.example/", {"state": None}, "https://a.example/"),
        ("https://a.example/", {}, "https://a.example/"),
    ],
)
def test_answer_is_written_into_the_redirect_uri(base, params, expected):
    assert construct_redirect_uri(base, **params) == expected


def test_codes_and_tokens_are_not_shown():
    code = AuthorizationCode(
        code="s3cret",
        scopes=[],
        expires_at=1.0,
        client_id="a",
        code_challenge="c",
        redirect_uri="https://a.example",
        redirect_uri_provided_explicitly=True,
    )
    assert "s3cret" not in repr(code)
    assert "s3cret" not in repr(RefreshToken(token="s3cret", client_id="a", scopes=[]))
    assert AuthorizationCode.from_json(code.to_json()) == code


@pytest.mark.parametrize(
    "error",
    [
        TokenError("invalid_grant", "why"),
        AuthorizeError("access_denied", "why"),
        RegistrationError("invalid_client_metadata", "why"),
    ],
)
def test_errors_say_what_and_why(error):
    assert error.error_description == "why"
    assert error.error in str(error)
    assert type(error)(error.error).error_description is None
