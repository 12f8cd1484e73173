"""The road changes nothing: the same conversation has the same results on each of them."""

from __future__ import annotations

import pytest
import trio

from trio_mcp.errors import MCPError
from trio_mcp.testing import open_client

from . import server
from ._roads import IN_MEMORY, at
from ._story import fill_in, roots, say

pytestmark = pytest.mark.filterwarnings("ignore::trio_mcp.errors.MCPDeprecationWarning")

TOOLS = [
    ("add", {"a": 1}),
    ("add", {"a": "one", "c": 2}),
    ("measure", {"value": 8.5}),
    ("kinds", {}),
    ("fail", {"text": "no luck"}),
    ("crash", {}),
    ("refuse", {}),
    ("slow", {}),
    ("nope", {}),
    ("speak", {}),
    ("progress", {"to": 3}),
    ("consult", {"what": "tea"}),
    ("consult_with_tools", {"what": "tea"}),
    ("where", {}),
    ("by_hand", {}),
    ("live_form", {}),
    ("live_url", {}),
    ("live_sample", {"what": "tea"}),
    ("live_roots", {}),
    ("meta_of", {}),
    ("client_of", {}),
    ("ping_client", {}),
    ("touch", {"uri": "note://1"}),
]


class Visit:
    """What a client got, saw and heard."""

    def __init__(self):
        self.got = []
        self.seen = []
        self.heard = []

    async def hear(self, message):
        self.heard.append(message)

    async def watch(self, *progress):
        self.seen.append(progress)

    async def attempt(self, verb, *arguments):
        try:
            self.got.append(await verb(*arguments))
        except MCPError as exc:
            self.got.append((type(exc), exc.code, exc.message, exc.data))

    async def pay(self, road, version):
        async with open_client(
            server.mcp,
            road,
            mode=version,
            message_handler=self.hear,
            log_level="debug",
            elicitation_callback=fill_in,
            sampling_callback=say,
            list_roots_callback=roots,
        ) as client:
            for name in ("tools", "resources", "resource_templates", "prompts"):
                await self.attempt(getattr(client, f"list_{name}"))
            await self.attempt(client.subscribe_resource, "note://1")
            for name, arguments in TOOLS:
                await self.attempt(client.call_tool, name, arguments, None, self.watch)
            for uri in ("text://motto", "bytes://all", "broken://disk", "note://missing"):
                await self.attempt(client.read_resource, uri)
            for name in ("bare", "greet", "asking_prompt", "nope"):
                await self.attempt(client.get_prompt, name)
            await self.attempt(client.send_ping)
            await self.attempt(client.set_logging_level, "error")
            await self.attempt(client.call_tool, "speak")
            await trio.sleep(1)


@at(each for each in IN_MEMORY if each.road == "direct")
async def test_every_road_brings_the_same(features):
    visits = {road: Visit() for road in ("direct", "memory", "text", "lines")}
    for road, visit in visits.items():
        await visit.pay(road, features.revision.version)
    first, *others = visits.values()
    assert len(first.seen) == 3
    assert len(first.heard) > 3
    for other in others:
        assert other.got == first.got
        assert other.seen == first.seen
        assert other.heard == first.heard
