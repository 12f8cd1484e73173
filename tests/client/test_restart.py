"""A server that dies is started again, if the client was told to."""

from __future__ import annotations

import sys
from contextlib import AbstractAsyncContextManager

import pytest
import trio
import trio.testing

from trio_mcp.client import Client, RestartPolicy, connect
from trio_mcp.errors import ConnectionLost, InvalidResponse, MCPError, RequestTimeout
from trio_mcp.mcpserver import MCPServer
from trio_mcp.transports import StdioServerParameters, open_memory_channel_pair, stdio_client

DONE = {"resultType": "complete", "content": []}
TOOLS = {"resultType": "complete", "tools": [], "ttlMs": 60_000, "cacheScope": "private"}
NO_DELAY = RestartPolicy(initial_delay=0)


class Mortal(AbstractAsyncContextManager):
    """A transport to a series of scripts, each of which can be killed."""

    def __init__(self, *lives):
        self.lives = list(lives)
        self.opened_at = []
        self.far = None
        self.scopes = []

    async def __aenter__(self):
        self.opened_at.append(trio.current_time())
        life = self.lives.pop(0) if len(self.lives) > 1 else self.lives[0]
        if isinstance(life, Exception):
            raise life
        near, self.far = open_memory_channel_pair(as_text=True)
        self.nursery = trio.open_nursery()
        nursery = await self.nursery.__aenter__()
        self.scopes.append(nursery.cancel_scope)
        nursery.start_soon(life.run, self.far)
        return near

    async def __aexit__(self, *exc_info):
        self.scopes[-1].cancel()
        return await self.nursery.__aexit__(*exc_info)

    async def die(self):
        await self.far.aclose()
        await trio.testing.wait_all_tasks_blocked()


@pytest.fixture
def life(script, discovery):
    def life(**answers):
        return script(**{"server__discover": discovery, "tools__call": DONE, **answers})

    return life


@pytest.mark.req("R-092")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_next_call_finds_the_next_server(autojump_clock, life, initialized, mode):
    first, second = life(initialize=initialized()), life(initialize=initialized())
    mortal = Mortal(first, second)
    async with Client(mortal, mode=mode, restart=RestartPolicy(initial_delay=3)) as client:
        session = client.session
        await client.call_tool("x")
        await mortal.die()
        await client.call_tool("y")
        assert trio.current_time() == pytest.approx(3)
        assert client.session is session
    assert first.methods[-1] == second.methods[-1] == "tools/call"
    negotiated = ["server/discover"] if mode == "auto" else ["initialize"]
    assert second.methods[:1] == negotiated


async def test_calls_in_flight_fail_and_are_not_repeated(autojump_clock, life):
    first, second = life(tools__call=lambda params: first.SILENCE), life()
    mortal = Mortal(first, second)
    async with Client(mortal, restart=NO_DELAY) as client, trio.open_nursery() as nursery:

        async def call():
            with pytest.raises(ConnectionLost, match="the peer ended it"):
                await client.call_tool("x")

        nursery.start_soon(call)
        await trio.testing.wait_all_tasks_blocked()
        await mortal.die()
    assert "tools/call" not in second.methods


async def test_it_comes_back_without_a_call(autojump_clock, life):
    first, second = life(), life()
    mortal = Mortal(first, second)
    async with Client(mortal, restart=NO_DELAY):
        await mortal.die()
        await trio.sleep(1)
        assert second.methods == ["server/discover"]


async def test_the_era_is_remembered(autojump_clock, life, initialized):
    old = {"server__discover": MCPError(-32601, "no"), "initialize": initialized("2025-06-18")}
    first, second = life(**old), life(**old)
    mortal = Mortal(first, second)
    async with Client(mortal, restart=NO_DELAY) as client:
        assert first.methods[0] == "server/discover"
        await mortal.die()
        await client.call_tool("x")
        assert client.protocol_version == "2025-06-18"
    assert second.methods[:2] == ["initialize", "notifications/initialized"]


