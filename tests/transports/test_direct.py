"""The road in memory, where a handler runs in the caller's own task."""

from __future__ import annotations

import contextvars
import gc
import weakref
from contextlib import asynccontextmanager

import pytest
import trio
import trio.testing

from trio_mcp.client import Client
from trio_mcp.errors import ConnectionLost, MCPError, RequestTimeout
from trio_mcp.mcpserver import Context, MCPServer
from trio_mcp.server import Server
from trio_mcp.types import CallToolResult, TextContent

BOTH_ERAS = pytest.mark.parametrize("mode", ["auto", "legacy"])


def serve(handler) -> Server:
    return Server("direct", on_call_tool=handler)


async def done(ctx=None, params=None):
    return CallToolResult(content=[TextContent(text="done")])


@BOTH_ERAS
@pytest.mark.case("C020")
async def test_a_cancelled_caller_waits_for_the_handlers_clean_up(autojump_clock, mode):
    told = []

    async def handler(ctx, params):
        try:
            await trio.sleep_forever()
        finally:
            told.append(ctx.exchange.cancel_reason)
            with trio.move_on_after(1, shield=True):
                await trio.sleep(0.5)
            told.append("cleaned up")

    async with Client(serve(handler), mode=mode) as client:
        with trio.move_on_after(2) as scope:
            await client.call_tool("x")
        assert scope.cancelled_caught
        assert told == ["a deadline passed", "cleaned up"]
        assert trio.current_time() == pytest.approx(2.5)


@BOTH_ERAS
@pytest.mark.parametrize("raises", [False, True])
async def test_what_fails_in_a_handler_while_it_is_cancelled_reaches_whoever_wants_it(
    autojump_clock, mode, raises, caplog
):
    async def breaks(ctx, params):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever)
            try:
                await trio.sleep_forever()
            finally:
                raise ValueError("while being cancelled")

    async def call(client) -> None:
        with trio.move_on_after(2) as scope:
            await client.call_tool("x")
        assert scope.cancelled_caught

    async with Client(serve(breaks), mode=mode, raise_exceptions=raises) as client:
        if raises:
            with pytest.raises(ExceptionGroup, match="Exceptions from Trio"):
                await call(client)
        else:
            await call(client)
    assert ("while being cancelled" in caplog.text) is not raises


@BOTH_ERAS
async def test_a_caller_cancelled_beforehand_reaches_no_handler(autojump_clock, mode):
    called = []

    async def handler(ctx, params):
        called.append(1)
        return await done()

    async with Client(serve(handler), mode=mode) as client:
        with trio.CancelScope() as scope:
            scope.cancel()
            await client.call_tool("x")
        assert scope.cancelled_caught
        assert called == []


async def test_every_call_is_a_checkpoint(autojump_clock):
    async with Client(serve(done)) as client:
        with trio.testing.assert_checkpoints():
            await client.call_tool("x")


class Steps(trio.abc.Instrument):
    """Counts how often a task goes on."""

    def __init__(self, task):
        self.count = 0
        self._task = task

    def before_task_step(self, task):
        self.count += task is self._task


@pytest.mark.parametrize("waits", [0, 1, 2])
async def test_a_call_lets_others_run_once_and_no_more_where_its_handler_does(waits):
    async def handler(ctx, params):
        for _ in range(waits):
            await trio.lowlevel.checkpoint()
        return await done()

    async with Client(serve(handler)) as client:
        await client.call_tool("x")  # the first one looks at the list of tools
        steps = Steps(trio.lowlevel.current_task())
        trio.lowlevel.add_instrument(steps)
        try:
            await client.call_tool("x")
        finally:
            trio.lowlevel.remove_instrument(steps)
        assert steps.count == max(1, waits)


async def test_a_timeout_ends_the_handler(autojump_clock):
    ended = []

    async def handler(ctx, params):
        try:
            await trio.sleep_forever()
        finally:
            ended.append(trio.current_time())

    async with Client(serve(handler)) as client:
        with pytest.raises(RequestTimeout, match=r"tools/call: no answer within 0\.3 s"):
            await client.call_tool("x", read_timeout_seconds=0.3)
        assert ended == [pytest.approx(0.3)]


VARIABLE = contextvars.ContextVar("VARIABLE", default="outside")


