from __future__ import annotations

import pytest

from trio_mcp._protocol._meta import (
    build_client_envelope,
    is_reserved_meta_key,
    is_valid_extension_id,
    is_valid_meta_key,
)


@pytest.mark.req("R-046", "R-048")
@pytest.mark.parametrize(
    ("key", "valid"),
    [
        ("name", True),
        ("a.b-c_d", True),
        ("com.example/name", True),
        ("com.example/", True),
        ("", True),
        ("x9.y-8/n", True),
        ("9x.y/n", False),
        ("x-.y/n", False),
        ("x..y/n", False),
        (".x/n", False),
        ("-name", False),
        ("name-", False),
        ("na me", False),
        ("a/b/c", False),
        ("näme", False),
    ],
)
def test_key_grammar(key, valid):
    assert is_valid_meta_key(key) is valid


@pytest.mark.parametrize(
    ("key", "reserved"),
    [
        ("io.modelcontextprotocol/x", True),
        ("dev.mcp/", True),
        ("org.modelcontextprotocol.api/x", True),
        ("com.mcp.tools/x", True),
        ("com.example.mcp/x", False),
        ("mcp/x", False),
        ("progressToken", False),
    ],
)
def test_reserved_prefixes_are_known_by_their_second_label(key, reserved):
    assert is_reserved_meta_key(key) is reserved


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
