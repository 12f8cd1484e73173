"""What HTTP requests mean, by their headers and bodies alone."""

from __future__ import annotations

import json

import pytest

from trio_mcp._codec import parse_frame
from trio_mcp._protocol._mirrors import mirrored_arguments
from trio_mcp.transports.http import _rules
from trio_mcp.transports.http._headers import Headers
from trio_mcp.transports.http._refusal import status_for

LATEST = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": LATEST,
    "io.modelcontextprotocol/clientCapabilities": {},
}
BOTH = "application/json, text/event-stream"


def make_headers(given):
    return Headers((name.lower().encode(), value.encode("latin-1")) for name, value in given)


def request(method="tools/list", params=None, meta=META, request_id=1):
    params = dict(params or {})
    if meta is not None:
        params["_meta"] = meta
    text = json.dumps({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
    return parse_frame(text)


def modern(method="tools/list", *more, **changed):
    named = {"MCP-Protocol-Version": LATEST, "Mcp-Method": method, **changed}
    return make_headers([*((k, v) for k, v in named.items() if v is not None), *more])


def told(refusal):
    return None if refusal is None else (refusal.status, refusal.error.code)


# The request line and the headers


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "OPTIONS", "TRACE", "x" * 99])
@pytest.mark.req("R-165")
def test_a_method_that_is_not_there_is_405_and_names_those_that_are(method):
    refusal = _rules.check_method(method, ("POST",))
    assert refusal is not None
    assert refusal.status == 405
    assert ("allow", "POST") in refusal.headers
    assert len(refusal.error.message) < 100


@pytest.mark.parametrize(
    ("accept", "passes"),
    [
        (BOTH, True),
        ("text/event-stream,application/json", True),
        ("Text/Event-Stream;q=0.5, APPLICATION/JSON ; q=1", True),
        ("*/*", True),
        ("application/*, text/*", True),
        ("application/json, */*;q=0.1", True),
        ("application/json", False),
        ("text/event-stream", False),
        ("text/html", False),
        ("application/jsonp, text/event-stream", False),
        ("application/json;q=0, */*", False),
        ("application/json, text/event-stream;q=0.000", False),
        ("", False),
        (",;,", False),
    ],
)
@pytest.mark.case("C039")
def test_accept_is_read_as_http_says(accept, passes):
    asked = make_headers([("Content-Type", "application/json"), ("Accept", accept)])
    refusal = _rules.check_post(asked, 100)
    assert (refusal is None) == passes
    if refusal is not None:
        assert refusal.status == 406
        assert "text/event-stream" in refusal.error.message


def test_a_server_that_answers_json_alone_needs_no_more_to_be_accepted():
    asked = make_headers([("Content-Type", "application/json"), ("Accept", "application/json")])
    assert _rules.check_post(asked, 100, json_only=True) is None


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({}, None),
        ({"Content-Type": "application/json; charset=utf-8"}, None),
        ({"Content-Type": "APPLICATION/JSON"}, None),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/jsonx"}, 415),
        ({"Content-Type": ""}, 415),
        ({"Content-Encoding": "identity"}, None),
        ({"Content-Encoding": "gzip"}, 415),
        ({"Content-Length": "100"}, None),
        ({"Content-Length": "000000000000000000000100"}, None),
        ({"Content-Length": "101"}, 413),
        ({"Content-Length": str(2**30)}, 413),
        ({"Content-Length": "9" * 5000}, 413),
        ({"Accept": "text/html"}, 406),
        ({"Content-Type": "text/plain", "Accept": "text/html", "Content-Length": "101"}, 415),
        ({"Accept": "text/html", "Content-Length": "101"}, 406),
    ],
)
@pytest.mark.case("C050")
def test_headers_of_a_post(changed, status):
    given = {"Content-Type": "application/json", "Accept": BOTH, **changed}
    refusal = _rules.check_post(make_headers(given.items()), 100)
    assert (refusal and refusal.status) == status


# The era


