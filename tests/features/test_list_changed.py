"""Lists that change say so by themselves, to every era."""

from __future__ import annotations

from contextlib import asynccontextmanager

import pytest

from trio_mcp.client import PromptsListChanged, ResourcesListChanged, ToolsListChanged

from ._roads import where_it_is_remembered
from ._story import settle, text_of

METHODS = {
    "tool": "notifications/tools/list_changed",
    "resource": "notifications/resources/list_changed",
    "template": "notifications/resources/list_changed",
    "prompt": "notifications/prompts/list_changed",
}
EVENTS = {
    "tool": ToolsListChanged(),
    "resource": ResourcesListChanged(),
    "template": ResourcesListChanged(),
    "prompt": PromptsListChanged(),
}
ITERATORS = {
    "tool": "iter_tools",
    "resource": "iter_resources",
    "template": "iter_resource_templates",
    "prompt": "iter_prompts",
}


@asynccontextmanager
async def grown(client, what):
    """Publish one more, and take it back at the end: the server is there for all tests."""
    assert text_of(await client.call_tool("grow", {"what": what})) == "grown"
    try:
        yield
    finally:
        assert text_of(await client.call_tool("shrink", {"what": what})) == "shrunk"


async def names(client, what):
    return {each.name async for each in getattr(client, ITERATORS[what])()}


@pytest.mark.req("R-269", "R-286", "R-597")
@pytest.mark.case("C036")
@where_it_is_remembered
async def test_each_list_tells_of_its_changes(features):
    heard = []

    async def handler(message):
        heard.append(message.method)

    async with features.open(message_handler=handler) as client:
        for what, method in METHODS.items():
            if features.is_modern:
                async with client.listen(
                    tools_list_changed=True,
                    prompts_list_changed=True,
                    resources_list_changed=True,
                ) as changes:
                    assert "extra" not in await names(client, what)
                    async with grown(client, what):
                        assert await anext(changes) == EVENTS[what]
                        # What was kept of the list is out of date by now.
                        assert "extra" in await names(client, what)
                    assert await anext(changes) == EVENTS[what]
                continue
            heard.clear()
            async with grown(client, what):
                await settle(lambda method=method: heard == [method])
                assert "extra" in await names(client, what)
            await settle(lambda method=method: heard == [method, method])
