"""An `MCPServer` as a client sees it, in both eras."""

from __future__ import annotations

import logging
import threading
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from trio_mcp.client import Client
from trio_mcp.errors import (
    MCPError,
    ResourceError,
    ResourceNotFoundError,
    ToolError,
)
from trio_mcp.mcpserver import (
    BinaryResource,
    Context,
    MCPServer,
    ResourceSecurity,
    TextResource,
)
from trio_mcp.server import CacheHint
from trio_mcp.types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    BlobResourceContents,
    Completion,
    CompletionArgument,
    CompletionContext,
    PromptReference,
    ResourceTemplateReference,
    TextContent,
    TextResourceContents,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable

RESOURCE_NOT_FOUND_IN_OLDER_ERA = -32002

both_eras = pytest.mark.parametrize("mode", ["auto", "legacy"])


async def error_of(call: Awaitable[object]) -> MCPError:
    with pytest.raises(MCPError) as caught:
        await call
    return caught.value


def text_of(result: Any) -> str:
    [block] = result.content
    assert isinstance(block, TextContent)
    return block.text


# Tools


@both_eras
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"count": "3", "tags": []}, ["count", "integer", "'3'"]),
        ({"count": 3, "tags": ["a", 7]}, ["tags[1]", "string", "7"]),
        ({"tags": []}, ["missing argument 'count'"]),
        ({"count": 1, "tags": [], "taggs": []}, ["unknown argument 'taggs'", "'tags'"]),
    ],
)
async def test_wrong_arguments_are_an_error_result_for_the_model(
    mode: str, arguments: dict[str, Any], words: list[str]
) -> None:
    mcp = MCPServer()

    @mcp.tool()
    def tag(count: int, tags: list[str]) -> str: ...

    async with Client(mcp, mode=mode) as client:
        result = await client.call_tool("tag", arguments)
    assert result.is_error
    text = text_of(result)
    assert text.startswith("Error executing tool tag: ")
    for word in words:
        assert word in text


async def _raise_in_nursery(exc: Exception) -> None:
    async with trio.open_nursery() as nursery:

        async def fail() -> None:
            raise exc

        nursery.start_soon(fail)


@both_eras
@pytest.mark.parametrize("where", ["plainly", "in a nursery"])
async def test_a_tool_error_shows_its_text(mode: str, where: str) -> None:
    mcp = MCPServer()

    @mcp.tool()
    async def fail() -> str:
        if where == "in a nursery":
            await _raise_in_nursery(ToolError("no such file"))
        raise ToolError("no such file")

    async with Client(mcp, mode=mode) as client:
        result = await client.call_tool("fail")
    assert result.is_error
    assert text_of(result) == "Error executing tool fail: no such file"


