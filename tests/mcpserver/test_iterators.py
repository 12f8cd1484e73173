# Hints are data here.
"""What can only be iterated is sent as a list, and read where the function ran."""

from __future__ import annotations

import threading
import typing
from collections import UserList, abc, deque
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Collection,
    Coroutine,
    Generator,
    ItemsView,
    Iterable,
    Iterator,
    KeysView,
    Mapping,
    Reversible,
    Sequence,
    ValuesView,
)
from typing import Annotated, Any, Optional

import attrs
import msgspec
import pytest
import trio

from trio_mcp.client import Client
from trio_mcp.errors import InvalidSignature, MCPError, ToolError, UnexpectedToolError
from trio_mcp.mcpserver import Context, Image, MCPServer, Message, Resolve, UserMessage
from trio_mcp.mcpserver._result_content import ResultError
from trio_mcp.mcpserver._tool import Tool
from trio_mcp.types import PromptReference

CONTEXT: Context[Any, Any] = Context()
INT = {"type": "integer"}


class Rows:
    """Like the cursor of a database: it can be iterated, and nothing else."""

    def __iter__(self) -> Iterator[int]:
        return iter((1, 2))


@attrs.frozen
class Report:
    lines: Iterator[int]


VALUES: dict[str, Any] = {
    "list": lambda: [1, 2],
    "tuple": lambda: (1, 2),
    "generator": lambda: (each for each in (1, 2)),
    "iterator": lambda: iter([1, 2]),
    "map": lambda: map(int, "12"),
    "range": lambda: range(1, 3),
    "keys": {1: "a", 2: "b"}.keys,
    "values": {"a": 1, "b": 2}.values,
    "set": lambda: {1, 2},
    "deque": lambda: deque([1, 2]),
    "user list": lambda: UserList([1, 2]),
    "rows": Rows,
}
HINTS: list[Any] = [
    Iterable[int],
    Iterator[int],
    Generator[int, None, None],
    Collection[int],
    Sequence[int],
    Reversible[int],
    KeysView[int],
    ValuesView[int],
    list[int],
    Annotated[Iterable[int], "Counted."],
    Optional[Iterator[int]],  # noqa: UP045 - as authors write it
    typing.Iterator[int],
]


def tool_of(hint: Any, make: Any) -> Tool:
    def give() -> None:
        return make()

    give.__annotations__["return"] = hint
    return Tool.from_function(give, run_in_thread=False)


async def result_of(tool: Tool) -> Any:
    return await tool.run({}, CONTEXT, convert_result=True)


def texts_of(result: Any) -> list[str]:
    return [block.text for block in result.content]


@pytest.mark.parametrize("hint", HINTS, ids=str)
@pytest.mark.parametrize("kind", VALUES)
async def test_whatever_can_be_iterated_becomes_an_array(hint: Any, kind: str) -> None:
    tool = tool_of(hint, VALUES[kind])
    schema: Any = tool.output_schema
    assert "array" in str(schema["properties"]["result"])
    result = await result_of(tool)
    assert result.structured_content == {"result": [1, 2]}
    assert msgspec.json.decode("[" + ",".join(texts_of(result)) + "]") in ([1, 2], [[1, 2]])


@pytest.mark.parametrize("kind", ["generator", "iterator", "map", "rows"])
async def test_the_text_of_an_iterator_is_that_of_the_list(kind: str) -> None:
    assert texts_of(await result_of(tool_of(Iterable[int], VALUES[kind]))) == ["1", "2"]


async def test_an_iterator_without_a_hint_is_a_list_too() -> None:
    result = await result_of(tool_of(Any, VALUES["generator"]))
    assert (texts_of(result), result.structured_content) == (["1", "2"], None)
    result = await result_of(tool_of(Any, lambda: {"a": iter("xy")}))
    assert msgspec.json.decode(texts_of(result)[0]) == {"a": ["x", "y"]}


async def test_pictures_can_come_one_by_one() -> None:
    pictures = [Image(data=b"x", format="png")] * 2
    tool = tool_of(Iterator[Image], lambda: iter(pictures))
    assert tool.output_schema is None
    result = await result_of(tool)
    assert [block.type for block in result.content] == ["image", "image"]