@pytest.mark.parametrize(
    ("version", "frame", "expected"),
    [
        (LATEST, request(), True),
        (LATEST, request(meta=None), True),
        (LATEST, request("initialize"), True),
        (LATEST, None, True),
        ("2099-01-01", request(meta=None), True),
        ("", request(meta=None), True),
        (None, request(), True),
        ("2025-06-18", request(), True),
        (None, request("initialize"), False),
        ("2025-11-25", request("initialize"), False),
        (None, request(meta=None), False),
        ("2025-03-26", request(meta=None), False),
        (None, None, False),
        (None, parse_frame("[]"), False),
        (None, parse_frame('{"jsonrpc":"2.0","id":1,"result":{}}'), False),
    ],
)
def test_the_era_of_a_request(version, frame, expected):
    given = [] if version is None else [("mcp-protocol-version", version)]
    assert _rules.is_modern(make_headers(given), frame) is expected


# The body, and the headers that repeat it


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ("{", 400, -32700),
        ("", 400, -32700),
        (b"\xff\xfe", 400, -32700),
        ("NaN", 400, -32700),
        ("[]", 400, -32600),
        ('[{"jsonrpc":"2.0","id":1,"method":"ping"}]', 400, -32600),
        ('"text"', 400, -32600),
        ('{"jsonrpc":"2.0","id":1}', 400, -32600),
        ('{"jsonrpc":"1.0","id":1,"method":"x"}', 400, -32600),
        ('{"jsonrpc":"2.0","id":1,"result":{}}', 400, -32600),
        ('{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}', 400, -32600),
        ('{"jsonrpc":"2.0","id":1.5,"method":"x"}', 400, -32600),
        ('{"jsonrpc":"2.0","method":"notifications/x"}', None, None),
        ('{"jsonrpc":"2.0","id":1,"method":"x"}', None, None),
    ],
)
@pytest.mark.req("R-105", "R-106", "R-108")
def test_a_body_is_one_request_or_notification(body, status, code):
    refusal = _rules.check_frame(parse_frame(body))
    assert told(refusal) == (None if status is None else (status, code))


CALL = {"name": "add", "arguments": {}}
CALLED = {"Mcp-Name": "add"}
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
WITHOUT_VERSION = {key: value for key, value in META.items() if key != VERSION_KEY}
WITHOUT_CAPABILITIES = {VERSION_KEY: LATEST}
OTHER_VERSION = {**META, VERSION_KEY: "2027-01-01"}


