"""Subscriptions to one resource: a request of its own, until it was replaced by listening."""

from __future__ import annotations

import pytest
import trio

from trio_mcp.types import ResourceUpdatedNotification

from ._roads import where_it_is_remembered
from ._story import error_of, settle

pytestmark = pytest.mark.filterwarnings("ignore::trio_mcp.errors.MCPDeprecationWarning")


@where_it_is_remembered
async def test_a_session_hears_of_what_it_subscribed_to(features):
    heard = []

    async def handler(message):
        if isinstance(message, ResourceUpdatedNotification):
            heard.append(message.params.uri)

    async with features.open(message_handler=handler) as client:
        if features.is_modern:
            error = await error_of(client.subscribe_resource("note://1"))
            assert error.code == -32601
            return
        await client.subscribe_resource("note://1")
        for uri in ("note://2", "note://1"):
            await client.call_tool("touch", {"uri": uri})
        await settle(lambda: heard == ["note://1"])
        await client.unsubscribe_resource("note://1")
        await client.call_tool("touch", {"uri": "note://1"})
        await trio.sleep(0.05)
        assert heard == ["note://1"]
