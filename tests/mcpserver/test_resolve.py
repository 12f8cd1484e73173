"""Resolvers: what fills in parameters, and asks whoever calls."""

from __future__ import annotations

import functools
import threading
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import attrs
import pytest
import trio
import trio.testing

from trio_mcp import (
    AcceptedElicitation,
    CancelledElicitation,
    Context,
    DeclinedElicitation,
    Elicit,
    ElicitationResult,
    ListRoots,
    MCPError,
    MCPServer,
    Resolve,
    Sample,
    ToolError,
)
from trio_mcp.client import Client
from trio_mcp.types import (
    CreateMessageResult,
    CreateMessageResultWithTools,
    ElicitResult,
    InputRequiredResult,
    ListRootsResult,
    Root,
    SamplingCapability,
    SamplingMessage,
    SamplingToolsCapability,
    TextContent,
    TextResourceContents,
    Tool,
    ToolUseContent,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

BOTH_ERAS = pytest.mark.parametrize("mode", ["auto", "legacy"])


@attrs.frozen
class Name:
    name: str


@attrs.frozen
class Age:
    age: int


async def fill_in(context: Any, params: Any) -> ElicitResult:
    """Answer each form by its first field."""
    [field] = params.requested_schema["properties"]
    return ElicitResult(
        action="accept", content={"name": "Ann"} if field == "name" else {"age": 7}
    )


async def decline(context: Any, params: Any) -> ElicitResult:
    return ElicitResult(action="decline")


def text_of(result: Any) -> str:
    [block] = result.content
    assert isinstance(block, TextContent)
    return block.text


def ask_name() -> Elicit[Name]:
    return Elicit("Who?", Name)


async def ask_age() -> Elicit[Age]:
    return Elicit("How old?", Age)


@BOTH_ERAS
async def test_values_without_questions(mode: str) -> None:
    mcp = MCPServer("a")

    def upper(word: str) -> str:
        return word.upper()

    async def both(word: str, shout: Annotated[str, Resolve(upper)], ctx: Context) -> str:
        return f"{word} {shout} {ctx.request_context.method}"

    def pow_(base: int, exponent: int) -> int:
        return int(base**exponent)

    class Counter:
        def __call__(self, times: int) -> int:
            return times + 1

    @mcp.tool()
    def say(
        word: str,
        told: Annotated[str, Resolve(both)],
        count: Annotated[int, Resolve(Counter())],
        fixed: Annotated[int, Resolve(functools.partial(pow_, 2, exponent=2))],
        times: int = 2,
    ) -> str:
        return f"{told} {count} {fixed}"

    async with Client(mcp, mode=mode) as client:
        [tool] = (await client.list_tools()).tools
        assert list(tool.input_schema["properties"]) == ["word", "times"]
        assert text_of(await client.call_tool("say", {"word": "x"})) == "x X tools/call 3 4"
        assert text_of(await client.call_tool("say", {"word": "x", "times": 5})).endswith("6 4")


@BOTH_ERAS
async def test_a_client_cannot_set_what_is_resolved(mode: str) -> None:
    mcp = MCPServer("a")

    def who() -> str:
        return "server"

    @mcp.tool()
    def say(user: Annotated[str, Resolve(who)]) -> str:
        return user

    async with Client(mcp, mode=mode) as client:
        result = await client.call_tool("say", {"user": "client"})
        assert result.is_error
        assert "unknown argument 'user'" in text_of(result)
        assert text_of(await client.call_tool("say")) == "server"


@pytest.mark.req("R-176", "R-086", "R-112")
@BOTH_ERAS
async def test_tools_prompts_and_resources_ask(mode: str) -> None:
    mcp = MCPServer("a")

    @mcp.tool()
    def tool(x: int, who: Annotated[Name, Resolve(ask_name)]) -> str:
        return f"{who.name} {x}"

    @mcp.prompt()
    def prompt(x: str, who: Annotated[Name, Resolve(ask_name)]) -> str:
        return f"{who.name} {x}"

    @mcp.resource("a://{x}")
    def template(x: int, who: Annotated[Name, Resolve(ask_name)]) -> str:
        return f"{who.name} {x}"

    @mcp.resource("b://fixed")
    def fixed(who: Annotated[Name, Resolve(ask_name)]) -> str:
        return who.name

    async with Client(mcp, mode=mode, elicitation_callback=fill_in) as client:
        assert text_of(await client.call_tool("tool", {"x": 1})) == "Ann 1"
        [argument] = (await client.list_prompts()).prompts[0].arguments or []
        assert argument.name == "x"
        [message] = (await client.get_prompt("prompt", {"x": "1"})).messages
        assert message.content == TextContent(text="Ann 1")
        for uri, text in (("a://1", "Ann 1"), ("b://fixed", "Ann")):
            [contents] = (await client.read_resource(uri)).contents
            assert isinstance(contents, TextResourceContents)
            assert contents.text == text
    async with Client(mcp, mode=mode, elicitation_callback=decline) as client:
        assert "elicitation was decline" in text_of(await client.call_tool("tool", {"x": 1}))
        for ask in (client.get_prompt("prompt", {"x": "1"}), client.read_resource("a://1")):
            with pytest.raises(MCPError, match="elicitation was decline"):
                await ask


@BOTH_ERAS
async def test_the_outcome_as_a_whole(mode: str) -> None:
    mcp = MCPServer("a")
    seen: list[Any] = []

    @mcp.tool()
    def tool(
        whole: Annotated[ElicitationResult[Name], Resolve(ask_name)],
        arms: Annotated[AcceptedElicitation[Name] | DeclinedElicitation, Resolve(ask_name)],
    ) -> None:
        assert whole == arms
        seen.append(whole)

    for action in ("accept", "decline", "cancel"):

        async def answer(context: Any, params: Any, action: Any = action) -> ElicitResult:
            content: Any = {"name": "Ann"} if action == "accept" else None
            return ElicitResult(action=action, content=content)

        async with Client(mcp, mode=mode, elicitation_callback=answer) as client:
            assert not (await client.call_tool("tool")).is_error
    assert seen == [
        AcceptedElicitation(data=Name("Ann")),
        DeclinedElicitation(),
        CancelledElicitation(),
    ]


@BOTH_ERAS
async def test_the_model_and_the_roots_are_asked(mode: str) -> None:
    mcp = MCPServer("a")
    hello = [SamplingMessage(role="user", content=TextContent(text="Hello"))]

    def ask_model() -> Sample:
        return Sample(hello, max_tokens=5, system_prompt="Be brief")

    def ask_with_tools() -> Sample:
        return Sample(hello, max_tokens=5, tools=[Tool(name="t", input_schema={"type": "object"})])

    @mcp.tool()
    def tool(
        said: Annotated[CreateMessageResult, Resolve(ask_model)],
        used: Annotated[CreateMessageResultWithTools, Resolve(ask_with_tools)],
        roots: Annotated[ListRootsResult, Resolve(ListRoots)],
    ) -> str:
        assert isinstance(said.content, TextContent)
        return f"{said.content.text} {len(used.content_as_list)} {roots.roots[0].uri}"

    async def say(context: Any, params: Any) -> Any:
        if params.tools:
            use = ToolUseContent(name="t", id="1", input={})
            return CreateMessageResultWithTools(role="assistant", content=[use, use], model="m")
        assert (params.max_tokens, params.system_prompt) == (5, "Be brief")
        return CreateMessageResult(role="assistant", content=TextContent(text="Hi"), model="m")

    async def roots(context: Any) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri="file:///a")])

    options: dict[str, Any] = {
        "mode": mode,
        "sampling_callback": say,
        "sampling_capabilities": SamplingCapability(tools=SamplingToolsCapability()),
    }
    async with Client(mcp, list_roots_callback=roots, **options) as client:
        assert text_of(await client.call_tool("tool")) == "Hi 2 file:///a"
    async with Client(mcp, **options) as client:
        with pytest.raises(MCPError, match="Client did not declare the roots cap") as caught:
            await client.call_tool("tool")
        assert caught.value.code == -32021
        assert caught.value.data == {"requiredCapabilities": {"roots": {}}}


