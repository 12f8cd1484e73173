"""What a client declares and understands beyond the core protocol."""

from __future__ import annotations

import logging
from typing import Literal

import pytest
import trio
import trio.testing

from trio_mcp.client import (
    Client,
    ClientExtension,
    ClientSession,
    NotificationBinding,
    ResultClaim,
    UnexpectedClaimedResult,
    advertise,
)
from trio_mcp.errors import InvalidResponse, MCPError
from trio_mcp.extensions import TasksClientExtension
from trio_mcp.server import Server
from trio_mcp.types import CallToolResult, InputRequiredResult, Request, Result, TextContent
from trio_mcp.types._base import WireModel, wire_field, wire_model

RECEIPTS = "com.example/receipts"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
RECEIPT = {"resultType": "receipt", "number": "r-1"}
DONE = {"resultType": "complete", "content": [{"type": "text", "text": "done"}]}


@wire_model
class Receipt(Result):
    result_type: Literal["receipt"] = wire_field(default="receipt", always=True)
    number: str


@wire_model
class Printed(WireModel):
    number: str


class Receipts(ClientExtension):
    identifier = RECEIPTS

    def __init__(self):
        self.contexts = []
        self.printed = []

    def settings(self):
        return {"paper": "A4"}

    def claims(self):
        return [ResultClaim(result_type="receipt", model=Receipt, resolve=self.resolve)]

    def notifications(self):
        return [
            NotificationBinding(
                method="notifications/com.example/printed",
                params_type=Printed,
                handler=self.hear,
            )
        ]

    async def resolve(self, receipt, context):
        self.contexts.append(context)
        text = f"{receipt.number} of {context.tool_name}"
        return CallToolResult(content=[TextContent(text=text)])

    async def hear(self, params):
        self.printed.append(params.number)


@pytest.fixture
def declaring(discovery):
    return {**discovery, "capabilities": {"tools": {}, "extensions": {RECEIPTS: {}}}}


@pytest.mark.req("R-009")
async def test_a_claimed_result_is_finished_by_its_extension(
    autojump_clock, connect, script, declaring
):
    receipts = Receipts()
    server = script(server__discover=declaring, tools__call=RECEIPT)
    async with connect(server, extensions=[receipts]) as client:
        result = await client.call_tool("print", read_timeout_seconds=5)
        assert result.content[0].text == "r-1 of print"
        [context] = receipts.contexts
        assert context.session is client.session
        assert context.read_timeout_seconds == 5
    declared = server.received[-1].params["_meta"][CAPABILITIES]["extensions"]
    assert declared == {RECEIPTS: {"paper": "A4"}}


async def test_input_rounds_may_end_in_a_claimed_result(
    autojump_clock, connect, script, declaring
):
    def answer(params):
        return RECEIPT if "requestState" in params else wanted

    wanted = {"resultType": "input_required", "requestState": "s"}
    server = script(server__discover=declaring, tools__call=answer)
    async with connect(server, extensions=[Receipts()]) as client:
        assert (await client.call_tool("print")).content[0].text == "r-1 of print"


async def test_a_resolver_is_cancelled_with_the_call_and_so_is_what_it_asks(
    autojump_clock, connect, script, declaring
):
    class Fetching(Receipts):
        async def resolve(self, receipt, context):
            request = Request(method="com.example/fetch", params={"number": receipt.number})
            return await context.session.send_request(request, CallToolResult)

    server = script(
        server__discover=declaring, tools__call=RECEIPT, **{"com.example__fetch": script.SILENCE}
    )
    async with connect(server, extensions=[Fetching()]) as client:
        with trio.move_on_after(5) as scope:
            await client.call_tool("print")
        assert scope.cancelled_caught
        await trio.testing.wait_all_tasks_blocked()
        fetch, cancel = server.received[-2:]
        assert (fetch.method, cancel.method) == ("com.example/fetch", "notifications/cancelled")
        assert cancel.params["requestId"] == fetch.id


async def test_a_claimed_call_may_be_cancelled_at_every_step(
    autojump_clock, connect, script, declaring, cancel_at_each_step
):
    class Slow(Receipts):
        async def resolve(self, receipt, context):
            await trio.sleep(1)
            return await super().resolve(receipt, context)

    server = script(server__discover=declaring, tools__call=RECEIPT)
    async with connect(server, extensions=[Slow()]) as client:

        async def check(result):
            assert result is None or result.content[0].text == "r-1 of print"

        assert await cancel_at_each_step(lambda: client.call_tool("print"), check) > 5
        assert not client.session._link._calls


