from __future__ import annotations

import pytest

from trio_mcp._protocol._meta import (
    build_client_envelope,
    check_meta_keys,
    is_valid_extension_id,
)


@pytest.mark.req("R-046", "R-048")
@pytest.mark.parametrize(
    "key",
    ["name", "a.b-c_d", "1", "com.example/name", "com.example/", "", "x9.y-8/n", "traceparent",
     "openai/outputTemplate", "progressToken"],
)  # fmt: skip
def test_keys_that_follow_the_grammar(key):
    check_meta_keys("meta", {key: 1})


@pytest.mark.req("R-046", "R-048")
@pytest.mark.parametrize(
    "key",
    ["9x.y/n", "x-.y/n", "x..y/n", ".x/n", "/n", "-name", "name-", "_name", "na me", "a/b/c",
     "n\u00e4me", "name\n"],
)  # fmt: skip
def test_keys_that_do_not(key):
    with pytest.raises(ValueError, match="meta: expected keys like") as caught:
        check_meta_keys("meta", {"good": 1, key: 1})
    assert repr(key) in str(caught.value)


@pytest.mark.parametrize("meta", [None, {}, 5, [1], "no good", {1: 2}])
def test_what_has_no_keys_is_for_others_to_judge(meta):
    check_meta_keys("meta", meta)


@pytest.mark.req("R-069")
@pytest.mark.parametrize(
    ("identifier", "valid"),
    [
        ("io.modelcontextprotocol/tasks", True),
        ("com.example/x", True),
        ("foo", False),
        ("com.example/", False),
        ("/x", False),
    ],
)
def test_extension_ids_need_a_prefix(identifier, valid):
    assert is_valid_extension_id(identifier) is valid


def test_the_envelope_says_what_is_known_and_no_more():
    assert build_client_envelope("2026-07-28", {}, None, None) == {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    full = build_client_envelope(
        "2026-07-28", {"roots": {}}, {"name": "n", "version": "v"}, "info"
    )
    assert full["io.modelcontextprotocol/clientInfo"] == {"name": "n", "version": "v"}
    assert full["io.modelcontextprotocol/logLevel"] == "info"