@pytest.mark.parametrize(
    ("headers", "asked", "expected"),
    [
        pytest.param(modern(), request(), None, id="whole"),
        pytest.param(modern("tools/call", **CALLED), request("tools/call", CALL), None, id="named"),
        pytest.param(
            modern("resources/read", **{"Mcp-Name": "=?base64?w6Q6Ly/DpA==?="}),
            request("resources/read", {"uri": "ä://ä"}),
            None,
            id="encoded name",
        ),
        pytest.param(modern(), request(meta=None), (400, -32602), id="no _meta"),
        pytest.param(modern(), request(meta=[]), (400, -32602), id="_meta is no object"),
        pytest.param(modern(), request(meta=WITHOUT_VERSION), (400, -32602), id="no version"),
        pytest.param(
            modern(), request(meta=WITHOUT_CAPABILITIES), (400, -32602), id="no capabilities"
        ),
        pytest.param(
            modern(None), request(meta=WITHOUT_VERSION), (400, -32602), id="envelope before headers"
        ),
        pytest.param(
            modern(**{"MCP-Protocol-Version": None}), request(), (400, -32020), id="no version header"
        ),
        pytest.param(
            modern(**{"MCP-Protocol-Version": "2025-11-25"}), request(), (400, -32020), id="other version"
        ),
        pytest.param(modern(None), request(), (400, -32020), id="no method header"),
        pytest.param(modern("tools/call"), request(), (400, -32020), id="other method"),
        pytest.param(modern("TOOLS/LIST"), request(), (400, -32020), id="method in capitals"),
        pytest.param(modern("tools/call"), request("tools/call", CALL), (400, -32020), id="no name"),
        pytest.param(
            modern("tools/call", **{"Mcp-Name": "sub"}), request("tools/call", CALL), (400, -32020), id="other name"
        ),
        pytest.param(
            modern("tools/call", **{"Mcp-Name": "=?BASE64?YWRk?="}),
            request("tools/call", CALL),
            (400, -32020),
            id="sentinel in capitals is literal",
        ),
        pytest.param(
            modern("tools/call", **{"Mcp-Name": "=?base64?YWR?="}),
            request("tools/call", CALL),
            (400, -32020),
            id="bad Base64",
        ),
        pytest.param(
            modern("tools/call", **{"Mcp-Name": "\xe4"}), request("tools/call", CALL), (400, -32020), id="not ASCII"
        ),
        pytest.param(modern("tools/call"), request("tools/call", {}), None, id="no name in the body"),
        pytest.param(
            modern(**{"MCP-Protocol-Version": "2027-01-01"}), request(meta=OTHER_VERSION), (400, -32022), id="unknown version"
        ),
        pytest.param(
            modern(), request(meta=OTHER_VERSION), (400, -32020), id="contradiction before the version"
        ),
        pytest.param(
            modern("tools/list", ("mcp-method", "tools/list")), request(), (400, -32020), id="method twice"
        ),
        pytest.param(
            modern("tools/list", ("MCP-Protocol-Version", LATEST)), request(meta=None), (400, -32020), id="version twice"
        ),
        pytest.param(
            modern("tools/call", ("mcp-name", "add"), **CALLED), request("tools/call", CALL), (400, -32020), id="name twice"
        ),
        pytest.param(modern("initialize"), request("initialize"), (404, -32601), id="handshake"),
        pytest.param(
            modern("initialize"), request("initialize", meta=None), (404, -32601), id="bare handshake"
        ),
    ],
)  # fmt: skip
@pytest.mark.req("R-121", "R-122", "R-123", "R-159", "R-161")
def test_a_modern_request_agrees_with_its_headers(headers, asked, expected):
    refusal = _rules.check_modern(headers, asked)
    assert told(refusal) == expected
    assert refusal is None or refusal.request_id == 1


@pytest.mark.parametrize(
    ("given", "means_add"),
    [
        ("add", True),
        ("=?base64?YWRk?=", True),
        # Only this very spelling marks Base64; whatever else is a name of its own.
        ("=?BASE64?YWRk?=", False),
        ("=?Base64?YWRk?=", False),
        ("=?base64?YWRk", False),
        ("YWRk", False),
    ],
)
@pytest.mark.req("R-143", "R-145")
def test_a_name_is_compared_once_it_is_decoded(given, means_add):
    headers = modern("tools/call", **{"Mcp-Name": given})
    refusal = _rules.check_modern(headers, request("tools/call", CALL))
    assert told(refusal) == (None if means_add else (400, -32020))
    # A tool that is called so is found by the very same header, unless that means another name.
    same = request("tools/call", {"name": given, "arguments": {}})
    assert (_rules.check_modern(headers, same) is None) == (given != "=?base64?YWRk?=")


@pytest.mark.parametrize("spell", [str.lower, str.upper, str.title])
@pytest.mark.req("R-158")
def test_names_of_headers_count_in_any_case_and_methods_in_their_own(spell):
    def sent(method):
        names = {"MCP-Protocol-Version": LATEST, "Mcp-Method": method, "Mcp-Name": "add"}
        return Headers((spell(name).encode(), text.encode()) for name, text in names.items())

    assert _rules.check_modern(sent("tools/call"), request("tools/call", CALL)) is None
    refusal = _rules.check_modern(sent("TOOLS/CALL"), request("tools/call", CALL))
    assert told(refusal) == (400, -32020)