@pytest.mark.parametrize("fault", ["raises", "never returns"])
async def test_a_binding_in_trouble_holds_up_no_call(
    autojump_clock, connect, script, declaring, caplog, fault
):
    class Troubled(Receipts):
        async def hear(self, params):
            self.printed.append(params.number)
            if fault == "raises":
                raise KeyError("mine")
            await trio.sleep_forever()

    troubled = Troubled()
    server = script(server__discover=declaring, tools__call=DONE)
    async with connect(server, extensions=[troubled]) as client:
        for number in ("1", "2"):
            await server.tell("notifications/com.example/printed", {"number": number})
        await trio.testing.wait_all_tasks_blocked()
        assert (await client.call_tool("print")).content[0].text == "done"
        assert troubled.printed == (["1", "2"] if fault == "raises" else ["1"])
    assert caplog.text.count("The handler of a notification failed") == len(troubled.printed) * (
        fault == "raises"
    )


@pytest.mark.req("R-009")
async def test_raw_sessions_get_claimed_results_only_when_they_ask(
    autojump_clock, connect, script, declaring
):
    server = script(server__discover=declaring, tools__call=RECEIPT)
    async with connect(server, extensions=[Receipts()]) as client:
        receipt = await client.session.call_tool("print", allow_claimed=True)
        assert receipt == Receipt(number="r-1")
        with pytest.raises(UnexpectedClaimedResult, match="allow_claimed") as caught:
            await client.session.call_tool("print")
        assert caught.value.result == receipt
        assert isinstance(caught.value, MCPError)


@pytest.mark.req("R-009", "R-070")
async def test_what_only_one_side_declares_is_refused(
    autojump_clock, connect, script, discovery, declaring
):
    # Not by the client ...
    server = script(server__discover=declaring, tools__call=RECEIPT)
    async with connect(server) as client:
        with pytest.raises(InvalidResponse, match="resultType 'receipt'"):
            await client.call_tool("print")
    # ... nor by the server.
    server = script(server__discover=discovery, tools__call=RECEIPT, tools__list=DONE)
    async with connect(server, extensions=[Receipts()]) as client:
        with pytest.raises(InvalidResponse, match=f"has not declared the extension '{RECEIPTS}'"):
            await client.call_tool("print")


@pytest.mark.req("R-010", "R-668")
@pytest.mark.parametrize(
    ("method", "ask"),
    [
        ("tools__list", lambda client: client.list_tools()),
        ("prompts__get", lambda client: client.get_prompt("p")),
        ("resources__read", lambda client: client.read_resource("a:b")),
        (
            "com.example__own",
            lambda client: client.session.send_request(
                Request(method="com.example/own", params={}), Result
            ),
        ),
    ],
)
async def test_a_claimed_result_of_another_method_is_invalid(
    autojump_clock, connect, script, discovery, method, ask
):
    made = {
        "resultType": "task",
        "taskId": "t",
        "status": "working",
        "createdAt": "2026-07-28T00:00:00Z",
        "lastUpdatedAt": "2026-07-28T00:00:00Z",
        "ttlMs": None,
    }
    capabilities = {
        **{key: {} for key in ("tools", "prompts", "resources")},
        "extensions": {"io.modelcontextprotocol/tasks": {}},
    }
    declaring = {**discovery, "capabilities": capabilities}
    server = script(server__discover=declaring, **{method: made})
    async with connect(server, extensions=[TasksClientExtension()]) as client:
        with pytest.raises(InvalidResponse, match="resultType"):
            await ask(client)


async def test_a_server_that_was_never_asked_may_use_it(autojump_clock, connect, script):
    server = script(tools__call=RECEIPT)
    async with connect(server, mode="2026-07-28", extensions=[Receipts()]) as client:
        assert (await client.call_tool("print")).content[0].text == "r-1 of print"


async def test_a_claimed_result_of_the_wrong_shape_is_invalid(
    autojump_clock, connect, script, declaring
):
    server = script(server__discover=declaring, tools__call={**RECEIPT, "number": 5})
    async with connect(server, extensions=[Receipts()]) as client:
        with pytest.raises(InvalidResponse, match=r"result\.number"):
            await client.call_tool("print")


async def test_what_a_resolver_raises_leaves_as_it_is(autojump_clock, connect, script, declaring):
    class Failing(Receipts):
        async def resolve(self, receipt, context):
            raise KeyError(receipt.number)

    server = script(server__discover=declaring, tools__call=RECEIPT)
    async with connect(server, extensions=[Failing()]) as client:
        with pytest.raises(KeyError, match="r-1"):
            await client.call_tool("print")


