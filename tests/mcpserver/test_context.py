"""What a function knows of its request, through `Context`."""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING, Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from trio_mcp.client import Client
from trio_mcp.errors import MCPDeprecationWarning, ResourceNotFoundError
from trio_mcp.mcpserver import Context, MCPServer, ReadResourceContents
from trio_mcp.testing import open_client
from trio_mcp.types import InputRequiredResult, TextContent

if TYPE_CHECKING:
    from collections.abc import Callable

    from trio_mcp.testing import Road

both_eras = pytest.mark.parametrize("mode", ["auto", "legacy"])


def text_of(result: Any) -> str:
    [block] = result.content
    assert isinstance(block, TextContent)
    return block.text


@both_eras
async def test_the_context_tells_of_the_request(mode: str) -> None:
    mcp = MCPServer("teller")
    seen: list[Any] = []

    @mcp.tool()
    async def tell(ctx: Context) -> None:
        seen.append(ctx)
        assert ctx.mcp_server is mcp
        assert ctx.request_id == str(ctx.request_context.request_id)
        assert ctx.request_context.method == "tools/call"
        assert ctx.session is ctx.request_context.session
        assert ctx.headers is None
        assert ctx.client_capabilities is not None
        assert (ctx.input_responses, ctx.request_state) == (None, None)
        assert ctx.cancel_reason is None
        assert ctx.deadline == math.inf
        with trio.move_on_after(5):
            assert ctx.deadline < math.inf
            await trio.lowlevel.checkpoint()

    async with Client(mcp, mode=mode) as client:
        result = await client.call_tool("tell")
        assert not result.is_error, result.content
        assert seen[0].protocol_version == client.protocol_version


@both_eras
async def test_all_kinds_of_functions_get_the_context(mode: str) -> None:
    mcp = MCPServer()

    @mcp.tool()
    def a_tool(ctx: Context) -> str:
        return ctx.request_context.method

    @mcp.resource("a://fixed")
    def fixed(ctx: Context) -> str:
        return ctx.request_context.method

    @mcp.resource("a://by/{name}")
    async def by_name(name: str, context: Context[Any] | None = None) -> str:
        assert context is not None
        return context.request_context.method

    @mcp.prompt()
    def a_prompt(c: Context) -> str:
        return c.request_context.method

    async with Client(mcp, mode=mode) as client:
        assert text_of(await client.call_tool("a_tool")) == "tools/call"
        for uri in ("a://fixed", "a://by/x"):
            [contents] = (await client.read_resource(uri)).contents
            assert getattr(contents, "text", "") == "resources/read"
        [message] = (await client.get_prompt("a_prompt")).messages
        assert message.content == TextContent(text="prompts/get")


def test_outside_of_a_request_there_is_nothing_to_tell() -> None:
    context: Context = Context()
    assert context.protocol_version is None
    assert context.current_request is None
    for name in ("mcp_server", "request_context", "session", "request_id", "headers"):
        with pytest.raises(ValueError, match="belongs to no request"):
            getattr(context, name)


# Progress and logging


@both_eras
async def test_progress_arrives_in_order_before_the_result(mode: str) -> None:
    mcp = MCPServer()
    got: list[tuple[float, float | None, str | None]] = []

    @mcp.tool()
    async def count(ctx: Context) -> str:
        for step in (1, 2, 2, 3):
            await ctx.report_progress(step, 3, f"step {step}")
        return "done"

    async def progress(value: float, total: float | None, message: str | None) -> None:
        got.append((value, total, message))

    async with Client(mcp, mode=mode) as client:
        await client.call_tool("count", progress_callback=progress)
        assert got == [(1, 3, "step 1"), (2, 3, "step 2"), (3, 3, "step 3")]
        assert text_of(await client.call_tool("count")) == "done"
    assert len(got) == 3


@pytest.mark.parametrize("level", ["debug", "info", "warning", "error"])
async def test_log_messages_are_sent_and_warn_of_their_deprecation(level: str) -> None:
    mcp = MCPServer()
    got: list[tuple[str, Any, str | None]] = []

    @mcp.tool()
    async def speak(ctx: Context) -> str:
        with pytest.warns(MCPDeprecationWarning, match="SEP-2577") as warned:
            await getattr(ctx, level)({"n": 1}, logger_name="speaker")
        with pytest.warns(MCPDeprecationWarning, match="SEP-2577") as warned_of_log:
            await ctx.log("alert", "help")
        assert {record.filename for record in (*warned, *warned_of_log)} == {__file__}
        return "done"

    async def log(params: Any) -> None:
        got.append((params.level, params.data, params.logger))

    async with Client(mcp, mode="legacy", logging_callback=log) as client:
        with pytest.warns(MCPDeprecationWarning):
            await client.set_logging_level("debug")
        assert text_of(await client.call_tool("speak")) == "done"
        await wait_all_tasks_blocked()
    assert got == [(level, {"n": 1}, "speaker"), ("alert", "help", None)]


# Cancellation


async def test_the_reason_of_a_cancel_is_known_to_the_clean_up() -> None:
    mcp = MCPServer()
    reasons: list[str | None] = []
    started = trio.Event()

    @mcp.tool()
    async def sleep(ctx: Context) -> None:
        started.set()
        try:
            await trio.sleep_forever()
        finally:
            reasons.append(ctx.cancel_reason)

    async with Client(mcp, mode="legacy") as client, trio.open_nursery() as nursery:
        nursery.start_soon(client.call_tool, "sleep")
        await started.wait()
        nursery.cancel_scope.cancel()
    assert len(reasons) == 1


