"""`MCPServer.run` in a process of its own, and the example that everybody meets first."""

from __future__ import annotations

import importlib.util
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests._limits import SOON
from trio_mcp.client import Client
from trio_mcp.errors import MCPError
from trio_mcp.types import TextContent, TextResourceContents

if TYPE_CHECKING:
    from types import ModuleType

EXAMPLE = Path(__file__).parents[2] / "examples" / "unit_converter.py"

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_unit_converter_converts(mode: str) -> None:
    async with Client(load(EXAMPLE).mcp, mode=mode) as client:
        assert client.server_info.name == "unit-converter"

        async def convert(value: float, from_unit: str, to_unit: str) -> Any:
            return await client.call_tool(
                "convert", {"value": value, "from_unit": from_unit, "to_unit": to_unit}
            )

        assert (await convert(5, "mi", "km")).structured_content == {"result": 8.04672}
        assert (await convert(12, "in", "cm")).structured_content == {"result": 30.48}
        failed = await convert(5, "kg", "m")
        assert failed.is_error
        assert failed.content == [
            TextContent(
                text="Error executing tool convert: cannot convert mass (kg) to length (m)"
            )
        ]
        assert (await convert(1, "parsec", "m")).is_error
        [units] = (await client.read_resource("units://all")).contents
        assert isinstance(units, TextResourceContents)
        assert "length: mm, cm, m, km" in units.text
        [message] = (await client.get_prompt("recipe_to_metric", {"recipe": "2 cups"})).messages
        assert isinstance(message.content, TextContent)
        assert "2 cups" in message.content.text


def test_it_answers_on_stdout_and_ends_with_its_input() -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)],
        input=json.dumps(INITIALIZE) + "\n",
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    [line] = done.stdout.splitlines()
    assert json.loads(line)["result"]["serverInfo"]["name"] == "unit-converter"
    assert done.stderr == ""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process")
def test_ctrl_c_ends_it_without_a_traceback() -> None:
    with subprocess.Popen(
        [sys.executable, str(EXAMPLE)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(json.dumps(INITIALIZE) + "\n")
        server.stdin.flush()
        server.stdout.readline()
        server.send_signal(signal.SIGINT)
        _, errors = server.communicate(timeout=20)
    assert server.returncode == 0
    assert errors == ""


# Notes in a file what becomes of it. Its tools say that they run by a report of progress.
BUSY = """
import pathlib, sys, time
from contextlib import asynccontextmanager
import trio
from trio_mcp import Context, MCPServer

def note(text):
    with pathlib.Path(sys.argv[1]).open("a") as file:
        print(text, file=file)

@asynccontextmanager
async def lifespan(server):
    try:
        yield
    finally:
        note("closed")

mcp = MCPServer("busy", lifespan=lifespan)

@mcp.tool()
async def in_a_task(ctx: Context) -> None:
    print("in a task")
    try:
        await ctx.report_progress(1)
        await trio.sleep(60)
    finally:
        note(f"stopped: {ctx.cancel_reason}")

@mcp.tool()
def in_a_thread(ctx: Context) -> None:
    print("in a thread")
    trio.from_thread.run(ctx.report_progress, 1)
    time.sleep(60)

mcp.run("stdio")
"""

# Holds the pipe to the server's stdin, and hands on what it reads.
PARENT = """
import subprocess, sys, time
with subprocess.Popen([sys.executable, "-c", *sys.argv[1:]], stdin=subprocess.PIPE) as server:
    for line in sys.stdin:
        server.stdin.write(line.encode())
        server.stdin.flush()
    time.sleep(60)
"""


def requests_of_busy(era: str) -> str:
    meta: dict[str, Any] = {"progressToken": 0}
    messages: list[dict[str, Any]] = []
    if era == "older":
        messages += [INITIALIZE, {"jsonrpc": "2.0", "method": "notifications/initialized"}]
    else:
        meta["io.modelcontextprotocol/protocolVersion"] = "2026-07-28"
        meta["io.modelcontextprotocol/clientCapabilities"] = {}
    for name in ("in_a_task", "in_a_thread"):
        params = {"name": name, "_meta": meta}
        messages.append({"jsonrpc": "2.0", "id": name, "method": "tools/call", "params": params})
    return "".join(json.dumps(message) + "\n" for message in messages)


@pytest.mark.case("C002")
@pytest.mark.req("R-091")
@pytest.mark.parametrize("era", ["modern", "older"])
@pytest.mark.parametrize("end", ["its stdin is closed", "its parent is killed"])
def test_the_end_of_its_input_stops_what_runs_and_ends_it(
    end: str, era: str, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    program = [BUSY] if end == "its stdin is closed" else [PARENT, BUSY]
    with subprocess.Popen(
        [sys.executable, "-c", *program, str(notes)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(requests_of_busy(era))
        process.stdin.flush()
        reports = 0
        while reports < 2:  # both tools run
            reports += json.loads(process.stdout.readline()).get("method") == (
                "notifications/progress"
            )
        began = time.monotonic()
        if end == "its stdin is closed":
            process.stdin.close()
            assert process.wait(25) == 0
        else:
            process.kill()
        # The end of its stdout: it has left. Nothing more was answered.
        assert process.stdout.read() == ""
        assert time.monotonic() - began < SOON
        assert sorted(process.stderr.read().splitlines()) == ["in a task", "in a thread"]
    assert notes.read_text().splitlines() == ["stopped: the connection ended", "closed"]


@pytest.mark.case("C057")
async def test_hints_may_name_classes_that_their_module_defines_further_down(
    tmp_path: Path,
) -> None:
    source = tmp_path / "late_server.py"
    source.write_text(
        """
from __future__ import annotations

from trio_mcp import Context, MCPServer

mcp = MCPServer()


@mcp.tool()
def paint(color: Color, ctx: Context) -> str:
    return color.name


@mcp.prompt()
def describe(color: Color, ctx: Context) -> str:
    return color.name


@mcp.resource("colors://{color}")
def one(color: Color, ctx: Context) -> str:
    return color.name


import enum


class Color(enum.Enum):
    RED = "red"
"""
    )
    async with Client(load(source).mcp) as client:
        result = await client.call_tool("paint", {"color": "red"})
        assert result.content == [TextContent(text="RED")]
        [message] = (await client.get_prompt("describe", {"color": "red"})).messages
        assert message.content == TextContent(text="RED")
        [contents] = (await client.read_resource("colors://red")).contents
        assert isinstance(contents, TextResourceContents)
        assert contents.text == "RED"
        with pytest.raises(MCPError, match="Unknown resource: colors://blue"):
            await client.read_resource("colors://blue")
