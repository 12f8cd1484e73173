"""Wrong calls fail alike, whatever lies between a client and its server."""

from __future__ import annotations

import inspect
import sys
from contextlib import asynccontextmanager
from typing import get_args

import pytest
import trio

from trio_mcp.client import Client, listen
from trio_mcp.errors import MCPError
from trio_mcp.testing import open_client
from trio_mcp.transports import StdioServerParameters
from trio_mcp.types import (
    HANDSHAKE_PROTOCOL_VERSIONS,
    CallToolResult,
    ElicitResult,
    EmptyResult,
    LoggingLevel,
    PromptReference,
    ResourceTemplateReference,
    TextContent,
)

pytestmark = pytest.mark.filterwarnings("ignore::trio_mcp.errors.MCPDeprecationWarning")

SERVER = """
import trio

from trio_mcp.mcpserver import Context, MCPServer

mcp = MCPServer("shop")


@mcp.tool()
def add(a: int, b: int) -> int:
    return a + b


@mcp.tool()
def fail() -> str:
    raise RuntimeError("a secret")


@mcp.tool()
async def ask(ctx: Context) -> str:
    return str(await ctx.session.list_roots())


@mcp.tool()
async def work(ctx: Context) -> str:
    await ctx.report_progress(1, 2)
    return "done"


@mcp.tool()
async def wait() -> str:
    await trio.sleep_forever()
    return "never"


@mcp.resource("notes://all")
def notes() -> str:
    return "milk"


@mcp.prompt()
def greet(who: str) -> str:
    return who


if __name__ == "__main__":
    mcp.run("stdio")
"""

ROADS = ["direct", "memory", "text", "stdio"]
MODES = ["2026-07-28", "legacy"]

NAN = float("nan")


@asynccontextmanager
async def connected(road, mode, **options):
    if road == "stdio":
        server = StdioServerParameters(command=sys.executable, args=["-c", SERVER])
        async with Client(server, mode=mode, **options) as client:
            yield client
        return
    program = {"__name__": "shop"}
    exec(compile(SERVER, "shop.py", "exec"), program)
    async with open_client(program["mcp"], over=road, mode=mode, **options) as client:
        yield client


