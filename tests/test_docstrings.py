"""What can be raised stands in the docstrings of what users call."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from trio_mcp.client import Client, ClientSession, ClientSessionGroup
from trio_mcp.mcpserver import Context
from trio_mcp.server import ServerSession

# What they do cannot fail, but for a bus or carrier of the user's own.
RAISE_NOTHING = {
    "Context.close_sse_stream",
    "Context.close_standalone_sse_stream",
    "Context.notify_prompts_changed",
    "Context.notify_resources_changed",
    "Context.notify_resource_updated",
}


def coroutine_functions(cls: type) -> list[str]:
    named = [(name, inspect.getattr_static(cls, name)) for name in dir(cls)]
    return [
        f"{cls.__name__}.{name}"
        for name, member in named
        if not name.startswith("_")
        and inspect.iscoroutinefunction(inspect.unwrap(member) if callable(member) else member)
    ]


CLASSES: list[type[Any]] = [Client, ClientSession, ClientSessionGroup, Context, ServerSession]
BY_NAME = {cls.__name__: cls for cls in CLASSES}


@pytest.mark.parametrize("path", [path for cls in CLASSES for path in coroutine_functions(cls)])
def test_it_says_what_it_raises(path: str) -> None:
    cls, _, name = path.partition(".")
    text = inspect.getdoc(getattr(BY_NAME[cls], name)) or ""
    assert ("\nRaises:\n" in text) == (path not in RAISE_NOTHING)
