"""`MCPServer.run` in a process of its own, and the example that everybody meets first."""

from __future__ import annotations

import importlib.util
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

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