@both_eras
async def test_other_exceptions_are_logged_once_and_their_text_is_not_told(
    mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    mcp = MCPServer()

    @mcp.tool()
    def boom() -> str:
        raise ValueError("secret detail")

    async with Client(mcp, mode=mode) as client:
        result = await client.call_tool("boom")
    assert result.is_error
    assert text_of(result) == "Error executing tool boom"
    [record] = [each for each in caplog.records if each.levelno >= logging.WARNING]
    assert "secret detail" in (record.exc_text or "")
    assert record.mcp_method == "tools/call"  # type: ignore[attr-defined]


@both_eras
@pytest.mark.parametrize("where", ["plainly", "in a nursery"])
async def test_an_mcp_error_is_answered_as_it_is(mode: str, where: str) -> None:
    mcp = MCPServer()
    raised = MCPError(42, "mine", {"a": 1})

    @mcp.tool()
    async def fail() -> str:
        if where == "in a nursery":
            await _raise_in_nursery(raised)
        raise raised

    async with Client(mcp, mode=mode) as client:
        error = await error_of(client.call_tool("fail"))
    assert (error.code, error.message, error.data) == (42, "mine", {"a": 1})


# Resources


@both_eras
async def test_resources_are_listed_and_read(mode: str) -> None:
    mcp = MCPServer(resources=[TextResource(uri="notes://motd", text="Hello")])
    mcp.add_resource(BinaryResource(uri="notes://logo", data=b"\xff\xef", mime_type="image/x"))

    @mcp.resource("notes://by/{name}", mime_type="text/markdown", meta={"k": 1})
    async def note(name: str) -> str:
        """One note."""
        await trio.lowlevel.checkpoint()
        return f"# {name}"

    async with Client(mcp, mode=mode) as client:
        listed = (await client.list_resources()).resources
        assert [(each.uri, each.mime_type, each.size) for each in listed] == [
            ("notes://motd", "text/plain", 5),
            ("notes://logo", "image/x", 2),
        ]
        [template] = (await client.list_resource_templates()).resource_templates
        assert (template.uri_template, template.description) == ("notes://by/{name}", "One note.")
        [motd] = (await client.read_resource("notes://motd")).contents
        [logo] = (await client.read_resource("notes://logo")).contents
        [made] = (await client.read_resource("notes://by/a%20b")).contents
    assert motd == TextResourceContents(uri="notes://motd", text="Hello", mime_type="text/plain")
    assert logo == BlobResourceContents(uri="notes://logo", blob="/+8=", mime_type="image/x")
    assert made == TextResourceContents(
        uri="notes://by/a%20b", text="# a b", mime_type="text/markdown", meta={"k": 1}
    )


@pytest.mark.req("R-282")
@both_eras
async def test_a_uri_that_climbs_out_is_unknown_and_no_other_template_gets_it(mode: str) -> None:
    mcp = MCPServer()
    read: list[str] = []

    @mcp.resource("file:///{+path}")
    def careful(path: str) -> str:
        read.append(path)
        return path

    @mcp.resource("{+anything}", security=ResourceSecurity(exempt_params={"anything"}))
    def careless(anything: str) -> str:
        read.append(anything)
        return anything

    async with Client(mcp, mode=mode) as client:
        for uri in ("file:///../x", "file:///%2e%2e/x", "file:////etc/passwd", "file:///c:%5cx"):
            error = await error_of(client.read_resource(uri))
            assert error.message == f"Unknown resource: {uri}"
    assert read == []


@both_eras
async def test_the_policy_of_the_server_holds_for_its_templates(mode: str) -> None:
    mcp = MCPServer(resource_security=ResourceSecurity(reject_path_traversal=False))

    @mcp.resource("git://diff/{+range}")
    def diff(range: str) -> str:
        return range

    async with Client(mcp, mode=mode) as client:
        [contents] = (await client.read_resource("git://diff/../x")).contents
    assert isinstance(contents, TextResourceContents)
    assert contents.text == "../x"


@pytest.mark.req("R-274")
@both_eras
@pytest.mark.parametrize(
    ("raised", "code", "message"),
    [
        (ResourceError("the disk is full"), INTERNAL_ERROR, "the disk is full"),
        (ValueError("secret"), INTERNAL_ERROR, "Error reading resource a://b"),
        (MCPError(42, "mine"), 42, "mine"),
        (ResourceNotFoundError("gone"), INVALID_PARAMS, "gone"),
    ],
)
async def test_a_resource_that_fails_is_an_error(
    mode: str, raised: Exception, code: int, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    mcp = MCPServer()

    @mcp.resource("a://b")
    def fail() -> str:
        raise raised

    async with Client(mcp, mode=mode) as client:
        error = await error_of(client.read_resource("a://b"))
    if isinstance(raised, ResourceNotFoundError) and mode == "legacy":
        code = RESOURCE_NOT_FOUND_IN_OLDER_ERA
    assert (error.code, error.message) == (code, message)
    logged = [each for each in caplog.records if each.levelno >= logging.WARNING]
    assert len(logged) == (1 if isinstance(raised, ValueError) else 0)


# Prompts


@pytest.mark.req("R-290", "R-291")
@both_eras
async def test_wrong_prompts_and_arguments_are_invalid_params(mode: str, ask_raw: Any) -> None:
    mcp = MCPServer()
    calls: list[str] = []

    @mcp.prompt()
    def greet(who: str) -> str:
        calls.append(who)
        return who

    async with Client(mcp, mode=mode) as client:
        unknown = await error_of(client.get_prompt("nope"))
        missing = await error_of(client.get_prompt("greet"))
        params = {"name": "greet", "arguments": {"who": 7}}
        wrong = await error_of(ask_raw(client, "prompts/get", params))
    assert (unknown.code, unknown.message) == (INVALID_PARAMS, "Unknown prompt: nope")
    assert missing.code == INVALID_PARAMS
    assert "missing argument 'who'" in missing.message
    assert wrong.code == INVALID_PARAMS
    assert "who" in wrong.message
    assert calls == []


@pytest.mark.req("R-290")
@both_eras
async def test_a_prompt_that_fails_is_an_internal_error(
    mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    mcp = MCPServer()

    @mcp.prompt()
    def fail() -> str:
        raise ValueError("secret")

    async with Client(mcp, mode=mode) as client:
        error = await error_of(client.get_prompt("fail"))
    assert (error.code, error.message) == (INTERNAL_ERROR, "Error rendering prompt fail")
    assert len([each for each in caplog.records if each.levelno >= logging.WARNING]) == 1


# Completion


@pytest.mark.req("R-315", "R-316", "R-320")
@both_eras
async def test_completions(mode: str, caplog: pytest.LogCaptureFixture) -> None:
    mcp = MCPServer()

    @mcp.completion()
    def complete(
        ref: PromptReference | ResourceTemplateReference,
        argument: CompletionArgument,
        context: CompletionContext | None,
    ) -> Completion | list[str] | None:
        match argument.name:
            case "many":
                return [f"{number}" for number in range(200)]
            case "some":
                assert context is not None
                return Completion(values=[f"{context.arguments}"], total=5, has_more=True)
            case "fail":
                raise ValueError("secret")
            case "refuse":
                raise MCPError(INVALID_PARAMS, "no such argument")
        return None

    @mcp.prompt()
    def p(many: str, some: str, none: str, fail: str, refuse: str) -> str:
        return "never rendered"

    ref = PromptReference(name="p")
    async with Client(mcp, mode=mode) as client:
        assert client.server_capabilities.completions is not None
        many = (await client.complete(ref, {"name": "many", "value": ""})).completion
        some = (await client.complete(ref, {"name": "some", "value": ""}, {"a": "b"})).completion
        none = (await client.complete(ref, {"name": "none", "value": ""})).completion
        failed = await error_of(client.complete(ref, {"name": "fail", "value": ""}))
        refused = await error_of(client.complete(ref, {"name": "refuse", "value": ""}))
    assert (len(many.values), many.total, many.has_more) == (100, 200, True)
    assert (some.values, some.total, some.has_more) == (["{'a': 'b'}"], 5, True)
    assert none.values == []
    assert (failed.code, failed.message) == (INTERNAL_ERROR, "Error completing argument fail")
    assert (refused.code, refused.message) == (INVALID_PARAMS, "no such argument")
    assert len([each for each in caplog.records if each.levelno >= logging.WARNING]) == 1


@both_eras
@pytest.mark.parametrize(
    ("found", "reason"),
    [
        ("abc", "expected a Completion, a list of str, or None, got str"),
        (b"abc", "got bytes"),
        ({"a": "b"}, "got dict"),
        (5, "got int"),
        ([1], "values"),
        (Completion(values=[1]), "values"),  # type: ignore[list-item]
        (Completion(values="abc"), "values"),  # type: ignore[arg-type]
        (Completion(values=["a"], total=-1), "total: expected at least 0, got -1"),
    ],
)
async def test_what_is_no_completion_is_a_defect_of_its_function(
    found: Any, reason: str, mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    mcp = MCPServer()

    @mcp.completion()
    def complete(ref: Any, argument: Any, context: Any) -> Any:
        return found

    @mcp.prompt()
    def p(city: str) -> str: ...

    async with Client(mcp, mode=mode) as client:
        error = await error_of(
            client.complete(PromptReference(name="p"), {"name": "city", "value": ""})
        )
    assert (error.code, error.message) == (INTERNAL_ERROR, "Error completing argument city")
    (logged,) = [each for each in caplog.records if each.levelno >= logging.WARNING]
    assert logged.exc_info is not None
    assert reason in str(logged.exc_info[1])


@pytest.mark.req("R-316")
@both_eras
@pytest.mark.parametrize(
    ("ref", "argument", "said"),
    [
        (PromptReference(name="nobody"), "city", "Unknown prompt: nobody"),
        (PromptReference(name="trip"), "town", "Unknown argument of prompt trip: town"),
        (
            ResourceTemplateReference(uri="x://{nobody}"),
            "city",
            "Unknown resource or template: x://{nobody}",
        ),
        (
            ResourceTemplateReference(uri="map://{city}"),
            "town",
            "Unknown argument of resource map://{city}: town",
        ),
        (
            ResourceTemplateReference(uri="map://Oslo"),
            "town",
            "Unknown argument of resource map://Oslo: town",
        ),
        (
            ResourceTemplateReference(uri="world://all"),
            "city",
            "Unknown argument of resource world://all: city",
        ),
    ],
)
async def test_what_is_not_there_is_not_completed(
    mode: str, ref: PromptReference | ResourceTemplateReference, argument: str, said: str
) -> None:
    mcp, asked = completing_server()
    async with Client(mcp, mode=mode) as client:
        refused = await error_of(client.complete(ref, {"name": argument, "value": "O"}))
    assert (refused.code, refused.message, asked) == (INVALID_PARAMS, said, [])


@pytest.mark.parametrize(
    "ref",
    [
        PromptReference(name="trip"),
        ResourceTemplateReference(uri="map://{city}"),
        ResourceTemplateReference(uri="map://O"),
    ],
)
async def test_what_is_there_is_completed(
    ref: PromptReference | ResourceTemplateReference,
) -> None:
    mcp, asked = completing_server()
    async with Client(mcp) as client:
        found = await client.complete(ref, {"name": "city", "value": "O"})
    assert (found.completion.values, asked) == (["Oslo"], ["city"])


def completing_server() -> tuple[MCPServer, list[str]]:
    mcp, asked = MCPServer(), []

    @mcp.prompt()
    def trip(city: str) -> str:
        return city

    @mcp.resource("map://{city}")
    def city_map(city: str) -> str:
        return city

    @mcp.resource("world://all")
    def world() -> str:
        return "round"

    @mcp.completion()
    async def complete(_ref: Any, argument: CompletionArgument, _context: Any) -> list[str]:
        asked.append(argument.name)
        return ["Oslo"]

    return mcp, asked


# Capabilities, pages, caching


@pytest.mark.req("R-266", "R-283", "R-321")
@both_eras
async def test_lists_are_announced_also_while_they_are_empty(mode: str) -> None:
    mcp = MCPServer()
    async with Client(mcp, mode=mode) as client:
        empty = client.server_capabilities
        assert (await client.session.list_tools()).tools == []
        reference = PromptReference(name="p")
        argument = {"name": "a", "value": ""}
        refused = await error_of(client.session.complete(reference, argument))
        assert refused.code == METHOD_NOT_FOUND
    assert None not in (empty.tools, empty.resources, empty.prompts)
    assert (empty.completions, empty.logging) == (None, None)

    @mcp.prompt()
    def with_log(ctx: Context) -> str: ...

    async with Client(mcp, mode=mode) as client:
        assert client.server_capabilities.logging is not None


@pytest.mark.req("R-267", "R-284")
@both_eras
async def test_a_list_that_has_become_empty_is_still_answered(mode: str) -> None:
    mcp = MCPServer(resources=[TextResource(uri="a://b", text="")])
    mcp.prompt("p")(lambda: "")
    mcp.remove_resource("a://b")
    mcp.remove_prompt("p")
    async with Client(mcp, mode=mode) as client:
        assert (await client.list_resources()).resources == []
        assert (await client.list_resource_templates()).resource_templates == []
        assert (await client.list_prompts()).prompts == []


@pytest.mark.req("R-268", "R-285")
async def test_lists_are_the_same_for_all_and_follow_changes() -> None:
    mcp = MCPServer()
    mcp.add_tool(lambda: "", name="one")
    async with Client(mcp) as first, Client(mcp) as second:
        assert (await first.list_tools()).tools == (await second.list_tools()).tools
        mcp.add_tool(lambda: "", name="two")
        names = [[tool.name async for tool in client.iter_tools()] for client in (first, second)]
        assert names == [["one", "two"]] * 2
        mcp.remove_tool("one")
        assert [tool.name async for tool in first.iter_tools()] == ["two"]


@pytest.mark.req("R-329", "R-333")
@both_eras
async def test_lists_come_in_pages(mode: str) -> None:
    mcp = MCPServer(list_page_size=2)
    for number in range(5):
        mcp.add_tool(lambda: "", name=f"t{number}")
        mcp.add_resource(TextResource(uri=f"a://{number}", text=""))
        mcp.prompt(f"p{number}")(lambda: "")
    async with Client(mcp, mode=mode) as client:
        first = await client.list_tools()
        assert [tool.name for tool in first.tools] == ["t0", "t1"]
        # What comes and goes before the page does not shift it.
        mcp.remove_tool("t0")
        second = await client.list_tools(cursor=first.next_cursor)
        assert [tool.name for tool in second.tools] == ["t2", "t3"]
        last = await client.list_tools(cursor=second.next_cursor)
        assert [tool.name for tool in last.tools] == ["t4"]
        assert last.next_cursor is None
        assert [each.uri async for each in client.iter_resources()] == [
            f"a://{n}" for n in range(5)
        ]
        assert [each.name async for each in client.iter_prompts()] == [f"p{n}" for n in range(5)]
        for cursor in ("", "x", "dDk=", "dDE", "\N{SNOWMAN}"):
            error = await error_of(client.list_tools(cursor=cursor))
            assert (error.code, error.data) == (INVALID_PARAMS, {"cursor": cursor})


@pytest.mark.req("R-333")
@both_eras
async def test_without_pages_every_cursor_is_unknown(mode: str) -> None:
    mcp = MCPServer()
    mcp.add_tool(lambda: "", name="t0")
    async with Client(mcp, mode=mode) as client:
        assert (await client.list_tools()).next_cursor is None
        assert (await error_of(client.list_tools(cursor="dDA="))).code == INVALID_PARAMS


@pytest.mark.req("R-295")
async def test_cache_hints_default_to_none_and_private() -> None:
    mcp = MCPServer(cache_hints={"resources/read": CacheHint(ttl_ms=5000, scope="public")})
    mcp.add_tool(lambda: "", name="t")
    mcp.prompt("p")(lambda: "")
    mcp.add_resource(TextResource(uri="a://b", text=""))
    async with Client(mcp) as client:
        for result in (
            await client.list_tools(),
            await client.list_prompts(),
            await client.list_resources(),
            await client.list_resource_templates(),
        ):
            assert (result.ttl_ms, result.cache_scope) == (0, "private")
        read = await client.read_resource("a://b")
    assert (read.ttl_ms, read.cache_scope) == (5000, "public")


# Life


async def test_the_lifespan_is_round_each_run() -> None:
    events: list[str] = []

    @asynccontextmanager
    async def lifespan(server: MCPServer[str]) -> AsyncIterator[str]:
        events.append(f"open {server.name}")
        yield "state"
        events.append("close")

    mcp = MCPServer("lived", lifespan=lifespan)

    @mcp.tool()
    def state(ctx: Context[str]) -> str:
        return ctx.request_context.lifespan_context

    async with Client(mcp) as client:
        assert text_of(await client.call_tool("state")) == "state"
        assert events == ["open lived"]
    assert events == ["open lived", "close"]


async def test_middleware_may_be_added_in_any_way_that_a_list_knows() -> None:
    async def pass_on(ctx: Any, call_next: Any) -> Any:
        return await call_next(ctx)

    mcp = MCPServer()
    ours = list(mcp.middleware)
    mcp.middleware += [pass_on]
    assert mcp.middleware == [*ours, pass_on]
    mcp.middleware = [pass_on, *ours]
    assert mcp.lowlevel_server.middleware == [pass_on, *ours]
    with pytest.raises(TypeError):
        mcp.middleware += [5]


async def test_middleware_is_round_every_request() -> None:
    seen: list[str] = []

    async def watch(ctx: Any, call_next: Any) -> Any:
        seen.append(ctx.method)
        return await call_next(ctx)

    mcp = MCPServer(middleware=[watch])
    mcp.add_tool(lambda: "done", name="t")
    async with Client(mcp) as client:
        await client.call_tool("t")
    assert "tools/call" in seen


@pytest.mark.case("C025")
async def test_at_most_forty_sync_functions_run_at_once() -> None:
    mcp = MCPServer()
    release = threading.Event()

    @mcp.tool()
    def wait() -> str:
        release.wait(5)
        return "done"

    async with Client(mcp) as client, trio.open_nursery() as nursery:
        for _ in range(45):
            nursery.start_soon(client.call_tool, "wait")
        with trio.fail_after(5):
            while mcp.workers.limiter.statistics().tasks_waiting < 5:
                await trio.lowlevel.checkpoint()
        assert mcp.workers.limiter.borrowed_tokens == 40
        release.set()


async def test_a_cancelled_sync_function_is_let_go_and_keeps_its_slot() -> None:
    mcp = MCPServer()
    started, release, stopped = threading.Event(), threading.Event(), threading.Event()

    @mcp.tool()
    def work(ctx: Context) -> str:
        started.set()
        release.wait(5)
        try:
            ctx.check_cancelled()
        except trio.Cancelled:
            stopped.set()
            raise
        return "done"

    async with Client(mcp) as client:
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(client.call_tool, "work")
                await trio.to_thread.run_sync(started.wait)
                scope.cancel()
        assert scope.cancelled_caught
        assert mcp.workers.limiter.borrowed_tokens == 1
        release.set()
        await trio.to_thread.run_sync(stopped.wait)
    await wait_all_tasks_blocked()
