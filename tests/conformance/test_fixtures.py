"""What the suite does not look at: fixtures are written as users write, and as it is told."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest

from trio_mcp import Client

FOLDER = Path(__file__).parent
FIXTURES = ["server.py", "_tasks.py", "client.py"]


@pytest.mark.parametrize("name", FIXTURES)
def test_only_public_names_are_used(name):
    found = []
    for node in ast.walk(ast.parse((FOLDER / name).read_text("utf-8"))):
        if isinstance(node, ast.Import):
            assert not any(each.name.startswith("trio_mcp.") for each in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("trio_mcp"):
            assert "._" not in node.module
            promised = import_module(node.module).__all__
            found += [each.name for each in node.names]
            assert {each.name for each in node.names} <= set(promised)
        elif isinstance(node, ast.Attribute):
            assert not node.attr.startswith("_"), node.attr
    assert found


@pytest.fixture
def mcp(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    return import_module("tests.conformance.server").mcp


@pytest.mark.parametrize("mode", ["auto", "2025-11-25"])
async def test_the_first_tool_needs_no_arguments_and_all_are_described(mcp, mode):
    async with Client(mcp, mode=mode) as client:
        tools = (await client.list_tools()).tools
        assert not (await client.call_tool(tools[0].name, {})).is_error
        # One with headers may be called without any of them.
        headed = next(tool for tool in tools if "x-mcp-header" in str(tool.input_schema))
        assert not (await client.call_tool(headed.name, {})).is_error
        for described in (tools, (await client.list_prompts()).prompts):
            assert [each.name for each in described if not each.description] == []
        first = (await client.list_resources()).resources[0]
        assert (await client.read_resource(first.uri)).contents
