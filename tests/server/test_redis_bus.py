"""The bus over Redis, with a real one: what several processes share is here two objects."""

from __future__ import annotations

import json
import logging
import signal
import ssl
import threading

import pytest
import trio
import trio.testing

from tests._limits import SOON
from trio_mcp import MCPServer
from trio_mcp.client import Client
from trio_mcp.errors import MCPDeprecationWarning
from trio_mcp.server import (
    EventsLost,
    InMemorySubscriptionBus,
    PromptsListChanged,
    RedisSubscriptionBus,
    ResourcesListChanged,
    ResourceUpdated,
    ToolsListChanged,
)
from trio_mcp.server import _redis_bus as module
from trio_mcp.transports import _redis, _redis_link

TOOLS = ToolsListChanged()
PROMPTS = PromptsListChanged()
CHANNEL = "trio-mcp:events"


class Ear:
    """Hears what a bus tells."""

    def __init__(self, bus) -> None:
        self._send, self.heard = trio.open_memory_channel(1000)
        self.stop = bus.subscribe(self._send.send_nowait)

    async def next(self):
        return await self.heard.receive()

    def nothing(self) -> bool:
        return self.heard.statistics().current_buffer_used == 0


async def wait_lost(bus):
    block = bus._channel._blocks[0]
    while block._is_connected:
        await block._sent.park()


async def test_what_one_publishes_all_hear_once_and_in_order(redis_server):
    here, there = RedisSubscriptionBus(redis_server.url), RedisSubscriptionBus(redis_server.url)
    async with here.open(), there.open():
        near, far = Ear(here), Ear(there)
        events = [TOOLS, ResourceUpdated("a://ü"), ResourcesListChanged(), PROMPTS]
        for event in events:
            await here.publish(event)
        assert [await near.next() for _ in events] == events
        assert [await far.next() for _ in events] == events
        await there.publish(TOOLS)
        assert await near.next() == await far.next() == TOOLS
        far.stop()
        await here.publish(TOOLS)
        await there.publish(PROMPTS)
        assert [await near.next(), await near.next()] == [TOOLS, PROMPTS]
        assert far.nothing()


async def test_buses_of_other_prefixes_hear_nothing(redis_server):
    here = RedisSubscriptionBus(redis_server.url)
    other = RedisSubscriptionBus(redis_server.url, prefix="other")
    async with here.open(), other.open():
        near, far = Ear(here), Ear(other)
        await here.publish(TOOLS)
        await other.publish(PROMPTS)
        assert await near.next() == TOOLS
        assert await far.next() == PROMPTS
        redis_server.ask("PUBLISH", CHANNEL, json.dumps({"method": None}))
        assert await near.next() == EventsLost()
        assert far.nothing()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff",
        b"[]",
        b"1",
        b'{"method": 5}',
        b'{"method": "notifications/resources/updated", "params": {}}',
        b'{"method": "notifications/resources/updated", "params": {"uri": 5}}',
        b'{"method": "notifications/of/tomorrow", "params": {}}',
        b'{"method": "notifications/tools/list_changed", "params": 1}',
        b"[" * 100_000,
    ],
)
async def test_what_else_is_on_the_channel_is_dropped(redis_server, data):
    bus = RedisSubscriptionBus(redis_server.url)
    async with bus.open():
        ear = Ear(bus)
        redis_server.ask("PUBLISH", CHANNEL, data)
        redis_server.ask(
            "PUBLISH",
            CHANNEL,
            b'{"method": "notifications/tools/list_changed", "params": {}, "more": 1}',
        )
        assert await ear.next() == TOOLS
        assert ear.nothing()


def test_what_else_is_on_the_channel_is_told_a_few_times(caplog):
    channel = RedisSubscriptionBus("redis://127.0.0.1:1")._channel
    for _ in range(150):
        channel.take([b"message", CHANNEL.encode(), b"junk"])
    assert caplog.text.count("Something else was published") == 3


async def test_when_redis_comes_back_everything_may_have_changed(redis_server, caplog):
    caplog.set_level(logging.INFO, "trio_mcp.redis")
    here, there = RedisSubscriptionBus(redis_server.url), RedisSubscriptionBus(redis_server.url)
    async with here.open(), there.open():
        near, far = Ear(here), Ear(there)
        redis_server.kill()
        # Publishing does not wait for it, and reaches those who are here.
        with trio.fail_after(SOON):
            for _ in range(100):
                await here.publish(TOOLS)
        assert await near.next() == TOOLS
        redis_server.start()
        # What was published meanwhile comes once, or is said by the other.
        assert await far.next() in (EventsLost(), TOOLS)
        while await near.next() == TOOLS:
            pass
        await there.publish(PROMPTS)
        while await near.next() != PROMPTS:
            pass
    messages = [each.getMessage() for each in caplog.records if each.name == "trio_mcp.redis"]
    assert sum("it is tried again" in each for each in messages) == 2
    assert sum("is reached again" in each for each in messages) == 2


