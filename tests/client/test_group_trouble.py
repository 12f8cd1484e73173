"""Groups in trouble: closed, cancelled and left by their servers at any moment."""

from __future__ import annotations

import gc
import weakref
from contextlib import asynccontextmanager

import pytest
import trio
import trio.testing

from trio_mcp.client import (
    Client,
    ClientSession,
    ClientSessionGroup,
    ClientSessionParameters,
    RestartPolicy,
)
from trio_mcp.errors import ConnectionLost, MCPError, RequestTimeout
from trio_mcp.mcpserver import MCPServer
from trio_mcp.server import Server
from trio_mcp.transports import StdioServerParameters, open_memory_channel_pair
from trio_mcp.types import Implementation

from ._group_servers import (
    BOTH_ERAS,
    Servers,
    listing,
    over_channel,
    reaching,
)


@pytest.fixture
def servers():
    return Servers()


@pytest.fixture
def silent(script):
    return lambda: script(server__discover=script.SILENCE, initialize=script.SILENCE)


# Closed while servers come


async def test_closing_does_not_wait_for_those_who_are_about_to_join(autojump_clock, silent):
    async with reaching(silent(), silent()) as wires:
        errors = []

        async def join(group, wire):
            with pytest.raises(ConnectionLost, match="The group was closed") as caught:
                await group.connect_to_server(wire)
            errors.append(caught.value)

        async with trio.open_nursery() as nursery, ClientSessionGroup() as group:
            for wire in wires:
                nursery.start_soon(join, group, wire)
            await trio.sleep(1)
        assert trio.current_time() == pytest.approx(1)
        assert len(errors) == 2


async def test_closing_while_many_connect_closes_those_that_are_ready(
    autojump_clock, silent, servers
):
    async with reaching(silent()) as [wire], trio.open_nursery() as nursery:
        outcomes = []

        async def join(group):
            outcomes.extend(await group.connect_all([servers.make("quick"), wire]))

        async with ClientSessionGroup() as group:
            nursery.start_soon(join, group)
            await trio.sleep(1)
            assert servers.connected == ["quick"]
        await trio.testing.wait_all_tasks_blocked()
        assert servers.connected == []
        assert [str(each.error) for each in outcomes] == ["The group was closed on this side"] * 2
        assert trio.current_time() == pytest.approx(1)


@pytest.mark.parametrize("what", ["list", "call", "refresh"])
async def test_closing_ends_whatever_waits_for_a_server(
    autojump_clock, script, discovery, servers, what
):
    answers = {"tools__list": script.SILENCE} if what == "list" else {"tools__list": listing("x")}
    server = script(server__discover=discovery, tools__call=script.SILENCE, **answers)

    async def wait(group, wire):
        await {
            "list": lambda: group.connect_to_server(wire),
            "call": lambda: group.call_tool("x"),
            "refresh": lambda: group.refresh(group.sessions[0]),
        }[what]()

    async def wait_and_hear(group, wire):
        with pytest.raises(ConnectionLost):
            await wait(group, wire)

    async with reaching(server) as [wire], trio.open_nursery() as nursery:
        async with ClientSessionGroup() as group:
            if what != "list":
                await group.connect_to_server(wire)
                server.answers["tools/list"] = script.SILENCE
            nursery.start_soon(wait_and_hear, group, wire)
            await trio.testing.wait_all_tasks_blocked()
        assert group.sessions == []
    assert trio.current_time() < 1


async def test_a_closed_group_says_so():
    async with ClientSessionGroup() as group:
        await group.connect_to_server(Servers().make("a", "x"))
    with pytest.raises(ConnectionLost, match="The group was closed on this side"):
        await group.call_tool("x")
    for verb in (group.connect_to_server, group.connect_all):
        with pytest.raises(RuntimeError, match="Use the group inside"):
            await verb([])
    with pytest.raises(RuntimeError, match="Use the group inside"):
        await ClientSessionGroup().call_tool("x")


# Cancelled at every step


