"""The names, fields and defaults that people know from `mcp_types`."""

from __future__ import annotations

import inspect
import subprocess
import sys
import typing
from importlib import import_module

import attrs
import mcp_types
import pydantic
import pytest

from trio_mcp import types
from trio_mcp._codec._shapes import camel, fields_of

# TypeAdapters: pydantic's way to read a union. Here `decode` takes the union itself.
PYDANTIC_ONLY = {
    "client_notification_adapter",
    "client_request_adapter",
    "client_result_adapter",
    "jsonrpc_message_adapter",
    "server_notification_adapter",
    "server_request_adapter",
    "server_result_adapter",
}

# Required there, given here: every message says "2.0".
KNOWN_DIFFERENCES = {
    (name, "jsonrpc")
    for name in ("JSONRPCRequest", "JSONRPCNotification", "JSONRPCResponse", "JSONRPCError")
}

MODELS = [
    name
    for name in mcp_types.__all__
    if inspect.isclass(getattr(mcp_types, name))
    and issubclass(getattr(mcp_types, name), pydantic.BaseModel)
]

CONSTANTS = [name for name in mcp_types.__all__ if name.isupper()]

UNIONS = [
    "ClientNotification",
    "ClientRequest",
    "ClientResult",
    "ContentBlock",
    "ElicitRequestParams",
    "InputRequest",
    "InputResponse",
    "JSONRPCMessage",
    "SamplingContent",
    "SamplingMessageContentBlock",
    "ServerNotification",
    "ServerRequest",
    "ServerResult",
]

WORDS = ["IconTheme", "IncludeContext", "LoggingLevel", "Role", "TaskStatus"]


def test_every_name_is_there():
    assert set(mcp_types.__all__) - PYDANTIC_ONLY <= set(types.__all__)
    assert PYDANTIC_ONLY.isdisjoint(types.__all__)


@pytest.mark.parametrize("name", CONSTANTS)
def test_constant_has_the_same_value(name):
    assert getattr(types, name) == getattr(mcp_types, name)


@pytest.mark.parametrize("name", MODELS)
def test_class_has_the_same_fields(name):
    ours = {each.name for each in attrs.fields(getattr(types, name))} - {"extra"}
    assert ours == set(getattr(mcp_types, name).model_fields)


@pytest.mark.parametrize("name", MODELS)
def test_field_has_the_same_default(name):
    theirs = getattr(mcp_types, name).model_fields
    for each in attrs.fields(getattr(types, name)):
        if each.name == "extra" or (name, each.name) in KNOWN_DIFFERENCES:
            continue
        known = theirs[each.name]
        if known.is_required():
            assert each.default is attrs.NOTHING, each.name
            continue
        ours = each.default.factory() if isinstance(each.default, attrs.Factory) else each.default
        theirs_default = known.get_default(call_default_factory=True)
        assert ours == theirs_default, each.name
        assert type(ours) is type(theirs_default), each.name


@pytest.mark.parametrize("name", MODELS)
def test_field_has_the_same_name_on_the_wire(name):
    model = getattr(mcp_types, name)
    for field in fields_of(getattr(types, name)):
        alias = model.model_fields[field.name].alias
        assert field.wire == (alias or camel(field.name))


@pytest.mark.parametrize("name", MODELS)
def test_class_has_the_same_bases(name):
    theirs = {each.__name__ for each in getattr(mcp_types, name).__mro__} & set(MODELS)
    ours = {each.__name__ for each in getattr(types, name).__mro__}
    plain = {each.partition("[")[0] for each in theirs}
    assert plain <= ours


@pytest.mark.parametrize("name", UNIONS)
def test_union_has_the_same_members(name):
    theirs = {each.__name__ for each in typing.get_args(getattr(mcp_types, name))}
    assert {each.__name__ for each in typing.get_args(getattr(types, name))} == theirs


@pytest.mark.parametrize("name", WORDS)
def test_words_are_the_same(name):
    assert typing.get_args(getattr(types, name)) == typing.get_args(getattr(mcp_types, name))


def test_versions_and_messages_have_modules_of_their_own():
    for name in ("version", "jsonrpc"):
        theirs = import_module(f"mcp_types.{name}")
        ours = import_module(f"trio_mcp.types.{name}")
        assert set(theirs.__all__) - PYDANTIC_ONLY <= set(ours.__all__)
        for each in ours.__all__:
            value = getattr(ours, each)
            if isinstance(value, (str, int, tuple)):
                assert value == getattr(theirs, each)


def test_star_import_brings_everything():
    namespace: dict[str, object] = {}
    exec("from trio_mcp.types import *", namespace)
    assert set(types.__all__) <= set(namespace)


def loaded_after(statement: str) -> set[str]:
    program = (
        f"{statement}\nimport sys\nprint(*(m for m in sys.modules if m.startswith('trio_mcp')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    return {each.rpartition(".")[2] for each in done.stdout.split() if ".types." in each}


def test_import_loads_no_class():
    assert loaded_after("import trio_mcp.types") == set()


def test_errors_load_the_envelope_alone():
    assert loaded_after("import trio_mcp.errors") <= {"_constants", "_literals", "jsonrpc"}


FOR_ALL_MESSAGES = {
    "_base", "_constants", "_literals", "_methods", "_revisions", "_sampling_options", "jsonrpc",
}  # fmt: skip


@pytest.mark.parametrize(
    "statement",
    [
        "from trio_mcp import Client, StdioServerParameters",
        "from trio_mcp import ClientSession",
        "from trio_mcp import Context, MCPServer",
        "from trio_mcp import Server",
    ],
)
def test_who_does_not_talk_yet_has_no_classes_of_messages(statement):
    assert loaded_after(statement) <= FOR_ALL_MESSAGES


def test_a_server_with_tools_loads_nothing_of_prompts_or_sampling():
    loaded = loaded_after(
        """
from trio_mcp import types
from trio_mcp._codec import decode, encode
from trio_mcp.types._methods import METHODS

for revision in types.KNOWN_REVISIONS:
    decode(METHODS["tools/call"].params_type(), {"name": "add", "arguments": {}}, revision)
    tool = types.Tool(name="add", input_schema={"type": "object"})
    encode(types.ListToolsResult(tools=[tool]), revision)
    encode(types.CallToolResult(content=[types.TextContent(text="3")]), revision)
"""
    )
    assert loaded == {
        "_base", "_common", "_constants", "_content", "_literals", "_methods", "_revisions",
        "_tools", "jsonrpc",
    }  # fmt: skip


def test_method_table_names_classes_that_exist():
    for method in types.METHODS.values():
        assert method.params in types.__all__
        assert method.is_notification or method.result in types.__all__