async def test_what_was_published_while_redis_was_away_is_sent_once(redis_server):
    here, there = RedisSubscriptionBus(redis_server.url), RedisSubscriptionBus(redis_server.url)
    async with here.open():
        near = Ear(here)
        redis_server.kill()
        await wait_lost(here)
        for _ in range(100):
            await here.publish(TOOLS)
        await here.publish(PROMPTS)
        assert list(here._channel.unsent)[-1] == PROMPTS
        assert len(here._channel.unsent) == 2
        redis_server.start()
        while await near.next() != EventsLost():
            pass
        async with there.open():
            far = Ear(there)
            await here.publish(ResourcesListChanged())
            heard = [await far.next()]
            while heard[-1] != ResourcesListChanged():
                heard.append(await far.next())
        assert len(set(heard)) == len(heard)
        assert not here._channel.unsent


async def test_more_than_can_wait_is_told_as_everything(redis_server, monkeypatch):
    monkeypatch.setattr(module, "MAX_UNSENT", 5)
    bus = RedisSubscriptionBus(redis_server.url)
    async with bus.open():
        redis_server.kill()
        await wait_lost(bus)
        for number in range(4):
            await bus.publish(ResourceUpdated(f"a://{number}"))
        await bus.publish(ResourceUpdated("a://0"))
        await bus.publish(TOOLS)
        assert EventsLost() not in bus._channel.unsent
        await bus.publish(PROMPTS)
        assert list(bus._channel.unsent) == [EventsLost(), PROMPTS]


async def test_a_redis_that_is_silent_is_left(redis_server, monkeypatch):
    for constant in ("PING_INTERVAL", "FIRST_DELAY"):
        monkeypatch.setattr(_redis_link, constant, 0.05)
    bus = RedisSubscriptionBus(redis_server.url)
    monkeypatch.setattr(_redis, "ANSWER_TIMEOUT", 0.2)
    async with bus.open():
        ear = Ear(bus)
        redis_server.signal(signal.SIGSTOP)
        await wait_lost(bus)
        redis_server.signal(signal.SIGCONT)
        assert await ear.next() == EventsLost()


async def test_the_last_events_are_published_before_the_block_is_left(redis_server):
    here, there = RedisSubscriptionBus(redis_server.url), RedisSubscriptionBus(redis_server.url)
    async with there.open():
        far = Ear(there)
        async with here.open():
            for number in range(50):
                await here.publish(ResourceUpdated(f"a://{number}"))
        assert [(await far.next()).uri for _ in range(50)] == [f"a://{n}" for n in range(50)]


async def test_leaving_does_not_wait_for_a_redis_that_is_away(redis_server, caplog):
    bus = RedisSubscriptionBus(redis_server.url)
    async with bus.open():
        redis_server.kill()
        await bus.publish(TOOLS)
        began = trio.current_time()
    assert trio.current_time() - began < _redis.ANSWER_TIMEOUT - 1
    assert "1 events did not reach Redis" in caplog.text


@pytest.mark.parametrize("when", range(12))
async def test_entering_can_be_cancelled_at_any_point(redis_server, when):
    bus = RedisSubscriptionBus(redis_server.url)
    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:

            async def cancel_later():
                for _ in range(when):
                    await trio.lowlevel.checkpoint()
                scope.cancel()

            nursery.start_soon(cancel_later)
            async with bus.open():
                await bus.publish(TOOLS)
    assert not bus._channel._blocks
    async with bus.open():
        ear = Ear(bus)
        await bus.publish(TOOLS)
        assert await ear.next() == TOOLS


async def test_another_block_takes_over_when_the_first_one_is_left(redis_server, caplog):
    caplog.set_level(logging.INFO, "trio_mcp.redis")
    here, there = RedisSubscriptionBus(redis_server.url), RedisSubscriptionBus(redis_server.url)
    async with there.open():
        far = Ear(there)
        near = Ear(here)
        first, second = here.open(), here.open()
        async with trio.open_nursery() as nursery:
            left, leave = trio.Event(), trio.Event()

            async def hold(block, leave):
                async with block:
                    await leave.wait()
                left.set()

            nursery.start_soon(hold, first, leave)
            await trio.testing.wait_all_tasks_blocked(0.2)
            async with second:
                await here.publish(TOOLS)
                assert await far.next() == await near.next() == TOOLS
                leave.set()
                await left.wait()
                assert await near.next() == EventsLost()
                await there.publish(PROMPTS)
                assert await near.next() == PROMPTS
                await here.publish(TOOLS)
                assert await far.next() == PROMPTS
                assert await far.next() == TOOLS
    # It was away at no time.
    assert caplog.messages == []


