"""What a server offers beyond the core protocol."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from trio_mcp.client import Client, advertise
from trio_mcp.errors import MCPError, ToolError
from trio_mcp.mcpserver import (
    Context,
    Extension,
    MCPServer,
    MethodBinding,
    ResourceBinding,
    ResourceTemplate,
    TextResource,
    ToolBinding,
    compose_tool_call_handler,
    require_client_extension,
)
from trio_mcp.server import Server, ServerMiddleware
from trio_mcp.types import (
    MODERN_PROTOCOL_VERSIONS,
    CallToolResult,
    ListToolsResult,
    Request,
    Result,
    TextContent,
)

STAMPS = "com.example/stamps"
both_eras = pytest.mark.parametrize("mode", ["auto", "legacy"])


def text_result(text: str, **more: Any) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=text)], **more)


async def stamp(ctx: Any, params: Any) -> dict[str, Any]:
    return {"stamped": params.get("what"), "by": ctx.protocol_version}


class Stamps(Extension):
    identifier = STAMPS

    def settings(self) -> dict[str, Any]:
        return {"colours": ["red"]}

    def tools(self) -> list[ToolBinding]:
        def press(what: str) -> str:
            return f"pressed {what}"

        return [ToolBinding(press, meta={"com.example/ink": 1}, kwargs={"title": "Press"})]

    def resources(self) -> list[ResourceBinding]:
        return [ResourceBinding(TextResource(uri="stamps://all", text="one", name="all"))]

    def methods(self) -> list[MethodBinding]:
        return [
            MethodBinding("stamps/make", dict, stamp),
            MethodBinding("stamps/new", dict, stamp, frozenset({"2026-07-28"})),
        ]


async def ask(client: Client, method: str, params: dict[str, Any]) -> dict[str, Any]:
    result = await client.session.send_request(Request(method=method, params=params), Result)
    return {key: value for key, value in result.extra.items() if key != "resultType"}


@pytest.mark.req("R-069")
@pytest.mark.parametrize("identifier", ["stamps", "com.example/", "/x", "1com/x", "com.e x/y", ""])
def test_an_identifier_needs_a_prefix_and_a_name(identifier: str) -> None:
    with pytest.raises(ValueError, match="no identifier of an extension"):
        type("Odd", (Extension,), {"identifier": identifier})

    class Late(Extension):
        def __init__(self) -> None:
            self.identifier = identifier

    with pytest.raises(ValueError, match=r"Late: .*no identifier"):
        MCPServer(extensions=[Late()])


@pytest.mark.req("R-663")
@both_eras
async def test_nothing_is_declared_unless_it_is_given(mode: str) -> None:
    async with Client(MCPServer("plain"), mode=mode) as client:
        assert client.server_capabilities.extensions is None
    async with Client(MCPServer("stamping", extensions=[Stamps()]), mode=mode) as client:
        assert client.server_capabilities.extensions == {STAMPS: {"colours": ["red"]}}


@both_eras
async def test_its_tools_resources_and_methods_are_served(mode: str) -> None:
    mcp = MCPServer("stamping", extensions=[Stamps()])
    async with Client(mcp, mode=mode) as client:
        [tool] = (await client.list_tools()).tools
        assert (tool.name, tool.title, tool.meta) == ("press", "Press", {"com.example/ink": 1})
        assert (await client.call_tool("press", {"what": "a"})).content[0].text == "pressed a"
        assert (await client.read_resource("stamps://all")).contents[0].text == "one"
        made = await ask(client, "stamps/make", {"what": "letter"})
        assert made == {"stamped": "letter", "by": client.protocol_version}


async def test_a_method_is_served_at_the_revisions_that_it_names() -> None:
    mcp = MCPServer("stamping", extensions=[Stamps()])
    async with Client(mcp) as client:
        assert (await ask(client, "stamps/new", {}))["by"] == "2026-07-28"
    async with Client(mcp, mode="legacy") as client:
        with pytest.raises(MCPError) as caught:
            await ask(client, "stamps/new", {})
        assert caught.value.code == -32601


async def test_an_extension_may_take_up_a_name_that_the_core_gave_up() -> None:
    class Tasks(Extension):
        identifier = "com.example/tasks"

        def methods(self) -> list[MethodBinding]:
            return [MethodBinding("tasks/get", dict, stamp)]

    async with Client(MCPServer(extensions=[Tasks()])) as client:
        assert (await ask(client, "tasks/get", {"what": 1}))["stamped"] == 1


@pytest.mark.parametrize("method", ["tools/list", "initialize", "completion/complete", "ping"])
def test_a_method_of_the_core_cannot_be_bound(method: str) -> None:
    with pytest.raises(ValueError, match="belongs to the core protocol"):
        MethodBinding(method, dict, stamp)


@pytest.mark.parametrize("versions", [frozenset[str](), frozenset({"2031-01-01"})])
def test_a_method_is_bound_to_revisions_that_there_are(versions: frozenset[str]) -> None:
    with pytest.raises(ValueError, match="stamps/make: protocol_versions names one or more of"):
        MethodBinding("stamps/make", dict, stamp, versions)


def test_two_extensions_cannot_have_the_same_identifier_or_method() -> None:
    class Others(Extension):
        identifier = "com.example/others"

        def methods(self) -> list[MethodBinding]:
            return [MethodBinding("stamps/make", dict, stamp)]

    with pytest.raises(ValueError, match="given twice"):
        MCPServer(extensions=[Stamps(), Stamps()])
    with pytest.raises(ValueError, match=r"com\.example/others: stamps/make is served by another"):
        MCPServer(extensions=[Stamps(), Others()])


def test_settings_that_are_no_json_are_refused() -> None:
    class Odd(Extension):
        identifier = "com.example/odd"

        def settings(self) -> dict[str, Any]:
            return {"when": {1, 2}}

    with pytest.raises(TypeError, match=r"settings of com\.example/odd"):
        MCPServer(extensions=[Odd()])


# Interceptors


class Noting(Extension):
    def __init__(self, name: str, log: list[str]) -> None:
        self.identifier = f"com.example/{name}"
        self.log = log

    async def intercept_tool_call(self, params: Any, ctx: Any, call_next: Any) -> Any:
        self.log.append(f"{self.identifier[12:]} before {params.name}")
        result = await call_next(ctx)
        self.log.append(f"{self.identifier[12:]} after {result.is_error}")
        return result


@both_eras
async def test_interceptors_stand_round_the_tool_the_first_one_outermost(mode: str) -> None:
    log: list[str] = []
    mcp = MCPServer(extensions=[Noting("a", log), Stamps(), Noting("b", log)])

    @mcp.tool()
    def fails() -> str:
        log.append("runs")
        raise ToolError("no ink")

    async with Client(mcp, mode=mode) as client:
        assert (await client.call_tool("fails")).is_error
    assert log == ["a before fails", "b before fails", "runs", "b after True", "a after True"]


@both_eras
async def test_an_interceptor_may_answer_instead_of_the_tool(mode: str) -> None:
    class Instead(Extension):
        identifier = "com.example/instead"

        async def intercept_tool_call(self, params: Any, ctx: Any, call_next: Any) -> Any:
            if params.arguments.get("number") == 0:
                return text_result("nothing")
            return await call_next(ctx)

    mcp = MCPServer("instead", extensions=[Instead()])

    @mcp.tool()
    def double(number: int) -> int:
        return 2 * number

    async with Client(mcp, mode=mode) as client:
        nothing = await client.session.call_tool("double", {"number": 0})
        assert nothing.content[0].text == "nothing"
        assert (await client.call_tool("double", {"number": 2})).content[0].text == "4"


@pytest.mark.parametrize(
    ("raised", "text"),
    [
        (ToolError("out of ink"), "Error executing tool run: out of ink"),
        (KeyError("secret"), "Error executing tool run"),
    ],
)
async def test_what_an_interceptor_raises_is_a_failure_of_the_call(
    raised: Exception, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    class Raising(Extension):
        identifier = "com.example/raising"

        async def intercept_tool_call(self, params: Any, ctx: Any, call_next: Any) -> Any:
            await trio.lowlevel.checkpoint()
            raise raised

    mcp = MCPServer(extensions=[Raising()])

    @mcp.tool()
    def run() -> None:
        raise AssertionError

    async with Client(mcp) as client:
        result = await client.call_tool("run")
    assert result.is_error
    assert result.content[0].text == text


@both_eras
@pytest.mark.req("R-070", "R-664", "R-053", "R-054")
async def test_what_needs_the_clients_half_is_refused_without_it(mode: str) -> None:
    mcp = MCPServer(extensions=[Stamps()])

    @mcp.tool()
    def engrave(ctx: Context) -> str:
        require_client_extension(ctx.request_context, STAMPS)
        return "engraved"

    async with Client(mcp, mode=mode) as client:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("engrave")
        assert caught.value.code == -32021
        assert caught.value.message == f"Client did not declare the {STAMPS} extension"
        assert caught.value.data == {"requiredCapabilities": {"extensions": {STAMPS: {}}}}
        # What does not need it is served all the same.
        assert not (await client.call_tool("press", {"what": "a"})).is_error
    async with Client(mcp, mode=mode, extensions=[advertise(STAMPS)]) as client:
        assert (await client.call_tool("engrave")).content[0].text == "engraved"


@pytest.mark.req("R-070")
async def test_an_extension_is_active_where_the_server_has_declared_it_too() -> None:
    class Modern(Extension):
        identifier = STAMPS
        protocol_versions = frozenset(MODERN_PROTOCOL_VERSIONS)

    mcp = MCPServer(extensions=[Modern()])

    @mcp.tool()
    def engrave(ctx: Context) -> str:
        require_client_extension(ctx.request_context, STAMPS)
        return "engraved"

    async with Client(mcp, extensions=[advertise(STAMPS)]) as client:
        assert (await client.call_tool("engrave")).content[0].text == "engraved"
    async with Client(mcp, mode="legacy", extensions=[advertise(STAMPS)]) as client:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("engrave")
    assert caught.value.code == -32600
    assert caught.value.message == f"The extension {STAMPS} needs protocol 2026-07-28"


@both_eras
async def test_the_parameters_of_an_interceptor_may_be_called_anything(mode: str) -> None:
    class Renamed(Extension):
        identifier = "com.example/renamed"

        async def intercept_tool_call(self, call: Any, request: Any, then: Any) -> Any:  # type: ignore[override]  # as users write it
            return await then(request)

    mcp = MCPServer(extensions=[Renamed(), ByPosition()])

    @mcp.tool()
    def greet() -> str:
        return "hello"

    async with Client(mcp, mode=mode) as client:
        assert (await client.call_tool("greet")).content[0].text == "hello"


class ByPosition(Extension):
    identifier = "com.example/by-position"

    async def intercept_tool_call(self, *arguments: Any) -> Any:  # type: ignore[override]  # as users write it
        _, request, then = arguments
        return await then(request)


async def test_an_interceptor_that_is_no_async_function_is_named(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Plain(Extension):
        identifier = "com.example/plain"

        def intercept_tool_call(self, params: Any, ctx: Any, call_next: Any) -> Any:
            return CallToolResult(content=[])

    mcp = MCPServer(extensions=[Plain()])

    @mcp.tool()
    def greet() -> str:
        return "hello"

    async with Client(mcp) as client:
        assert (await client.call_tool("greet")).is_error
    assert (
        "Plain.intercept_tool_call: expected an async function, got one that returned "
        "CallToolResult" in caplog.text
    )


def test_an_interceptor_that_cannot_be_called_is_refused() -> None:
    class Odd(Extension):
        identifier = "com.example/odd"
        intercept_tool_call = 5  # type: ignore[assignment]  # that is the mistake

    with pytest.raises(
        TypeError, match=r"^Odd\.intercept_tool_call: expected a function, got int"
    ):
        MCPServer(extensions=[Odd()])


async def test_a_lowlevel_server_takes_interceptors_too() -> None:
    async def call(ctx: Any, params: Any) -> CallToolResult:
        return text_result(params.name)

    async def tools(ctx: Any, params: Any) -> ListToolsResult:
        return ListToolsResult(tools=[])

    log: list[str] = []
    handler = compose_tool_call_handler([Noting("a", log)], call)
    async with Client(Server("low", on_call_tool=handler, on_list_tools=tools)) as client:
        await client.call_tool("x")
    assert log == ["a before x", "a after False"]
    assert compose_tool_call_handler([Stamps()], call) is call


class Counting(Extension):
    """Counts what is asked, and brings a family of resources."""

    identifier = "com.example/counting"

    def __init__(self, versions: frozenset[str] | None = None) -> None:
        self.protocol_versions = versions
        self.asked: dict[str, list[str]] = {}

    def resource_templates(self) -> list[ResourceTemplate]:
        def count(name: str) -> str:
            return f"count of {name}"

        return [ResourceTemplate.from_function(count, "count://{name}")]

    def middleware(self, server: MCPServer[Any]) -> list[ServerMiddleware]:
        asked = self.asked.setdefault(server.name, [])

        async def count(ctx: Any, call_next: Any) -> Any:
            asked.append(ctx.method)
            return await call_next(ctx)

        return [count]

    def methods(self) -> list[MethodBinding]:
        return [MethodBinding("counting/count", dict, stamp)]


@both_eras
async def test_it_stands_round_every_request_of_each_of_its_servers(mode: str) -> None:
    extension = Counting()
    order: list[str] = []

    async def outer(ctx: Any, call_next: Any) -> Any:
        order.append(f"{ctx.method} {ctx.method in extension.asked['one'][-1:]}")
        return await call_next(ctx)

    one = MCPServer("one", extensions=[extension], middleware=[outer])
    two = MCPServer("two", extensions=[extension])
    async with Client(one, mode=mode) as first, Client(two, mode=mode):
        await first.list_prompts()
        await first.list_tools()
    # Inside of what the server was given itself.
    assert "tools/list False" in order
    assert "tools/list" in extension.asked["one"]
    assert "tools/list" not in extension.asked["two"]


@both_eras
async def test_its_families_of_resources_are_served(mode: str) -> None:
    async with Client(MCPServer("one", extensions=[Counting()]), mode=mode) as client:
        [template] = (await client.list_resource_templates()).resource_templates
        assert template.uri_template == "count://{name}"
        assert (await client.read_resource("count://x")).contents[0].text == "count of x"


@pytest.mark.parametrize("mode", ["2025-06-18", "2025-11-25", "auto"])
async def test_it_is_declared_and_served_at_the_revisions_that_it_names(mode: str) -> None:
    extension = Counting(frozenset({"2025-11-25"}))
    async with Client(MCPServer("one", extensions=[extension]), mode=mode) as client:
        declared = client.server_capabilities.extensions
        if mode == "2025-11-25":
            assert declared == {extension.identifier: {}}
            assert (await ask(client, "counting/count", {}))["by"] == mode
        else:
            assert declared is None
            with pytest.raises(MCPError) as caught:
                await ask(client, "counting/count", {})
            assert caught.value.code == -32601


@pytest.mark.parametrize("versions", [frozenset[str](), frozenset({"2025-11-26"})])
def test_revisions_that_there_are_not_are_refused(versions: frozenset[str]) -> None:
    with pytest.raises(ValueError, match=r"counting: protocol_versions names"):
        MCPServer(extensions=[Counting(versions)])
