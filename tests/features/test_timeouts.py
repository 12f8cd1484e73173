"""How long a client waits, and what becomes of the handler then."""

from __future__ import annotations

import pytest

from trio_mcp.errors import RequestTimeout

from ._roads import in_memory, where_it_is_remembered
from ._story import failure_of, text_of


@where_it_is_remembered
async def test_a_time_limit_ends_the_call_and_its_handler(features):
    async with features.open() as client:
        with pytest.raises(RequestTimeout, match=r"tools/call: no answer within 0\.5 s"):
            await client.call_tool("nap", {"name": "one"}, 0.5)
        assert text_of(await client.call_tool("wait_ended", {"name": "one"}))


@in_memory
async def test_a_client_may_have_one_for_all_calls(features):
    async with features.open(read_timeout_seconds=0.3) as client:
        with pytest.raises(RequestTimeout):
            await client.call_tool("nap", {"name": "two"})
        assert text_of(await client.call_tool("add", {"a": 1})) == "2"


@in_memory
async def test_progress_may_begin_the_time_anew(features):
    async def watch(progress, total, message):
        pass

    async with features.open() as client:
        result = await client.call_tool(
            "pace", {"steps": 6}, 0.3, watch, reset_timeout_on_progress=True
        )
        assert text_of(result) == "arrived"
        with pytest.raises(RequestTimeout):
            await client.call_tool(
                "pace",
                {"steps": 60},
                0.3,
                watch,
                reset_timeout_on_progress=True,
                max_total_timeout=0.4,
            )


@in_memory
async def test_a_tool_has_a_time_limit_of_its_own(features):
    async with features.open() as client:
        assert "0.05 s" in failure_of(await client.call_tool("slow"))