def verbs_of_both():
    """What `Client` and `ClientSession` have both."""
    return {
        "name of a tool": (lambda c: c.call_tool(5), "name: expected str, got int"),
        "no name": (lambda c: c.call_tool(None), "name: expected str, got NoneType"),
        "arguments are a list": (
            lambda c: c.call_tool("add", [1, 2]),
            "arguments: expected a dict, got list",
        ),
        "arguments are a string": (
            lambda c: c.call_tool("add", '{"a": 1}'),
            "arguments: expected a dict, got str",
        ),
        "an argument is no JSON": (
            lambda c: c.call_tool("add", {"a": {1, 2}}),
            "arguments.a: set has no JSON form",
        ),
        "an argument is not finite": (
            lambda c: c.call_tool("add", {"a": NAN}),
            "arguments.a: JSON has no nan",
        ),
        "timeout is a string": (
            lambda c: c.call_tool("add", {}, "5"),
            "read_timeout_seconds: expected a number of at least 0, got str",
        ),
        "timeout is negative": (
            lambda c: c.call_tool("add", {}, -1),
            "read_timeout_seconds: expected a number of at least 0, got -1",
        ),
        "timeout is NaN": (
            lambda c: c.call_tool("add", {}, NAN),
            "read_timeout_seconds: expected a number of at least 0, got nan",
        ),
        "total timeout is NaN": (
            lambda c: c.call_tool("add", {}, 5, max_total_timeout=NAN),
            "max_total_timeout: expected a number of at least 0, got nan",
        ),
        "reset is no flag": (
            lambda c: c.call_tool("add", {}, 5, reset_timeout_on_progress="no"),
            "reset_timeout_on_progress: expected bool, got str",
        ),
        "progress callback": (
            lambda c: c.call_tool("add", progress_callback=5),
            "progress_callback: expected a function, got int",
        ),
        "meta of a call": (
            lambda c: c.call_tool("add", meta="x"),
            "meta: expected a dict, got str",
        ),
        "a key in meta": (
            lambda c: c.call_tool("add", meta={5: 1}),
            "a name in meta: expected str, got int",
        ),
        "answers of a call": (
            lambda c: c.call_tool("add", input_responses=[ElicitResult(action="accept")]),
            "input_responses: expected a dict of answers, got list",
        ),
        "an answer of a call": (
            lambda c: c.call_tool("add", input_responses={"q": "yes"}),
            "input_responses['q']: expected an answer such as ElicitResult, got str",
        ),
        "state of a call": (
            lambda c: c.call_tool("add", request_state=b"x"),
            "request_state: expected str, got bytes",
        ),
        "URI": (lambda c: c.read_resource(5), "uri: expected str, got int"),
        "meta of reading": (
            lambda c: c.read_resource("notes://all", meta=5),
            "meta: expected a dict, got int",
        ),
        "state of reading": (
            lambda c: c.read_resource("notes://all", request_state=5),
            "request_state: expected str, got int",
        ),
        "URI to subscribe": (lambda c: c.subscribe_resource(5), "uri: expected str, got int"),
        "URI to leave": (
            lambda c: c.unsubscribe_resource(None),
            "uri: expected str, got NoneType",
        ),
        "meta of subscribing": (
            lambda c: c.subscribe_resource("notes://all", meta="x"),
            "meta: expected a dict, got str",
        ),
        "name of a prompt": (lambda c: c.get_prompt(5), "name: expected str, got int"),
        "arguments of a prompt": (
            lambda c: c.get_prompt("greet", ["you"]),
            "arguments: expected a dict, got list",
        ),
        "an argument of a prompt": (
            lambda c: c.get_prompt("greet", {"who": 5}),
            "arguments['who']: expected str, got int",
        ),
        "answers of a prompt": (
            lambda c: c.get_prompt("greet", input_responses=5),
            "input_responses: expected a dict of answers, got int",
        ),
        "reference": (
            lambda c: c.complete(5, 5),
            "ref: expected PromptReference or ResourceTemplateReference, got int",
        ),
        "argument to complete": (
            lambda c: c.complete(PromptReference(name="greet"), 5),
            "argument: expected a dict, got int",
        ),
        "value to complete": (
            lambda c: c.complete(PromptReference(name="greet"), {"name": "who", "value": 5}),
            "argument['value']: expected str, got int",
        ),
        "settled arguments": (
            lambda c: c.complete(ResourceTemplateReference(uri="a://b"), {}, {"x": 5}),
            "context_arguments['x']: expected str, got int",
        ),
        "meta of a ping": (lambda c: c.send_ping(meta="x"), "meta: expected a dict, got str"),
        "level": (
            lambda c: c.set_logging_level("zz"),
            f"level: expected one of {str(get_args(LoggingLevel))[1:-1]}, got 'zz'",
        ),
        "token": (
            lambda c: c.send_progress_notification(None, 1),
            "progress_token: expected str or int, got NoneType",
        ),
        "progress": (
            lambda c: c.send_progress_notification("t", "half"),
            "progress: expected a number, got str",
        ),
        "progress is not finite": (
            lambda c: c.send_progress_notification("t", float("inf")),
            "progress: JSON has no inf",
        ),
        "total": (
            lambda c: c.send_progress_notification("t", 1, NAN),
            "total: expected a number, got nan",
        ),
        "message": (
            lambda c: c.send_progress_notification("t", 1, 2, 3),
            "message: expected str, got int",
        ),
    }


def verbs_of_clients():
    paged = {
        f"{what} of {verb}": (call, message)
        for verb in ("list_tools", "list_prompts", "list_resources", "list_resource_templates")
        for what, call, message in (
            (
                "cursor",
                lambda c, verb=verb: getattr(c, verb)(cursor=5),
                "cursor: expected str, got int",
            ),
            (
                "meta",
                lambda c, verb=verb: getattr(c, verb)(meta="x"),
                "meta: expected a dict, got str",
            ),
            (
                "cache mode",
                lambda c, verb=verb: getattr(c, verb)(cache_mode="zz"),
                "cache_mode: expected one of 'use', 'refresh', 'bypass', got 'zz'",
            ),
        )
    }
    return {
        **paged,
        "cache mode of reading": (
            lambda c: c.read_resource("notes://all", cache_mode=5),
            "cache_mode: expected one of 'use', 'refresh', 'bypass', got int",
        ),
        "what to listen to": (
            lambda c: c.listen(tools_list_changed="yes"),
            "tools_list_changed: expected bool, got str",
        ),
        "URIs to listen to": (
            lambda c: c.listen(resource_subscriptions=5),
            "resource_subscriptions: expected a list of URIs, got int",
        ),
        "one URI to listen to": (
            lambda c: c.listen(resource_subscriptions="notes://all"),
            "resource_subscriptions: expected a list of URIs, got one str: put it into a list",
        ),
        "a URI to listen to": (
            lambda c: c.listen(resource_subscriptions=["notes://all", 5]),
            "resource_subscriptions[1]: expected str, got int",
        ),
    }


