from __future__ import annotations

import sys

import pytest

from trio_mcp.cli import _target
from trio_mcp.cli._mistakes import UsageMistake
from trio_mcp.cli._options import Options, read_env, read_headers
from trio_mcp.cli._target import Url, split_object, take_target


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("server.py", ("server.py", None)),
        ("server.py:mcp", ("server.py", "mcp")),
        ("server.py:shop.server", ("server.py", "shop.server")),
        ("a:b/server.py", ("a:b/server.py", None)),
        ("server.py:", ("server.py:", None)),
        ("server.py:1st", ("server.py:1st", None)),
        ("server.py:größe", ("server.py", "größe")),
    ],
)
def test_object_stands_behind_the_last_colon(word, parts):
    assert split_object(word) == parts


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        (r"C:\servers\server.py", (r"C:\servers\server.py", None)),
        (r"C:\servers\server.py:mcp", (r"C:\servers\server.py", "mcp")),
        ("C:server", ("C:server", None)),
    ],
)
def test_drive_letter_is_no_file(word, parts, monkeypatch):
    monkeypatch.setattr(_target.sys, "platform", "win32")
    assert split_object(word) == parts


def test_file_is_served_by_run(shop, monkeypatch):
    monkeypatch.chdir(shop.parent)
    options = Options(
        words=("shop.py:mcp", "order", "a=1"), command=None, env={"A": "1"}, cwd="elsewhere"
    )
    parameters, words = take_target(options)
    assert parameters.command == sys.executable
    # The server runs elsewhere, so its path does not depend on where it runs.
    assert parameters.args == ["-P", "-m", "trio_mcp.cli", "run", f"{shop}:mcp"]
    assert (parameters.env, parameters.cwd) == ({"A": "1"}, "elsewhere")
    assert words == ["order", "a=1"]


def test_command_stands_after_two_dashes():
    parameters, words = take_target(Options(words=("order",), command=("python", "x.py", "-v")))
    assert (parameters.command, parameters.args) == ("python", ["x.py", "-v"])
    assert words == ["order"]


@pytest.mark.parametrize(
    ("words", "command", "message"),
    [
        ((), None, "name a server"),
        ((), (), "no command after --"),
        (("gone.py",), None, "no file gone.py"),
        (("server",), None, "-- server"),
    ],
)
def test_server_that_cannot_be_found_is_a_usage_mistake(words, command, message):
    with pytest.raises(UsageMistake, match=message):
        take_target(Options(words=words, command=command))


@pytest.mark.parametrize(
    ("url", "transport", "tried"),
    [
        ("https://example.com/mcp", None, ("streamable-http", "sse")),
        ("HTTP://example.com/mcp", "sse", ("sse",)),
        ("http://[::1]:80/", "streamable-http", ("streamable-http",)),
        ("wss://example.com/mcp", None, ("websocket",)),
    ],
)
def test_url_says_how_to_speak(url, transport, tried):
    options = Options(
        words=(url, "order"), command=None, headers={"X-Key": "SECRET"}, transport=transport
    )
    target, words = take_target(options)
    assert target == Url(url, {"X-Key": "SECRET"}, tried)
    assert words == ["order"]
    assert "SECRET" not in repr(target) + repr(options)


def test_uri_of_a_resource_is_no_server_behind_a_command():
    target, words = take_target(Options(words=("http://x/y",), command=("python",)))
    assert target.command == "python"
    assert words == ["http://x/y"]


def test_headers_are_read_in_order():
    assert read_headers(["A: 1", "B:x: y ", "A:2"]) == {"A": "2", "B": "x: y"}
    assert read_headers(None) == {}


def test_variables_are_read_in_order():
    assert read_env(["A=1", "B=x=y", "A=2", "C="]) == {"A": "2", "B": "x=y", "C": ""}
    assert read_env(None) == {}


@pytest.mark.parametrize("pair", ["A", "=1", ""])
def test_variable_without_a_value_is_refused(pair):
    with pytest.raises(UsageMistake, match="KEY=VALUE"):
        read_env([pair])
