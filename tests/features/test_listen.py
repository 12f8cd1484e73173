"""Listening for changes, in the modern era; a clear refusal before."""

from __future__ import annotations

import pytest

from trio_mcp.client import ListenNotSupportedError, ResourceUpdated

from ._story import text_of


async def test_what_was_asked_for_is_told(features):
    async with features.open() as client:
        if not features.revision.has_subscription_streams:
            with pytest.raises(ListenNotSupportedError, match=features.revision.version):
                async with client.listen(tools_list_changed=True):
                    pass
            assert text_of(await client.call_tool("add", {"a": 1})) == "2"
            return
        async with (
            client.listen(resource_subscriptions=["note://1"]) as first,
            client.listen(resource_subscriptions=["note://2"], tools_list_changed=True) as second,
        ):
            assert first.honored.resource_subscriptions == ["note://1"]
            assert second.honored.tools_list_changed
            for uri in ("note://3", "note://2", "note://1"):
                await client.call_tool("touch", {"uri": uri})
            assert await anext(first) == ResourceUpdated("note://1")
            assert await anext(second) == ResourceUpdated("note://2")
        async with client.listen(resource_subscriptions=["note://1"]) as again:
            await client.call_tool("touch", {"uri": "note://1"})
            assert await anext(again) == ResourceUpdated("note://1")