@pytest.mark.parametrize("returned", [None, {"content": []}])
async def test_what_a_resolver_returns_is_the_result_of_a_tool(
    autojump_clock, connect, script, declaring, returned
):
    class Forgetful(Receipts):
        async def resolve(self, receipt, context):
            return returned

    server = script(server__discover=declaring, tools__call=RECEIPT)
    async with connect(server, extensions=[Forgetful()]) as client:
        with pytest.raises(
            TypeError, match="what resolve of 'receipt' returned: expected CallToolResult, got"
        ):
            await client.call_tool("print")


async def test_the_older_era_declares_extensions_without_claims_only(
    autojump_clock, connect, script, initialized
):
    server = script(initialize=initialized(), tools__call={**RECEIPT, "content": []})
    plain = advertise("io.modelcontextprotocol/ui", {"mimeTypes": ["text/html"]})
    async with connect(server, mode="legacy", extensions=[Receipts(), plain]) as client:
        declared = server.received[0].params["capabilities"]["extensions"]
        assert declared == {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html"]}}
        # There are no result types: it is what every result of a tool is.
        assert (await client.call_tool("print")).content == []


async def test_a_real_server_sees_what_is_declared(autojump_clock):
    seen = []

    async def call(ctx, params):
        seen.append(ctx.session.client_capabilities.extensions)
        return CallToolResult(content=[])

    for mode in ("auto", "legacy"):
        server = Server("looking", on_call_tool=call)
        extension = advertise("com.example/x", {"a": 1})
        async with Client(server, mode=mode, extensions=[extension]) as client:
            await client.call_tool("any")
    assert seen == [{"com.example/x": {"a": 1}}] * 2


@pytest.mark.parametrize("era", ["modern", "older"])
async def test_bound_notifications_come_in_order_and_broken_ones_do_not(
    autojump_clock, connect, script, declaring, initialized, era, caplog
):
    caplog.set_level(logging.DEBUG, "trio_mcp.client")
    receipts = Receipts()
    server = script(server__discover=declaring, initialize=initialized(), tools__call=DONE)
    mode = "auto" if era == "modern" else "legacy"
    method = "notifications/com.example/printed"
    async with connect(server, mode=mode, extensions=[receipts]) as client:
        for number in "123":
            await server.tell(method, {"number": number})
        await server.tell(method, {"number": 4})
        await server.tell(method)
        await server.tell("notifications/com.example/other", {"number": "5"})
        await client.call_tool("any")
        await trio.testing.wait_all_tasks_blocked()
    assert receipts.printed == ["1", "2", "3"]
    assert caplog.text.count(f"{method} of the server was dropped") == 2


async def test_core_notifications_never_reach_a_binding(
    autojump_clock, connect, script, declaring
):
    heard = []

    class Nosy(ClientExtension):
        identifier = "com.example/nosy"

        def notifications(self):
            async def hear(params):
                heard.append(params)

            return [
                NotificationBinding(
                    method="notifications/message", params_type=Printed, handler=hear
                )
            ]

    logged = []

    async def log(params):
        logged.append(params.data)

    server = script(server__discover=declaring, tools__call=DONE)
    async with connect(server, extensions=[Nosy()], logging_callback=log) as client:
        await server.tell("notifications/message", {"level": "info", "data": "core"})
        await client.call_tool("any")
        await trio.testing.wait_all_tasks_blocked()
    assert (heard, logged) == ([], ["core"])


@pytest.mark.req("R-069")
@pytest.mark.parametrize("identifier", ["", "noprefix", "com.example/", "-a.b/c", "a b/c", 5])
def test_identifiers_follow_the_grammar(identifier):
    with pytest.raises(ValueError, match="no identifier of an extension"):
        advertise(identifier)
    with pytest.raises(ValueError, match="no identifier of an extension"):
        type("Bad", (ClientExtension,), {"identifier": identifier})
    instance = ClientExtension()
    instance.identifier = identifier
    with pytest.raises(ValueError, match="no identifier of an extension"):
        Client(Server("x"), extensions=[instance])


def test_an_extension_without_identifier_is_refused():
    with pytest.raises(ValueError, match="no identifier"):
        Client(Server("x"), extensions=[ClientExtension()])


def test_the_same_extension_twice_is_refused():
    with pytest.raises(ValueError, match="given twice"):
        Client(Server("x"), extensions=[advertise("a.b/c"), advertise("a.b/c")])


def test_settings_are_copied_and_must_be_json():
    settings = {"list": [1]}
    session = ClientSession(open_link=lambda serving: None, extensions={"a.b/c": settings})
    settings["list"].append(2)
    assert session.client_capabilities.extensions == {"a.b/c": {"list": [1]}}
    with pytest.raises(TypeError, match=r"a\.b/c"):
        Client(Server("x"), extensions=[advertise("a.b/c", {"x": b"no"})])


async def resolve(result, context):
    return CallToolResult(content=[])


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"result_type": "complete"}, "core protocol"),
        ({"result_type": "input_required"}, "core protocol"),
        ({"result_type": ""}, "core protocol"),
        ({"method": "prompts/get"}, "tools/call"),
        ({"model": dict}, "no class of trio_mcp.types.Result"),
        ({"model": CallToolResult}, "core protocol"),
        ({"model": InputRequiredResult}, "core protocol"),
        ({"protocol_versions": frozenset()}, "protocol_versions"),
        ({"protocol_versions": frozenset({"2025-11-25"})}, "protocol_versions"),
    ],
)
def test_claims_that_cannot_be_are_refused(changes, match):
    good = {"result_type": "receipt", "model": Receipt, "resolve": resolve}
    ResultClaim(**good)
    with pytest.raises(ValueError, match=match):
        ResultClaim(**{**good, **changes})


