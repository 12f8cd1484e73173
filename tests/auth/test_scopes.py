from __future__ import annotations

import pytest

from trio_mcp.auth import (
    OAuthMetadata,
    ProtectedResourceMetadata,
    get_client_metadata_scopes,
    union_scopes,
)
from trio_mcp.auth._scopes import choose_scope, missing_scopes, split_scopes


def prm(*scopes):
    return ProtectedResourceMetadata(
        resource="https://h", authorization_servers=["https://a"], scopes_supported=list(scopes)
    )


def asm(*scopes):
    return OAuthMetadata(
        issuer="https://a", token_endpoint="https://a/t", scopes_supported=list(scopes)
    )


@pytest.mark.req("R-425", "R-463")
@pytest.mark.parametrize(
    ("previous", "new", "union"),
    [
        (None, None, None),
        ("", " ", None),
        ("a", None, "a"),
        (None, "a", "a"),
        ("a b", "b c a", "a b c"),
        ("b a", "a", "b a"),
        ("a  a", "b b", "a b"),
    ],
)
def test_union_keeps_the_order_and_each_scope_once(previous, new, union):
    assert union_scopes(previous, new) == union


@pytest.mark.req("R-423", "R-424", "R-427", "R-428", "R-661")
@pytest.mark.parametrize(
    ("challenged", "configured", "published", "chosen"),
    [
        ("x y", "c", prm("a", "b"), "x y"),
        ("x y", None, None, "x y"),
        (None, "c", prm("a", "b"), "c"),
        (None, None, prm("a", "b", "a"), "a b"),
        ("", None, prm("a"), "a"),
        (None, None, prm(), None),
        (None, None, None, None),
    ],
)
def test_challenge_comes_before_what_is_published(challenged, configured, published, chosen):
    assert choose_scope(challenged, configured, published) == chosen


@pytest.mark.parametrize(
    ("challenged", "published", "known", "grant_types", "chosen"),
    [
        ("x", None, asm("offline_access"), ["refresh_token"], "x offline_access"),
        ("offline_access x", None, asm("offline_access"), ["refresh_token"], "offline_access x"),
        ("x", None, asm("offline_access"), ["authorization_code"], "x"),
        ("x", None, asm("offline_access"), None, "x"),
        ("x", None, asm("other"), ["refresh_token"], "x"),
        ("x", None, None, ["refresh_token"], "x"),
        (None, prm("a"), asm("offline_access", "b"), ["refresh_token"], "a offline_access"),
        (None, None, asm("offline_access", "b"), ["refresh_token"], None),
    ],
)
def test_offline_access_is_asked_for_where_it_is_listed_and_of_use(
    challenged, published, known, grant_types, chosen
):
    assert get_client_metadata_scopes(challenged, published, known, grant_types) == chosen


def test_scopes_that_are_missing_are_told_in_order():
    assert missing_scopes(["a"], ["c", "a", "b", "c"]) == ["c", "b"]
    assert split_scopes(" b  a b") == ["b", "a"]
