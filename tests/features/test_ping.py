"""Signs of life, which the modern era does without."""

from __future__ import annotations

from ._roads import where_it_can_be_asked
from ._story import error_of, text_of


@where_it_can_be_asked
async def test_both_sides_are_alive(features):
    async with features.open() as client:
        if features.is_modern:
            assert (await error_of(client.send_ping())).code == -32601
            await error_of(client.call_tool("ping_client"))
            return
        await client.send_ping()
        assert text_of(await client.call_tool("ping_client")) == "alive"
