"""Hints that pydantic knows by themselves and this package only inside of a pydantic model."""

from __future__ import annotations

import fractions
import ipaddress
import re
from collections import Counter, defaultdict
from typing import Any

import pydantic
import pytest

from trio_mcp import Client, MCPServer
from trio_mcp.errors import InvalidSignature

HINTS = [
    (fractions.Fraction, "1/2"),
    (re.Pattern[str], "a+"),
    (ipaddress.IPv4Address, "127.0.0.1"),
    (ipaddress.IPv6Network, "::/64"),
    (Counter[str], {"a": 1}),
    (defaultdict[str, int], {"a": 1}),
]


@pytest.mark.parametrize(("hint", "value"), HINTS)
async def test_a_hint_without_a_schema_is_refused_alone_and_fine_in_a_model(
    hint: Any, value: Any
) -> None:
    def alone(it: Any) -> None: ...

    alone.__annotations__["it"] = hint
    mcp = MCPServer("hints")
    with pytest.raises(InvalidSignature, match=r"parameter 'it' .*: it has no JSON Schema"):
        mcp.add_tool(alone)

    model = pydantic.create_model("Model", it=(hint, ...))

    def inside(model: Any) -> bool:
        return model == type(model)(it=value)

    inside.__annotations__["model"] = model
    mcp.add_tool(inside)
    async with Client(mcp) as client:
        result = await client.call_tool("inside", {"model": {"it": value}})
    assert result.structured_content == {"result": True}


async def test_the_schema_decides_before_a_validator_that_would_convert() -> None:
    class Model(pydantic.BaseModel):
        size: int

        @pydantic.field_validator("size", mode="before")
        @classmethod
        def _read(cls, value: Any) -> Any:
            return len(value)

    mcp = MCPServer("strict")

    @mcp.tool()
    def measure(model: Model) -> int:
        return model.size

    async with Client(mcp) as client:
        result = await client.call_tool("measure", {"model": {"size": "abc"}})
    assert result.is_error
    assert "size" in result.content[0].text