async def test_a_handler_sees_the_callers_context_and_keeps_its_own(autojump_clock):
    async def handler(ctx, params):
        seen.append(VARIABLE.get())
        VARIABLE.set("inside")
        await trio.sleep(1)
        seen.append(VARIABLE.get())
        return await done()

    seen = []
    async with Client(serve(handler)) as client:
        VARIABLE.set("caller")
        await client.call_tool("x")
        assert seen == ["caller", "inside"]
        assert VARIABLE.get() == "caller"


async def test_neither_side_can_reach_into_the_others_objects(autojump_clock):
    given, returned = {"list": [1]}, {"answer": [1]}

    async def handler(ctx, params):
        params.arguments["list"].append(2)
        return CallToolResult(content=[], structured_content=returned)

    async with Client(serve(handler)) as client:
        result = await client.call_tool("x", given)
        result.structured_content["answer"].append(2)
        assert given == {"list": [1]}
        assert returned == {"answer": [1]}


@pytest.mark.parametrize(
    "argument", [b"bytes", {1, 2}, float("nan"), {1: "x"}, object(), "\ud800"]
)
async def test_arguments_that_are_no_json_are_refused_with_their_path(autojump_clock, argument):
    async with Client(serve(done)) as client:
        with pytest.raises((TypeError, ValueError), match=r"arguments\.deep\[0\]"):
            await client.call_tool("x", {"deep": [argument]})


@BOTH_ERAS
async def test_a_defect_is_not_told_unless_asked_for(autojump_clock, mode, caplog):
    async def handler(ctx, params):
        raise ValueError("secret")

    async with Client(serve(handler), mode=mode) as client:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("x")
        assert caught.value.code == -32603
        assert "secret" not in str(caught.value)
    assert "secret" in caplog.text
    async with Client(serve(handler), raise_exceptions=True, mode=mode) as client:
        with pytest.raises(ValueError, match="secret"):
            await client.call_tool("x")


@BOTH_ERAS
@pytest.mark.case("C016")
async def test_closing_ends_the_calls_of_other_tasks_with_one_clear_error(autojump_clock, mode):
    started, cleaned, outcomes = [], [], []

    async def handler(ctx, params):
        started.append(1)
        try:
            await trio.sleep_forever()
        finally:
            cleaned.append(ctx.exchange.cancel_reason)

    async def call(client):
        try:
            await client.call_tool("x")
        except ConnectionLost as exc:
            outcomes.append(exc)

    async with trio.open_nursery() as nursery:
        async with Client(serve(handler), mode=mode) as client:
            for _ in range(5):
                nursery.start_soon(call, client)
            await trio.testing.wait_all_tasks_blocked()
            assert len(started) == 5
        # The handlers have ended when the block is left.
        assert cleaned == ["the connection was closed"] * 5
    assert len(outcomes) == 5


@pytest.mark.req("R-224", "R-229")
@BOTH_ERAS
async def test_progress_comes_in_order_before_the_call_returns(autojump_clock, mode):
    mcp = MCPServer("direct")

    @mcp.tool()
    async def count(to: int, ctx: Context) -> int:
        for n in range(to):
            await ctx.report_progress(n + 1, to, f"step {n + 1}")
            await ctx.report_progress(n, to, "it does not fall")
        kept.append(ctx)
        return to

    seen, kept = [], []

    async def slow(progress, total, message):
        await trio.sleep(1)
        seen.append((progress, total, message))

    async with Client(mcp, mode=mode) as client:
        await client.call_tool("count", {"to": 3}, progress_callback=slow)
        assert seen == [(1, 3, "step 1"), (2, 3, "step 2"), (3, 3, "step 3")]
        await kept[0].report_progress(4)
        assert len(seen) == 3


@pytest.mark.case("C031")
async def test_callbacks_that_raise_harm_neither_side(autojump_clock, caplog):
    mcp = MCPServer("direct")

    @mcp.tool()
    async def count(ctx: Context) -> str:
        await ctx.report_progress(1)
        await ctx.session.send_log_message("info", "text")
        return "fine"

    async def broken(*args):
        raise ValueError("mine")

    async with Client(mcp, logging_callback=broken, log_level="debug") as client:
        result = await client.call_tool("count", progress_callback=broken)
        assert result.content[0].text == "fine"
    assert caplog.text.count("ValueError: mine") == 2