@BOTH_ERAS
@pytest.mark.parametrize("road", ["direct", "channel"])
async def test_connecting_may_be_cancelled_at_every_step(
    autojump_clock, cancel_at_each_step, servers, mode, road
):
    async with ClientSessionGroup() as group:
        await group.connect_to_server(servers.make("old", "x"))

        async def run():
            server = servers.make("new", "y")
            return await group.connect_to_server(
                server if road == "direct" else over_channel(server),
                ClientSessionParameters(mode=mode),
            )

        async def check(session):
            if session is None:
                assert servers.connected == ["old"]
                assert "y" not in group.tools
                assert len(group.sessions) == 1
                await trio.testing.wait_all_tasks_blocked()
                assert len(group._membership._nursery.child_tasks) == 2
            else:
                assert set(group.tools) == {"x", "old_waits", "y", "new_waits"}

        assert await cancel_at_each_step(run, check) > (2 if road == "direct" else 20)
    assert servers.connected == []


@BOTH_ERAS
async def test_connecting_many_may_be_cancelled_at_every_step(
    autojump_clock, cancel_at_each_step, servers, mode
):
    parameters = ClientSessionParameters(mode=mode)

    async def run():
        wire, _nobody = open_memory_channel_pair()
        return await group.connect_all(
            [servers.make("a", "x"), wire, over_channel(servers.make("b", "x"))],
            parameters,
            connect_timeout=5,
        )

    async def check(outcomes):
        if outcomes is None:
            assert (servers.connected, group.sessions, group.tools) == ([], [], {})
        else:
            assert [type(each.error) for each in outcomes] == [
                type(None),
                RequestTimeout,
                type(None),
            ]
            assert sorted(servers.connected) == ["a", "b"]

    async with ClientSessionGroup() as group:
        assert await cancel_at_each_step(run, check) > 20
    assert servers.connected == []


@BOTH_ERAS
async def test_disconnecting_and_leaving_may_be_cancelled_at_every_step(
    autojump_clock, cancel_at_each_step, servers, mode
):
    parameters = ClientSessionParameters(mode=mode)

    async def run():
        async with ClientSessionGroup() as group:
            session = await group.connect_to_server(servers.make("a", "x"), parameters)
            await group.connect_to_server(servers.make("b", "y"), parameters)
            await group.disconnect_from_server(session)
            assert servers.connected == ["b"]
            await group.refresh(group.sessions[0])
            await group.call_tool("y")
        return "done"

    async def check(result):
        assert servers.connected == []
        await trio.testing.wait_all_tasks_blocked()
        assert not trio.lowlevel.current_task().child_nurseries

    before = trio.lowlevel.current_statistics().tasks_living
    assert await cancel_at_each_step(run, check) > 20
    assert trio.lowlevel.current_statistics().tasks_living == before


async def test_a_disconnect_that_is_cancelled_has_happened(
    autojump_clock, cancel_at_each_step, servers
):
    async with ClientSessionGroup() as group:

        async def run():
            await group.disconnect_from_server(group.sessions[0])
            return "done"

        async def check(result):
            assert (servers.connected, group.sessions) == ([], [])
            await group.connect_to_server(servers.make("a"))

        await group.connect_to_server(servers.make("a"))
        assert await cancel_at_each_step(run, check) > 0


# Servers that come to grief


async def test_one_that_dies_before_the_others_are_ready_does_not_join(
    autojump_clock, script, discovery, silent, servers
):
    mortal = script(server__discover=discovery, tools__list=listing("x"))
    async with (
        reaching(mortal, silent()) as [wire, never],
        trio.open_nursery() as nursery,
        ClientSessionGroup() as group,
    ):

        @nursery.start_soon
        async def die():
            await trio.sleep(2)
            await mortal.channel.aclose()

        outcomes = await group.connect_all(
            [wire, never, servers.make("a", "y")], connect_timeout=5
        )
        assert [type(each.error) for each in outcomes] == [
            ConnectionLost,
            RequestTimeout,
            type(None),
        ]
        assert set(group.tools) == {"y", "a_waits"}