# Rounds


def chain() -> tuple[MCPServer, list[str]]:
    """A server whose second question depends on the first answer."""
    mcp = MCPServer("a")
    ran: list[str] = []

    def ask_first() -> Elicit[Name]:
        ran.append("first")
        return Elicit("Who?", Name)

    def ask_second(who: Annotated[Name, Resolve(ask_first)]) -> Elicit[Age]:
        ran.append("second")
        return Elicit(f"How old is {who.name}?", Age)

    @mcp.tool()
    def tool(
        who: Annotated[Name, Resolve(ask_first)], age: Annotated[Age, Resolve(ask_second)]
    ) -> str:
        return f"{who.name} {age.age}"

    return mcp, ran


@BOTH_ERAS
async def test_one_question_after_another(mode: str) -> None:
    mcp, ran = chain()
    async with Client(mcp, mode=mode, elicitation_callback=fill_in) as client:
        assert text_of(await client.call_tool("tool")) == "Ann 7"
    # Each once a round, though two need the first.
    assert (
        ran
        == {
            "auto": ["first", "first", "second", "first", "second"],
            "legacy": ["first", "second"],
        }[mode]
    )


async def step(client: Client, previous: Any = None, /, **answers: Any) -> Any:
    return await client.session.call_tool(
        "tool",
        {},
        input_responses={key.replace("__", ":"): value for key, value in answers.items()} or None,
        request_state=None if previous is None else previous.request_state,
        allow_input_required=True,
    )


