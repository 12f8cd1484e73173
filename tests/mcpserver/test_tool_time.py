"""The seconds that a call may take: what they count for, and what not."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Annotated, Any

import attrs
import pytest
import trio

from trio_mcp import Context, MCPServer
from trio_mcp.errors import MCPError
from trio_mcp.mcpserver import Elicit, Resolve
from trio_mcp.testing import open_client
from trio_mcp.types import ElicitResult, TextContent

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator

    from trio.testing import MockClock

    from trio_mcp.types import CallToolResult

both_eras = pytest.mark.parametrize("mode", ["2026-07-28", "2025-11-25"])


@attrs.frozen
class Yes:
    ok: bool


async def answer_slowly(context: Any, params: Any) -> ElicitResult:
    await trio.sleep(100)
    return ElicitResult(action="accept", content={"ok": True})


def text_of(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


async def wait_long() -> int:
    await trio.sleep(10)
    return 1


async def enter_slowly() -> AsyncGenerator[int]:
    await trio.sleep(10)
    yield 1


@both_eras
@pytest.mark.parametrize("resolver", [wait_long, enter_slowly])
async def test_resolvers_count(resolver: Any, mode: str, autojump_clock: MockClock) -> None:
    mcp = MCPServer("limited")

    @mcp.tool(timeout=5)
    async def work(number: Annotated[int, Resolve(resolver)]) -> int:
        return number

    async with open_client(mcp, mode=mode) as client:
        start = trio.current_time()
        result = await client.call_tool("work")
        assert trio.current_time() - start == pytest.approx(5, abs=0.5)
    assert result.is_error
    assert text_of(result) == "Error executing tool work: it took longer than 5 seconds"


async def test_resolvers_and_function_have_one_time(autojump_clock: MockClock) -> None:
    mcp = MCPServer("limited")

    @mcp.tool(timeout=15)
    async def work(number: Annotated[int, Resolve(wait_long)]) -> int:
        await trio.sleep(number * 10)
        return number

    async with open_client(mcp) as client:
        assert (await client.call_tool("work")).is_error


@both_eras
async def test_time_stands_still_while_a_person_answers_a_resolver(
    mode: str, autojump_clock: MockClock
) -> None:
    mcp = MCPServer("limited")

    def ask() -> Elicit[Yes]:
        return Elicit("Really?", Yes)

    @mcp.tool(timeout=5)
    async def work(seconds: float, yes: Annotated[Yes, Resolve(ask)]) -> bool:
        await trio.sleep(seconds)
        return yes.ok

    async with open_client(mcp, mode=mode, elicitation_callback=answer_slowly) as client:
        result = await client.call_tool("work", {"seconds": 3})
        assert result.structured_content == {"result": True}
        assert (await client.call_tool("work", {"seconds": 6})).is_error


async def test_time_stands_still_while_a_person_answers_the_function(
    autojump_clock: MockClock,
) -> None:
    mcp = MCPServer("limited")

    @mcp.tool(timeout=5)
    async def work(seconds: float, ctx: Context) -> float:
        await trio.sleep(2)
        before = ctx.deadline
        await ctx.elicit("Really?", Yes)
        assert ctx.deadline == pytest.approx(before + 100, abs=0.5)
        async with trio.open_nursery() as nursery:  # two questions at the same time
            nursery.start_soon(ctx.elicit, "One?", Yes)
            nursery.start_soon(ctx.elicit, "Two?", Yes)
        await trio.sleep(seconds)
        return seconds

    async with open_client(mcp, mode="2025-11-25", elicitation_callback=answer_slowly) as client:
        assert (await client.call_tool("work", {"seconds": 2})).structured_content == {"result": 2}
        late = await client.call_tool("work", {"seconds": 4})
    assert text_of(late) == "Error executing tool work: it took longer than 5 seconds"


async def test_each_of_two_tools_that_share_a_request_has_its_time(
    autojump_clock: MockClock,
) -> None:
    mcp = MCPServer("limited")

    @mcp.tool(timeout=5)
    async def inner(ctx: Context) -> None:
        await ctx.elicit("Really?", Yes)

    @mcp.tool(timeout=5)
    async def outer(ctx: Context) -> str:
        async with trio.open_nursery() as nursery:
            for _ in range(2):
                nursery.start_soon(mcp.call_tool, "inner", {}, ctx)
        await ctx.elicit("Really?", Yes)
        await trio.sleep(4)
        return "done"

    async with open_client(mcp, mode="2025-11-25", elicitation_callback=answer_slowly) as client:
        assert text_of(await client.call_tool("outer")) == "done"


async def test_clean_up_has_a_time_of_its_own(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    cleaned: list[float] = []

    @contextlib.asynccontextmanager
    async def tidy(seconds: float) -> AsyncGenerator[int]:
        yield 1
        await trio.sleep(seconds)
        cleaned.append(seconds)

    mcp = MCPServer("limited")

    @mcp.tool(timeout=2)
    async def work(seconds: float, one: Annotated[int, Resolve(tidy)]) -> int:
        return one

    @mcp.tool(timeout=2)
    async def fail(seconds: float, one: Annotated[int, Resolve(tidy)]) -> int:
        raise KeyError("secret")

    async with open_client(mcp) as client:
        for seconds in (4, 1000):
            start = trio.current_time()
            result = await client.call_tool("work", {"seconds": seconds})
            assert result.structured_content == {"result": 1}
            assert trio.current_time() - start <= 5.5
        assert cleaned == [4]
        assert "The clean-up of tool 'work' took longer than 5 seconds" in caplog.text
        start = trio.current_time()
        failed = await client.call_tool("fail", {"seconds": 1000})
        assert trio.current_time() - start <= 5.5
    assert text_of(failed) == "Error executing tool fail"


async def test_clean_up_runs_when_the_time_is_over(autojump_clock: MockClock) -> None:
    cleaned: list[str] = []

    async def tidy() -> AsyncGenerator[int]:
        try:
            yield 1
        finally:
            cleaned.append("tidy")

    mcp = MCPServer("limited")

    @mcp.tool(timeout=2)
    async def work(one: Annotated[int, Resolve(tidy)]) -> int:
        await trio.sleep_forever()

    async with open_client(mcp) as client:
        result = await client.call_tool("work")
    assert text_of(result) == "Error executing tool work: it took longer than 2 seconds"
    assert cleaned == ["tidy"]


async def test_a_caller_that_goes_is_not_taken_for_a_time_that_is_over(
    autojump_clock: MockClock,
) -> None:
    seen: list[BaseException] = []

    async def watch() -> AsyncGenerator[int]:
        try:
            yield 1
        except BaseException as exc:
            seen.append(exc)
            raise

    mcp = MCPServer("limited")

    @mcp.tool(timeout=20)
    async def work(one: Annotated[int, Resolve(watch)]) -> int:
        await trio.sleep_forever()

    async with open_client(mcp) as client:
        with trio.move_on_after(1) as scope:
            await client.call_tool("work")
        assert scope.cancelled_caught
        await trio.testing.wait_all_tasks_blocked()
    assert [type(each) for each in seen] == [trio.Cancelled]


# A clean-up that swallows


def swallow() -> Generator[int]:
    with contextlib.suppress(Exception):
        yield 1


@contextlib.asynccontextmanager
async def swallow_async() -> AsyncGenerator[int]:
    with contextlib.suppress(Exception):
        yield 1


@both_eras
@pytest.mark.parametrize("resolver", [swallow, swallow_async])
@pytest.mark.parametrize("timeout", [None, 5])
async def test_a_clean_up_cannot_keep_a_failure_to_itself(
    resolver: Any, timeout: float | None, mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    mcp = MCPServer("swallows")

    @mcp.tool(timeout=timeout)
    async def work(one: Annotated[int, Resolve(resolver)]) -> int:
        raise ValueError("the tool failed")

    @mcp.prompt()
    def ask(one: Annotated[int, Resolve(resolver)]) -> str:
        raise ValueError("the prompt failed")

    @mcp.resource("a://{name}")
    def read(name: str, one: Annotated[int, Resolve(resolver)]) -> str:
        raise ValueError("the resource failed")

    async with open_client(mcp, mode=mode) as client:
        result = await client.call_tool("work")
        assert result.is_error
        assert text_of(result) == "Error executing tool work"
        assert f"{resolver.__name__}' swallowed ValueError('the tool failed')" in caplog.text
        with pytest.raises(MCPError, match="Error rendering prompt ask"):
            await client.get_prompt("ask")
        with pytest.raises(MCPError, match="Error reading resource a://b"):
            await client.read_resource("a://b")


async def test_the_thread_of_a_resolver_counts() -> None:
    held = threading.Event()

    def block() -> int:
        held.wait(10)
        return 1

    mcp = MCPServer("limited")

    @mcp.tool(timeout=0.05)
    async def work(one: Annotated[int, Resolve(block)]) -> int:
        return one

    async with open_client(mcp) as client:
        result = await client.call_tool("work")
        held.set()
    assert text_of(result) == "Error executing tool work: it took longer than 0.05 seconds"