async def test_another_era_is_found_out(autojump_clock, life, initialized):
    first = life(server__discover=MCPError(-32601, "no"), initialize=initialized())
    second = life(initialize=MCPError(-32601, "no"))
    mortal = Mortal(first, second)
    async with Client(mortal, restart=NO_DELAY) as client:
        assert client.protocol_version == "2025-11-25"
        await mortal.die()
        await client.call_tool("x")
        assert client.protocol_version == "2026-07-28"
    # The call that waited speaks as the new server does.
    meta = second.received[-1].params["_meta"]
    assert meta["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"


async def test_delays_grow_to_a_bound_and_then_it_gives_up(autojump_clock, life):
    mortal = Mortal(life(), ConnectionLost("exited with status 3", exit_status=3, stderr="why"))
    policy = RestartPolicy(max_restarts=5, initial_delay=1, backoff=3, max_delay=10)
    async with Client(mortal, restart=policy) as client:
        await mortal.die()
        with pytest.raises(ConnectionLost, match="given up after 5 restarts; at last: ex") as one:
            await client.call_tool("x")
        assert (one.value.exit_status, one.value.stderr) == (3, "why")
        with pytest.raises(ConnectionLost, match="given up after 5 restarts"):
            await client.list_tools()
        assert (await client.session.wait_lost()).exit_status == 3
    assert mortal.opened_at == pytest.approx([0, 1, 4, 13, 23, 33])


async def test_a_server_that_was_stable_begins_anew(autojump_clock, life):
    mortal = Mortal(life())
    policy = RestartPolicy(max_restarts=2, initial_delay=1, backoff=10, stable_after=60)
    async with Client(mortal, restart=policy) as client:
        await mortal.die()
        await client.call_tool("x")
        await mortal.die()
        await client.call_tool("x")
        assert mortal.opened_at == pytest.approx([0, 1, 11])
        await trio.sleep(60)
        for _ in range(2):
            await mortal.die()
            await client.call_tool("x")
        assert mortal.opened_at[3:] == pytest.approx([72, 82])
        await mortal.die()
        with pytest.raises(ConnectionLost, match="given up after 2"):
            await client.call_tool("x")


async def test_a_restarted_server_that_is_silent_counts_as_failed(autojump_clock, life, script):
    silent = life(server__discover=script.SILENCE, initialize=script.SILENCE)
    mortal = Mortal(life(), silent, life())
    policy = RestartPolicy(initial_delay=1, connect_timeout=7)
    async with Client(mortal, restart=policy) as client:
        await mortal.die()
        await client.call_tool("x")
    assert mortal.opened_at == pytest.approx([0, 1, 10])


async def test_waiting_for_a_restart_is_within_the_timeout(autojump_clock, life):
    mortal = Mortal(life())
    async with Client(mortal, restart=RestartPolicy(initial_delay=60, max_delay=60)) as client:
        await mortal.die()
        with pytest.raises(RequestTimeout, match="was not back within 5 s"):
            await client.call_tool("x", read_timeout_seconds=5)
        with pytest.raises(RequestTimeout, match="was not back within 4 s"):
            await client.session.call_tool("x", max_total_timeout=4)
        with pytest.raises(RequestTimeout, match="no answer within 3 s in all"):
            await client.call_tool("x", read_timeout_seconds=5, max_total_timeout=3)
        with trio.move_on_after(1) as scope:
            await client.call_tool("x")
        assert scope.cancelled_caught
        began = trio.current_time()
    assert trio.current_time() == began


@pytest.mark.req("R-204")
async def test_subscriptions_are_sent_again_and_what_may_have_changed_is_told(
    autojump_clock, connect, life, discovery
):
    from trio_mcp.client import ToolsListChanged

    announcing = {**discovery, "capabilities": {"tools": {"listChanged": True}}}

    class Listening(type(life())):
        async def answer(self, request):
            if request.method == "subscriptions/listen":
                await self.tell(
                    "notifications/subscriptions/acknowledged",
                    {
                        "notifications": {"toolsListChanged": True},
                        "_meta": {"io.modelcontextprotocol/subscriptionId": request.id},
                    },
                )
                self.subscription = request.id
            else:
                await super().answer(request)

    answers = {"server__discover": announcing, "tools__list": TOOLS}
    first, second = Listening(**answers), Listening(**answers)
    mortal = Mortal(first, second)
    async with Client(mortal, restart=NO_DELAY) as client:
        reconnects = []
        client.session.on_reconnect(lambda: reconnects.append(client.protocol_version))
        await client.list_tools()
        async with client.listen(tools_list_changed=True) as changes:
            await mortal.die()
            # Nobody told of it, yet it may have been.
            assert await anext(changes) == ToolsListChanged()
            # What was kept of the first server is out of date.
            await client.list_tools()
            await client.list_tools()
            await second.tell(
                "notifications/tools/list_changed",
                {"_meta": {"io.modelcontextprotocol/subscriptionId": second.subscription}},
            )
            assert await anext(changes) == ToolsListChanged()
        assert reconnects == ["2026-07-28"]
    assert second.methods.count("tools/list") == 1
    listen = [each for each in second.received if getattr(each, "method", "")[:4] == "subs"]
    assert listen[0].params["notifications"] == {"toolsListChanged": True}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_output_schemas_of_the_dead_program_refuse_no_result_of_the_new_one(
    autojump_clock, life, initialized, mode
):
    def lives_with(kind, value):
        listed = {
            "name": "x",
            "inputSchema": {"type": "object"},
            "outputSchema": {"type": "object", "properties": {"degrees": {"type": kind}}},
        }
        return life(
            initialize=initialized(),
            tools__list={**TOOLS, "tools": [listed]},
            tools__call={**DONE, "structuredContent": {"degrees": value}},
        )

    lives = lives_with("number", 3), lives_with("string", "three")
    mortal = Mortal(*lives)
    async with Client(mortal, mode=mode, restart=NO_DELAY) as client:
        await client.list_tools()
        assert (await client.call_tool("x")).structured_content == {"degrees": 3}
        await mortal.die()
        changed = await client.call_tool("x")
        assert changed.structured_content == {"degrees": "three"}
        # The new one has been asked, too.
        assert [each.methods.count("tools/list") for each in lives] == [1, 1]
        await client.session.validate_tool_result("x", changed)
        with pytest.raises(InvalidResponse, match="expected string"):
            await client.session.validate_tool_result(
                "x", changed.evolve(structured_content={"degrees": 3})
            )


@pytest.mark.parametrize("first", [True, False])
async def test_what_the_next_server_announces_is_listed(autojump_clock, life, discovery, first):
    bare = {**discovery, "capabilities": {}}
    tool = {"name": "x", "inputSchema": {"type": "object"}}
    listed = {**TOOLS, "ttlMs": 0, "tools": [tool]}
    lives = [life(tools__list=listed), life(server__discover=bare)]
    mortal = Mortal(*(lives if first else reversed(lives)))
    async with Client(mortal, restart=RestartPolicy(initial_delay=3)) as client:
        assert len((await client.list_tools()).tools) == first
        await mortal.die()
        assert len((await client.list_tools()).tools) == (not first)


async def test_what_fails_at_first_is_not_tried_again(autojump_clock, life):
    mortal = Mortal(ConnectionLost("command not found"))
    with pytest.raises(ConnectionLost, match="command not found"):
        async with Client(mortal, restart=NO_DELAY):
            pass
    refusing = Mortal(life(server__discover=MCPError(-32020, "not you")))
    with pytest.raises(MCPError, match="not you"):
        async with Client(refusing, restart=NO_DELAY):
            pass
    assert len(mortal.opened_at) == len(refusing.opened_at) == 1


async def test_an_unanswered_ping_restarts_once_and_pings_go_on(
    autojump_clock, life, initialized, script
):
    first = life(initialize=initialized(), ping=script.SILENCE)
    second = life(initialize=initialized(), ping={})
    mortal = Mortal(first, second)
    async with Client(mortal, mode="legacy", ping_interval=10, restart=NO_DELAY) as client:
        await trio.sleep(59)
        await client.call_tool("x")
    assert first.methods.count("ping") == 1
    assert second.methods.count("ping") == 3
    assert len(mortal.opened_at) == 2


async def test_closing_while_it_waits_or_negotiates_takes_no_time(autojump_clock, life, script):
    silent = life(server__discover=script.SILENCE)
    for policy in (RestartPolicy(initial_delay=60, max_delay=60), NO_DELAY):
        mortal = Mortal(life(), silent)
        async with Client(mortal, restart=policy):
            await mortal.die()
            began = trio.current_time()
        assert trio.current_time() == pytest.approx(began)


@pytest.mark.parametrize("deaths", [1, 2])
async def test_a_carrier_that_fails_to_clear_away_the_dead_stops_no_restart(
    autojump_clock, life, caplog, deaths
):
    class Littering(Mortal):
        async def __aexit__(self, *exc_info):
            await super().__aexit__(*exc_info)
            if len(self.opened_at) == deaths:
                raise OSError("disk full")

    mortal = Littering(life())
    async with Client(mortal, restart=NO_DELAY) as client:
        for _ in range(3):
            await mortal.die()
            await client.call_tool("x")
    assert len(mortal.opened_at) == 4
    assert caplog.text.count("Closing the connection to a dead server failed") == 1
    assert "could not be started again" not in caplog.text


async def test_a_carrier_that_fails_when_this_side_closes_says_so(autojump_clock, life):
    class Littering(Mortal):
        async def __aexit__(self, *exc_info):
            await super().__aexit__(*exc_info)
            if len(self.opened_at) == 2:
                raise OSError("disk full")

    async def use():
        mortal = Littering(life())
        async with Client(mortal, restart=NO_DELAY) as client:
            await mortal.die()
            await client.call_tool("x")

    with pytest.raises(OSError, match="disk full"):
        await use()


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_it_may_be_cancelled_at_every_step(
    autojump_clock, cancel_at_each_step, life, initialized, mode
):
    async def run():
        mortal = Mortal(life(initialize=initialized()))
        lives.append(mortal)
        async with Client(mortal, mode=mode, restart=RestartPolicy(initial_delay=1)) as client:
            await client.call_tool("x")
            await mortal.die()
            await client.call_tool("x")
        return "done"

    async def check(result):
        await trio.testing.wait_all_tasks_blocked()
        assert trio.lowlevel.current_statistics().tasks_living == before
        assert all(scope.cancel_called for scope in lives.pop().scopes)
        assert not trio.lowlevel.current_task().child_nurseries

    lives = []
    before = trio.lowlevel.current_statistics().tasks_living
    assert await cancel_at_each_step(run, check) > 30


@pytest.mark.parametrize("when", ["waits", "negotiates", "lives again"])
async def test_a_handle_is_closed_by_two_tasks_while_a_restart(autojump_clock, life, script, when):
    second = life(server__discover=script.SILENCE) if when == "negotiates" else life()
    mortal = Mortal(life(), second)
    policy = RestartPolicy(initial_delay=60 if when == "waits" else 0, max_delay=60)
    errors = []

    async def call():
        with pytest.raises(ConnectionLost) as caught:
            await client.call_tool("x")
        errors.append(str(caught.value))

    async with trio.open_nursery() as nursery:
        client = await connect(nursery, mortal, restart=policy)
        await mortal.die()
        if when != "lives again":
            nursery.start_soon(call)
        await trio.testing.wait_all_tasks_blocked()
        began = trio.current_time()
        async with trio.open_nursery() as closers:
            closers.start_soon(client.aclose)
            closers.start_soon(client.aclose)
        assert trio.current_time() == began
        assert client.closed
    assert set(errors) <= {"The connection was closed on this side"}
    assert len(errors) == (when != "lives again")


async def test_a_handle_whose_server_was_given_up_closes_and_says_why(autojump_clock, life):
    mortal = Mortal(life(), ConnectionLost("exited with status 3", exit_status=3))
    async with trio.open_nursery() as nursery:
        client = await connect(nursery, mortal, restart=RestartPolicy(max_restarts=2))
        await mortal.die()
        lost = await client.wait_closed()
        assert (lost.exit_status, "given up after 2 restarts" in lost.message) == (3, True)
    assert not nursery.child_tasks


@pytest.mark.parametrize(
    "server", [open_memory_channel_pair()[0], stdio_client(StdioServerParameters(command="x"))]
)
def test_what_cannot_be_opened_again_is_refused(server):
    with pytest.raises(TypeError, match="can be opened again"):
        Client(server, restart=RestartPolicy())


@pytest.mark.parametrize(
    "wrong",
    [{"max_restarts": 0}, {"initial_delay": -1}, {"backoff": 0.5}, {"max_delay": float("nan")}],
)
def test_policies_that_cannot_be_are_refused(wrong):
    with pytest.raises(
        ValueError, match=f"{next(iter(wrong))}: expected a (whole )?number of at least"
    ):
        RestartPolicy(**wrong)


def test_delays_do_not_overflow():
    policy = RestartPolicy(backoff=1e200, max_delay=20)
    assert policy.delay_before(1) == 0.5
    assert policy.delay_before(50) == 20


async def test_a_server_of_this_process_may_have_a_policy_that_it_never_needs():
    mcp = MCPServer("x")
    mcp.add_tool(lambda: "here", name="where")
    async with Client(mcp, restart=RestartPolicy()) as client:
        assert (await client.call_tool("where")).content[0].text == "here"


SERVER = """
import os
from trio_mcp.mcpserver import MCPServer
mcp = MCPServer("child")

@mcp.tool()
def pid() -> int:
    return os.getpid()

@mcp.tool()
def die(status: int) -> str:
    os._exit(status)

mcp.run("stdio")
"""


@pytest.mark.req("R-092")
async def test_a_real_process_is_restarted():
    parameters = StdioServerParameters(command=sys.executable, args=["-c", SERVER])
    policy = RestartPolicy(initial_delay=0.01, max_restarts=1)
    async with Client(parameters, restart=policy) as client:
        before = (await client.call_tool("pid")).structured_content["result"]
        with pytest.raises(ConnectionLost, match="exited with status 5"):
            await client.call_tool("die", {"status": 5})
        after = (await client.call_tool("pid")).structured_content["result"]
        assert before != after
        with pytest.raises(ConnectionLost, match="exited with status 6"):
            await client.call_tool("die", {"status": 6})
        with pytest.raises(ConnectionLost, match=r"given up after 1 restart;.*status 6"):
            await client.call_tool("pid")
