"""The options of an `MCPServer`, and of what it publishes, checked where they are given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from trio_mcp._checks import (
    check_callable,
    check_flag,
    check_items,
    check_kind,
    check_number,
    check_scope_names,
    check_text,
    wrong_kind,
)
from trio_mcp._protocol._meta import check_meta_keys
from trio_mcp.server import RequestStateSecurity

from ._path_security import ResourceSecurity

Check: TypeAlias = Callable[[str, Any], None]


def check_server_options(**options: Any) -> None:
    """Check the options of an `MCPServer` that its parts would trip over later.

    Those that are `Settings` are checked there.

    Raises:
      TypeError: if one is of the wrong kind; names it.
      ValueError: if one has a value that it cannot have.

    """
    for name, value in options.items():
        _SERVER_OPTIONS[name](name, value)


def check_tool_options(**options: Any) -> None:
    """Do the same for the options of a tool."""
    for name, value in options.items():
        _TOOL_OPTIONS[name](name, value)


def _or_none(check: Check) -> Check:
    return lambda name, value: None if value is None else check(name, value)


def _kind(cls: type, expected: str | None = None) -> Check:
    return lambda name, value: check_kind(name, value, cls, expected)


def _list_of(cls: type, expected: str) -> Check:
    return lambda name, value: check_items(name, value, cls, expected)


def _bus(name: str, value: Any) -> None:
    if value is False:
        return
    if not all(callable(getattr(value, each, None)) for each in ("publish", "subscribe")):
        raise wrong_kind(name, "a SubscriptionBus, False or None", value)


_SERVER_OPTIONS: Final[dict[str, Check]] = {
    "name": _or_none(check_text),
    "lifespan": _or_none(check_callable),
    "resource_security": _kind(ResourceSecurity),
    "request_state_security": _or_none(_kind(RequestStateSecurity)),
    "subscriptions": _or_none(_bus),
    "middleware": _or_none(_list_of(Callable, "a list of functions")),  # type: ignore[arg-type]  # a class, too
}

_TOOL_OPTIONS: Final[dict[str, Check]] = {
    "name": _or_none(check_text),
    "context_kwarg": _or_none(check_text),
    "structured_output": _or_none(check_flag),
    "timeout": _or_none(lambda name, value: check_number(name, value, above=0)),
    "run_in_thread": check_flag,
    "ignore_unknown_arguments": check_flag,
    "required_scopes": check_scope_names,
    "meta": check_meta_keys,
}
