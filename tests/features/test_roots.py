"""The client's roots: asked for by the server, and their changes."""

from __future__ import annotations

import pytest

from ._roads import EVERYWHERE, at, in_memory, where_it_can_be_asked
from ._story import error_of, roots, text_of

pytestmark = pytest.mark.filterwarnings("ignore::trio_mcp.errors.MCPDeprecationWarning")


@where_it_can_be_asked
async def test_roots_are_asked_for_in_every_era(features):
    async with features.open(list_roots_callback=roots) as client:
        assert text_of(await client.call_tool("where")) == "file:///home/ada"
        if features.is_modern:
            error = await error_of(client.call_tool("live_roots"))
            assert "InputRequiredResult" in error.message
        else:
            assert text_of(await client.call_tool("live_roots")) == "file:///home/ada"


@in_memory
async def test_who_has_none_is_not_asked(features):
    async with features.open() as client:
        error = await error_of(client.call_tool("where"))
    assert error.code == -32021
    assert error.data == {"requiredCapabilities": {"roots": {}}}


@at(each for each in EVERYWHERE if not each.is_modern and each.is_remembered)
async def test_the_older_era_is_told_that_they_changed(features):
    method = "notifications/roots/list_changed"
    async with features.open(list_roots_callback=roots) as client:
        await client.send_roots_list_changed()
        assert text_of(await client.call_tool("wait_told", {"method": method})) == "{}"