def yes(**content: Any) -> ElicitResult:
    return ElicitResult(action="accept", content=content)


@pytest.mark.req("R-179")
async def test_questions_of_functions_with_one_name_have_keys_of_their_own() -> None:
    def asking(message: str) -> Any:
        def ask() -> Elicit[Age]:
            return Elicit(message, Age)

        return ask

    mcp = MCPServer("a")

    @mcp.tool()
    def tool(
        one: Annotated[Age, Resolve(asking("1"))],
        two: Annotated[Age, Resolve(asking("2"))],
        three: Annotated[Age, Resolve(lambda: Elicit("3", Age))],
        four: Annotated[Age, Resolve(lambda: Elicit("4", Age))],
    ) -> str:
        return f"{one.age} {two.age} {three.age} {four.age}"

    async def answer(context: Any, params: Any) -> ElicitResult:
        return yes(age=int(params.message))

    async with Client(mcp, elicitation_callback=answer) as client:
        asked = (await step(client)).input_requests
        assert [each.params.message for each in asked.values()] == ["1", "2", "3", "4"]
        assert text_of(await client.call_tool("tool", {})) == "1 2 3 4"


@pytest.mark.req("R-197", "R-196", "R-179")
async def test_what_is_missing_is_asked_again_and_more_is_ignored() -> None:
    mcp = MCPServer("a")

    @mcp.tool()
    def tool(
        who: Annotated[Name, Resolve(ask_name)], age: Annotated[Age, Resolve(ask_age)]
    ) -> str:
        return f"{who.name} {age.age}"

    async with Client(mcp, elicitation_callback=fill_in) as client:
        first = await step(client)
        name_key, age_key = first.input_requests
        assert name_key.endswith(":ask_name")
        assert age_key.endswith(":ask_age")

        async def answer(previous: Any, answers: dict[str, Any]) -> Any:
            return await client.session.call_tool(
                "tool",
                {},
                input_responses=answers,
                request_state=previous.request_state,
                allow_input_required=True,
            )

        nothing = await answer(first, {"else": yes(x=1)})
        assert list(nothing.input_requests) == [name_key, age_key]
        second = await answer(first, {name_key: yes(name="Bob"), "else": yes(x=1)})
        assert list(second.input_requests) == [age_key]
        assert text_of(await answer(second, {age_key: yes(age=3)})) == "Bob 3"
        # An answer that the state holds is not replaced by a later one.
        both = await answer(second, {age_key: yes(age=3), name_key: yes(name="Eve")})
        assert text_of(both) == "Bob 3"


