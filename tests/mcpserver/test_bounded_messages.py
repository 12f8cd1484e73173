"""What a peer sent is quoted in errors, but never at length: whoever sends much gets little back."""

from __future__ import annotations

import datetime as dt  # noqa: TC003 - read by the server
import json

import pytest

from trio_mcp.client import Client
from trio_mcp.errors import MCPError
from trio_mcp.mcpserver import Context, MCPServer

MUCH = "x" * 100_000
LONGEST = 2_000

mcp = MCPServer("bounded", log_level="CRITICAL")


@mcp.tool()
def add(a: int, b: int = 0) -> int:
    return a + b


@mcp.tool()
def choose(what: str, ctx: Context) -> dict[str, int]:
    return {what: 1}


@mcp.tool()
def tally(counts: dict[str, dt.date]) -> int:
    return len(counts)


@mcp.prompt()
def story(name: str) -> str:
    return name


@mcp.resource("fail://{name}")
def fail(name: str) -> str:
    raise RuntimeError(name)


@mcp.resource("count://{number}")
def count(number: int) -> str:
    return str(number)


@mcp.completion()
def complete(ref, argument, context):
    raise RuntimeError(argument.value)


PROMPT = {"type": "ref/prompt", "name": "story"}
ARGUMENT = {"name": "name", "value": ""}
REQUESTS = [
    (MUCH, {}),
    ("tools/list", {"cursor": MUCH}),
    ("tools/list", {"cursor": {MUCH: 1}}),
    ("prompts/list", {"cursor": MUCH}),
    ("resources/list", {"cursor": MUCH}),
    ("resources/templates/list", {"cursor": MUCH}),
    ("tools/call", {"name": MUCH}),
    ("tools/call", {"name": [MUCH]}),
    ("tools/call", {"name": "add", "arguments": MUCH}),
    ("tools/call", {"name": "add", "arguments": {"a": MUCH}}),
    ("tools/call", {"name": "add", "arguments": {"a": [MUCH]}}),
    ("tools/call", {"name": "add", "arguments": {"a": 1, MUCH: 2}}),
    ("tools/call", {"name": "add", "arguments": {"a": 10**4000, "b": MUCH}}),
    ("tools/call", {"name": "add", "arguments": {"a": 1, **{f"b{n}": 1 for n in range(10_000)}}}),
    ("tools/call", {"name": "tally", "arguments": {"counts": {MUCH: 1}}}),
    ("tools/call", {"name": "tally", "arguments": {"counts": {MUCH: "2026-02-30"}}}),
    ("prompts/get", {"name": MUCH}),
    ("prompts/get", {"name": "story", "arguments": {MUCH: "a"}}),
    ("prompts/get", {"name": "story", "arguments": {"name": "a", MUCH: "a"}}),
    ("prompts/get", {"name": "story", "arguments": {"name": [MUCH]}}),
    ("resources/read", {"uri": MUCH}),
    ("resources/read", {"uri": f"none://{MUCH}"}),
    ("resources/read", {"uri": f"fail://{MUCH}"}),
    ("resources/read", {"uri": f"count://{MUCH}"}),
    ("resources/read", {"uri": f"fail://{'a/' * 5000}"}),
    ("completion/complete", {"ref": {**PROMPT, "name": MUCH}, "argument": ARGUMENT}),
    ("completion/complete", {"ref": {**PROMPT, "type": MUCH}, "argument": ARGUMENT}),
    ("completion/complete", {"ref": PROMPT, "argument": {**ARGUMENT, "name": MUCH}}),
    ("completion/complete", {"ref": PROMPT, "argument": {**ARGUMENT, "value": MUCH}}),
    ("completion/complete", {"ref": {"type": "ref/resource", "uri": MUCH}, "argument": ARGUMENT}),
]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize(("method", "params"), REQUESTS)
async def test_a_server_quotes_little(mode, method, params):
    async with Client(mcp, mode=mode) as client:
        session = client.session
        envelope = {} if session._envelope is None else {"_meta": dict(session._envelope)}
        try:
            result = await session._require_link().request(method, {**params, **envelope})
        except MCPError as exc:
            said = json.dumps([exc.message, exc.data])
        else:
            assert result["isError"]
            said = json.dumps(result["content"])
    assert len(said) < LONGEST
