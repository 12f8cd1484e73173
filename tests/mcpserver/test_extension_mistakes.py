"""What an author gets wrong in an extension is told by its name, where it was done."""

from __future__ import annotations

from typing import Any

import pytest

from trio_mcp import Client, MCPServer
from trio_mcp.client import advertise
from trio_mcp.errors import MCPError
from trio_mcp.mcpserver import (
    Extension,
    MethodBinding,
    compose_tool_call_handler,
    require_client_extension,
)
from trio_mcp.types import INTERNAL_ERROR, ServerCapabilities, TextContent, ToolsCapability


def extension(**hooks: Any) -> Extension:
    made: Extension = type("Odd", (Extension,), {"identifier": "com.example/odd", **hooks})()
    return made


def returns(value: Any) -> Any:
    return lambda *_args: value


async def handler(_ctx: Any, _params: Any) -> None:
    pytest.fail("nobody asks")


# When a server is made


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (Extension, r"extensions: expected a list of extensions, got the class Extension"),
        ([Extension], r"extensions\[0\]: expected Extension, got the class Extension"),
        ([None], r"extensions\[0\]: expected Extension, got NoneType"),
        (extension(), r"extensions: expected a list of extensions, got Odd"),
        # It would be gone through once, and brings things of several kinds.
        ((each for each in [extension()]), "expected a list of extensions, got generator"),
        ("com.example/odd", "expected a list of extensions, got one str"),
    ],
)
def test_what_are_no_extensions_is_refused(given: Any, why: str) -> None:
    with pytest.raises(TypeError, match=why):
        MCPServer("odd", extensions=given)
    with pytest.raises(TypeError, match=why):
        compose_tool_call_handler(given, handler)


@pytest.mark.parametrize("value", [None, ["a"], "a"])
def test_settings_are_an_object(value: Any) -> None:
    with pytest.raises(TypeError, match=r"what Odd\.settings\(\) returned: expected a dict"):
        MCPServer("odd", extensions=[extension(settings=returns(value))])


@pytest.mark.parametrize(
    "hook",
    ["tools", "resources", "resource_templates", "methods", "subscriptions", "middleware"],
)
@pytest.mark.parametrize("value", [None, 5, "a", {"a": 1}])
def test_what_it_brings_comes_in_lists(hook: str, value: Any) -> None:
    with pytest.raises(TypeError, match=rf"what Odd\.{hook}\(\) returned: expected a list, got"):
        MCPServer("odd", extensions=[extension(**{hook: returns(value)})])


@pytest.mark.parametrize("hook", ["tools", "resources", "methods", "subscriptions"])
def test_what_it_brings_is_bound(hook: str) -> None:
    with pytest.raises(TypeError, match=rf"what Odd\.{hook}\(\) returned\[0\]: expected .*Bind"):
        MCPServer("odd", extensions=[extension(**{hook: returns([handler])})])


@pytest.mark.parametrize(
    "hook",
    ["settings", "tools", "middleware", "capabilities", "describe_tool", "lifespan"],
)
def test_a_hook_is_a_function(hook: str) -> None:
    with pytest.raises(TypeError, match=rf"Odd\.{hook}: expected a function, got int"):
        MCPServer("odd", extensions=[extension(**{hook: 5})])


@pytest.mark.parametrize("versions", ["2026-07-28", 5, [5], [["a"]]])
def test_revisions_are_texts(versions: Any) -> None:
    why = r"protocol_versions(\[0\])?: expected"
    with pytest.raises(TypeError, match=f"com.example/odd: {why}"):
        MCPServer("odd", extensions=[extension(protocol_versions=versions)])
    with pytest.raises(TypeError, match=f"com.example/m: {why}"):
        MethodBinding("com.example/m", dict, handler, versions)


# When it is asked


async def refused(caplog: pytest.LogCaptureFixture, hook: str, value: Any) -> str:
    mcp = MCPServer("odd", extensions=[extension(**{hook: value})])
    mcp.add_tool(lambda: "done", name="work")
    with pytest.raises(MCPError, match="Internal server error") as raised:
        async with Client(mcp, mode="legacy") as client:
            await client.list_tools()
    assert raised.value.code == INTERNAL_ERROR
    return caplog.text


@pytest.mark.parametrize("hook", ["describe_tool", "capabilities"])
async def test_what_is_said_in_place_of_a_description_is_told_with_its_author(
    caplog: pytest.LogCaptureFixture, hook: str
) -> None:
    log = await refused(caplog, hook, returns(None))
    assert f"what Odd.{hook} returned: expected" in log
    assert "got NoneType" in log