@pytest.mark.req("R-181", "R-194")
async def test_an_answer_that_was_not_asked_for_does_not_count() -> None:
    mcp, _ = chain()
    async with Client(mcp, elicitation_callback=fill_in) as client:
        first = await step(client)
        [key] = first.input_requests
        unasked = await client.session.call_tool(
            "tool", {}, input_responses={key: yes(name="Eve")}, allow_input_required=True
        )
        assert isinstance(unasked, InputRequiredResult)
        assert list(unasked.input_requests or {}) == [key]
        # An answer of another kind than the question.
        with pytest.raises(MCPError, match="an answer to an elicitation was expected") as caught:
            await client.session.call_tool(
                "tool",
                {},
                input_responses={key: ListRootsResult(roots=[])},
                request_state=first.request_state,
            )
        assert caught.value.code == -32602


async def test_a_question_in_other_words_is_asked_anew() -> None:
    mcp = MCPServer("a")
    words = ["Who?"]

    def ask() -> Elicit[Name]:
        return Elicit(words[0], Name)

    @mcp.tool()
    def tool(who: Annotated[Name, Resolve(ask)], age: Annotated[Age, Resolve(ask_age)]) -> str:
        return f"{who.name} {age.age}"

    async with Client(mcp, elicitation_callback=fill_in) as client:
        first = await step(client)
        key, age_key = first.input_requests

        async def answer(previous: Any, answers: dict[str, Any]) -> Any:
            return await client.session.call_tool(
                "tool",
                {},
                input_responses=answers,
                request_state=previous.request_state,
                allow_input_required=True,
            )

        words[0] = "Who are you?"
        second = await answer(first, {key: yes(name="Bob"), age_key: yes(age=3)})
        assert list(second.input_requests) == [key]
        third = await answer(second, {key: yes(name="Bob")})
        assert text_of(third) == "Bob 3"


@pytest.mark.req("R-193")
async def test_rounds_of_parallel_calls_do_not_mix() -> None:
    mcp = MCPServer("a")

    def ask(number: int) -> Elicit[Age]:
        return Elicit(f"{number}", Age)

    @mcp.tool()
    async def tool(number: int, answer: Annotated[Age, Resolve(ask)]) -> str:
        return f"{number} {answer.age}"

    async def double(context: Any, params: Any) -> ElicitResult:
        await trio.testing.wait_all_tasks_blocked()
        return yes(age=2 * int(params.message))

    results: dict[int, str] = {}
    async with Client(mcp, elicitation_callback=double) as client:

        async def call(number: int) -> None:
            results[number] = text_of(await client.call_tool("tool", {"number": number}))

        async with trio.open_nursery() as nursery:
            for number in range(8):
                nursery.start_soon(call, number)
    assert results == {number: f"{number} {2 * number}" for number in range(8)}


async def test_a_function_with_resolvers_does_not_ask_by_hand(
    caplog: pytest.LogCaptureFixture,
) -> None:
    mcp = MCPServer("a")

    @mcp.tool()
    def tool(x: Annotated[int, Resolve(lambda: 1)]) -> InputRequiredResult:
        return InputRequiredResult(request_state="mine")

    async with Client(mcp) as client:
        assert text_of(await client.call_tool("tool")) == "Error executing tool tool"
    assert "ask in a resolver" in caplog.text


async def test_the_server_in_this_process_needs_no_request() -> None:
    mcp = MCPServer("a")

    @mcp.tool()
    def tool(x: int, y: Annotated[int, Resolve(lambda x: x + 1)]) -> int:
        return x + y

    result = await mcp.call_tool("tool", {"x": 1})
    assert not isinstance(result, InputRequiredResult)
    assert text_of(result) == "3"


# At the same time