NESTED: list[tuple[Any, Any, Any, list[Any]]] = [
    (list[Iterator[int]], lambda: [iter([1]), iter([2])], {"result": [[1], [2]]}, [1, 2]),
    (dict[str, Iterable[int]], lambda: {"a": iter([1])}, {"a": [1]}, [{"a": [1]}]),
    (Report, lambda: Report(iter([1, 2])), {"lines": [1, 2]}, [{"lines": [1, 2]}]),
    (
        Iterator[Report],
        lambda: iter([Report(iter([1]))]),
        {"result": [{"lines": [1]}]},
        [{"lines": [1]}],
    ),
    (ItemsView[str, int], {"a": 1}.items, {"result": [["a", 1]]}, [[["a", 1]]]),
]


@pytest.mark.parametrize(("hint", "make", "structured", "texts"), NESTED)
async def test_iterators_in_a_result_are_read_once(
    hint: Any, make: Any, structured: Any, texts: list[Any]
) -> None:
    result = await result_of(tool_of(hint, make))
    assert result.structured_content == structured
    assert [msgspec.json.decode(text) for text in texts_of(result)] == texts


@pytest.mark.parametrize("value", ["text", b"bytes", {"a": 1}, 3, None])
async def test_what_has_another_form_is_no_array(value: Any) -> None:
    with pytest.raises(UnexpectedToolError, match="expected array"):
        await result_of(tool_of(Iterable[Any], lambda: value))


BARE = [abc.Iterable, abc.Iterator, abc.Generator, abc.Sequence, abc.Mapping, abc.Set, deque]


@pytest.mark.parametrize("hint", BARE)
def test_a_bare_container_says_nothing_of_what_is_in_it(hint: Any) -> None:
    assert tool_of(hint, list).output_schema is None


@pytest.mark.parametrize("hint", [typing.Dict, typing.Mapping, Mapping[str, Any]])  # noqa: UP006
async def test_mappings_of_anything_are_objects(hint: Any) -> None:
    assert (await result_of(tool_of(hint, lambda: {"a": 1}))).structured_content == {"a": 1}


@pytest.mark.parametrize(
    "hint",
    [AsyncIterable[int], AsyncIterator[int], AsyncGenerator[int, None], int | AsyncIterator[int]],
)
def test_what_is_never_there_as_a_whole_is_refused(hint: Any) -> None:
    text = r"give: the result with the hint .*Async.*: a result is sent as a whole; return a list"
    with pytest.raises(InvalidSignature, match=text):
        tool_of(hint, list)


@pytest.mark.parametrize("hint", [Awaitable[int], Coroutine[Any, Any, int]])
async def test_a_plain_function_may_hand_on_a_coroutine(hint: Any) -> None:
    async def two() -> int:
        await trio.lowlevel.checkpoint()
        return 2

    tool = tool_of(hint, two)
    assert tool.output_schema is not None
    assert (await result_of(tool)).structured_content == {"result": 2}

    async def give() -> Any: ...

    give.__annotations__["return"] = hint
    with pytest.raises(InvalidSignature, match="returns what its caller has awaited"):
        Tool.from_function(give)


async def test_a_coroutine_without_the_type_of_its_result() -> None:
    assert tool_of(Awaitable, list).output_schema is None


def watched(seen: list[str]) -> Iterator[str]:
    yield "a"
    seen.append(threading.current_thread().name)
    yield "b"


@pytest.mark.parametrize("run_in_thread", [True, False])
@pytest.mark.parametrize("nested", [False, True])
async def test_an_iterator_is_read_where_the_function_ran(
    run_in_thread: bool, nested: bool
) -> None:
    seen: list[str] = []

    def letters() -> Iterator[str]:
        seen.append(threading.current_thread().name)
        yield from watched(seen)

    def nest() -> dict[str, Iterator[str]]:
        return {"letters": letters()}

    tool = Tool.from_function(nest if nested else letters, run_in_thread=run_in_thread)
    result = await tool.run({}, CONTEXT, convert_result=True)
    assert ["a", "b"] in result.structured_content.values()
    first, last = seen
    assert first == last
    assert (first == threading.current_thread().name) is not run_in_thread