async def test_threads_may_share_it(redis_server):
    bus = RedisSubscriptionBus(redis_server.url)
    far = RedisSubscriptionBus(redis_server.url)

    async def publish_there():
        async with bus.open():
            await bus.publish(PROMPTS)

    async with bus.open(), far.open():
        ear, other = Ear(far), []
        bus.subscribe(lambda event: other.append((event, threading.current_thread())))
        await trio.to_thread.run_sync(trio.run, publish_there)
        assert await ear.next() == PROMPTS
        assert [event for event, _ in other] == [PROMPTS]


async def test_a_bus_that_is_not_open_publishes_nothing(redis_server):
    bus = RedisSubscriptionBus(redis_server.url)
    with pytest.raises(RuntimeError, match=r"not open: a server opens it"):
        await bus.publish(TOOLS)
    async with bus.open():
        pass
    with pytest.raises(RuntimeError, match="not open"):
        await bus.publish(TOOLS)


# At the start


async def test_a_server_whose_redis_is_not_there_does_not_start(tmp_path):
    pytest.importorskip("coredis")
    bus = RedisSubscriptionBus(f"unix://{tmp_path}/none.sock")
    mcp = MCPServer("tests", subscriptions=bus)
    with pytest.raises(ConnectionError, match=r"^Redis at unix://.*none\.sock\?db=0 cannot be "):
        async with Client(mcp):
            pass
    bus = RedisSubscriptionBus("redis://localhost:1/0")
    with pytest.raises(
        ConnectionError, match=r"^Redis at redis://localhost:1/0 cannot be reached: .*refused"
    ):
        async with bus.open():
            pass


@pytest.mark.parametrize(
    ("credentials", "words"),
    [("", "HELLO must be called"), (":wr%20ong@", "invalid username-password pair")],
)
async def test_a_password_is_needed_and_never_told(start_redis, credentials, words, caplog):
    caplog.set_level(logging.DEBUG)
    server = start_redis("--requirepass", "sés/ame %")
    url = f"unix://{credentials}{server.path}"
    bus = RedisSubscriptionBus(url)
    with pytest.raises(ConnectionError, match=f"refused the connection: .*{words}") as caught:
        async with bus.open():
            pass
    bus = RedisSubscriptionBus(f"unix://:s%C3%A9s%2Fame%20%25@{server.path}")
    async with bus.open():
        await bus.publish(TOOLS)
    for text in (repr(bus), repr(bus._channel.address), str(caught.value), caplog.text):
        assert "ame %" not in text
        assert "wr ong" not in text


async def test_what_redis_says_of_a_command_tells_no_password():
    address = _redis.RedisAddress.parse("redis://me:secret@localhost")
    said = address._say(ValueError("unknown command HELLO, with args: AUTH me secret"))
    assert said == "unknown command HELLO, with args: AUTH me ***"


async def test_a_user_that_may_not_subscribe_is_refused_at_the_start(redis_server):
    redis_server.ask("ACL", "SETUSER", "few", "on", ">pw", "+@all", "-subscribe", "allchannels")
    bus = RedisSubscriptionBus(f"unix://few:pw@{redis_server.path}")
    with pytest.raises(ConnectionError, match="no permissions"):
        async with bus.open():
            pass


async def test_a_user_that_may_not_publish_is_told_so_in_the_log(redis_server, caplog):
    redis_server.ask("ACL", "SETUSER", "few", "on", ">pw", "+@all", "-publish", "allchannels")
    bus = RedisSubscriptionBus(f"unix://few:pw@{redis_server.path}")
    async with bus.open():
        ear = Ear(bus)
        await bus.publish(TOOLS)
        assert await ear.next() == TOOLS
        await bus.publish(ResourceUpdated("x://a"))
        assert await ear.next() == ResourceUpdated("x://a")
    assert ear.nothing()
    # Once, and not with each of them.
    assert caplog.text.count("An event reaches no other process: Redis at unix://") == 1


