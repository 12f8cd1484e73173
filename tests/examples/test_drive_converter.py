"""The two examples, run as programs: one drives the other over stdio."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from trio_mcp import Client, MCPError, StdioServerParameters
from trio_mcp.types import UNSUPPORTED_PROTOCOL_VERSION

EXAMPLES = Path(__file__).parents[2] / "examples"
CONVERTER = StdioServerParameters(
    command=sys.executable, args=[str(EXAMPLES / "unit_converter.py")]
)

REPORT = """\
protocol version: 2026-07-28
server name: unit-converter
offers: tools, resources, prompts
tool: convert(value, from_unit, to_unit)
resource: units://all
prompt: recipe_to_metric
cache: ttl_ms 0, scope private
5 mi is 8.04672 km
5 kg in m: is_error True, Error executing tool convert: cannot convert mass (kg) to length (m)
units://all:
length: mm, cm, m, km, in, ft, yd, mi
mass: g, kg, oz, lb
volume: ml, l, tsp, tbsp, cup
recipe_to_metric:
Rewrite this recipe in metric units. Use the convert tool for every amount, and keep everything else as it is.

2 cups of flour, 1 cup of milk
version 2099-01-01: error -32022, {'supported': ['2026-07-28'], 'requested': '2099-01-01'}
"""


def test_driver_prints_what_the_converter_offers_and_answers():
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "drive_converter.py")],
        env={**os.environ, "PYTHONWARNINGS": "error"},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == REPORT
    assert "Traceback" not in done.stderr


async def test_converter_answers_over_stdio_as_it_says():
    async with Client(CONVERTER) as client:
        assert client.protocol_version == "2026-07-28"
        assert client.server_info.name == "unit-converter"
        can = client.server_capabilities
        assert None not in (can.tools, can.resources, can.prompts)

        tools = await client.list_tools()
        assert [tool.name for tool in tools.tools] == ["convert"]
        assert list(tools.tools[0].input_schema["properties"]) == ["value", "from_unit", "to_unit"]
        assert (tools.ttl_ms, tools.cache_scope) == (0, "private")

        arguments = {"value": 5, "from_unit": "mi", "to_unit": "km"}
        result = await client.call_tool("convert", arguments)
        assert result.structured_content["result"] == 8.04672
        assert not result.is_error

        arguments = {"value": 5, "from_unit": "kg", "to_unit": "m"}
        result = await client.call_tool("convert", arguments)
        assert result.is_error
        assert [block.text for block in result.content] == [
            "Error executing tool convert: cannot convert mass (kg) to length (m)"
        ]

        units = await client.read_resource("units://all")
        assert units.contents[0].text.splitlines()[1] == "mass: g, kg, oz, lb"
        prompt = await client.get_prompt("recipe_to_metric", {"recipe": "1 cup of tea"})
        assert prompt.messages[0].content.text.endswith("\n\n1 cup of tea")


async def test_unknown_version_is_refused_with_the_versions_that_are_known():
    async with Client(CONVERTER) as client:
        with pytest.raises(MCPError) as caught:
            await client.session.send_discover("2099-01-01")
        assert caught.value.code == UNSUPPORTED_PROTOCOL_VERSION == -32022
        assert caught.value.data == {"supported": ["2026-07-28"], "requested": "2099-01-01"}
        # The session goes on.
        assert (await client.list_prompts()).prompts[0].name == "recipe_to_metric"
