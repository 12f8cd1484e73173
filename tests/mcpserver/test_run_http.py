"""`MCPServer.run` over HTTP, in a process of its own: where it serves, and how it ends."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import trio

from tests._limits import SOON
from trio_mcp import Client, ConnectionLost, MCPServer
from trio_mcp.types import TextContent

from ._programs import Program, program

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

EXAMPLES = Path(__file__).parents[2] / "examples"

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")

# Its tools say on stderr that they run, and its lifespan that it is left.
SLOW = """
import sys
from contextlib import asynccontextmanager
import trio
from trio_mcp import MCPServer

def note(text):
    print(text, file=sys.stderr, flush=True)

@asynccontextmanager
async def lifespan(server):
    try:
        yield
    finally:
        note("lifespan left")

mcp = MCPServer("slow", lifespan=lifespan)

@mcp.tool()
async def work(seconds: float) -> str:
    note("works")
    try:
        await trio.sleep(seconds)
    except trio.Cancelled:
        note("cancelled")
        raise
    return "done"

mcp.run({transport!r}, {options})
"""


@asynccontextmanager
async def running(
    transport: str = "streamable-http", options: str = "port=0", **env: str
) -> AsyncGenerator[Program, None]:
    with program("-c", SLOW.format(transport=transport, options=options), **env) as server:
        line = await server.wait_for("serving at")
        found = re.fullmatch(r"slow: serving at (http://\S+) \(Ctrl-C ends\)\n", line)
        assert found is not None, line
        server.url = found[1]
        yield server


@pytest.mark.parametrize(("transport", "path"), [("streamable-http", "/mcp"), ("sse", "/sse")])
async def test_it_says_where_it_serves_and_serves_there(transport: str, path: str) -> None:
    async with running(transport) as server:
        assert re.fullmatch(rf"http://127\.0\.0\.1:[1-9]\d*{path}", server.url)
        async with Client(server.url) as client:
            result = await client.call_tool("work", {"seconds": 0})
            assert result.content == [TextContent(text="done")]


@posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_ends_it_in_good_order(number: signal.Signals) -> None:
    async with running() as server, Client(server.url) as client:
        results: list[Any] = []

        async def call() -> None:
            results.append(await client.call_tool("work", {"seconds": 0.5}))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(call)
            await server.wait_for("works")
            server.process.send_signal(number)
        # What was running has been answered.
        assert results[0].content == [TextContent(text="done")]
        assert await server.end() == (0, "lifespan left\n")


@posix
@pytest.mark.case("C019", "C049")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_streams_that_are_open_do_not_hold_it_up(mode: str) -> None:
    async with (
        running(options="port=0, graceful_timeout=60") as server,
        Client(server.url, mode=mode) as client,
    ):
        if mode == "auto":
            async with client.listen(tools_list_changed=True) as news:
                began = time.monotonic()
                server.process.terminate()
                assert [event async for event in news] == []
        else:
            # Its stream for what the server says without being asked is open.
            await client.call_tool("work", {"seconds": 0})
            began = time.monotonic()
            server.process.terminate()
        assert await server.end() == (0, SAID[mode])
        assert time.monotonic() - began < SOON


@posix
@pytest.mark.case("C049")
async def test_sessions_over_sse_do_not_hold_it_up() -> None:
    async with (
        running("sse", "port=0, graceful_timeout=60") as server,
        Client(server.url) as client,
    ):
        await client.list_tools()
        began = time.monotonic()
        server.process.terminate()
        await client.session.wait_lost()
        status, errors = await server.end()
        assert (status, errors.splitlines()[-1]) == (0, "lifespan left")
        assert time.monotonic() - began < SOON


@posix
async def test_a_call_over_sse_is_answered_before_the_end() -> None:
    async with (
        running("sse", "port=0, graceful_timeout=60") as server,
        Client(server.url) as client,
    ):
        results: list[Any] = []

        async def call() -> None:
            results.append(await client.call_tool("work", {"seconds": 0.3}))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(call)
            await server.wait_for("works")
            server.process.terminate()
        assert results[0].content == [TextContent(text="done")]
        assert await server.end() == (0, "lifespan left\n")


SAID = {"auto": "lifespan left\n", "legacy": "works\nlifespan left\n"}


@posix
async def test_it_waits_for_what_runs_only_for_a_while() -> None:
    async with (
        running(options="port=0, graceful_timeout=0.3") as server,
        Client(server.url) as client,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(call_and_lose, client)
        await server.wait_for("works")
        began = time.monotonic()
        server.process.terminate()
        assert await server.end() == (0, "cancelled\nlifespan left\n")
        assert time.monotonic() - began < SOON


@posix
async def test_a_second_signal_cancels_what_runs() -> None:
    async with (
        running(options="port=0, graceful_timeout=60") as server,
        Client(server.url) as client,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(call_and_lose, client)
        await server.wait_for("works")
        server.process.send_signal(signal.SIGINT)
        # It has taken notice when nobody listens there any more.
        while await answers(server.url):  # noqa: ASYNC110
            await trio.sleep(0.01)
        server.process.send_signal(signal.SIGINT)
        assert await server.end() == (0, "cancelled\nlifespan left\n")


async def call_and_lose(client: Client) -> None:
    with pytest.raises(ConnectionLost):
        await client.call_tool("work", {"seconds": 60})


async def answers(url: str) -> bool:
    parts = httpx.URL(url)
    assert parts.port is not None
    try:
        await (await trio.open_tcp_stream(parts.host, parts.port)).aclose()
    except OSError:
        return False
    return True


async def test_the_environment_says_what_the_program_does_not() -> None:
    env = {"MCP_PORT": "0", "MCP_STREAMABLE_HTTP_PATH": "/tools", "MCP_LOG_LEVEL": "DEBUG"}
    async with running(options="", **env) as server:
        assert server.url.endswith("/tools")
    async with running(options="streamable_http_path='/given'", **env) as server:
        assert server.url.endswith("/given")


async def test_a_variable_that_is_wrong_is_named_by_the_last_line() -> None:
    with program("-c", SLOW.format(transport="sse", options=""), MCP_PORT="http") as server:
        status, errors = await server.end()
    assert status == 1
    said = "trio_mcp.errors.WrongVariable: MCP_PORT: expected a whole number, got 'http'"
    assert errors.splitlines()[-1] == said


@pytest.mark.parametrize("method", ["run_streamable_http_async", "run_sse_async"])
async def test_programs_that_run_trio_themselves_serve_until_they_cancel(
    method: str, capfd: pytest.CaptureFixture[str]
) -> None:
    mcp = MCPServer("own")
    serve = getattr(mcp, method)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(partial(serve, port=0))
        said = ""
        while not said:
            await trio.sleep(0.01)
            said = capfd.readouterr().err
        url = re.findall(r"http://\S+", said)[0]
        async with Client(url) as client:
            assert client.server_info is not None
            assert client.server_info.name == "own"
        nursery.cancel_scope.cancel()


async def test_a_program_without_stderr_serves_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    with trio.move_on_after(0.2) as scope:
        await MCPServer("quiet").run_streamable_http_async(port=0)
    assert scope.cancelled_caught


CONVERTER = """
import sys
sys.path.insert(0, sys.argv[1])
from unit_converter import mcp
mcp.run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
"""


async def test_the_unit_converter_is_driven_by_its_url() -> None:
    """With nothing but the first argument of `Client` changed."""
    with program("-c", CONVERTER, str(EXAMPLES), "0") as server:
        url = re.findall(r"http://\S+", await server.wait_for("serving at"))[0]
        source = (EXAMPLES / "drive_converter.py").read_text("utf-8")
        assert source.count("Client(parameters)") == 1
        changed = source.replace("Client(parameters)", f"Client({url!r})")
        changed = changed.replace("Path(__file__)", f"Path({str(EXAMPLES / 'x.py')!r})")
        driven = await trio.run_process(
            [sys.executable, "-W", "error", "-c", changed], capture_stdout=True
        )
        over_stdio = await trio.run_process(
            [sys.executable, str(EXAMPLES / "drive_converter.py")], capture_stdout=True
        )
        assert driven.stdout == over_stdio.stdout
        assert b"5 mi is 8.04672 km" in driven.stdout
        for mode in ("auto", "legacy"):
            async with Client(url, mode=mode) as client:
                arguments = {"value": 12, "from_unit": "in", "to_unit": "cm"}
                result = await client.call_tool("convert", arguments)
                assert result.structured_content == {"result": 30.48}


def test_a_server_on_stdio_loads_nothing_of_http() -> None:
    source = (EXAMPLES / "unit_converter.py").read_text("utf-8")
    looks = (
        "import sys\n"
        "heavy = ('hypercorn', 'httpx', 'httpcore', 'h11', 'h2', 'wsproto', 'trio_websocket', "
        "'trio_mcp.transports.http', 'trio_mcp.transports.websocket', 'trio_mcp.client')\n"
        "print(*[name for name in sys.modules if name.startswith(heavy)], file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"{source}\n{looks}"],
        input='{"jsonrpc":"2.0","id":1,"method":"ping"}\n',
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert '"id":1' in done.stdout
    assert done.stderr == "\n"