class Mortal:
    """A transport to a server that can be killed, and then never answers again."""

    def __init__(self, server):
        self.server = server
        self.lives = 0

    async def __aenter__(self):
        self.lives += 1
        if self.lives > 1:
            near, self.far = open_memory_channel_pair()
            return near
        self.block = over_channel(self.server)
        self.near = await self.block.__aenter__()
        return self.near

    async def __aexit__(self, *exc_info):
        if self.lives == 1:
            await self.block.__aexit__(None, None, None)

    async def die(self):
        await self.near.aclose()
        await trio.testing.wait_all_tasks_blocked()


@pytest.mark.parametrize("how", ["leave", "cancel", "disconnect"])
@pytest.mark.parametrize("delay", [0, 60])
async def test_a_member_may_be_let_go_while_it_is_restarted(autojump_clock, servers, how, delay):
    mortal = Mortal(servers.make("a", "x"))
    policy = RestartPolicy(initial_delay=delay, max_delay=60, connect_timeout=60)
    errors = []

    async def call(group):
        with pytest.raises(ConnectionLost) as caught:
            await group.call_tool("x")
        errors.append(str(caught.value))

    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery, ClientSessionGroup() as group:
            session = await group.connect_to_server(
                mortal, ClientSessionParameters(restart=policy)
            )
            await group.connect_to_server(servers.make("b", "y"))
            await mortal.die()
            assert "x" in group.tools
            if how != "cancel":
                nursery.start_soon(call, group)
                await trio.testing.wait_all_tasks_blocked()
            if how == "cancel":
                scope.cancel()
            elif how != "leave":
                await group.disconnect_from_server(session)
                assert set(group.tools) == {"y", "b_waits"}
                assert (await group.call_tool("y")).content[0].text == "done"
    assert trio.current_time() == 0
    assert servers.connected == []
    assert errors == ([] if how == "cancel" else ["The connection was closed on this side"])


async def test_those_who_call_one_that_is_let_go_are_told_and_nobody_else(servers):
    async with ClientSessionGroup() as group, trio.open_nursery() as nursery:
        gone = await group.connect_to_server(servers.make("a"))
        await group.connect_to_server(servers.make("b", "y"))
        errors = []

        async def call():
            with pytest.raises(ConnectionLost) as caught:
                await group.call_tool("a_waits")
            errors.append(str(caught.value))

        for _ in range(10):
            nursery.start_soon(call)
        with trio.CancelScope() as scope:
            nursery.start_soon(call_within, group, "b_waits", scope)
            await trio.testing.wait_all_tasks_blocked()
            await group.disconnect_from_server(gone)
            await trio.testing.wait_all_tasks_blocked()
            assert errors == ["The connection was closed on this side"] * 10
            assert (await group.call_tool("y")).content[0].text == "done"
        # The other one's caller still waits.
        assert not scope.cancel_called
        nursery.cancel_scope.cancel()


async def call_within(group, tool, scope):
    try:
        await group.call_tool(tool)
    except Exception:
        scope.cancel()
        raise


async def test_a_hook_that_fails_when_a_server_is_listed_anew_ends_nothing(
    autojump_clock, script, initialized, servers, caplog
):
    def hook(name, info):
        if name == "bad":
            raise KeyError(name)
        return name

    server = script(initialize=initialized(), tools__list=listing("good"))
    async with reaching(server) as [wire], ClientSessionGroup(None, hook) as group:
        session = await group.connect_to_server(wire, ClientSessionParameters(mode="legacy"))
        await group.connect_to_server(servers.make("a", "y"))
        server.answers["tools/list"] = listing("good", "bad")
        await server.tell("notifications/tools/list_changed")
        await trio.sleep(1)
        assert set(group.tools) == {"good", "y", "a_waits"}
        assert "What the server scripted lists anew could not be named" in caplog.text
        with pytest.raises(KeyError):
            await group.refresh(session)
        # Later changes are followed as before.
        server.answers["tools/list"] = listing("better")
        await server.tell("notifications/tools/list_changed")
        await trio.sleep(1)
        assert set(group.tools) == {"better", "y", "a_waits"}