@pytest.mark.case("C026")
async def test_a_handler_may_ask_its_caller_in_the_older_era(autojump_clock):
    from trio_mcp.types import ElicitResult

    async def handler(ctx, params):
        answer = await ctx.session.elicit_form("sure?", {"type": "object", "properties": {}})
        return CallToolResult(content=[TextContent(text=answer.action)])

    async def answer(context, params):
        assert context.session.protocol_version == "2025-11-25"
        return ElicitResult(action="accept", content={})

    async with Client(serve(handler), mode="legacy", elicitation_callback=answer) as client:
        result = await client.call_tool("x")
        assert result.content[0].text == "accept"


@pytest.mark.req("R-175", "R-086")
async def test_a_modern_handler_cannot_ask(autojump_clock):
    from trio_mcp.errors import NoBackChannelError

    async def handler(ctx, params):
        assert not ctx.session.can_send_request
        with pytest.raises(NoBackChannelError, match="InputRequiredResult"):
            await ctx.session.elicit_form("sure?", {"type": "object", "properties": {}})
        return await done()

    async with Client(serve(handler)) as client:
        await client.call_tool("x")


async def test_who_waits_for_the_end_is_told_of_it(autojump_clock):
    ends = []

    async def wait(session):
        ends.append(str(await session.wait_lost()))

    async with trio.open_nursery() as nursery:
        async with Client(serve(done)) as client:
            session = client.session
            nursery.start_soon(wait, session)
            await trio.testing.wait_all_tasks_blocked()
            assert ends == []
        await trio.testing.wait_all_tasks_blocked()
        await wait(session)
    assert ends == ["The connection was closed on this side"] * 2


@BOTH_ERAS
async def test_what_a_handler_tells_while_its_client_closes_is_lost_without_a_word(
    autojump_clock, mode, caplog
):
    failed = []

    async def tells(ctx, params):
        try:
            # As in a clean-up, where no cancellation comes between it and what it says.
            with trio.CancelScope(shield=True):
                while not ctx.exchange.closed:
                    await ctx.exchange.notify("notifications/com.example/again")
        except MCPError as exc:
            failed.append(exc)
            raise
        await trio.sleep_forever()

    async def call(client) -> None:
        with pytest.raises(MCPError):
            await client.call_tool("x")

    # Which of the two goes on first is up to Trio.
    for _ in range(30):
        async with trio.open_nursery() as nursery, Client(serve(tells), mode=mode) as client:
            nursery.start_soon(call, client)
            await trio.lowlevel.checkpoint()
            await trio.lowlevel.checkpoint()
    assert (failed, caplog.records) == ([], [])


@BOTH_ERAS
@pytest.mark.parametrize("kind", ["low-level", "MCPServer"])
async def test_what_a_closed_client_and_server_held_is_freed_without_the_garbage_collector(
    mode, kind
):
    class Held:
        pass

    @asynccontextmanager
    async def lifespan(server):
        yield Held()

    async def handler(ctx, params):
        kept.append(weakref.ref(ctx.lifespan_context))
        kept.append(weakref.ref(ctx.exchange.connection))
        return CallToolResult(content=[])

    async def use() -> None:
        if kind == "low-level":
            server = Server("direct", lifespan=lifespan, on_call_tool=handler)
            # It has no cycles: once nobody serves it, it is gone with what it refers to.
            kept.append(weakref.ref(server))
        else:
            server = mcp
        client = Client(server, mode=mode)
        async with client:
            await client.call_tool("add", {"a": 1, "b": 2})
            session = client.session
            kept.extend(weakref.ref(each) for each in (session, session._link))

    mcp = MCPServer("direct", lifespan=lifespan)

    @mcp.tool()
    async def add(a: int, b: int, ctx: Context) -> int:
        kept.append(weakref.ref(ctx.request_context.lifespan_context))
        kept.append(weakref.ref(ctx.request_context.exchange))
        return a + b

    kept = []
    gc.collect()
    gc.disable()
    try:
        await use()
        assert len(kept) >= 4
        assert [ref() for ref in kept if ref() is not None] == []
    finally:
        gc.enable()
