"""Log messages: of the request in the modern era, of the session before."""

from __future__ import annotations

import pytest

from ._roads import in_a_conversation, in_the_modern_era
from ._story import error_of, settle

pytestmark = pytest.mark.filterwarnings("ignore::trio_mcp.errors.MCPDeprecationWarning")


@in_a_conversation
async def test_only_the_wanted_levels_are_told(features):
    logged = []

    async def log(params):
        logged.append((params.level, params.data["said"], params.logger))

    def messages(*levels):
        return [(level, level, "speaker") for level in levels]

    async with features.open(logging_callback=log, log_level="info") as client:
        await client.call_tool("speak")
        if features.is_modern:
            await settle(lambda: logged == messages("info", "error"))
            assert (await error_of(client.set_logging_level("debug"))).code == -32601
            return
        await settle(lambda: logged == messages("info", "error"))
        await client.set_logging_level("error")
        logged.clear()
        await client.call_tool("speak")
        await settle(lambda: logged == messages("error"))


@in_the_modern_era
@pytest.mark.req("R-322")
async def test_nobody_is_told_who_did_not_ask(features):
    logged = []

    async def log(params):
        logged.append(params.level)

    async with features.open(logging_callback=log) as client:
        await client.call_tool("speak")
        await client.call_tool("add", {"a": 1})
    assert logged == []


@in_a_conversation
async def test_an_older_server_chooses_for_who_did_not_say(features):
    logged = []

    async def log(params):
        logged.append(params.level)

    async with features.open(logging_callback=log) as client:
        await client.call_tool("speak")
        # Ours sends everything.
        expected = [] if features.is_modern else ["debug", "info", "error"]
        await settle(lambda: logged == expected)
