"""Progress of a call, told while it runs."""

from __future__ import annotations

from ._roads import where_it_hears_while_it_waits
from ._story import text_of


@where_it_hears_while_it_waits
async def test_progress_comes_in_order_and_before_the_result(features):
    seen = []

    async def watch(progress, total, message):
        seen.append((progress, total, message))

    async with features.open() as client:
        result = await client.call_tool("progress", {"to": 20}, progress_callback=watch)
        assert text_of(result) == "20"
        has_message = features.revision.has_progress_message
        expected = [(n, 20, f"step {n}" if has_message else None) for n in range(1, 21)]
        assert seen == expected
        await client.call_tool("progress", {"to": 3})
    assert seen == expected
