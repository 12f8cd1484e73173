"""What the same program does with `mcp` and here, where `docs/coming-from-mcp.md` tells of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mcp
import mcp.server
import mcp.server.mcpserver
import mcp.types
import pytest

import trio_mcp
import trio_mcp.server
import trio_mcp.types

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.filterwarnings("ignore")


class Here:
    """The package under test."""

    client: Any = trio_mcp.Client
    server: Any = trio_mcp.MCPServer
    lowlevel: Any = trio_mcp.server.Server
    types: Any = trio_mcp.types
    error: Any = trio_mcp.MCPError
    context: Any = trio_mcp.Context


class There:
    """The official SDK, which runs on Trio, too."""

    client: Any = mcp.Client
    server: Any = mcp.server.mcpserver.MCPServer
    lowlevel: Any = mcp.server.Server
    types: Any = mcp.types
    error: Any = mcp.MCPError
    context: Any = mcp.server.mcpserver.Context


Sdk = type[Here] | type[There]

BOTH = pytest.mark.parametrize("sdk", [Here, There])


def whole(x: float) -> bool:
    return x.is_integer()


def length(x: bytes) -> int:
    return len(x)


def give(x: str) -> bytes:
    return x.encode()


def kind(x: str | list[str]) -> str:
    return type(x).__name__


def distinct(x: set[int]) -> int:
    return len(x)


def maybe(x: list[int] | None) -> str:
    return repr(x)


def number(x: float) -> str:
    return repr(x)


def number_or_text(x: float | str | None) -> str:
    return repr(x)


def numbers(x: float | int) -> str:  # noqa: PYI041 - it is the question
    return repr(x)


def many(x: list[float]) -> str:
    return repr(x)


async def call(sdk: Sdk, fn: Callable[..., Any], x: Any) -> str:
    server = sdk.server("same")
    server.add_tool(fn)
    async with sdk.client(server) as client:
        result = await client.call_tool(fn.__name__, {"x": x})
    return "refused" if result.is_error else result.content[0].text


@BOTH
@pytest.mark.parametrize(
    ("fn", "x", "text"),
    [
        (whole, 1, "true"),
        (number, 1, "1.0"),
        (number, 2**53, "9007199254740992.0"),
        (number, 0.5, "0.5"),
        (number_or_text, 3, "3.0"),
        (number_or_text, "3", "'3'"),
        (number_or_text, None, "None"),
        (numbers, 3, "3"),
        (numbers, 3.0, "3.0"),
        (many, [1, 2.5], "[1.0, 2.5]"),
        (kind, ["a"], "list"),
        (kind, "a", "str"),
        (maybe, "[1]", "[1]"),
        (maybe, None, "None"),
    ],
)
async def test_arguments_become_the_same(sdk, fn, x, text):
    assert await call(sdk, fn, x) == text


@pytest.mark.case("C059")
@pytest.mark.case("C063")
@pytest.mark.parametrize(
    ("fn", "x", "here", "there"),
    [
        # Bytes are Base64, in arguments and results.
        (length, "YWJj", "3", "4"),
        (give, "abc", '"YWJj"', '"abc"'),
        # Text stays text where text is taken.
        (kind, '["a"]', "str", "list"),
        (maybe, "null", "refused", "None"),
        # The schema of a set says that its items differ.
        (distinct, [1, 1, 2], "refused", "2"),
        # An integer that no float is equal to.
        (number, 2**53 + 1, "9007199254740993", "9007199254740992.0"),
    ],
)
async def test_arguments_become_something_else(fn, x, here, there):
    assert await call(Here, fn, x) == here
    assert await call(There, fn, x) == there


@BOTH
async def test_a_prompt_without_parameters_has_a_list_of_no_arguments(sdk):
    server = sdk.server("same")

    @server.prompt()
    def nothing() -> str:
        return "x"

    async with sdk.client(server) as client:
        assert (await client.list_prompts()).prompts[0].arguments == []


@BOTH
async def test_a_completion_for_a_prompt_that_is_not_there(sdk):
    server = sdk.server("same")
    called: list[str] = []

    @server.completion()
    async def complete(ref, argument, context):
        called.append(ref.name)

    async with sdk.client(server) as client:
        reference = sdk.types.PromptReference(type="ref/prompt", name="nope")
        argument = {"name": "x", "value": ""}
        if sdk is There:
            assert (await client.complete(reference, argument)).completion.values == []
            assert called == ["nope"]
        else:
            with pytest.raises(sdk.error, match="Unknown prompt: nope"):
                await client.complete(reference, argument)
            assert called == []


@pytest.mark.parametrize(
    ("sdk", "mode", "code"),
    [
        (Here, "2026-07-28", -32602),
        (Here, "legacy", -32002),
        (There, "2026-07-28", -32002),
        (There, "legacy", -32002),
    ],
)
async def test_a_handler_that_raises_the_old_code_of_missing_resources(sdk, mode, code):
    async def read(ctx, params):
        raise sdk.error(-32002, "gone")

    async with sdk.client(sdk.lowlevel("same", on_read_resource=read), mode=mode) as client:
        with pytest.raises(sdk.error) as caught:
            await client.read_resource("a://b")
    assert caught.value.code == code


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize(("sdk", "announced"), [(Here, True), (There, False)])
async def test_whether_log_messages_are_announced(sdk, announced, mode):
    server = sdk.server("same")

    async def tell(ctx):
        await ctx.info("x")

    tell.__annotations__["ctx"] = sdk.context
    server.add_tool(tell)
    async with sdk.client(server, mode=mode) as client:
        assert (client.server_capabilities.logging is not None) == announced


@pytest.mark.parametrize("mode", ["2026-07-28", "legacy"])
@pytest.mark.parametrize("sdk", [Here, There])
async def test_who_hears_of_progress(sdk, mode):
    server = sdk.server("same")

    async def work(ctx):
        await ctx.report_progress(1)
        return "x"

    work.__annotations__["ctx"] = sdk.context
    server.add_tool(work)
    heard: list[str] = []
    reports: list[float] = []

    async def handle(message):
        heard.append(type(message).__name__)

    async def report(progress, total, message):
        reports.append(progress)

    async with sdk.client(server, mode=mode, message_handler=handle) as client:
        await client.call_tool("work", progress_callback=report)
    assert reports == [1]
    told = ["ProgressNotification"] if (sdk is There and mode == "legacy") else []
    assert heard == told
