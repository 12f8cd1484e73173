from __future__ import annotations

import contextvars
import functools
import threading
from typing import TYPE_CHECKING, Annotated, Any

import pytest
import trio
import trio.testing

from trio_mcp.errors import (
    MCPError,
    ResourceError,
    ToolError,
    UnexpectedResourceError,
    UnexpectedToolError,
)
from trio_mcp.mcpserver._context import Context
from trio_mcp.mcpserver._media import Image
from trio_mcp.mcpserver._resolve import Resolve
from trio_mcp.mcpserver._tool import Tool
from trio_mcp.types import CallToolResult, InputRequiredResult, TextContent

if TYPE_CHECKING:
    from pathlib import Path

CONTEXT: Context[Any, Any] = Context()
Variable: contextvars.ContextVar[str] = contextvars.ContextVar("Variable")


async def add(a: int, b: int) -> int:
    return a + b


async def test_the_value_or_the_result() -> None:
    tool = Tool.from_function(add)
    assert await tool.run({"a": 1, "b": 2}, CONTEXT) == 3
    assert await tool.run({"a": 1, "b": 2}, CONTEXT, convert_result=True) == CallToolResult(
        content=[TextContent(text="3")], structured_content={"result": 3}
    )


async def test_a_question_to_the_client_is_passed_on() -> None:
    question = InputRequiredResult(request_state="s")

    async def ask() -> InputRequiredResult | int:
        return question

    assert await Tool.from_function(ask).run({}, CONTEXT, convert_result=True) is question


@pytest.mark.req("R-257")
async def test_arguments_that_do_not_fit() -> None:
    tool = Tool.from_function(add)
    with pytest.raises(ToolError) as caught:
        await tool.run({"a": "1", "b": 2}, CONTEXT)
    assert str(caught.value) == ("Error executing tool add: a: expected integer, got string '1'")
    assert not isinstance(caught.value, UnexpectedToolError)
    with pytest.raises(ToolError, match="did you mean 'a'"):
        await tool.run({"aa": 1, "b": 2}, CONTEXT)


@pytest.mark.req("R-253")
async def test_a_result_that_does_not_fit() -> None:
    async def lie() -> int:
        return "three"  # type: ignore[return-value]

    tool = Tool.from_function(lie)
    with pytest.raises(UnexpectedToolError) as caught:
        await tool.run({}, CONTEXT, convert_result=True)
    assert str(caught.value) == (
        "Error executing tool lie: the result does not fit the output schema: "
        "result: expected integer, got string 'three'"
    )
    assert await tool.run({}, CONTEXT) == "three"


@pytest.mark.req("R-256")
@pytest.mark.parametrize(
    ("raised", "kind", "text"),
    [
        (ToolError("too heavy"), ToolError, "Error executing tool fail: too heavy"),
        (ResourceError("no file"), ToolError, "Error executing tool fail: no file"),
        (ValueError("secret"), UnexpectedToolError, "Error executing tool fail"),
        (KeyError("secret"), UnexpectedToolError, "Error executing tool fail"),
        (trio.TooSlowError(), UnexpectedToolError, "Error executing tool fail"),
        (
            UnexpectedToolError("Error executing tool inner"),
            UnexpectedToolError,
            "Error executing tool fail: Error executing tool inner",
        ),
        (
            UnexpectedResourceError("Error reading resource a://b"),
            UnexpectedToolError,
            "Error executing tool fail: Error reading resource a://b",
        ),
        (
            ExceptionGroup("", [ExceptionGroup("", [ToolError("too heavy")])]),
            ToolError,
            "Error executing tool fail: too heavy",
        ),
        (
            ExceptionGroup("secret", [ToolError("secret"), ValueError("secret")]),
            UnexpectedToolError,
            "Error executing tool fail",
        ),
    ],
)
@pytest.mark.parametrize("is_async", [True, False])
async def test_what_a_function_raises(
    is_async: bool,
    raised: Exception,
    kind: type[Exception],
    text: str,
) -> None:
    async def fail_async() -> None:
        raise raised

    def fail() -> None:
        raise raised

    tool = Tool.from_function(fail_async if is_async else fail, name="fail")
    with pytest.raises(ToolError) as caught:
        await tool.run({}, CONTEXT, convert_result=True)
    assert type(caught.value) is kind
    assert str(caught.value) == text
    assert caught.value.__cause__ is raised


async def test_an_error_of_the_protocol_is_passed_on() -> None:
    error = MCPError(-32042, "Not now")

    async def alone() -> None:
        raise error

    async def grouped() -> None:
        async with trio.open_nursery():
            raise error

    for fn in (alone, grouped):
        with pytest.raises(MCPError) as caught:
            await Tool.from_function(fn).run({}, CONTEXT)
        assert caught.value is error


async def test_a_sync_function_runs_in_a_thread_with_context_variables() -> None:
    def look() -> tuple[str, str]:
        return threading.current_thread().name, Variable.get()

    Variable.set("seen")
    thread, variable = await Tool.from_function(look).run({}, CONTEXT)
    assert thread != threading.current_thread().name
    assert variable == "seen"