@BOTH_ERAS
async def test_resolvers_that_do_not_need_each_other_run_together(mode: str) -> None:
    mcp = MCPServer("a")
    arrived: list[str] = []
    both = trio.Event()

    async def meet(name: str) -> str:
        arrived.append(name)
        if len(arrived) == 2:
            both.set()
        await both.wait()
        return name

    async def left() -> str:
        return await meet("left")

    async def right() -> str:
        return await meet("right")

    async def after(x: Annotated[str, Resolve(left)]) -> str:
        return f"after {x}"

    @mcp.tool()
    def tool(
        a: Annotated[str, Resolve(left)],
        b: Annotated[str, Resolve(right)],
        c: Annotated[str, Resolve(after)],
    ) -> str:
        return f"{a}, {b}, {c}"

    async with Client(mcp, mode=mode) as client:
        assert text_of(await client.call_tool("tool")) == "left, right, after left"
    assert sorted(arrived) == ["left", "right"]


async def test_the_first_failure_stops_the_others() -> None:
    mcp = MCPServer("a")
    stopped: list[bool] = []

    async def wait() -> str:
        try:
            await trio.sleep_forever()
        finally:
            stopped.append(True)
        raise AssertionError

    async def fail() -> str:
        raise ToolError("no luck")

    @mcp.tool()
    def tool(a: Annotated[str, Resolve(wait)], b: Annotated[str, Resolve(fail)]) -> str:
        raise AssertionError

    async with Client(mcp) as client:
        assert text_of(await client.call_tool("tool")) == "Error executing tool tool: no luck"
    assert stopped == [True]


@BOTH_ERAS
@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("in_threads", [False, True])
async def test_of_several_questions_that_a_client_cannot_answer_the_first_parameters_is_told(
    mock_clock: Any, mode: str, swapped: bool, in_threads: bool
) -> None:
    mcp = MCPServer("a")
    turn = threading.Event()

    def first() -> ListRoots | Elicit[Name]:
        turn.wait()
        return Elicit("Who?", Name) if swapped else ListRoots()

    def second() -> ListRoots | Elicit[Name]:
        turn.set()
        return ListRoots() if swapped else Elicit("Who?", Name)

    async def first_of_tasks() -> ListRoots | Elicit[Name]:
        return first()

    async def second_of_tasks() -> ListRoots | Elicit[Name]:
        return second()

    if not in_threads:
        turn.set()

    @mcp.tool()
    def tool(
        a: Annotated[Any, Resolve(first if in_threads else first_of_tasks)],
        b: Annotated[Any, Resolve(second if in_threads else second_of_tasks)],
    ) -> str:
        raise AssertionError

    async with Client(mcp, mode=mode) as client:
        for _ in range(10):
            with pytest.raises(MCPError, match="form elicitation" if swapped else "roots"):
                await client.call_tool("tool")
            if in_threads:
                turn.clear()


async def test_of_resolvers_that_fail_together_the_first_parameters_is_told(
    mock_clock: Any,
) -> None:
    mcp = MCPServer("a")

    async def fail(message: str) -> str:
        raise ToolError(message)

    @mcp.tool()
    def tool(
        a: Annotated[str, Resolve(functools.partial(fail, "a"))],
        b: Annotated[str, Resolve(functools.partial(fail, "b"))],
        c: Annotated[str, Resolve(functools.partial(fail, "c"))],
    ) -> str:
        raise AssertionError

    async with Client(mcp) as client:
        for _ in range(10):
            assert text_of(await client.call_tool("tool")) == "Error executing tool tool: a"


# Clean-up


def watched(happened: list[str]) -> dict[str, Any]:
    """A resolver that cleans up, in each way of writing one."""

    async def async_generator() -> AsyncIterator[str]:
        happened.append("enter")
        try:
            async with trio.open_nursery() as nursery:  # as it may in a context manager
                nursery.start_soon(trio.sleep_forever)
                yield "value"  # noqa: ASYNC101, ASYNC119 - used as one
                nursery.cancel_scope.cancel()
        finally:
            happened.append("exit")

    def generator() -> Iterator[str]:
        happened.append("enter")
        try:
            yield "value"
        finally:
            happened.append("exit")

    return {
        "async generator": async_generator,
        "generator": generator,
        "async context manager": asynccontextmanager(async_generator),
        "context manager": contextmanager(generator),
    }


