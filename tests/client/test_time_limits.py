"""`read_timeout_seconds` for each answer of a server, `max_total_timeout` for a whole call."""

from __future__ import annotations

from typing import Annotated

import attrs
import pytest
import trio

from trio_mcp import Client, Context, MCPServer
from trio_mcp.errors import RequestTimeout
from trio_mcp.mcpserver import Elicit, Resolve
from trio_mcp.testing import open_client
from trio_mcp.types import ElicitResult

every_road = pytest.mark.parametrize("road", ["direct", "memory", "text"])
both_eras = pytest.mark.parametrize("mode", ["auto", "legacy"])


@attrs.frozen
class Name:
    name: str


def ask_first():
    return Elicit("first?", Name)


def ask_second():
    return Elicit("second?", Name)


mcp = MCPServer("limits")


@mcp.tool()
async def greet(
    one: Annotated[Name, Resolve(ask_first)], two: Annotated[Name, Resolve(ask_second)]
) -> str:
    return f"{one.name} and {two.name}"


@mcp.tool()
async def hang() -> None:
    await trio.sleep_forever()


@mcp.tool()
async def tick(ctx: Context) -> None:
    for step in range(100):
        await ctx.report_progress(step)
        await trio.sleep(0.5)


async def answer_after_3_seconds(context, params):
    await trio.sleep(3)
    return ElicitResult(action="accept", content={"name": "Ann"})


async def never(*args):
    await trio.sleep_forever()


async def ignore(*args):
    pass


@every_road
@both_eras
async def test_the_time_for_all_is_a_limit_by_itself(autojump_clock, road, mode):
    async with open_client(mcp, road, mode=mode) as client:
        for call in (client.call_tool, client.session.call_tool):
            began = trio.current_time()
            with pytest.raises(RequestTimeout, match=r"^tools/call: no answer within 7 s in all$"):
                await call("hang", max_total_timeout=7)
            assert trio.current_time() - began == pytest.approx(7)


@every_road
async def test_the_error_says_which_limit_passed(autojump_clock, road):
    async with open_client(mcp, road) as client:
        with pytest.raises(RequestTimeout, match=r"no answer within 2 s$"):
            await client.call_tool("hang", {}, 2, max_total_timeout=3)
        with pytest.raises(RequestTimeout, match=r"no answer within 3 s in all$"):
            await client.call_tool(
                "tick", {}, 2, ignore, reset_timeout_on_progress=True, max_total_timeout=3
            )
        with pytest.raises(RequestTimeout, match=r"no answer within 20 s in all$"):
            await client.call_tool("tick", {}, 2, ignore, reset_timeout_on_progress=True)


@every_road
@both_eras
async def test_the_time_for_all_counts_what_callbacks_take(autojump_clock, road, mode):
    async with open_client(mcp, road, mode=mode, elicitation_callback=never) as client:
        began = trio.current_time()
        with pytest.raises(RequestTimeout, match="no answer within 7 s in all"):
            await client.call_tool("greet", read_timeout_seconds=9, max_total_timeout=7)
        assert trio.current_time() - began == pytest.approx(7)


@every_road
async def test_a_modern_call_waits_for_a_person_beyond_the_limit_of_a_round(autojump_clock, road):
    async with open_client(mcp, road, elicitation_callback=answer_after_3_seconds) as client:
        result = await client.call_tool("greet", read_timeout_seconds=1)
        assert result.structured_content == {"result": "Ann and Ann"}
        assert trio.current_time() == pytest.approx(3)


@every_road
async def test_an_older_call_does_not(autojump_clock, road):
    options = {"mode": "legacy", "elicitation_callback": answer_after_3_seconds}
    async with open_client(mcp, road, **options) as client:
        with pytest.raises(RequestTimeout, match=r"no answer within 1 s$"):
            await client.call_tool("greet", read_timeout_seconds=1)
        result = await client.call_tool("greet", read_timeout_seconds=7)
        assert result.structured_content == {"result": "Ann and Ann"}


@pytest.mark.parametrize("seconds", [-1, float("nan"), "soon", True])
async def test_what_is_no_time_is_refused_before_anything_is_sent(autojump_clock, seconds):
    async with Client(mcp) as client:
        with pytest.raises((TypeError, ValueError), match="max_total_timeout: expected a number"):
            await client.call_tool("hang", max_total_timeout=seconds)