async def test_a_tool_keeps_its_name_in_the_list(caplog: pytest.LogCaptureFixture) -> None:
    log = await refused(caplog, "describe_tool", lambda _self, tool: tool.evolve(name="play"))
    assert "what Odd.describe_tool returned: expected the tool 'work', got 'play'" in log


async def call_in(caplog: pytest.LogCaptureFixture, mode: Any, intercept: Any) -> tuple[str, str]:
    mcp = MCPServer("odd", extensions=[extension(intercept_tool_call=intercept)])
    mcp.add_tool(lambda: "done", name="work")
    async with Client(mcp, mode=mode) as client:
        result = await client.call_tool("work")
    assert result.is_error
    (block,) = result.content
    assert isinstance(block, TextContent)
    return caplog.text, block.text


@pytest.mark.parametrize("value", [None, 5, "done", [], ("done",)])
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_an_interceptor_that_returns_no_result_is_named(
    caplog: pytest.LogCaptureFixture, mode: Any, value: Any
) -> None:
    async def intercept(_self: Any, _params: Any, ctx: Any, call_next: Any) -> Any:
        await call_next(ctx)
        return value

    log, told = await call_in(caplog, mode, intercept)
    assert "what Odd.intercept_tool_call returned: expected a result type or a dict, got" in log
    assert told == "Error executing tool work"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_an_interceptor_passes_on_the_context(
    caplog: pytest.LogCaptureFixture, mode: Any
) -> None:
    async def intercept(_self: Any, params: Any, _ctx: Any, call_next: Any) -> Any:
        return await call_next(params)

    log, told = await call_in(caplog, mode, intercept)
    assert "what was passed on: expected ServerRequestContext, got CallToolRequestParams" in log
    assert told == "Error executing tool work"


async def test_a_mark_of_a_result_is_not_for_clients_that_know_none(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def intercept(*_args: Any) -> Any:
        return {"resultType": "receipt", "number": 7}

    odd = extension(intercept_tool_call=intercept, result_types={"receipt"})
    mcp = MCPServer("odd", extensions=[odd])
    mcp.add_tool(lambda: "done", name="work")
    # Older clients may declare it, since what is declared is told in both eras.
    declares = [advertise("com.example/odd")]
    async with Client(mcp, mode="legacy", extensions=declares) as client:
        with pytest.raises(MCPError, match="Internal server error"):
            await client.call_tool("work")
    assert "(and 2025-11-25 knows no resultType)" in caplog.text


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_capabilities_do_not_replace_what_is_declared_of_extensions(mode: Any) -> None:
    class Other(Extension):
        identifier = "com.example/other"

        def settings(self) -> dict[str, Any]:
            return {"a": 1}

    announced = ServerCapabilities(tools=ToolsCapability(), extensions={"com.example/more": {}})
    mcp = MCPServer("odd", extensions=[Other(), extension(capabilities=returns(announced))])
    async with Client(mcp, mode=mode) as client:
        said = client.server_capabilities
    assert said.extensions == {"com.example/other": {"a": 1}, "com.example/odd": {}}
    assert said.resources is None


@pytest.mark.parametrize("identifier", ["receipts", "", None, 5])
async def test_nobody_is_refused_for_what_is_no_extension(
    caplog: pytest.LogCaptureFixture, identifier: Any
) -> None:
    async def intercept(_self: Any, _params: Any, ctx: Any, call_next: Any) -> Any:
        require_client_extension(ctx, identifier)
        return await call_next(ctx)

    log, told = await call_in(caplog, "auto", intercept)
    assert f"require_client_extension: {identifier!r} is no identifier of an extension" in log
    assert told == "Error executing tool work"


# Blocks


async def one_step(*_args: Any) -> Any:
    yield


async def awaited(*_args: Any) -> Any:
    pytest.fail("nobody awaits it")


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")
@pytest.mark.parametrize(
    ("lifespan", "got"),
    [
        (one_step, "async_generator"),
        (awaited, "coroutine"),
        (returns(None), "NoneType"),
    ],
)
async def test_a_lifespan_that_is_no_block_is_named(lifespan: Any, got: str) -> None:
    expected = rf"expected an async context manager \(@asynccontextmanager makes one\), got {got}"
    given = [
        (MCPServer("odd", lifespan=lifespan), "The lifespan of the server 'odd'"),
        (
            MCPServer("odd", extensions=[extension(lifespan=lifespan)]),
            "The lifespan 'com.example/odd' of the server 'odd'",
        ),
    ]
    for mcp, what in given:
        with pytest.raises(TypeError, match=f"{what}: {expected}"):
            async with Client(mcp):
                pytest.fail("it was entered")