def verbs_of_sessions():
    done = CallToolResult(content=[])
    return {
        **{
            f"page of {verb}": (
                lambda s, verb=verb: getattr(s, verb)(params={"cursor": "x"}),
                "params: expected PaginatedRequestParams, got dict",
            )
            for verb in ("list_tools", "list_prompts", "list_resources", "list_resource_templates")
        },
        "allowing input": (
            lambda s: s.get_prompt("greet", allow_input_required="no"),
            "allow_input_required: expected bool, got str",
        ),
        "allowing claims": (
            lambda s: s.call_tool("add", allow_claimed=1),
            "allow_claimed: expected bool, got int",
        ),
        "version": (
            lambda s: s.initialize("2026-07-28"),
            f"version: expected one of {str(HANDSHAKE_PROTOCOL_VERSIONS)[1:-1]}, got '2026-07-28'",
        ),
        "version to discover": (lambda s: s.send_discover(5), "version: expected str, got int"),
        "what to adopt": (
            lambda s: s.adopt({"protocolVersion": "2025-11-25"}),
            "result: expected InitializeResult or DiscoverResult, got dict",
        ),
        "what to assume": (
            lambda s: s.assume("2026-07-28"),
            "revision: expected Revision, got str",
        ),
        "capability": (
            lambda s: s.may_offer("zz"),
            (
                "capability: expected one of 'experimental', 'logging', 'prompts', 'resources', "
                "'tools', 'completions', 'extensions', 'tasks', got 'zz'"
            ),
        ),
        "request": (
            lambda s: s.send_request({"method": "ping"}, EmptyResult),
            "request: expected Request, got dict",
        ),
        "notification": (
            lambda s: s.send_notification("notifications/initialized"),
            "notification: expected Notification, got str",
        ),
        "what to listen to": (
            lambda s: s.send_listen({}, print),
            "wanted: expected SubscriptionFilter, got dict",
        ),
        "session to listen in": (
            lambda s: listen(5),
            "session: expected ClientSession, got int",
        ),
        "function for events": (
            lambda s: listen(s, on_event=5),
            "on_event: expected a function, got int",
        ),
        "listener": (lambda s: s.on_notification(5), "listener: expected a function, got int"),
        "listener for restarts": (
            lambda s: s.on_reconnect(None),
            "listener: expected a function, got NoneType",
        ),
        "result to check": (
            lambda s: s.validate_tool_result("add", {}),
            "result: expected CallToolResult, got dict",
        ),
        "tool of a result": (
            lambda s: s.validate_tool_result(5, done),
            "name: expected str, got int",
        ),
        "result to finish": (
            lambda s: s.resolve_claimed({}, "add"),
            "result: expected Result, got dict",
        ),
        "tools to learn": (
            lambda s: s.learn_tools(["add"]),
            "tools[0]: expected Tool, got str",
        ),
        "question": (
            lambda s: s.dispatch_input_request(None, None),
            "ctx: expected ClientRequestContext, got NoneType",
        ),
    }


async def refusals(verbs, caller):
    """Call each verb in a scope that is cancelled: what waits for anything does not get far."""
    said = {}
    for name, (call, _) in verbs.items():
        with trio.CancelScope() as scope:
            scope.cancel()
            try:
                called = call(caller)
                if inspect.isawaitable(called):
                    await called
                else:
                    async with called:
                        pass
            except (TypeError, ValueError) as exc:
                said[name] = str(exc)
    return said


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("road", ROADS)
async def test_a_wrong_argument_is_refused_before_anything_is_sent(road, mode):
    async with connected(road, mode) as client:
        for verbs, caller in (
            (verbs_of_both(), client),
            (verbs_of_both(), client.session),
            (verbs_of_clients(), client),
            (verbs_of_sessions(), client.session),
        ):
            assert await refusals(verbs, caller) == {
                name: message for name, (_, message) in verbs.items()
            }
        # Nothing of that has harmed the connection, or what is known of the server.
        assert client.protocol_version == ("2025-11-25" if mode == "legacy" else mode)
        result = await client.call_tool("add", {"a": 1, "b": 2})
        assert result.content == [TextContent(text="3")]


# Calls that only the server can judge.


async def broken(*_):
    raise RuntimeError("a callback of mine")