def test_claims_and_bindings_do_not_overlap():
    claim = ResultClaim(result_type="receipt", model=Receipt, resolve=resolve)
    binding = NotificationBinding(method="notifications/x", params_type=Printed, handler=resolve)

    def session(**options):
        return ClientSession(open_link=lambda serving: None, **options)

    with pytest.raises(ValueError, match="two claims"):
        session(extensions={"a.b/c": {}}, result_claims={"a.b/c": [claim, claim]})
    with pytest.raises(ValueError, match="not among the extensions"):
        session(result_claims={"a.b/c": [claim]})
    with pytest.raises(ValueError, match="bound twice"):
        session(notification_bindings=[binding, binding])


@pytest.mark.req("R-663")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_client_declares_no_extension_that_it_was_not_given(mode):
    declared = []

    async def look(ctx, call_next):
        declared.append(ctx.session.client_capabilities.extensions)
        return await call_next(ctx)

    server = Server("x", on_list_tools=lambda ctx, params: None)
    server.middleware.append(look)
    async with Client(server, mode=mode) as client:
        await client.session.send_ping() if mode == "legacy" else await client.session.discover()
    assert declared
    assert set(declared) == {None}


@pytest.mark.parametrize(
    ("versions", "is_declared"),
    [
        (None, True),
        ({"2025-11-25"}, True),
        (frozenset({"2025-06-18", "2026-07-28"}), False),
        (frozenset({"2026-07-28"}), False),
    ],
)
async def test_an_extension_is_declared_at_the_revisions_that_it_names(
    autojump_clock, connect, script, initialized, versions, is_declared
):
    class Own(ClientExtension):
        identifier = "com.example/own"
        protocol_versions = versions

    server = script(initialize=initialized())
    async with connect(server, mode="2025-11-25", extensions=[Own(), advertise("com.example/b")]):
        declared = server.received[0].params["capabilities"]["extensions"]
    assert ("com.example/own" in declared) is is_declared
    assert "com.example/b" in declared


async def test_a_claim_is_not_in_force_where_its_extension_is_not(
    autojump_clock, connect, script, declaring
):
    class Older(Receipts):
        protocol_versions = frozenset({"2025-11-25"})

    server = script(server__discover=declaring, tools__call=RECEIPT)
    async with connect(server, extensions=[Older()]) as client:
        with pytest.raises(InvalidResponse, match="resultType 'receipt'"):
            await client.call_tool("print")
    assert "extensions" not in server.received[-1].params["_meta"][CAPABILITIES]


@pytest.mark.parametrize(
    ("versions", "error"),
    [("2026-07-28", TypeError), ({20260728}, TypeError), (frozenset(), ValueError),
     ({"2026-07-29"}, ValueError)],
)  # fmt: skip
def test_an_extension_names_revisions_that_there_are(versions, error):
    class Own(ClientExtension):
        identifier = "com.example/own"
        protocol_versions = versions

    with pytest.raises(error, match=r"com\.example/own: protocol_versions"):
        Client(Server("x"), extensions=[Own()])