WAYS = pytest.mark.parametrize("way", list(watched([])))


@WAYS
@BOTH_ERAS
async def test_what_a_resolver_opens_it_closes(way: str, mode: str) -> None:
    happened: list[str] = []
    mcp = MCPServer("a")

    @mcp.tool()
    async def tool(x: Annotated[str, Resolve(watched(happened)[way])], ok: bool = True) -> str:
        happened.append("tool")
        if not ok:
            raise ToolError("no luck")
        return x

    async with Client(mcp, mode=mode) as client:
        assert text_of(await client.call_tool("tool")) == "value"
        assert happened == ["enter", "tool", "exit"]
        happened.clear()
        assert "no luck" in text_of(await client.call_tool("tool", {"ok": False}))
        assert happened == ["enter", "tool", "exit"]


@WAYS
async def test_it_closes_when_the_call_is_cancelled(way: str) -> None:
    happened: list[str] = []
    mcp = MCPServer("a")

    @mcp.tool()
    async def tool(x: Annotated[str, Resolve(watched(happened)[way])]) -> str:
        scope.cancel()
        await trio.sleep_forever()
        return x

    async with Client(mcp) as client:
        with trio.CancelScope() as scope:
            await client.call_tool("tool")
        assert scope.cancelled_caught
        assert happened == ["enter", "exit"]


async def test_in_reverse_order_after_those_that_need_it() -> None:
    happened: list[str] = []
    mcp = MCPServer("a")

    async def outer() -> AsyncIterator[str]:
        happened.append("open outer")
        yield "outer"
        happened.append("close outer")

    def plain(x: Annotated[str, Resolve(outer)]) -> str:
        return f"{x} plain"

    async def inner(x: Annotated[str, Resolve(plain)]) -> AsyncIterator[str]:
        happened.append("open inner")
        yield f"{x} inner"
        happened.append("close inner")

    @mcp.tool()
    def tool(x: Annotated[str, Resolve(inner)]) -> str:
        return x

    async with Client(mcp) as client:
        assert text_of(await client.call_tool("tool")) == "outer plain inner"
    assert happened == ["open outer", "open inner", "close inner", "close outer"]


@BOTH_ERAS
async def test_a_round_that_only_asks_closes_what_it_opened(mode: str) -> None:
    happened: list[str] = []
    mcp = MCPServer("a")
    opener = watched(happened)["generator"]

    async def needs_both(
        x: Annotated[str, Resolve(opener)], who: Annotated[Name, Resolve(ask_name)]
    ) -> AsyncIterator[str]:
        happened.append("both")
        yield f"{x} {who.name}"

    async def asks() -> AsyncIterator[Elicit[Age]]:
        yield Elicit("How old?", Age)

    @mcp.tool()
    def tool(x: Annotated[str, Resolve(needs_both)], age: Annotated[Age, Resolve(asks)]) -> str:
        return f"{x} {age.age}"

    async with Client(mcp, mode=mode, elicitation_callback=fill_in) as client:
        assert text_of(await client.call_tool("tool")) == "value Ann 7"
    rounds = {"auto": ["enter", "exit"], "legacy": []}[mode]
    assert happened == [*rounds, "enter", "both", "exit"]


@pytest.mark.parametrize("way", ["generator", "async generator"])
async def test_clean_up_that_fails_fails_the_call(
    way: str, caplog: pytest.LogCaptureFixture
) -> None:
    def generator() -> Iterator[int]:
        yield 1
        raise RuntimeError("cannot close")

    async def async_generator() -> AsyncIterator[int]:
        yield 1
        raise RuntimeError("cannot close")

    mcp = MCPServer("a")
    resolver: Any = generator if way == "generator" else async_generator

    @mcp.tool()
    def tool(x: Annotated[int, Resolve(resolver)]) -> int:
        return x

    async with Client(mcp) as client:
        assert text_of(await client.call_tool("tool")) == "Error executing tool tool"
    assert "cannot close" in caplog.text
