"""A low-level server that is made wrong says so at once."""

from __future__ import annotations

import re
from typing import Any

import pytest

from trio_mcp.server import InitializationOptions, Server
from trio_mcp.types import ServerCapabilities


async def handler(_ctx: Any, _params: Any) -> None: ...


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": 5}, "name: expected str, got int"),
        ({"name": None}, "name: expected str, got NoneType"),
        ({"version": 5}, "version: expected str, got int"),
        ({"title": 5}, "title: expected str, got int"),
        ({"title": "\ud800"}, "title: the text holds a lone surrogate"),
        ({"instructions": 5}, "instructions: expected str, got int"),
        ({"instructions": "\ud800"}, "instructions: the text holds a lone surrogate"),
        ({"icons": 5}, "icons: expected list, got int"),
        ({"cache_hints": []}, "cache_hints: expected a dict of CacheHint by method, got list"),
        ({"lifespan": None}, "lifespan: expected a function, got NoneType"),
        ({"get_tool_input_schema": {}}, "get_tool_input_schema: expected a function, got dict"),
        ({"on_list_tools": []}, "the handler of tools/list: expected a function, got list"),
        (
            {"on_progress": 5},
            "the handler of notifications/progress: expected a function, got int",
        ),
    ],
)
def test_options_of_a_server(options: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=f"^{re.escape(message)}"):
        Server(**{"name": "x", **options})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"server_name": 5}, "server_name: expected str, got int"),
        ({"server_version": None}, "server_version: expected str, got NoneType"),
        ({"server_name": "\ud800"}, "name: the text holds a lone surrogate"),
        ({"instructions": "\ud800"}, "instructions: the text holds a lone surrogate"),
        ({"instructions": 5}, "instructions: expected str, got int"),
    ],
)
def test_initialization_options(options: dict[str, Any], message: str) -> None:
    fine: dict[str, Any] = {
        "server_name": "x",
        "server_version": "1",
        "capabilities": ServerCapabilities(),
    }
    assert InitializationOptions(**fine).server_info.name == "x"
    with pytest.raises((TypeError, ValueError), match=f"^{re.escape(message)}"):
        InitializationOptions(**{**fine, **options})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((5, dict, handler), "method: expected str, got int"),
        (("a/b", dict, 5), "handler: expected a function, got int"),
        (("a/b", 5, handler), "params_type: expected a wire type, a pydantic model or dict, got"),
        (("a/b", list, handler), "params_type: expected a wire type, a pydantic model or dict"),
        (("a/b", "NoSuchType", handler), "params_type: expected a wire type, a pydantic model"),
    ],
)
def test_handlers(arguments: Any, message: str) -> None:
    server = Server("x")
    with pytest.raises(TypeError, match=f"^{re.escape(message)}"):
        server.add_request_handler(*arguments)
    with pytest.raises(TypeError, match=f"^{re.escape(message)}"):
        server.add_notification_handler(*arguments)
    assert server.get_request_handler("a/b") is None


@pytest.mark.parametrize(
    ("method", "message"),
    [("", "method: expected a name, got an empty text"), ("initialize", "method: initialize is")],
)
def test_names_of_methods(method: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        Server("x").add_request_handler(method, dict, handler)


def test_what_is_announced_besides_may_be_any_json() -> None:
    options = Server("x").create_initialization_options(
        None, {"com.example/a": {"deep": {"b": 1}}}, {"com.example/b": {}}
    )
    assert options.capabilities.experimental == {"com.example/a": {"deep": {"b": 1}}}
    assert options.capabilities.extensions == {"com.example/b": {}}


def test_one_revision_is_no_set_of_them() -> None:
    with pytest.raises(
        TypeError, match="protocol_versions: expected a set of strings, got one str"
    ):
        Server("x").add_request_handler(
            "a/b",
            dict,
            handler,
            protocol_versions="2025-11-25",  # type: ignore[arg-type]
        )
