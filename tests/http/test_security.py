"""From where an HTTP server may be called."""

from __future__ import annotations

import logging

import pytest

from trio_mcp import MCPServer
from trio_mcp.transports import TransportSecuritySettings
from trio_mcp.transports.http._headers import Headers
from trio_mcp.transports.http._security import check_caller

LOCAL = TransportSecuritySettings.for_host("127.0.0.1")
APP = TransportSecuritySettings(
    allowed_hosts=["api.example.com", "api.example.com:*"],
    allowed_origins=["https://app.example.com", "http://dev.example.com:*"],
)


def headers(host=None, origin=None):
    raw = [(b"host", host.encode())] if host is not None else []
    return Headers([*raw, (b"origin", origin.encode())] if origin is not None else raw)


@pytest.mark.parametrize(
    ("settings", "host", "origin"),
    [
        (LOCAL, "127.0.0.1:8000", None),
        (LOCAL, "localhost", None),
        (LOCAL, "LOCALHOST:1", "http://Localhost:3000"),
        (LOCAL, "[::1]:8000", "http://[::1]:8000"),
        (LOCAL, "127.0.0.1:8000", "https://localhost"),
        (APP, "api.example.com", "https://app.example.com"),
        (APP, "API.example.com:443", "http://dev.example.com:5173"),
        (TransportSecuritySettings(allowed_hosts=["*"]), "anything", None),
    ],
)
@pytest.mark.req("R-097")
def test_an_allowed_caller_passes(settings, host, origin):
    assert check_caller(headers(host, origin), settings) is None


@pytest.mark.parametrize(
    ("settings", "host", "origin", "status", "named"),
    [
        (LOCAL, "app.example", None, 421, "allowed_hosts"),
        (LOCAL, None, None, 421, "allowed_hosts"),
        (LOCAL, "localhost.example", None, 421, "allowed_hosts"),
        (LOCAL, "localhost:evil", None, 421, "allowed_hosts"),
        (LOCAL, "127.0.0.1:8000", "http://app.example", 403, "allowed_origins"),
        (LOCAL, "127.0.0.1:8000", "null", 403, "allowed_origins"),
        (LOCAL, "127.0.0.1:8000", "http://localhost.example", 403, "allowed_origins"),
        (LOCAL, "127.0.0.1:8000", "http://localhost:80@evil.example", 403, "allowed_origins"),
        (APP, "localhost", None, 421, "allowed_hosts"),
        (APP, "api.example.com", "http://app.example.com", 403, "allowed_origins"),
        (APP, "api.example.com", "https://app.example.com:444", 403, "allowed_origins"),
        (TransportSecuritySettings(), "localhost", None, 421, "allowed_hosts"),
    ],
)
@pytest.mark.req("R-097", "R-098")
@pytest.mark.case("C045")
def test_another_one_is_refused_with_the_setting_and_the_value(
    settings, host, origin, status, named
):
    refusal = check_caller(headers(host, origin), settings)
    assert refusal is not None
    assert refusal.status == status
    assert refusal.level == logging.WARNING
    assert named in refusal.error.message
    assert repr(origin if status == 403 else host or "nothing").strip("'") in refusal.error.message


@pytest.mark.case("C045")
def test_what_was_refused_is_accepted_once_the_setting_names_it():
    asked = headers("app.example", "https://app.example")
    assert check_caller(asked, LOCAL) is not None
    named = TransportSecuritySettings(
        allowed_hosts=["app.example"], allowed_origins=["https://app.example"]
    )
    assert check_caller(asked, named) is None


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "api.example.com"])
@pytest.mark.parametrize(
    ("origin", "status"),
    [
        (None, None),
        # It may be a page of anybody, who has its name lead here (DNS rebinding).
        ("https://api.example.com", 403),
        ("https://evil.example", 403),
        ("api.example.com", 403),
        ("null", 403),
    ],
)
@pytest.mark.req("R-097", "R-098")
@pytest.mark.case("C045")
def test_a_public_address_without_settings_takes_no_web_page(host, origin, status):
    settings = TransportSecuritySettings.for_host(host)
    refusal = check_caller(headers("api.example.com", origin), settings)
    assert (refusal and refusal.status) == status


@pytest.mark.parametrize(
    ("options", "warnings"),
    [
        ({"host": "127.0.0.1"}, 0),
        ({"host": "unix:"}, 0),
        ({"host": "0.0.0.0"}, 1),
        ({"host": "api.example.com"}, 1),
        ({"host": "0.0.0.0", "transport_security": APP}, 0),
    ],
)
@pytest.mark.case("C045")
def test_a_public_address_asks_for_settings(options, warnings, caplog):
    for make in (MCPServer("tests").streamable_http_app, MCPServer("tests").sse_app):
        caplog.clear()
        make(**options)
        assert [each.levelname for each in caplog.records] == ["WARNING"] * warnings
        assert all("allowed_hosts" in each.getMessage() for each in caplog.records)


def test_more_origins_are_allowed_beside_those_of_the_settings():
    asked = headers("localhost:1", "https://app.example")
    assert check_caller(asked, LOCAL, ["https://app.example"]) is None
    assert check_caller(asked, None, ["https://app.example"]) is None


def test_two_hosts_or_origins_are_one_too_many():
    for name in (b"host", b"origin"):
        raw = [(b"host", b"localhost"), (b"origin", b"http://localhost"), (name, b"localhost")]
        assert check_caller(Headers(raw), LOCAL) is not None
        assert check_caller(Headers([*raw, (b"origin", b"x")]), None) is not None


def test_protection_can_be_switched_off():
    off = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    assert check_caller(headers("evil.example", "https://evil.example"), off) is None


def test_a_long_value_is_shown_in_part():
    refusal = check_caller(headers("x" * 10_000), LOCAL)
    assert refusal is not None
    assert len(refusal.error.message) < 300