@pytest.mark.parametrize("event", [EventsLost(), "tools/list_changed"])
async def test_what_cannot_be_published_is_an_error_of_who_publishes_it(redis_server, event):
    bus = RedisSubscriptionBus(redis_server.url)
    async with bus.open():
        ear = Ear(bus)
        with pytest.raises(TypeError, match="event: expected an event"):
            await bus.publish(event)
        with pytest.raises(ValueError, match="uri: the text holds a lone surrogate"):
            await bus.publish(ResourceUpdated("file:///r\udcff"))
        await bus.publish(TOOLS)
        assert await ear.next() == TOOLS
        with trio.fail_after(SOON):
            await bus._channel._blocks[0].flush()


@pytest.mark.parametrize(
    ("url", "error", "words"),
    [
        (5, TypeError, "url: expected str, got int"),
        ("localhost:6379", ValueError, "got the scheme 'localhost'"),
        ("http://me:secret@host", ValueError, "got the scheme 'http'"),
        ("redis://", ValueError, "does not say where"),
        ("redis:///0", ValueError, "does not say where"),
        ("unix://", ValueError, "does not say where"),
        ("redis://:sec/ret@host:6379", ValueError, "host or port cannot be read"),
        ("redis://me:secret@host:99999", ValueError, "host or port cannot be read"),
        ("redis://host\n/0", ValueError, "a control character"),
        ("redis://me:secret@ho\x00st", ValueError, "a control character"),
        ("redis://:secret\udcff@host", ValueError, "a control character"),
        ("redis://host/0\n", ValueError, "a control character"),
        (" redis://me:secret@host", ValueError, "a space round it"),
        ("redis://me:secret@my host", ValueError, "does not say where"),
        ("unix://host/path", ValueError, "path of a unix socket on a host"),
        ("redis://me:secret@host/zero", ValueError, "number of a database"),
        ("redis://me:secret@host/0?ssl_cert_reqs=none", ValueError, "the one option"),
    ],
)
def test_urls_are_checked_and_not_repeated(url, error, words):
    with pytest.raises(error, match=words) as caught:
        RedisSubscriptionBus(url)
    assert "sec" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None or caught.value.__suppress_context__


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"prefix": ""}, ValueError, "prefix: expected a text that is not empty"),
        ({"prefix": "\udcff"}, ValueError, "prefix: the text holds a lone surrogate"),
        ({"prefix": b"x"}, TypeError, "prefix: expected str, got bytes"),
        ({"ssl_context": True}, TypeError, "ssl_context: expected SSLContext, got bool"),
        ({"ssl_context": ssl.create_default_context()}, ValueError, "it needs a url with rediss"),
    ],
)
def test_options_are_checked(options, error, words):
    with pytest.raises(error, match=words):
        RedisSubscriptionBus("redis://localhost", **options)


def test_without_the_extra_the_error_names_it(monkeypatch):
    monkeypatch.setattr(_redis, "find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'trio-mcp\[redis\]'"):
        RedisSubscriptionBus("redis://localhost")


# What clients hear of lost events


class LossyBus(InMemorySubscriptionBus):
    def lose(self):
        self.tell(EventsLost())


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_clients_hear_that_all_has_changed_which_they_asked_about(mode):
    bus = LossyBus()
    mcp = MCPServer("tests", subscriptions=bus)
    mcp.add_tool(lambda: "", name="one")
    mcp.resource("a://1", name="1")(lambda: "")
    mcp.resource("a://2", name="2")(lambda: "")
    heard = []

    async def hear(message):
        heard.append(message)

    async with Client(mcp, mode=mode, message_handler=hear) as client:
        if mode == "legacy":
            with pytest.warns(MCPDeprecationWarning):
                await client.subscribe_resource("a://2")
            bus.lose()
            await trio.testing.wait_all_tasks_blocked(0.05)
            found = [(each.method, getattr(each.params, "uri", None)) for each in heard]
            assert found == [
                ("notifications/tools/list_changed", None),
                ("notifications/prompts/list_changed", None),
                ("notifications/resources/list_changed", None),
                ("notifications/resources/updated", "a://2"),
            ]
        else:
            uris = ["a://2"]
            async with client.listen(
                tools_list_changed=True, resource_subscriptions=uris
            ) as changes:
                bus.lose()
                assert await changes.__anext__() == TOOLS
                assert await changes.__anext__() == ResourceUpdated("a://2")


async def test_more_lost_than_may_wait_ends_the_subscription():
    bus = LossyBus()
    mcp = MCPServer("tests", subscriptions=bus)
    mcp.resource("a://{number}", name="all")(lambda number: number)
    async with (
        Client(mcp) as client,
        client.listen(resource_subscriptions=[f"a://{n}" for n in range(1025)]) as changes,
    ):
        bus.lose()
        with pytest.raises(Exception, match="listen again"):
            async for _ in changes:
                pass