def test_what_is_wrong_is_said_in_words():
    said = [
        (_rules.check_modern(modern(), request(meta=WITHOUT_VERSION)), VERSION_KEY),
        (_rules.check_modern(modern(None), request()), "Mcp-Method is missing"),
        (_rules.check_modern(modern("ping"), request()), "Mcp-Method is 'ping', and the body says 'tools/list'"),
        (_rules.check_modern(modern("tools/call"), request("tools/call", CALL)), "params.name is 'add'"),
    ]  # fmt: skip
    for refusal, words in said:
        assert refusal is not None
        assert words in refusal.error.message


@pytest.mark.req("R-073", "R-124")
def test_a_handshake_of_the_modern_era_hears_which_versions_need_none():
    asked = request("initialize", {"protocolVersion": "2025-11-25"}, meta=None)
    refusal = _rules.check_modern(modern("initialize"), asked)
    assert refusal is not None
    assert refusal.error.data == {"supported": [LATEST], "requested": "2025-11-25"}
    assert LATEST in refusal.error.message


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        (modern("notifications/cancelled"), None),
        (modern("another/method"), None),
        (modern(None), None),
        (modern(None, **{"MCP-Protocol-Version": "2027-01-01"}), (400, -32022)),
        (modern(None, **{"MCP-Protocol-Version": "2025-11-25"}), (400, -32022)),
        (modern("x", ("mcp-protocol-version", LATEST)), (400, -32020)),
    ],
)
def test_a_modern_notification_names_a_version_that_is_served(headers, expected):
    assert told(_rules.check_notification(headers)) == expected


# Arguments in headers

SCHEMA = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "count": {"type": "integer", "x-mcp-header": "Count"},
        "dry": {"type": "boolean", "x-mcp-header": "Dry"},
        "where": {
            "type": "object",
            "properties": {"zone": {"type": "string", "x-mcp-header": "Zone"}, "x-mcp-header": {}},
        },
        "plain": {"type": "string"},
        "any": True,
    },
}


def test_the_mirrored_arguments_of_a_schema():
    assert mirrored_arguments(SCHEMA) == {
        "Mcp-Param-Region": ("region",),
        "Mcp-Param-Count": ("count",),
        "Mcp-Param-Dry": ("dry",),
        "Mcp-Param-Zone": ("where", "zone"),
    }
    assert mirrored_arguments({}) == mirrored_arguments({"properties": []}) == {}


@pytest.mark.parametrize(
    ("arguments", "given", "passes"),
    [
        ({"region": "eu"}, {"Mcp-Param-Region": "eu"}, True),
        ({"region": "eu"}, {"mcp-param-REGION": "eu"}, True),
        ({"region": "eu"}, {"Mcp-Param-Region": "EU"}, False),
        ({"region": "eu"}, {}, False),
        ({"region": "eu"}, {"Mcp-Param-Region": "us"}, False),
        ({"region": ""}, {"Mcp-Param-Region": ""}, True),
        ({"region": ""}, {}, False),
        ({"region": "ü"}, {"Mcp-Param-Region": "=?base64?w7w=?="}, True),
        ({"region": "ü"}, {"Mcp-Param-Region": "\xfc"}, False),
        ({"region": "eu"}, {"Mcp-Param-Region": "=?base64?ZXU=?="}, True),
        ({"region": "eu"}, {"Mcp-Param-Region": "=?base64?ZXU?="}, False),
        ({"region": "=?BASE64?ZXU=?="}, {"Mcp-Param-Region": "=?BASE64?ZXU=?="}, True),
        ({"region": None}, {}, True),
        ({"region": None}, {"Mcp-Param-Region": "null"}, False),
        ({}, {}, True),
        ({}, {"Mcp-Param-Region": "eu"}, False),
        ({}, {"Mcp-Param-Unknown": "\xfc"}, True),
        ({"plain": "x"}, {"Mcp-Param-Plain": "y"}, True),
        ({"dry": True}, {"Mcp-Param-Dry": "true"}, True),
        ({"dry": True}, {"Mcp-Param-Dry": "True"}, False),
        ({"dry": True}, {"Mcp-Param-Dry": "1"}, False),
        ({"where": {"zone": "a"}}, {"Mcp-Param-Zone": "a"}, True),
        ({"where": {"zone": "a"}}, {"Mcp-Param-Zone": "b"}, False),
        ({"where": {}}, {}, True),
        ({"where": "text"}, {}, True),
        ([], {}, True),
        ({"region": []}, {"Mcp-Param-Region": "x"}, True),
    ],
)
@pytest.mark.req("R-144", "R-150", "R-151", "R-156", "R-157")
def test_headers_repeat_the_arguments_of_a_call(arguments, given, passes):
    asked = request("tools/call", {"name": "add", "arguments": arguments})
    refusal = _rules.check_mirrored(make_headers(given.items()), asked, mirrored_arguments(SCHEMA))
    assert told(refusal) == (None if passes else (400, -32020))


