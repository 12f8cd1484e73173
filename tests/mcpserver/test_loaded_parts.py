"""A program loads what its server does, and nothing of the rest."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

ONE_TOOL = """
import sys
from trio_mcp import MCPServer

mcp = MCPServer("little")

@mcp.tool()
def add(a: int, b: int) -> int:
    return a + b

mcp.run("stdio")
print(*sys.modules, file=sys.stderr)
"""
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
REQUESTS = [
    ("server/discover", {}),
    ("tools/list", {}),
    ("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}}),
]


@pytest.fixture(scope="module")
def loaded():
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": id_, "method": method, "params": params})
        for id_, (method, rest) in enumerate(REQUESTS)
        for params in [{**rest, "_meta": META}]
    ]
    done = subprocess.run(
        [sys.executable, "-c", ONE_TOOL],
        input="\n".join(lines) + "\n",
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    answers = {answer["id"]: answer for answer in map(json.loads, done.stdout.splitlines())}
    assert answers[2]["result"]["structuredContent"] == {"result": 3}
    return set(done.stderr.split())


@pytest.mark.parametrize(
    "module",
    [
        "cattrs",
        "cryptography",
        "difflib",
        "httpx",
        "hypercorn",
        "jsonschema_rs",
        "trio_mcp.client",
        "trio_mcp.mcpserver._extensions",
        "trio_mcp.mcpserver._function_resource",
        "trio_mcp.mcpserver._prompts",
        "trio_mcp.mcpserver._resources",
        "trio_mcp.server._input_required",
        "trio_mcp.types._client_capabilities",
        "trio_mcp.types._completion",
        "trio_mcp.types._elicitation",
        "trio_mcp.types._notifications",
        "trio_mcp.types._prompts",
        "trio_mcp.types._requests",
        "trio_mcp.types._resource_contents",
        "trio_mcp.types._resource_requests",
        "trio_mcp.types._resources",
        "trio_mcp.types._roots",
        "trio_mcp.types._sampling",
        "trio_mcp.types._tasks",
    ],
)
def test_a_server_of_one_tool_does_without(loaded, module):
    assert module not in loaded
