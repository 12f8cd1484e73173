"""Groups go on hearing of changes, whatever becomes of a subscription."""

from __future__ import annotations

import pytest
import trio

from trio_mcp.client import ClientSessionGroup, ClientSessionParameters, RestartPolicy
from trio_mcp.errors import MCPError

from ._group_servers import listing, reaching
from .test_restart import Mortal


class Subscribing:
    """Mixed into a script: takes subscriptions, and ends one when it is told to."""

    subscription = None
    ends_at_once = False

    async def answer(self, request):
        if request.method != "subscriptions/listen":
            await super().answer(request)
            return
        meta = {"io.modelcontextprotocol/subscriptionId": request.id}
        acknowledged = {"notifications": {"toolsListChanged": True}, "_meta": meta}
        await self.tell("notifications/subscriptions/acknowledged", acknowledged)
        self.subscription = request
        if self.ends_at_once:
            await self.end()

    async def end(self, error=None):
        self.answers["subscriptions/listen"] = error or {"resultType": "complete"}
        await super().answer(self.subscription)

    @property
    def subscriptions(self):
        return self.methods.count("subscriptions/listen")


@pytest.mark.parametrize("error", [None, MCPError(-32603, "Internal server error")])
async def test_a_subscription_that_its_server_ends_is_asked_for_again(
    autojump_clock, script, discovery, error
):
    class Server(Subscribing, script):
        pass

    told = {**discovery, "capabilities": {"tools": {"listChanged": True}}}
    server = Server(server__discover=told, tools__list=listing("x"))
    async with reaching(server) as [wire], ClientSessionGroup() as group:
        await group.connect_to_server(wire)
        await trio.sleep(1000)
        assert server.subscriptions == 1
        await server.end(error)
        # What changes while nobody listens is noticed when somebody does.
        server.answers["tools/list"] = listing("y")
        await trio.sleep(2)
        assert server.subscriptions == 2
        assert set(group.tools) == {"y"}
        server.answers["tools/list"] = listing("z")
        await server.tell(
            "notifications/tools/list_changed",
            {"_meta": {"io.modelcontextprotocol/subscriptionId": server.subscription.id}},
        )
        await trio.sleep(5)
        assert set(group.tools) == {"z"}


async def test_a_server_that_ends_every_subscription_at_once_keeps_nobody_busy(
    autojump_clock, script, discovery
):
    class Server(Subscribing, script):
        ends_at_once = True

    told = {**discovery, "capabilities": {"tools": {"listChanged": True}}}
    server = Server(server__discover=told, tools__list=listing("x"))
    async with reaching(server) as [wire], ClientSessionGroup() as group:
        await group.connect_to_server(wire)
        await trio.sleep(60)
        assert 4 <= server.subscriptions <= 8
        before = server.subscriptions
        await trio.sleep(3600)
        assert 55 <= server.subscriptions - before <= 65
        assert server.methods.count("tools/list") <= server.subscriptions + 1
        # One that holds begins anew: its end is no reason to wait for long.
        server.ends_at_once = False
        await trio.sleep(200)
        before = server.subscriptions
        await server.end()
        await trio.sleep(2)
        assert server.subscriptions == before + 1
        assert set(group.tools) == {"x"}


async def test_a_server_that_is_a_modern_one_after_its_restart_is_asked_then(
    autojump_clock, script, discovery, initialized
):
    class Modern(Subscribing, script):
        pass

    told = {**discovery, "capabilities": {"tools": {"listChanged": True}}}
    older = script(initialize=initialized(), tools__list=listing("x"))
    newer = Modern(server__discover=told, tools__list=listing("y"))
    mortal = Mortal(older, newer)
    options = ClientSessionParameters(restart=RestartPolicy(initial_delay=0))
    async with ClientSessionGroup() as group:
        await group.connect_to_server(mortal, options)
        assert set(group.tools) == {"x"}
        await mortal.die()
        await trio.sleep(5)
        assert (set(group.tools), newer.subscriptions) == ({"y"}, 1)
        assert "subscriptions/listen" not in older.methods
