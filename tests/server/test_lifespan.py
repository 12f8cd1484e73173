"""A lifespan, or a bus, is told when a run ends, and keeps nothing of what others raise."""

from __future__ import annotations

import contextlib
from contextlib import asynccontextmanager

import pytest
import trio

from trio_mcp import Client, MCPServer, Server
from trio_mcp.client import ClientSessionGroup, connect
from trio_mcp.errors import ConnectionLost, MCPError
from trio_mcp.testing import open_client, open_session
from trio_mcp.transports import open_memory_channel_pair


@asynccontextmanager
async def by_handle(server):
    async with trio.open_nursery() as nursery, await connect(nursery, server) as client:
        yield client


@asynccontextmanager
async def by_group(server):
    async with ClientSessionGroup() as group:
        await group.connect_to_server(server)
        yield group


CLIENTS = {
    "client": Client,
    "older client": lambda server: Client(server, mode="legacy"),
    **{
        f"{opens.__name__} {road}": lambda server, opens=opens, road=road: opens(server, road)
        for opens in (open_client, open_session)
        for road in ("direct", "memory", "text", "lines")
    },
    "group": by_group,
}
every_client = pytest.mark.parametrize("open_one", CLIENTS.values(), ids=list(CLIENTS))


class Greedy:
    """Blocks that would take an exception for theirs; ``seen`` is what came to them."""

    def __init__(self, seen):
        self.seen = seen

    @asynccontextmanager
    async def catching(self, *_):
        try:
            yield {}
        except Exception as exc:  # noqa: BLE001 - that is what it is here for
            self.seen.append(exc)
        finally:
            self.seen.append("left")

    @asynccontextmanager
    async def suppressing(self, *_):
        with contextlib.suppress(BaseException):
            yield {}
        self.seen.append("left")

    @asynccontextmanager
    async def with_a_nursery(self, *_):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever)
            yield {}
            nursery.cancel_scope.cancel()
        self.seen.append("left")


GREEDY = ["catching", "suppressing", "with_a_nursery"]


class Bus:
    def __init__(self, opens):
        self.open = opens
        self.published = []

    async def publish(self, event):
        self.published.append(event)
        await trio.lowlevel.checkpoint()

    def subscribe(self, listener):
        return lambda: None


def servers(how, seen):
    greedy = getattr(Greedy(seen), how)
    return [
        MCPServer("high", lifespan=greedy),
        Server("low", lifespan=greedy),
        MCPServer("with a bus", subscriptions=Bus(greedy)),
    ]


@every_client
@pytest.mark.parametrize("how", GREEDY)
async def test_the_clients_own_exception_leaves_as_it_is(autojump_clock, open_one, how):
    seen = []
    for server in servers(how, seen):
        mine = AssertionError("of a test")
        with pytest.raises(AssertionError) as caught:
            async with open_one(server):
                raise mine
        assert caught.value is mine
        assert mine.__context__ is None
        assert seen == ["left"]
        seen.clear()


@pytest.mark.parametrize("how", GREEDY)
async def test_an_exception_in_the_block_of_a_handle_is_its_own_too(autojump_clock, how):
    seen = []
    for server in servers(how, seen):
        mine = KeyError("mine")
        # The group is that of the nursery of this test.
        with pytest.RaisesGroup(KeyError) as caught:
            async with by_handle(server):
                raise mine
        assert caught.value.exceptions == (mine,)
        assert seen == ["left"]
        seen.clear()


@every_client
@pytest.mark.parametrize("mine", [KeyboardInterrupt(), SystemExit(3), StopAsyncIteration()])
async def test_that_holds_for_what_is_no_ordinary_exception(autojump_clock, open_one, mine):
    seen = []
    with pytest.raises(type(mine)) as caught:
        async with open_one(MCPServer("any", lifespan=Greedy(seen).suppressing)):
            raise mine
    assert caught.value is mine
    assert seen == ["left"]


@pytest.mark.parametrize("how", GREEDY)
async def test_an_error_that_answered_a_call_is_no_error_of_the_lifespan(autojump_clock, how):
    seen = []
    with pytest.raises(MCPError, match="nope"):
        async with Client(MCPServer("any", lifespan=getattr(Greedy(seen), how))) as client:
            await client.call_tool("nope")
    assert seen == ["left"]


