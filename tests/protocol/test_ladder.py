from __future__ import annotations

import pytest

from trio_mcp._protocol._handshake import choose_handshake_revision
from trio_mcp._protocol._ladder import accept_request
from trio_mcp.errors import MCPError
from trio_mcp.types._revisions import LATEST_HANDSHAKE, LATEST_MODERN, revision_for

VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
INFO = "io.modelcontextprotocol/clientInfo"
LEVEL = "io.modelcontextprotocol/logLevel"
WHOLE = {VERSION: "2026-07-28", CAPABILITIES: {}}
OLDER = revision_for("2025-06-18")


def accept(method, params=None, negotiated=None, serves=("tools/call", "tools/list", "ping")):
    return accept_request(method, params or {}, negotiated, lambda name, _: name in serves)


def refused(*args, **kwargs) -> MCPError:
    with pytest.raises(MCPError) as caught:
        accept(*args, **kwargs)
    return caught.value


def test_a_whole_envelope_is_modern_on_any_connection():
    for negotiated in (None, OLDER):
        accepted = accept("tools/call", {"_meta": WHOLE}, negotiated)
        assert accepted.revision == LATEST_MODERN
        assert accepted.capabilities == {}


@pytest.mark.req("R-050", "R-324")
@pytest.mark.parametrize(
    ("meta", "names"),
    [
        ({CAPABILITIES: {}}, VERSION),
        ({VERSION: "2026-07-28"}, CAPABILITIES),
        ({VERSION: 3, CAPABILITIES: {}}, VERSION),
        ({VERSION: None, CAPABILITIES: {}}, VERSION),
        ({VERSION: "2026-07-28", CAPABILITIES: []}, CAPABILITIES),
        ({**WHOLE, INFO: "me"}, INFO),
        ({**WHOLE, LEVEL: "loud"}, LEVEL),
    ],
)
@pytest.mark.parametrize("negotiated", [None, OLDER])
def test_half_an_envelope_is_refused_by_name(meta, names, negotiated):
    error = refused("tools/call", {"_meta": meta}, negotiated)
    assert error.code == -32602
    assert names in error.message


@pytest.mark.req("R-050")
@pytest.mark.parametrize("params", [{}, {"_meta": {}}, {"_meta": {"progressToken": 1}}])
def test_no_envelope_and_no_handshake_names_both_ways(params):
    error = refused("tools/call", params)
    assert error.code == -32602
    assert VERSION in error.message
    assert "initialize" in error.message


@pytest.mark.parametrize("meta", [[], "x", 3, None, False])
def test_meta_that_is_no_object_is_refused(meta):
    assert refused("tools/call", {"_meta": meta}).code == -32602


@pytest.mark.req("R-052")
def test_client_info_may_be_absent():
    assert accept("tools/call", {"_meta": WHOLE}).client_info is None


@pytest.mark.req("R-066")
@pytest.mark.parametrize("version", ["1900-01-01", "2099-01-01", "2025-11-25", ""])
def test_a_version_that_is_not_served_is_answered_with_those_that_are(version):
    error = refused("tools/call", {"_meta": {VERSION: version, CAPABILITIES: {}}})
    assert error.code == -32022
    assert error.data == {"supported": ["2026-07-28"], "requested": version}


def test_the_version_is_judged_before_the_method():
    error = refused("no/such", {"_meta": {VERSION: "1900-01-01", CAPABILITIES: {}}})
    assert error.code == -32022


def test_the_envelope_is_judged_before_the_version():
    assert refused("tools/call", {"_meta": {VERSION: "1900-01-01"}}).code == -32602


def test_an_unknown_method_is_not_found_in_every_era():
    for meta, negotiated in ((WHOLE, None), ({}, OLDER), ({}, None)):
        assert refused("no/such", {"_meta": meta}, negotiated).code == -32601


@pytest.mark.req("R-526")
def test_only_ping_comes_before_initialize():
    assert accept("ping").revision == LATEST_HANDSHAKE
    assert refused("tools/list").code == -32602


def test_a_session_request_is_read_at_the_negotiated_revision():
    assert accept("tools/list", {}, OLDER).revision == OLDER


def test_initialize_comes_once():
    assert accept("initialize").revision == LATEST_HANDSHAKE
    assert refused("initialize", {}, OLDER).code == -32600


@pytest.mark.parametrize(
    ("meta", "token"),
    [
        ({"progressToken": 0}, 0),
        ({"progressToken": ""}, ""),
        ({"progressToken": "t"}, "t"),
        ({"progressToken": True}, None),
        ({"progressToken": 1.5}, None),
        ({"progressToken": None}, None),
        ({"progressToken": {}}, None),
        ({}, None),
    ],
)
@pytest.mark.case("C034")
def test_a_progress_token_is_a_string_or_an_integer(meta, token):
    assert accept("tools/call", {"_meta": {**WHOLE, **meta}}).progress_token == token


@pytest.mark.req("R-534", "R-535", "R-536")
@pytest.mark.case("C033")
@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1.0.0", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
        ("2099-12-31", "2025-11-25"),
    ],
)
def test_initialize_is_answered_with_what_was_asked_or_the_newest_of_its_era(asked, answered):
    assert choose_handshake_revision(asked).version == answered