async def test_an_async_function_may_return_an_iterator() -> None:
    async def give() -> Iterator[int]:
        return iter([1, 2])

    result = await Tool.from_function(give).run({}, CONTEXT, convert_result=True)
    assert result.structured_content == {"result": [1, 2]}


async def test_unconverted_it_stays_as_it_is() -> None:
    rows = iter([1])
    assert await tool_of(Iterator[int], lambda: rows).run({}, CONTEXT) is rows


async def test_a_timeout_counts_the_reading() -> None:
    stopped = threading.Event()

    def endless(ctx: Context) -> Iterator[int]:
        try:
            while True:
                ctx.check_cancelled()
                yield 1
                threading.Event().wait(0.001)
        finally:
            stopped.set()

    tool = Tool.from_function(endless, timeout=0.05)
    with pytest.raises(ToolError, match="it took longer than"):
        await tool.run({}, CONTEXT, convert_result=True)
    assert await trio.to_thread.run_sync(stopped.wait, 5)


@pytest.mark.parametrize("error", [ValueError("secret"), TypeError("secret"), OSError("secret")])
@pytest.mark.parametrize("hint", [Iterator[int], Any, dict[str, Iterator[int]], list[Any]])
async def test_what_an_iterator_raises_is_the_failure_of_the_tool(
    error: Exception, hint: Any
) -> None:
    def fail() -> Iterator[int]:
        yield 1
        raise error

    def give() -> Any:
        return {"a": fail()} if "dict" in str(hint) else fail()

    with pytest.raises(UnexpectedToolError) as caught:
        await result_of(tool_of(hint, give))
    assert str(caught.value) == "Error executing tool give"
    assert caught.value.__cause__ is error


async def test_what_is_raised_on_purpose_is_told() -> None:
    def fail() -> Iterator[int]:
        yield 1
        raise ToolError("no second one")

    with pytest.raises(ToolError, match="no second one"):
        await Tool.from_function(fail).run({}, CONTEXT, convert_result=True)

    def refuse() -> Iterator[int]:
        yield 1
        raise MCPError(-32001, "refused")

    with pytest.raises(MCPError, match="refused"):
        await Tool.from_function(refuse).run({}, CONTEXT, convert_result=True)


async def test_resolvers_clean_up_after_the_reading() -> None:
    happened: list[str] = []

    def opened() -> Iterator[str]:
        happened.append("open")
        yield "row"
        happened.append("close")

    mcp = MCPServer("a")

    @mcp.tool()
    def rows(source: Annotated[str, Resolve(opened)]) -> Iterator[str]:
        yield source
        happened.append("read")

    async with Client(mcp) as client:
        assert (await client.call_tool("rows")).structured_content == {"result": ["row"]}
    assert happened == ["open", "read", "close"]


async def test_prompts_resources_and_completions_are_read_in_their_thread() -> None:
    seen: list[str] = []
    mcp = MCPServer("a")

    @mcp.prompt()
    def story(name: str) -> Iterator[Message]:
        yield UserMessage(name)
        seen.append(threading.current_thread().name)
        yield UserMessage("the end")

    @mcp.resource("rows://all")
    def rows() -> Iterator[str]:
        return watched(seen)

    @mcp.completion()
    def complete(ref: Any, argument: Any, context: Any) -> Iterator[str]:
        return watched(seen)

    async with Client(mcp) as client:
        messages = (await client.get_prompt("story", {"name": "Emma"})).messages
        assert [each.content.text for each in messages] == ["Emma", "the end"]
        (contents,) = (await client.read_resource("rows://all")).contents
        assert msgspec.json.decode(contents.text) == ["a", "b"]
        reference = PromptReference(name="story")
        found = await client.complete(reference, {"name": "name", "value": ""})
        assert found.completion.values == ["a", "b"]
    assert len(seen) == 3
    assert threading.current_thread().name not in seen


def test_a_result_that_does_not_fit_its_items_is_still_refused() -> None:
    plan = tool_of(Iterator[int], list)._read().results
    with pytest.raises(ResultError, match="expected integer, got string 'x'"):
        plan.convert(iter([1, "x"]))