@every_client
async def test_a_clean_up_that_fails_is_logged_beside_an_error_of_the_client(
    autojump_clock, open_one, caplog
):
    @asynccontextmanager
    async def lifespan(server):
        try:
            yield {}
        finally:
            raise OSError("disk full")

    with pytest.raises(KeyError, match="mine") as caught:
        async with open_one(MCPServer("leaving", lifespan=lifespan)):
            raise KeyError("mine")
    assert caught.value.__context__ is None
    [record] = caplog.records
    assert record.message in {
        "The lifespan of the server 'leaving' could not be left properly",
        # A group opens and closes its servers in tasks of its own.
        "Closing the server leaving failed",
    }
    assert isinstance(record.exc_info[1], OSError)


@pytest.mark.parametrize("road", ["direct", "text"])
async def test_a_clean_up_that_fails_alone_is_raised(autojump_clock, road, caplog):
    @asynccontextmanager
    async def lifespan(server):
        yield {}
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        async with open_client(MCPServer("leaving", lifespan=lifespan), road):
            pass
    assert caplog.records == []


async def test_a_bus_does_not_see_how_the_lifespan_fails(autojump_clock):
    @asynccontextmanager
    async def lifespan(server):
        yield {}
        raise OSError("disk full")

    seen = []
    bus = Bus(Greedy(seen).suppressing)
    with pytest.raises(OSError, match="disk full"):
        async with Client(MCPServer("any", lifespan=lifespan, subscriptions=bus)):
            pass
    assert seen == ["left"]


@every_client
async def test_a_cancelled_block_is_cancelled_in_the_lifespan(autojump_clock, open_one):
    seen = []

    @asynccontextmanager
    async def lifespan(server):
        try:
            yield {}
        except trio.Cancelled:
            seen.append("cancelled")
            raise
        finally:
            with trio.move_on_after(1, shield=True):
                await trio.sleep(0.1)
                seen.append("cleaned up")
            await trio.lowlevel.checkpoint()
            seen.append("never")

    with trio.move_on_after(1) as scope:
        async with open_one(MCPServer("any", lifespan=lifespan)):
            await trio.sleep_forever()
    assert scope.cancelled_caught
    # A group has the server in a task of its own, which ends before the cancellation is over.
    assert seen in (["cancelled", "cleaned up"], ["cleaned up"])


@pytest.mark.parametrize("road", ["direct", "memory", "text", "lines"])
async def test_a_lifespan_that_cancels_what_runs_inside_ends_the_connection(autojump_clock, road):
    @asynccontextmanager
    async def lifespan(server):
        with trio.move_on_after(5):
            yield {}

    with pytest.raises(ConnectionLost, match="its lifespan cancelled"):
        async with open_client(MCPServer("short", lifespan=lifespan), road):
            await trio.sleep_forever()
    assert trio.current_time() == 5


@pytest.mark.parametrize("road", ["direct", "text"])
async def test_a_task_of_the_lifespan_that_fails_ends_the_run(autojump_clock, road):
    async def fail():
        await trio.sleep(1)
        raise OSError("database gone")

    @asynccontextmanager
    async def lifespan(server):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(fail)
            yield {}

    with pytest.RaisesGroup(pytest.RaisesExc(OSError, match="database gone")):
        async with open_client(MCPServer("any", lifespan=lifespan), road):
            await trio.sleep_forever()


@pytest.mark.parametrize("how", GREEDY)
async def test_a_defect_that_ends_a_run_leaves_as_it_is(autojump_clock, how):
    async def crash(ctx, params):
        raise ZeroDivisionError("mine")

    seen = []
    server = Server("low", lifespan=getattr(Greedy(seen), how), on_call_tool=crash)
    near, far = open_memory_channel_pair()

    async def run():
        with pytest.raises(ZeroDivisionError, match="mine"):
            await server.run(far, raise_exceptions=True)
        seen.append("raised")
        await far.aclose()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run)
        async with Client(near) as client:
            with pytest.raises(MCPError):
                await client.call_tool("any")
    assert seen == ["left", "raised"]


async def test_a_transport_of_ones_own_keeps_nothing_of_what_a_client_raises(autojump_clock):
    class Transport:
        async def __aenter__(self):
            self.block = self.open()
            return await self.block.__aenter__()

        async def __aexit__(self, *exc):
            return await self.block.__aexit__(*exc)

        @asynccontextmanager
        async def open(self):
            near, far = open_memory_channel_pair()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(Server("far").run, far)
                with contextlib.suppress(OSError):
                    yield near
                nursery.cancel_scope.cancel()

    for mine in (ConnectionRefusedError("the client's own"), KeyError("mine")):
        with pytest.raises(type(mine)) as caught:
            async with Client(Transport()):
                raise mine
        assert caught.value is mine