async def test_a_sync_function_runs_inline_if_asked() -> None:
    def where() -> int:
        return threading.get_ident()

    tool = Tool.from_function(where, run_in_thread=False)
    assert await tool.run({}, CONTEXT) == threading.get_ident()


async def test_a_sync_function_may_hand_on_a_coroutine() -> None:
    @functools.wraps(add)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return add(*args, **kwargs)

    for in_thread in (True, False):
        tool = Tool.from_function(wrapper, run_in_thread=in_thread)
        assert await tool.run({"a": 1, "b": 2}, CONTEXT) == 3


async def test_a_cancelled_thread_is_let_go_and_keeps_its_slot_until_it_returns() -> None:
    limiter = trio.CapacityLimiter(1)
    started, release = threading.Event(), threading.Event()
    ended = trio.Event()
    token = trio.lowlevel.current_trio_token()

    def block() -> None:
        started.set()
        release.wait(5)
        token.run_sync_soon(ended.set)

    tool = Tool.from_function(block)
    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(functools.partial(tool.run, {}, CONTEXT, limiter=limiter))
            await trio.to_thread.run_sync(started.wait, 5)
            scope.cancel()
    assert scope.cancelled_caught
    assert not release.is_set()
    assert limiter.borrowed_tokens == 1
    release.set()
    await ended.wait()
    # The thread reports back before its slot is free.
    with trio.fail_after(5):
        async with limiter:
            assert limiter.borrowed_tokens == 1


async def test_an_async_function_is_cancelled() -> None:
    events: list[str] = []

    async def wait() -> None:
        try:
            await trio.sleep_forever()
        finally:
            events.append("stopped")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(Tool.from_function(wait).run, {}, CONTEXT)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert events == ["stopped"]


async def test_timeout_of_an_async_function(autojump_clock: trio.testing.MockClock) -> None:
    async def wait(seconds: float) -> str:
        await trio.sleep(seconds)
        return "done"

    tool = Tool.from_function(wait, timeout=2.5)
    assert await tool.run({"seconds": 2}, CONTEXT) == "done"
    with pytest.raises(ToolError) as caught:
        await tool.run({"seconds": 3}, CONTEXT)
    assert str(caught.value) == "Error executing tool wait: it took longer than 2.5 seconds"
    assert trio.current_time() == 4.5


async def test_timeout_of_a_thread() -> None:
    release = threading.Event()

    def block() -> None:
        release.wait(5)

    with pytest.raises(ToolError, match=r"it took longer than 0\.01 seconds"):
        await Tool.from_function(block, timeout=0.01).run({}, CONTEXT)
    release.set()


async def test_a_timeout_is_not_mistaken_for_a_cancelled_caller(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def wait() -> None:
        await trio.sleep_forever()

    with trio.move_on_after(1) as scope:
        await Tool.from_function(wait, timeout=5).run({}, CONTEXT)
    assert scope.cancelled_caught


async def test_values_of_resolved_parameters() -> None:
    def find(a: int) -> str:
        return f"yes {a}"

    async def use(a: int, answer: Annotated[str, Resolve(find)], ctx: Context[Any, Any]) -> Any:
        return a, answer, ctx

    tool = Tool.from_function(use)
    assert await tool.run({"a": 1}, CONTEXT) == (1, "yes 1", CONTEXT)


async def test_a_file_is_read_in_a_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(b"x")
    read_in: list[int] = []

    class Watched(Image):
        def read(self) -> bytes:
            read_in.append(threading.get_ident())
            return super().read()

    async def show() -> Image:
        return Watched(path)

    result = await Tool.from_function(show).run({}, CONTEXT, convert_result=True)
    assert result.content[0].data == "eA=="
    assert read_in != [threading.get_ident()]


async def test_a_file_that_is_not_there_is_a_defect_of_the_tool(tmp_path: Path) -> None:
    async def show() -> Image:
        return Image(tmp_path / "missing.png")

    with pytest.raises(UnexpectedToolError) as caught:
        await Tool.from_function(show).run({}, CONTEXT, convert_result=True)
    assert str(caught.value) == "Error executing tool show"


async def test_a_schema_of_the_author_passes_arguments_on_unconverted() -> None:
    async def use(**arguments: Any) -> list[str]:
        return sorted(arguments)

    schema = {"type": "object", "properties": {"b": {"type": "integer"}}}
    tool = Tool.from_function(use, input_schema=schema)
    assert await tool.run({"b": 1, "a": None}, CONTEXT) == ["a", "b"]
    with pytest.raises(ToolError, match="b: expected integer"):
        await tool.run({"b": "x"}, CONTEXT)


async def test_unknown_arguments_can_be_ignored() -> None:
    tool = Tool.from_function(add, ignore_unknown_arguments=True)
    assert await tool.run({"a": 1, "b": 2, "c": 3}, CONTEXT) == 3


async def test_the_function_gets_what_it_can_change() -> None:
    async def grow(items: list[int]) -> list[int]:
        items.append(1)
        return items

    tool = Tool.from_function(grow)
    assert await tool.run({"items": []}, CONTEXT) == [1]
