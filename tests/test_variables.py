"""Options by environment variables: read once where an argument is not given, told when wrong."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import attrs
import pytest

from trio_mcp import MCPServer
from trio_mcp._variables import (
    FLAG,
    PATH,
    TEXT,
    TEXTS,
    Kind,
    number,
    options_of,
    or_none,
    settable,
    whole,
    word,
)
from trio_mcp.mcpserver import Settings
from trio_mcp.transports import (
    HttpOptions,
    HttpPaths,
    ServeOptions,
    TransportSecuritySettings,
    WebSocketOptions,
    serve_http,
)
from trio_mcp.transports.http._making import LISTENING, settle
from trio_mcp.transports.http._serve_options import WorkerOptions

CLASSES = (
    *(Settings, ServeOptions, WorkerOptions, HttpPaths, HttpOptions),
    *(WebSocketOptions, TransportSecuritySettings),
)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (FLAG, "true", True),
        (FLAG, " On ", True),
        (FLAG, "1", True),
        (FLAG, "YES", True),
        (FLAG, "false", False),
        (FLAG, "0", False),
        (FLAG, "no", False),
        (FLAG, "off", False),
        (TEXT, " as it is ", " as it is "),
        (TEXTS, "a, b,,c ", ["a", "b", "c"]),
        (PATH, "/tmp/x", "/tmp/x"),
        (whole(least=0), "80", 80),
        (number(), "0.5", 0.5),
        (number(), "inf", float("inf")),
        (word("DEBUG", "INFO"), "debug", "DEBUG"),
        (or_none(whole()), "None", None),
        (or_none(whole()), "3", 3),
    ],
)
def test_text_is_read_as_a_value(kind: Kind, text: str, value: Any) -> None:
    assert kind.value_of("MCP_X", text) == value


@pytest.mark.parametrize(
    ("kind", "text", "error"),
    [
        (FLAG, "maybe", "MCP_X: expected true or false, got 'maybe'"),
        (whole(least=0), "eighty", "MCP_X: expected a whole number, got 'eighty'"),
        (whole(least=0), "-1", "MCP_X: expected a whole number of at least 0, got -1"),
        (whole(least=0), "1.5", "MCP_X: expected a whole number, got '1.5'"),
        (
            whole(least=0, most=9),
            "10",
            "MCP_X: expected a whole number of at least 0 and at most 9, got 10",
        ),
        (whole(most=9), "10", "MCP_X: expected a whole number of at most 9, got 10"),
        (TEXTS, " , ,", "MCP_X: expected texts with commas between them, got ' , ,'"),
        (number(above=0), "0", "MCP_X: expected a number above 0, got 0.0"),
        (number(above=0), "soon", "MCP_X: expected a number, got 'soon'"),
        (number(), "nan", "MCP_X: expected a number, got nan"),
        (word("DEBUG", "INFO"), "LOUD", "MCP_X: expected one of 'DEBUG', 'INFO', got 'LOUD'"),
        (or_none(whole()), "all", "MCP_X: expected a whole number or none, got 'all'"),
    ],
)
def test_text_that_is_no_value_is_told_with_what_was_expected(
    kind: Kind, text: str, error: str
) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(error)}$") as caught:
        kind.value_of("MCP_X", text)
    # One error, without those of int() and the like in front of it.
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_an_option_is_declared_once() -> None:
    @attrs.frozen(kw_only=True)
    class Options:
        size: int = settable(3, whole(least=1))
        other: int = 5

    [option] = options_of(Options).values()
    assert (option.name, option.variable, option.default) == ("size", "MCP_SIZE", 3)
    assert Options(size=4).size == 4
    with pytest.raises(ValueError, match="size: expected a whole number of at least 1, got 0"):
        Options(size=0)


# Of an MCPServer


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("debug", "true", True),
        ("log_level", "warning", "WARNING"),
        ("warn_on_duplicate_resources", "false", False),
        ("warn_on_duplicate_tools", "false", False),
        ("warn_on_duplicate_prompts", "false", False),
        ("on_duplicate", "error", "error"),
        ("list_page_size", "7", 7),
        ("dependencies", "httpx, attrs", ["httpx", "attrs"]),
    ],
)
def test_what_a_server_is_not_given_comes_from_the_environment(
    name: str, text: str, value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    default = getattr(MCPServer().settings, name)
    assert default != value
    monkeypatch.setenv(f"MCP_{name.upper()}", text)
    assert getattr(MCPServer().settings, name) == value
    # An argument overrides it, also one that says what is there by default.
    given: Any = {name: default}
    assert getattr(MCPServer(**given).settings, name) == default
    monkeypatch.setenv(f"MCP_{name.upper()}", "")
    assert getattr(MCPServer().settings, name) == default


def test_every_setting_has_been_tried() -> None:
    [mark] = [
        each
        for each in test_what_a_server_is_not_given_comes_from_the_environment.pytestmark  # type: ignore[attr-defined]
        if each.name == "parametrize"
    ]
    assert {name for name, *_ in mark.args[1]} == set(options_of(Settings))


def test_page_size_of_the_environment_is_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCP_LIST_PAGE_SIZE", "0")
    with pytest.raises(ValueError, match=r"^MCP_LIST_PAGE_SIZE: expected a whole number of at"):
        MCPServer()
    monkeypatch.setenv("MCP_LIST_PAGE_SIZE", "1")
    assert MCPServer()._list_page_size == 1


def test_a_wrong_variable_is_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCP_LOG_LEVEL", "LOUD")
    expected = "MCP_LOG_LEVEL: expected one of 'DEBUG', 'INFO', 'WARNING', 'ERROR', 'CRITICAL'"
    with pytest.raises(ValueError, match=f"^{expected}, got 'LOUD'$"):
        MCPServer()
    assert MCPServer(log_level="INFO").settings.log_level == "INFO"


def test_a_server_has_a_list_of_dependencies_of_its_own() -> None:
    given = ["httpx"]
    mcp = MCPServer(dependencies=given)
    given.append("attrs")
    assert mcp.dependencies == ["httpx"]
    assert mcp.dependencies is mcp.settings.dependencies


# Over HTTP


def test_applications_are_made_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCP_JSON_RESPONSE", "true")
    monkeypatch.setenv("MCP_MAX_SESSIONS", "none")
    monkeypatch.setenv("MCP_CORS_ORIGINS", "https://a.example, https://b.example")
    monkeypatch.setenv("MCP_PORT", "no matter here")
    options = MCPServer().streamable_http_app(json_response=False).session_manager.options
    assert options.json_response is False
    assert options.max_sessions is None
    assert options.cors_origins == ["https://a.example", "https://b.example"]
    assert options.transport_security == TransportSecuritySettings.for_host("127.0.0.1")
    assert MCPServer().streamable_http_app().session_manager.options.json_response is True
    assert MCPServer().sse_app().session_manager.options.max_sessions is None


def test_from_where_a_server_may_be_called_comes_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def security(**options: Any) -> Any:
        app = MCPServer().streamable_http_app(**options)
        return app.session_manager.options.transport_security

    monkeypatch.setenv("MCP_HOST", "0.0.0.0")
    assert security() is None
    assert security(host="127.0.0.1") == TransportSecuritySettings.for_host("127.0.0.1")
    monkeypatch.setenv("MCP_ALLOWED_HOSTS", "app.example,app.example:*")
    told = TransportSecuritySettings(allowed_hosts=["app.example", "app.example:*"])
    assert security() == security(host="127.0.0.1") == told
    given = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    assert security(transport_security=given) is given
    monkeypatch.setenv("MCP_ENABLE_DNS_REBINDING_PROTECTION", "off")
    assert security().enable_dns_rebinding_protection is False


def test_who_says_where_to_listen_means_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCP_BINDS", "127.0.0.1:1,unix:/tmp/x")
    monkeypatch.setenv("MCP_PORT", "81")

    def addresses(**given: Any) -> list[str]:
        return list(ServeOptions(**settle("it", LISTENING, given)).addresses)

    assert addresses() == ["127.0.0.1:1", "unix:/tmp/x"]
    assert addresses(host="::1") == ["[::1]:81"]
    assert addresses(port=0) == ["127.0.0.1:0"]
    assert addresses(unix_socket="/tmp/y") == ["unix:/tmp/y"]
    monkeypatch.delenv("MCP_BINDS")
    assert addresses() == ["127.0.0.1:81"]


@pytest.mark.parametrize(
    ("variable", "text", "error"),
    [
        ("MCP_PORT", "http", "MCP_PORT: expected a whole number, got 'http'"),
        ("MCP_PORT", "70000", "MCP_PORT: expected a whole number of at least 0 and at most 65"),
        ("MCP_JSON_RESPONSE", "maybe", "MCP_JSON_RESPONSE: expected true or false, got 'maybe'"),
        ("MCP_BINDS", "somewhere", "MCP_BINDS: expected 'host:port' or 'unix:/path', got 'some"),
        ("MCP_MAX_SESSIONS", "0", "MCP_MAX_SESSIONS: expected a whole number of at least 1, got"),
        ("MCP_HTTP2", "true", "MCP_HTTP2: it needs TLS: give MCP_CERTFILE, too"),
    ],
)
async def test_a_wrong_variable_keeps_a_server_from_starting(
    variable: str, text: str, error: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, text)
    with pytest.raises(ValueError, match=f"^{re.escape(error)}"):
        await serve_http(MCPServer())


# The page


def test_the_documentation_has_every_variable_with_its_default() -> None:
    page = (Path(__file__).parents[1] / "docs" / "settings.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| `(MCP_\w+)` \| (.*?) \|", page, re.MULTILINE))
    declared = {
        option.variable: shown(option.default)
        for cls in CLASSES
        for option in options_of(cls).values()
    }
    assert rows == declared


def shown(default: Any) -> str:
    if isinstance(default, attrs.Factory):  # type: ignore[arg-type]
        default = default.factory()  # type: ignore[attr-defined]
    if default is None:
        return "none"
    if isinstance(default, (list, tuple, str)) and not default:
        return "empty"
    text = str(default).lower() if isinstance(default, bool) else f"{default}"
    return f"`{text}`"
