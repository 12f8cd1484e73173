"""Our client and a server of the TypeScript SDK, over stdio and HTTP, in both eras."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
import trio

from trio_mcp import Client
from trio_mcp.errors import MCPError
from trio_mcp.transports import StdioServerParameters, stdio_client
from trio_mcp.types import CallToolResult, ElicitRequestFormParams, ElicitResult, TextContent

from ._programs import MODES, node_program, serving

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

    from trio_mcp.client import ClientRequestContext
    from trio_mcp.types import ElicitRequestParams

CARRIERS = ["stdio", "http"]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(node_program("server.mjs")) as port:
        yield f"http://127.0.0.1:{port}/mcp"


@asynccontextmanager
async def connected(request: pytest.FixtureRequest) -> AsyncGenerator[Client, None]:
    carrier, mode = request.node.callspec.params["carrier"], request.node.callspec.params["mode"]
    if carrier == "http":
        client = Client(request.getfixturevalue("url"), mode=mode, elicitation_callback=answer)
    else:
        command, *args = [*node_program("server.mjs"), "stdio"]
        parameters = StdioServerParameters(command=command, args=args)
        client = Client(stdio_client(parameters), mode=mode, elicitation_callback=answer)
    async with client:
        yield client


async def answer(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
    assert isinstance(params, ElicitRequestFormParams)
    if params.message == "build?":
        return ElicitResult(action="accept", content={"confirm": True})
    return ElicitResult(action="decline")


def text_of(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


pytestmark = [
    pytest.mark.parametrize("mode", MODES),
    pytest.mark.parametrize("carrier", CARRIERS),
    pytest.mark.limit(60),
]


async def test_it_says_what_it_is(request: pytest.FixtureRequest, mode: str, carrier: str) -> None:
    async with connected(request) as client:
        assert client.protocol_version == MODES[mode]
        assert client.server_info is not None
        assert (client.server_info.name, client.server_info.version) == ("typescript", "7")
        assert client.instructions == "Call add."
        assert client.server_capabilities.tools is not None


async def test_its_tools(request: pytest.FixtureRequest, mode: str, carrier: str) -> None:
    async with connected(request) as client:
        tools = {tool.name: tool async for tool in client.iter_tools()}
        names = {"add", "echo", "fail", "count", "nap", "wait_ended", "confirm"}
        assert set(tools) == names
        assert tools["add"].title == "Addition"
        added = await client.call_tool("add", {"a": 20, "b": 22})
        assert (text_of(added), added.structured_content) == ("42", {"result": 42})
        for text in ("", "line\nline\r\n\u2028", "ünd 🎈", "x" * (1 << 18)):
            assert text_of(await client.call_tool("echo", {"text": text})) == text


async def test_its_errors(request: pytest.FixtureRequest, mode: str, carrier: str) -> None:
    async with connected(request) as client:
        failed = await client.call_tool("fail", {"text": "no luck"})
        assert failed.is_error
        assert text_of(failed) == "no luck"
        wrong = await client.call_tool("add", {"a": "one", "b": 2})
        assert wrong.is_error
        with pytest.raises(MCPError) as caught:
            await client.call_tool("nope")
        assert caught.value.code == -32602


async def test_its_progress(request: pytest.FixtureRequest, mode: str, carrier: str) -> None:
    seen = []

    async def watch(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, total, message))

    async with connected(request) as client:
        await client.call_tool("count", {"to": 20}, progress_callback=watch)
    assert seen == [(n, 20, f"step {n}") for n in range(1, 21)]


async def test_a_cancelled_call_ends_there(
    request: pytest.FixtureRequest, mode: str, carrier: str
) -> None:
    name = f"{carrier} {mode}"
    async with connected(request) as client:
        with trio.CancelScope() as scope:

            async def started(progress: float, total: float | None, message: str | None) -> None:
                scope.cancel()

            await client.call_tool("nap", {"name": name}, progress_callback=started)
        assert scope.cancelled_caught
        with trio.fail_after(5):
            assert text_of(await client.call_tool("wait_ended", {"name": name})) == "cancelled"


async def test_its_questions(request: pytest.FixtureRequest, mode: str, carrier: str) -> None:
    async with connected(request) as client:
        assert text_of(await client.call_tool("confirm", {"what": "build"})) == "build: yes"
        assert text_of(await client.call_tool("confirm", {"what": "destroy"})) == "destroy: no"
