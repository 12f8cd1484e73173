"""Several servers behind one address, which share a Redis."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
import trio
import trio.testing

from tests._limits import SOON
from trio_mcp import Client, Context, MCPServer
from trio_mcp._rpc._exchange import Principal
from trio_mcp.client import ResourceUpdated, ToolsListChanged
from trio_mcp.errors import MCPDeprecationWarning
from trio_mcp.transports import RedisEventStore, streamable_http_client
from trio_mcp.transports.http import _manager
from trio_mcp.transports.http import _redis_event_store as store_module
from trio_mcp.transports.http._app import HttpApp
from trio_mcp.transports.http._asgi import PRINCIPAL
from trio_mcp.transports.http._event_store import InMemoryEventStore
from trio_mcp.transports.http._keeping import MAX_AT_ONCE
from trio_mcp.transports.http._options import HttpOptions

from ._asgi import OlderClient, open_app

PROGRAM = Path(__file__).with_name("shared_server.py")
TOKEN = {"progressToken": "t"}


# Processes


@asynccontextmanager
async def run_servers(redis, number=2):
    """Run servers in processes of their own; yields their URLs."""
    started = []
    try:
        for _ in range(number):
            words = [sys.executable, PROGRAM, redis.url]
            pipe = subprocess.PIPE
            started.append(await trio.lowlevel.open_process(words, stdout=pipe))
        yield [(await each.stdout.receive_some()).decode().strip() for each in started]
    finally:
        with trio.CancelScope(shield=True):
            for each in started:
                each.kill()
                await each.wait()
                await each.stdout.aclose()


@pytest.mark.limit(60)
async def test_a_listen_stream_hears_of_changes_on_the_other_server(redis_server):
    async with (
        run_servers(redis_server) as (here, there),
        Client(here) as listener,
        Client(there) as caller,
        listener.listen(tools_list_changed=True, resource_subscriptions=["a://one"]) as changes,
    ):
        await caller.call_tool("change")
        heard = {await changes.__anext__(), await changes.__anext__()}
        assert heard == {ToolsListChanged(), ResourceUpdated("a://one")}

        redis_server.kill()
        # Those who are served here do not hang, and hear of what happens here.
        await listener.call_tool("change")
        assert await changes.__anext__() in heard
        assert await changes.__anext__() in heard
        redis_server.start()
        # Redis is back: what the other one did meanwhile, nobody knows.
        assert {await changes.__anext__(), await changes.__anext__()} == heard
        with trio.fail_after(15):
            await caller.call_tool("change")
            await changes.__anext__()


@pytest.mark.limit(60)
async def test_an_older_session_hears_of_changes_on_the_other_server(redis_server):
    heard, hears = trio.open_memory_channel(10)

    async def hear(message):
        await heard.send((message.method, getattr(message.params, "uri", None)))

    async with (
        run_servers(redis_server) as (here, there),
        Client(here, mode="legacy", message_handler=hear) as listener,
        Client(there) as caller,
    ):
        with pytest.warns(MCPDeprecationWarning):
            await listener.subscribe_resource("a://one")
        await caller.call_tool("change")
        assert {await hears.receive(), await hears.receive()} == {
            ("notifications/tools/list_changed", None),
            ("notifications/resources/updated", "a://one"),
        }


@pytest.mark.limit(60)
async def test_a_stream_that_broke_off_goes_on_at_the_other_server(redis_server):
    async with (
        run_servers(redis_server) as (here, there),
        httpx.AsyncClient(trust_env=False, timeout=10) as http,
        Client(here) as other,
    ):
        headers = {"accept": "application/json, text/event-stream"}
        params = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "c", "version": "1"},
        }
        shake = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
        answer = await http.post(here, json=shake, headers=headers)
        headers["mcp-session-id"] = answer.headers["mcp-session-id"]
        headers["mcp-protocol-version"] = "2025-11-25"
        told = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert (await http.post(here, json=told, headers=headers)).status_code == 202
        call = {"name": "steps", "arguments": {}, "_meta": TOKEN}
        asked = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}
        last_id = None
        with trio.CancelScope() as leaving:
            async with http.stream("POST", here, json=asked, headers=headers) as stream:
                async for line in stream.aiter_lines():
                    if line.startswith("id: "):
                        last_id = line.removeprefix("id: ")
                    if '"progress":1' in line:
                        leaving.cancel()
        headers |= {"last-event-id": last_id, "accept": "text/event-stream"}
        async with http.stream("GET", there, headers=headers) as stream:
            assert stream.status_code == 200
            await other.call_tool("let_go")
            lines = [line async for line in stream.aiter_lines()]
        messages = [json.loads(each[6:]) for each in lines if each.startswith("data: {")]
        assert messages[0]["params"]["progress"] == 2
        assert messages[1]["result"]["content"][0]["text"] == "done"
        assert len(messages) == 2


class Elsewhere(httpx.AsyncHTTPTransport):
    """A balancer that sends those who come back for a stream to another server."""

    def __init__(self, url) -> None:
        super().__init__()
        self._port = httpx.URL(url).port
        self.sent = 0

    async def handle_async_request(self, request):
        if "last-event-id" in request.headers:
            request.url = request.url.copy_with(port=self._port)
            self.sent += 1
        return await super().handle_async_request(request)


@pytest.mark.limit(60)
async def test_a_client_that_was_asked_to_come_back_has_its_answer_from_the_other_server(
    redis_server,
):
    async with run_servers(redis_server) as (here, there):
        balancer = Elsewhere(there)
        async with (
            httpx.AsyncClient(trust_env=False, timeout=10, transport=balancer) as http,
            Client(streamable_http_client(here, http_client=http), mode="legacy") as client,
        ):
            result = await client.call_tool("later")
            assert result.content[0].text == "later"
            assert balancer.sent > 0


async def test_a_server_that_cannot_reach_redis_says_so_and_ends(tmp_path):
    pytest.importorskip("coredis")
    words = [sys.executable, PROGRAM, f"unix://me:secret@{tmp_path}/none"]
    done = await trio.run_process(words, capture_stdout=True, capture_stderr=True, check=False)
    assert done.returncode == 1
    assert done.stdout == b""
    last = done.stderr.decode().splitlines()[-1]
    assert f"Redis at unix://{tmp_path}/none?db=0 cannot be reached" in last
    assert b"secret" not in done.stderr


# Two applications in one process, which share nothing else


class Servers:
    """Two applications that share a store, and a tool that goes on when it is told to."""

    def __init__(self, redis, options=None) -> None:
        self.go_on = trio.Event()
        self.reports = [1, 2]
        self.redis = redis
        self.stores = [RedisEventStore(redis.url) for _ in range(2)]
        self.apps = [
            HttpApp(self._make_server(), HttpOptions(event_store=each, **(options or {})))
            for each in self.stores
        ]

    def _make_server(self):
        mcp = MCPServer("tests")
        mcp.add_tool(self.steps, name="steps")
        return mcp

    async def steps(self, ctx: Context) -> str:
        first, *others = self.reports
        await ctx.report_progress(first)
        await self.go_on.wait()
        for each in others:
            await ctx.report_progress(each)
        return "done"

    @asynccontextmanager
    async def call(self, principal=None):
        """Call the tool on one server, and leave; yields the two clients, and the last id."""
        state = {} if principal is None else {PRINCIPAL: Principal(principal)}
        async with open_app(self.apps[0]) as first, open_app(self.apps[1]) as second:
            first.scope.update(state)
            second.scope.update(state)
            here = OlderClient(first)
            await here.initialize()
            there = OlderClient(second, session_id=here.session_id)
            stream = here.call("steps", None, TOKEN)
            while True:
                event = await stream.next_event()
                if event.data and b'"progress":1' in event.data:
                    break
            stream.leave()
            await stream.wait_complete()
            yield here, there, event.id


def kinds(messages):
    return [each["params"]["progress"] if "params" in each else "answer" for each in messages]


@pytest.mark.case("C047")
async def test_what_was_answered_meanwhile_is_sent_by_the_other(redis_server):
    servers = Servers(redis_server)
    async with servers.call() as (here, there, last_id):
        servers.go_on.set()
        assert kinds(await here.get(last_id).messages()) == [2, "answer"]
        assert kinds(await there.get(last_id).messages()) == [2, "answer"]
        # All the rest of a session is where it was opened.
        assert (await there.ask("ping").wait_complete()).status == 404
        assert (await there.get().wait_complete()).status == 404
        assert (await there.get("nonsense").wait_complete()).status == 404
        assert (await there.delete().wait_complete()).status == 404


async def test_what_comes_later_is_sent_by_the_other(redis_server):
    servers = Servers(redis_server)
    async with servers.call() as (_, there, last_id):
        stream = there.get(last_id)
        await stream.wait_started()
        servers.go_on.set()
        assert kinds(await stream.messages()) == [2, "answer"]


async def test_much_is_sent_by_the_other_in_parts(redis_server):
    servers = Servers(redis_server)
    servers.reports = list(range(1, 3 * MAX_AT_ONCE))
    async with servers.call() as (here, there, last_id):
        servers.go_on.set()
        told = [*servers.reports[1:], "answer"]
        assert kinds(await here.get(last_id).messages()) == told
        assert kinds(await there.get(last_id).messages()) == told


async def test_who_comes_back_to_the_other_again_ends_what_was_sent_before(redis_server):
    servers = Servers(redis_server)
    async with servers.call() as (_, there, last_id):
        before = there.get(last_id)
        await before.wait_started()
        stream = there.get(last_id)
        with trio.fail_after(SOON):
            assert await before.messages() == []
        servers.go_on.set()
        assert kinds(await stream.messages()) == [2, "answer"]


async def test_nor_does_the_other_carry_on_across_what_was_not_kept(redis_server):
    servers = Servers(redis_server)
    servers.reports = [1, 2, 3]
    keep = servers.stores[0].store_event

    async def fail_at_two(stream_id, message):
        if (getattr(message, "params", None) or {}).get("progress") == 2:
            raise OSError("not this one")
        return await keep(stream_id, message)

    servers.stores[0].store_event = fail_at_two
    async with servers.call() as (here, there, last_id):
        stream = there.get(last_id)
        await stream.wait_started()
        servers.go_on.set()
        with trio.fail_after(SOON):
            assert await stream.messages() == []
        assert (await there.get(last_id).wait_complete()).status == 404
        assert (await here.get(last_id).wait_complete()).status == 400


@pytest.mark.req("R-563")
@pytest.mark.parametrize("owner", [None, "ada"])
async def test_the_streams_of_others_are_carried_on_by_nobody(redis_server, owner):
    servers = Servers(redis_server)
    async with servers.call(owner) as (here, there, last_id):
        servers.go_on.set()
        for principal in ({PRINCIPAL: Principal("eve")}, {}):
            if owner is None and not principal:
                continue
            there.client.scope.pop(PRINCIPAL, None)
            there.client.scope.update(principal)
            assert (await there.get(last_id).wait_complete()).status == 404
        # Nor what another session was sent.
        other = OlderClient(here.client)
        await other.initialize()
        foreign = OlderClient(there.client, session_id=other.session_id)
        assert (await foreign.get(last_id).wait_complete()).status == 404


@pytest.mark.req("R-569")
async def test_an_ended_session_has_no_streams_elsewhere(redis_server):
    servers = Servers(redis_server)
    async with servers.call() as (here, there, last_id):
        stream = there.get(last_id)
        await stream.wait_started()
        assert (await here.delete().wait_complete()).status == 200
        assert await stream.messages() == []
        for client in (here, there):
            assert (await client.get(last_id).wait_complete()).status == 404


async def test_what_a_server_had_answered_before_it_stopped_is_sent_by_the_other(redis_server):
    servers = Servers(redis_server)
    async with open_app(servers.apps[1]) as second:
        async with open_app(servers.apps[0]) as first:
            here = OlderClient(first)
            await here.initialize()
            answered = here.call("steps", None, TOKEN)
            last_id = (await answered.next_event()).id
            answered.leave()
            await answered.wait_complete()
            servers.go_on.set()
            assert kinds(await here.get(last_id).messages()) == [1, 2, "answer"]
            servers.go_on = trio.Event()
            running = here.call("steps", None, TOKEN)
            running_id = (await running.next_event()).id
        there = OlderClient(second, session_id=here.session_id)
        assert kinds(await there.get(last_id).messages()) == [1, 2, "answer"]
        # What was running has been cancelled, and nobody waits for its answer.
        with trio.fail_after(SOON):
            assert kinds(await there.get(running_id).messages()) == [1]


async def test_a_server_that_stops_lets_its_clients_go_elsewhere(redis_server, monkeypatch):
    monkeypatch.setattr(_manager, "STOP_SECONDS", 60)
    servers = Servers(redis_server)
    async with servers.call() as (_, there, last_id):
        stream = there.get(last_id)
        await stream.wait_started()
        with trio.fail_after(SOON):
            await servers.apps[1].session_manager.stop()
            await stream.wait_complete()
        assert stream.complete
        servers.go_on.set()


async def test_a_stream_ends_when_the_process_that_wrote_it_is_gone(redis_server, monkeypatch):
    monkeypatch.setattr(store_module, "LIFE_SECONDS", 1.5)
    servers = Servers(redis_server)
    living = trio.CancelScope()
    tell_alive = servers.stores[0]._tell_alive

    async def live(link):
        with living:
            await tell_alive(link)

    servers.stores[0]._tell_alive = live
    async with servers.call() as (_, there, last_id):
        stream = there.get(last_id)
        await stream.wait_started()
        with trio.move_on_after(2):
            await stream.wait_complete()
        assert not stream.complete
        living.cancel()
        assert await stream.messages() == []
        assert stream.status == 200


async def test_a_stream_is_not_followed_for_longer_than_its_session_may_be_idle(redis_server):
    servers = Servers(redis_server, {"session_idle_timeout": 0.5})
    async with servers.call() as (_, there, last_id):
        stream = there.get(last_id)
        assert await stream.messages() == []
        assert stream.status == 200


async def test_a_follower_ends_when_redis_goes(redis_server):
    servers = Servers(redis_server)
    async with servers.call() as (here, there, last_id):
        stream = there.get(last_id)
        await stream.wait_started()
        redis_server.kill()
        assert await stream.messages() == []
        assert (await there.get(last_id).wait_complete()).status == 404
        assert (await here.get(last_id).wait_complete()).status == 503


async def test_a_client_that_goes_ends_the_following(redis_server):
    servers = Servers(redis_server)
    async with servers.call() as (_, there, last_id):
        stream = there.get(last_id)
        await stream.wait_started()
        stream.leave()
        await stream.wait_complete()


@pytest.mark.parametrize("session_id", ["", "x", "é", "a/b"])
async def test_unknown_sessions_stay_unknown(redis_server, session_id):
    servers = Servers(redis_server)
    async with open_app(servers.apps[0]) as client:
        older = OlderClient(client, session_id=session_id)
        assert (await older.get("0" * 32 + "-1-1").wait_complete()).status in (400, 404)


async def test_a_store_of_one_process_brings_back_no_session():
    mcp = MCPServer("tests")
    mcp.add_tool(lambda: "", name="quick")
    async with open_app(HttpApp(mcp, HttpOptions(event_store=InMemoryEventStore()))) as client:
        older = OlderClient(client)
        await older.initialize()
        stream = older.call("quick")
        first = await stream.next_event()
        await older.delete().wait_complete()
        assert (await older.get(first.id).wait_complete()).status == 404