@pytest.mark.parametrize(
    ("arguments", "given", "passes"),
    [
        ({"count": 42}, {"Mcp-Param-Count": "42"}, True),
        ({"count": 42}, {"Mcp-Param-Count": "42.0"}, True),
        ({"count": 42}, {"Mcp-Param-Count": "042"}, True),
        ({"count": 42.0}, {"Mcp-Param-Count": "42"}, True),
        ({"count": -7}, {"Mcp-Param-Count": "-7"}, True),
        ({"count": 42}, {"Mcp-Param-Count": "43"}, False),
        ({"count": 42}, {"Mcp-Param-Count": "42.5"}, False),
        ({"count": 42}, {"Mcp-Param-Count": "forty"}, False),
        ({"count": 42}, {"Mcp-Param-Count": ""}, False),
        ({"count": 42}, {"Mcp-Param-Count": "9" * 5000}, False),
        ({"count": 2**53 + 1}, {"Mcp-Param-Count": str(2**53)}, False),
        ({"count": 2**53 - 1}, {"Mcp-Param-Count": str(2**53 - 1)}, True),
        ({"count": -(2**53) + 1}, {"Mcp-Param-Count": str(-(2**53) + 1)}, True),
        ({"count": 2**53}, {"Mcp-Param-Count": str(2**53)}, False),
        ({"count": -(2**53)}, {"Mcp-Param-Count": str(-(2**53))}, False),
    ],
)
@pytest.mark.req("R-135", "R-160")
def test_integers_in_headers_are_compared_as_numbers(arguments, given, passes):
    asked = request("tools/call", {"name": "add", "arguments": arguments})
    refusal = _rules.check_mirrored(make_headers(given.items()), asked, mirrored_arguments(SCHEMA))
    assert told(refusal) == (None if passes else (400, -32020))


@pytest.mark.req("R-152")
def test_a_header_for_an_argument_is_given_once():
    asked = request("tools/call", {"name": "add", "arguments": {"region": "eu"}})
    given = make_headers([("Mcp-Param-Region", "eu"), ("mcp-param-region", "eu")])
    refusal = _rules.check_mirrored(given, asked, mirrored_arguments(SCHEMA))
    assert told(refusal) == (400, -32020)


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (-32700, 400),
        (-32600, 400),
        (-32601, 404),
        (-32602, 400),
        (-32603, 200),
        (-32020, 400),
        (-32021, 400),
        (-32022, 400),
        (-1, 200),
        (1234, 200),
    ],
)
def test_the_status_of_an_error(code, status):
    assert status_for(code) == status


def test_headers_are_found_in_any_case_and_do_not_show_their_values():
    found = make_headers([("Authorization", " Bearer secret\t"), ("X", "1"), ("x", "2")])
    assert found["AUTHORIZATION"] == "Bearer secret"
    assert found["x"] == "1, 2"
    assert found.all("X") == ("1", "2")
    assert "secret" not in repr(found)
    assert dict(found) == {"authorization": "Bearer secret", "x": "1, 2"}