def with_reason(scope: trio.CancelScope) -> None:
    scope.cancel(reason="the user pressed stop")


def without_reason(scope: trio.CancelScope) -> None:
    scope.cancel()


def by_deadline(scope: trio.CancelScope) -> None:
    scope.deadline = trio.current_time()


every_road = pytest.mark.parametrize("road", ["direct", "memory", "text"])
every_cancel = pytest.mark.parametrize(
    ("cancel", "reason"),
    [
        (with_reason, "the user pressed stop"),
        (without_reason, "cancelled"),
        (by_deadline, "a deadline passed"),
    ],
)


@every_road
@every_cancel
async def test_a_function_learns_the_callers_reason(
    road: Road, cancel: Callable[[trio.CancelScope], None], reason: str
) -> None:
    mcp = MCPServer()
    reasons: list[str | None] = []
    started, ended = trio.Event(), trio.Event()

    @mcp.tool()
    async def sleep(ctx: Context) -> None:
        reasons.append(ctx.cancel_reason)
        started.set()
        try:
            await trio.sleep_forever()
        finally:
            reasons.append(ctx.cancel_reason)
            with trio.CancelScope(shield=True):
                await trio.lowlevel.checkpoint()
                reasons.append(ctx.cancel_reason)
            ended.set()

    async with open_client(mcp, road) as client, trio.open_nursery() as nursery:
        nursery.start_soon(client.call_tool, "sleep")
        await started.wait()
        cancel(nursery.cancel_scope)
        with trio.CancelScope(shield=True):
            await ended.wait()
    assert reasons == [None, reason, reason]


@every_road
@every_cancel
async def test_a_plain_function_learns_the_callers_reason(
    road: Road, cancel: Callable[[trio.CancelScope], None], reason: str
) -> None:
    mcp = MCPServer()
    reasons: list[str | None] = []
    started, go, ended = threading.Event(), threading.Event(), threading.Event()

    @mcp.tool()
    def block(ctx: Context) -> None:
        reasons.append(ctx.cancel_reason)
        started.set()
        go.wait(5)
        try:
            ctx.check_cancelled()
        finally:
            reasons.append(ctx.cancel_reason)
            ended.set()

    async with open_client(mcp, road) as client:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(client.call_tool, "block")
            await trio.to_thread.run_sync(started.wait, 5)
            cancel(nursery.cancel_scope)
        await wait_all_tasks_blocked()
        go.set()
        assert await trio.to_thread.run_sync(ended.wait, 5)
    assert reasons == [None, reason]


@every_road
async def test_a_scope_of_the_functions_own_cancels_no_request(road: Road) -> None:
    mcp = MCPServer()

    @mcp.tool()
    async def impatient(ctx: Context) -> None:
        with trio.CancelScope() as scope:
            scope.cancel(reason="it takes too long")
            try:
                await trio.sleep_forever()
            finally:
                assert ctx.cancel_reason is None
        assert ctx.cancel_reason is None

    async with open_client(mcp, road) as client:
        assert not (await client.call_tool("impatient")).is_error


async def test_a_plain_function_can_ask_the_context_for_all_but_the_deadline() -> None:
    mcp = MCPServer()
    names = {name for name, member in vars(Context).items() if isinstance(member, property)}

    @mcp.tool()
    def ask(ctx: Context) -> None:
        for name in names - {"deadline"}:
            getattr(ctx, name)
        with pytest.raises(RuntimeError, match="deadline is for async functions"):
            ctx.deadline  # noqa: B018

    async with Client(mcp) as client:
        result = await client.call_tool("ask")
        assert not result.is_error, result.content


async def test_check_cancelled_is_for_threads() -> None:
    mcp = MCPServer()

    @mcp.tool()
    def in_thread(ctx: Context) -> str:
        ctx.check_cancelled()
        return "not cancelled"

    @mcp.tool()
    async def in_task(ctx: Context) -> str:
        with pytest.raises(RuntimeError, match="checkpoint_if_cancelled"):
            ctx.check_cancelled()
        return "told"

    async with Client(mcp) as client:
        assert text_of(await client.call_tool("in_thread")) == "not cancelled"
        assert text_of(await client.call_tool("in_task")) == "told"


# Other parts of the server


async def test_a_tool_reads_resources_of_its_server() -> None:
    mcp = MCPServer()

    @mcp.resource("notes://{name}")
    def note(name: str, ctx: Context) -> str:
        return f"{name} by {ctx.request_context.method}"

    @mcp.resource("asks://{name}")
    def asks(name: str) -> InputRequiredResult:
        return InputRequiredResult(request_state="s")

    @mcp.tool()
    async def read(ctx: Context) -> str:
        with pytest.raises(ResourceNotFoundError, match="Unknown resource: none://x"):
            await ctx.read_resource("none://x")
        with pytest.raises(RuntimeError, match="asks for input"):
            await ctx.read_resource("asks://x")
        [contents] = await ctx.read_resource("notes://a")
        assert contents == ReadResourceContents("a by tools/call", "text/plain")
        return str(contents.content)

    async with Client(mcp) as client:
        assert text_of(await client.call_tool("read")) == "a by tools/call"