async def test_a_list_that_cannot_be_read_anew_leaves_the_one_before(
    autojump_clock, script, initialized, caplog
):
    server = script(initialize=initialized(), tools__list=listing("x"))
    async with reaching(server) as [wire], ClientSessionGroup() as group:
        await group.connect_to_server(wire, ClientSessionParameters(mode="legacy"))
        server.answers["tools/list"] = MCPError(-32603, "disk full")
        await server.tell("notifications/tools/list_changed")
        await trio.sleep(1)
        assert set(group.tools) == {"x"}
        assert "could not be listed anew: disk full" in caplog.text


async def test_lists_that_cannot_be_read_again_and_again_are_told_a_few_times(
    autojump_clock, script, initialized, caplog
):
    server = script(initialize=initialized(), tools__list=listing("x"))
    async with reaching(server) as [wire], ClientSessionGroup() as group:
        await group.connect_to_server(wire, ClientSessionParameters(mode="legacy"))
        for answer in (MCPError(-32603, "disk full"), MCPError(-32601, "no such method")):
            server.answers["tools/list"] = answer
            for _ in range(15):
                await server.tell("notifications/tools/list_changed")
                await trio.sleep(1)
    assert caplog.text.count("could not be listed anew: disk full") == 2
    assert caplog.text.count("A server announces tools, and has no tools/list") == 2


async def test_an_answer_that_was_overtaken_changes_nothing(autojump_clock, script, discovery):
    class Slow(script):
        late = None

        async def answer(self, request):
            if request.method == "tools/list" and self.late is None and len(self.methods) > 2:
                self.late = request
            else:
                await super().answer(request)

    server = Slow(server__discover=discovery, tools__list=listing("x"))
    async with reaching(server) as [wire], ClientSessionGroup() as group:
        session = await group.connect_to_server(wire)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(group.refresh, session)
            await trio.testing.wait_all_tasks_blocked()
            server.answers["tools/list"] = listing("newer")
            await group.refresh(session)
            assert set(group.tools) == {"newer"}
            server.answers["tools/list"] = listing("older")
            await server.answer(server.late)
        assert set(group.tools) == {"newer"}


@BOTH_ERAS
@pytest.mark.parametrize("road", ["direct", "channel"])
async def test_what_a_server_adds_and_removes_is_followed(autojump_clock, servers, mode, road):
    server = servers.make("a", "x")
    server.resource("res://0", name="r0")(lambda: "text")
    server.prompt(name="p0")(lambda: "text")
    async with ClientSessionGroup() as group:
        session = await group.connect_to_server(
            server if road == "direct" else over_channel(server),
            ClientSessionParameters(mode=mode),
        )
        await group.connect_to_server(servers.make("b", "z"))
        server.add_tool(lambda: "new", name="y")
        await trio.sleep(1)
        assert list(group.tools) == ["x", "a_waits", "y", "z", "b_waits"]
        server.remove_tool("x")
        server.resource("res://r", name="r")(lambda: "text")
        server.prompt(name="p")(lambda: "text")
        await trio.sleep(1)
        assert list(group.tools) == ["a_waits", "y", "z", "b_waits"]
        assert (set(group.resources), set(group.prompts)) == ({"r0", "r"}, {"p0", "p"})
        await group.disconnect_from_server(session)
        server.add_tool(lambda: "new", name="late")
        await trio.sleep(1)
        assert list(group.tools) == ["z", "b_waits"]


async def test_a_server_that_cannot_be_listened_to_is_a_member_all_the_same(
    autojump_clock, script, discovery
):
    told = {**discovery, "capabilities": {"tools": {"listChanged": True}}}
    server = script(server__discover=told, tools__list=listing("x"))
    async with reaching(server) as [wire], ClientSessionGroup() as group:
        await group.connect_to_server(wire)
        await trio.sleep(1)
        assert set(group.tools) == {"x"}
        assert server.methods.count("subscriptions/listen") == 1


@pytest.mark.case("C036")
async def test_fifty_changes_after_every_listing_cost_a_handful_of_listings(
    autojump_clock, script, initialized
):
    class Careless(script):
        async def answer(self, request):
            await super().answer(request)
            if request.method == "tools/list":
                for _ in range(50):
                    await self.tell("notifications/tools/list_changed")

    server = Careless(initialize=initialized(), tools__list=listing("x"))
    async with reaching(server) as [wire], ClientSessionGroup() as group:
        await group.connect_to_server(wire, ClientSessionParameters(mode="legacy"))
        await trio.sleep(10)
        assert 2 <= server.methods.count("tools/list") <= 9


