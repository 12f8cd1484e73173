"""Hints of what is public resolve, although what they name is loaded when it is needed."""

from __future__ import annotations

import inspect
import subprocess
import sys
import typing
from importlib import import_module

import attrs
import pytest

from trio_mcp import Client, MCPServer, types
from trio_mcp._late_hints import LateHints, defer_hints

PACKAGES = [
    "trio_mcp",
    "trio_mcp.auth",
    "trio_mcp.client",
    "trio_mcp.extensions",
    "trio_mcp.mcpserver",
    "trio_mcp.server",
    "trio_mcp.testing",
    "trio_mcp.transports",
    "trio_mcp.types",
]


def public_things(package):
    module = import_module(package)
    for name in module.__all__:
        thing = getattr(module, name)
        if inspect.isclass(thing) and thing.__module__.startswith("trio_mcp"):
            yield name, thing
            for member, value in inspect.getmembers_static(thing):
                function = value.fget if isinstance(value, property) else value
                function = getattr(function, "__func__", function)
                is_public = not member.startswith("_") or member in {"__init__", "__call__"}
                if is_public and inspect.isfunction(function):
                    yield f"{name}.{member}", function
        elif inspect.isfunction(thing):
            yield name, thing


@pytest.mark.parametrize("package", PACKAGES)
def test_all_hints_of_public_classes_and_functions_resolve(package):
    unresolved = {}
    count = 0
    for name, thing in public_things(package):
        count += 1
        try:
            hints = typing.get_type_hints(thing, include_extras=True)
        except Exception as exc:  # noqa: BLE001 - all of them are told at once
            unresolved[name] = repr(exc)
        else:
            assert not [each for each in hints.values() if isinstance(each, str)], name
    assert count
    assert unresolved == {}


# In a process of its own, so that nothing has loaded the names before.
ALONE = {
    "a wire type": "from trio_mcp.types import Tool; typing.get_type_hints(Tool)['icons']",
    "as attrs does": "from trio_mcp.types import Tool; attrs.resolve_types(Tool)",
    "a method": "from trio_mcp import MCPServer; typing.get_type_hints(MCPServer.tool)",
    "a method that is inherited": "from trio_mcp import ClientSession as C; typing.get_type_hints(C.on_notification)",
    "a class of one's own": """
from trio_mcp.types import Request
@attrs.frozen
class Mine(Request):
    more: int = 0
typing.get_type_hints(Mine)""",
}


@pytest.mark.parametrize("asks", ALONE.values(), ids=list(ALONE))
def test_they_resolve_in_a_fresh_process(asks):
    program = f"import typing, attrs\n{asks}"
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True, timeout=60)


def test_what_they_name_is_loaded_when_somebody_asks_and_no_sooner():
    program = """
import sys, typing
from trio_mcp.types import Tool
Tool(name="x", input_schema={}), repr(Tool), Tool.__doc__
assert "trio_mcp.types._icons" not in sys.modules
typing.get_type_hints(Tool)
assert "trio_mcp.types._icons" in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_what_resolves_them_changes_nothing_on_the_wire():
    program = """
import attrs
from trio_mcp import types
from trio_mcp._codec._shapes import _shape_in
found = [getattr(types, name) for name in types.__all__]
wire = [each for each in found if isinstance(each, type) and hasattr(each, "wire_since")]
read = lambda: [repr(_shape_in(each, field)) for each in wire for field in attrs.fields(each)]
before = read()
for each in wire:
    attrs.resolve_types(each)
assert len(before) > 500 and read() == before
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_they_are_what_they_say():
    hints = typing.get_type_hints(types.Tool)
    assert hints["icons"] == list[types.Icon] | None
    assert hints["input_schema"] == dict[str, typing.Any]
    assert hints["wire_since"] == typing.ClassVar[str | None]
    assert typing.get_type_hints(types.Tool.__init__)["icons"] == list[types.Icon] | None
    assert attrs.fields(attrs.resolve_types(types.Tool)).icons.type == list[types.Icon] | None
    assert typing.get_type_hints(Client.call_tool)["return"] is not None
    assert typing.get_type_hints(MCPServer.tool)["annotations"] == types.ToolAnnotations | None


def test_signatures_show_what_was_written():
    assert inspect.signature(MCPServer.tool).parameters["annotations"].annotation == (
        "ToolAnnotations | None"
    )


@pytest.mark.parametrize("look", [dict, list, LateHints.keys, LateHints.values, LateHints.items])
def test_however_they_are_looked_at_they_are_made_ready_once(look):
    ready = []
    hints = LateHints({"a": "int"}, lambda late: ready.append(late.update(a=int)))
    look(hints)
    look(hints)
    assert ready == [None]
    assert dict(hints) == {"a": int}


def test_what_is_nobodys_is_left_alone():
    def function(a: int) -> None: ...

    class Mine:
        a: int

    hints = function.__annotations__, Mine.__annotations__
    defer_hints(function)
    defer_hints(Mine)
    defer_hints(5)
    assert (function.__annotations__, Mine.__annotations__) == hints
    assert type(Mine.__annotations__) is dict
