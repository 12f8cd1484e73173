"""Every legal form of WWW-Authenticate is read, and what is written is read back."""

from __future__ import annotations

import pytest

from trio_mcp.auth._challenges import (
    Challenge,
    oauth_params,
    parse_challenges,
    write_challenge,
)

URL = "https://h/.well-known/oauth-protected-resource/mcp"


@pytest.mark.req("R-473")
@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([], []),
        ([""], []),
        ([" , ,"], []),
        (["Bearer"], [Challenge("Bearer")]),
        (['Bearer realm="a b", scope=read'], [Challenge("Bearer", {"realm": "a b", "scope": "read"})]),
        (['BEARER Scope = "a"'], [Challenge("BEARER", {"scope": "a"})]),
        (['Bearer a="x, y=\\"z\\" \\\\"'], [Challenge("Bearer", {"a": 'x, y="z" \\'})]),
        (['Bearer a="1", A="2"'], [Challenge("Bearer", {"a": "1"})]),
        (['Bearer a=""'], [Challenge("Bearer", {"a": ""})]),
        ([f"Bearer resource_metadata={URL}"], [Challenge("Bearer", {"resource_metadata": URL})]),
        (['Bearer a="1" b="2"'], [Challenge("Bearer", {"a": "1", "b": "2"})]),
        (["Basic, Bearer"], [Challenge("Basic"), Challenge("Bearer")]),
        (["Basic", "Bearer"], [Challenge("Basic"), Challenge("Bearer")]),
        (
            ['Basic realm="x, Bearer y=z", Bearer error="e",DPoP algs="ES256 RS256"'],
            [
                Challenge("Basic", {"realm": "x, Bearer y=z"}),
                Challenge("Bearer", {"error": "e"}),
                Challenge("DPoP", {"algs": "ES256 RS256"}),
            ],
        ),
        (["Negotiate abc==, Bearer a=1"], [Challenge("Negotiate", {}, "abc=="), Challenge("Bearer", {"a": "1"})]),
        (["Negotiate abc"], [Challenge("Negotiate", {}, "abc")]),
        (["Negotiate a/b+c"], [Challenge("Negotiate", {}, "a/b+c")]),
        (["Bearer DPoP a=1"], [Challenge("Bearer"), Challenge("DPoP", {"a": "1"})]),
    ],
)  # fmt: skip
def test_challenges_are_read(headers, expected):
    assert parse_challenges(headers) == expected


@pytest.mark.parametrize(
    ("header", "params"),
    [
        ('Bearer a="1", b="not closed, c=1', {"a": "1"}),
        ('Bearer =, ="x", a="1"', {"a": "1"}),
        ('Bearer "x", a="1"', {"a": "1"}),
        ("Bearer ä, a=1", {"a": "1"}),
        ('Bearer a="1\\', {}),
        ('a="1"', {}),
        ("=x=", {}),
        ('Bearer a=, b="2"', {"b": "2"}),
    ],
)
def test_what_is_malformed_costs_no_more_than_itself(header, params):
    assert oauth_params(parse_challenges([header])) == params


@pytest.mark.parametrize("piece", ['a="\\"', '"\\"', "a=", "=", "a ", "a/", "\\", '"', "a=b"])
def test_long_header_is_read_in_one_pass(piece):
    # Looking through the rest again for each piece would take minutes.
    parse_challenges([f"Bearer {piece * 50_000}"])


def test_challenges_of_oauth_are_read_together():
    headers = [
        'Basic scope="no"',
        f'Bearer resource_metadata="{URL}"',
        'dpop algs="ES256", error="e"',
    ]
    assert oauth_params(parse_challenges(headers)) == {
        "resource_metadata": URL,
        "algs": "ES256",
        "error": "e",
    }


@pytest.mark.parametrize(
    "params",
    [{}, {"scope": "a b"}, {"error_description": 'say "hi" \\ bye', "resource_metadata": URL}],
)
def test_what_is_written_is_read_back(params):
    assert parse_challenges([write_challenge("Bearer", **params)]) == [Challenge("Bearer", params)]


def test_parameters_without_a_value_are_left_out():
    assert write_challenge("Bearer", error=None, scope="a") == 'Bearer scope="a"'
    assert write_challenge("Bearer", error=None) == "Bearer"


@pytest.mark.parametrize("value", ["a\r\nSet-Cookie: x", "a\nb", "ä", "\x7f", "\x00"])
def test_no_header_is_smuggled_in(value):
    with pytest.raises(ValueError, match="visible ASCII"):
        write_challenge("Bearer", scope=value)
    with pytest.raises(ValueError, match="token"):
        write_challenge("Bearer", **{value: "x"})
    with pytest.raises(ValueError, match="token"):
        write_challenge(value)