@pytest.mark.case("C036")
async def test_a_burst_costs_one_listing_and_one_more(autojump_clock, script, initialized):
    server = script(initialize=initialized(), tools__list=listing("x"))
    async with reaching(server) as [wire], ClientSessionGroup() as group:
        await group.connect_to_server(wire, ClientSessionParameters(mode="legacy"))
        for _ in range(2):
            for _ in range(100):
                await server.tell("notifications/tools/list_changed")
        await trio.sleep(10)
        assert server.methods.count("tools/list") - 1 <= 2


async def test_a_session_has_to_have_agreed_on_a_revision():
    near, _ = open_memory_channel_pair()
    async with ClientSession(near) as session, ClientSessionGroup() as group:
        with pytest.raises(RuntimeError, match=r"Call discover\(\) or initialize\(\)"):
            await group.connect_with_session(Implementation(name="a", version="1"), session)
        assert group.sessions == []


async def test_empty_servers_of_this_process_may_come_and_go_in_numbers():
    async with ClientSessionGroup() as group:
        for _ in range(20):
            outcomes = await group.connect_all([Server("empty") for _ in range(10)])
            async with trio.open_nursery() as nursery:
                for each in outcomes:
                    nursery.start_soon(group.disconnect_from_server, each.session)
        await trio.testing.wait_all_tasks_blocked()
        assert not group._membership._nursery.child_tasks


async def test_a_session_whose_owner_closes_it_leaves_the_group(servers):
    async with ClientSessionGroup() as group:
        await group.connect_to_server(servers.make("b", "y"))
        async with Client(servers.make("a", "x")) as client:
            info = Implementation(name="a", version="1")
            await group.connect_with_session(info, client.session)
            assert set(group.tools) == {"x", "a_waits", "y", "b_waits"}
        await trio.testing.wait_all_tasks_blocked()
        assert set(group.tools) == {"y", "b_waits"}
        with pytest.raises(ConnectionLost, match="'a' has left the group"):
            await group.call_tool("x")


async def test_what_fails_when_a_server_is_let_go_is_logged_and_the_others_are_closed(
    servers, caplog
):
    @asynccontextmanager
    async def lifespan(server):
        yield {}
        raise OSError("disk full")

    async with ClientSessionGroup() as group:
        session = await group.connect_to_server(MCPServer("a", lifespan=lifespan))
        await group.connect_to_server(MCPServer("b", lifespan=lifespan))
        await group.connect_to_server(servers.make("c"))
        await group.disconnect_from_server(session)
        assert caplog.text.count("Closing the server a failed") == 1
    assert caplog.text.count("Closing the server b failed") == 1
    assert servers.connected == []


@pytest.mark.parametrize("how", ["left", "let go", "refused", "cancelled"])
async def test_what_a_group_held_is_freed_without_the_garbage_collector(servers, how):
    async def use():
        async with ClientSessionGroup(on_collision="refuse") as group:
            session = await group.connect_to_server(servers.make("a", "x"))
            member = await group._membership.member_of(session)
            await group.call_tool("x")
            with pytest.raises(MCPError):
                await group.call_tool("nope")
            if how == "let go":
                await group.disconnect_from_server(session)
            elif how == "refused":
                outcomes = await group.connect_all(
                    [servers.make("b", "x"), StdioServerParameters(command="no-such-command")]
                )
                assert [type(each.error) for each in outcomes] == [MCPError, ConnectionLost]
            elif how == "cancelled":
                with trio.move_on_after(0):
                    await group.connect_to_server(servers.make("b", "y"))
            parts = [group, group._membership, session, member, member.client]
        return [weakref.ref(part) for part in parts]

    await use()
    gc.collect()
    gc.disable()
    try:
        assert [ref() for ref in await use()] == [None] * 5
    finally:
        gc.enable()