CALLS = {
    "unknown tool": lambda c: c.call_tool("nope"),
    "missing argument": lambda c: c.call_tool("add", {"a": 1}),
    "argument of the wrong type": lambda c: c.call_tool("add", {"a": 1, "b": "x"}),
    "argument too many": lambda c: c.call_tool("add", {"a": 1, "b": 2, "c": 3}),
    "tool that fails": lambda c: c.call_tool("fail"),
    "tool that asks what is not offered": lambda c: c.call_tool("ask"),
    "progress callback that fails": lambda c: c.call_tool("work", None, None, broken),
    "time that is too short": lambda c: c.call_tool("wait", None, 0.01),
    "no time at all": lambda c: c.call_tool("wait", None, 0),
    "answers that nobody asked for": lambda c: c.call_tool(
        "add", {"a": 1, "b": 2}, input_responses={"q": ElicitResult(action="accept")}
    ),
    "state of nobody": lambda c: c.call_tool("add", {"a": 1, "b": 2}, request_state="forged"),
    "unknown resource": lambda c: c.read_resource("notes://none"),
    "URI that is none": lambda c: c.read_resource("no uri"),
    "unknown prompt": lambda c: c.get_prompt("nope"),
    "missing argument of a prompt": lambda c: c.get_prompt("greet"),
    "argument too many of a prompt": lambda c: c.get_prompt("greet", {"who": "x", "y": "z"}),
    "completion that is not offered": lambda c: c.complete(
        PromptReference(name="greet"), {"name": "who", "value": ""}
    ),
    "argument without a name": lambda c: c.complete(PromptReference(name="greet"), {}),
    "cursor of another list": lambda c: c.list_tools(cursor="made up"),
    "cursor that is empty": lambda c: c.list_prompts(cursor=""),
    "ping": lambda c: c.send_ping(),
    "level": lambda c: c.set_logging_level("error"),
    "subscription": lambda c: c.subscribe_resource("notes://all"),
    "subscription that is not there": lambda c: c.unsubscribe_resource("notes://none"),
    "report of what nobody asked": lambda c: c.send_progress_notification("mine", 1),
    "roots that are not offered": lambda c: c.send_roots_list_changed(),
    "version that nobody speaks": lambda c: c.session.send_discover("2099-01-01"),
}


async def outcomes(client):
    found = {}
    for name, call in CALLS.items():
        try:
            result = await call(client)
        except MCPError as exc:
            found[name] = (type(exc).__name__, exc.code, exc.message, exc.data)
        except ValueError as exc:
            # Refused on this side: the older era has neither answers nor a state.
            found[name] = str(exc)
        else:
            found[name] = result
    return found


@pytest.mark.parametrize("mode", MODES)
async def test_what_only_the_server_can_judge_ends_alike_on_every_road(mode):
    found = {}
    for road in ROADS:
        async with connected(road, mode) as client:
            found[road] = await outcomes(client)
    assert found["memory"] == found["direct"]
    assert found["text"] == found["direct"]
    assert found["stdio"] == found["direct"]
    assert all("secret" not in str(each) for each in found["stdio"].values())
    errors = {name for name, each in found["memory"].items() if isinstance(each, tuple)}
    assert errors >= {"unknown tool", "unknown resource", "unknown prompt"}


async def answer_nothing(*_):
    return None


@pytest.mark.parametrize("callback", [broken, answer_nothing, lambda *_: 5])
async def test_a_callback_that_fails_is_an_internal_error_for_the_server(callback, caplog):
    found = {}
    for road in ROADS:
        async with connected(road, "legacy", list_roots_callback=callback) as client:
            with pytest.raises(MCPError) as caught:
                await client.call_tool("ask")
            found[road] = (caught.value.code, caught.value.message)
            # Its connection lives on.
            assert (await client.call_tool("work")).content == [TextContent(text="done")]
    assert found["stdio"] == found["text"] == found["memory"] == found["direct"]
    assert found["memory"][0] == -32603
    assert "mine" not in found["memory"][1]
    assert caplog.text.count("roots/list") >= len(ROADS)


# What belongs to a time when the client is not open.


@pytest.mark.parametrize("road", ROADS)
async def test_a_client_is_used_inside_of_its_block_only(road):
    async with connected(road, "2026-07-28") as client:
        with pytest.raises(RuntimeError, match="open already"):
            async with client:
                pass
        session = client.session
    for call in (client.list_tools, lambda: client.call_tool("add"), client.send_ping):
        with pytest.raises(RuntimeError, match="inside `async with Client"):
            await call()
    with pytest.raises(RuntimeError, match="entered before"):
        async with session:
            pass
    with pytest.raises(MCPError, match="closed"):
        await session.call_tool("add", {"a": 1, "b": 2})


@pytest.mark.req("R-046", "R-048")
@pytest.mark.parametrize("mode", ["2026-07-28", "legacy"])
@pytest.mark.parametrize("road", ["direct", "text"])
async def test_keys_of_meta_follow_the_grammar(road, mode):
    async with connected(road, mode) as client:
        good = {"com.example/colour": "red", "traceparent": "00-1-2-01"}
        await client.list_tools(meta=good)
        await client.call_tool("work", meta=good)
        for verb in (
            lambda meta: client.list_tools(meta=meta),
            lambda meta: client.call_tool("work", meta=meta),
            lambda meta: client.read_resource("a://b", meta=meta),
            lambda meta: client.get_prompt("p", meta=meta),
            lambda meta: client.session.call_tool("work", meta=meta),
        ):
            with pytest.raises(ValueError, match=r"meta: expected keys like .* got 'no good'"):
                await verb({**good, "no good": 1})
        # Nothing was sent, and nothing is broken.
        assert (await client.call_tool("work")).content == [TextContent(text="done")]
