"""What a token does not allow is refused before anything of it is done."""

from __future__ import annotations

import pytest
import trio.testing

from tests.http._asgi import META, open_app
from trio_mcp import Client, Context, MCPError, MCPServer, Server
from trio_mcp.auth import InsufficientScopeError, Principal
from trio_mcp.server import CacheHint
from trio_mcp.transports import HttpApp
from trio_mcp.transports.http._asgi import PRINCIPAL
from trio_mcp.types import CallToolResult

from ._protected import (
    METADATA_URL,
    Verifier,
    bearer,
    call,
    challenges,
    make_server,
    older,
    open_protected,
    settings,
    token,
)


@pytest.fixture(autouse=True)
def clock():
    return trio.testing.MockClock(autojump_threshold=0)


BOTH = "use files:read files:write"


@pytest.mark.req("R-457", "R-458", "R-459", "R-456")
@pytest.mark.case("C054")
@pytest.mark.parametrize("name", ["ada", "reader", "weak"])
async def test_one_challenge_names_all_that_a_tool_takes(name):
    async with open_protected() as client:
        answer = await call(client, "change", name)
        assert answer.status == 403
        challenge = challenges(answer)["Bearer"]
        assert challenge["error"] == "insufficient_scope"
        # Also what the token allows, and what every request takes: a client asks for just that.
        assert challenge["scope"] == BOTH
        assert challenge["resource_metadata"] == METADATA_URL
        error = answer.json()
        assert (error["id"], error["error"]["code"]) == (1, -31403)
        assert error["error"]["data"] == {"requiredScopes": BOTH.split()}
        assert (await call(client, "change", "admin")).status == 200


@pytest.mark.req("R-279", "R-313")
@pytest.mark.parametrize(
    ("method", "params", "scope"),
    [
        ("tools/call", {"name": "change", "arguments": {}}, BOTH),
        ("resources/read", {"uri": "files://all"}, "use files:read"),
        ("resources/read", {"uri": "files://one/a"}, "use files:read"),
        ("prompts/get", {"name": "summarize"}, "use files:read"),
        (
            "completion/complete",
            {"ref": {"type": "ref/prompt", "name": "summarize"},
             "argument": {"name": "style", "value": ""}},
            "use files:read",
        ),
        (
            "completion/complete",
            {"ref": {"type": "ref/resource", "uri": "files://one/{name}"},
             "argument": {"name": "name", "value": ""}},
            "use files:read",
        ),
        (
            "subscriptions/listen",
            {"notifications": {"resourceSubscriptions": ["files://one/a", "files://all"]}},
            "use files:read",
        ),
        ("tools/list", {}, "use"),
        ("ping", {}, "use"),
    ],
)  # fmt: skip
async def test_every_way_to_a_component_takes_its_scopes(method, params, scope):
    async with open_protected() as client:
        answer = client.ask(method, params, headers=bearer("weak"))
        await answer.wait_complete()
        assert answer.status == 403
        assert challenges(answer)["Bearer"]["scope"] == scope
        answer = client.ask(method, params, headers=bearer("admin"))
        await answer.wait_started()
        assert answer.status != 403
        answer.leave()


@pytest.mark.req("R-314")
async def test_what_others_may_keep_is_given_to_nobody_who_may_not_read_it():
    public = CacheHint(60_000, "public")
    mcp = make_server(cache_hints={"tools/list": public, "resources/read": public})
    async with open_protected(mcp) as client:
        for method, params in (("tools/list", {}), ("resources/read", {"uri": "files://all"})):
            for name, status in ((None, 401), ("weak", 403), ("admin", 200), (None, 401)):
                headers = {} if name is None else bearer(name)
                answer = await client.ask(method, params, headers=headers).wait_complete()
                assert answer.status == status
                if status == 200:
                    assert answer.json()["result"]["cacheScope"] == "public"


@pytest.mark.req("R-279", "R-313")
async def test_first_template_that_matches_decides_as_where_it_is_read():
    mcp = make_server()
    mcp.resource("files://{+path}", name="any", required_scopes=["files:write"])(lambda path: path)
    async with open_protected(mcp) as client:
        for uri, scope in {
            "files://one/a": "use files:read",
            # It is refused for what it leads to, and before that for what it takes.
            "files://one/..": "use files:read",
            "files://two/a": "use files:write",
        }.items():
            answer = client.ask("resources/read", {"uri": uri}, headers=bearer("ada"))
            await answer.wait_complete()
            assert challenges(answer)["Bearer"]["scope"] == scope
        answer = client.ask("resources/read", {"uri": "other://x"}, headers=bearer("ada"))
        assert (await answer.wait_complete()).status == 400


@pytest.mark.req("R-279", "R-313")
async def test_subscribing_takes_the_scopes_of_reading():
    async with open_protected() as client:
        session = older(client, "ada")
        await session.initialize(headers=bearer("ada"))
        for method in ("resources/subscribe", "resources/read"):
            answer = await session.ask(method, {"uri": "files://all"}).wait_complete()
            assert answer.status == 403


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"name": None},
        {"name": ["change"]},
        {"name": {"change": 1}},
        {"uri": 7},
        {"uri": "files://one/%2e%2e%2fsecret"},
        {"ref": "x"},
        {"ref": {"type": "ref/prompt"}},
        {"ref": {"type": "ref/resource", "uri": []}},
        {"notifications": []},
        {"notifications": {"resourceSubscriptions": "files://all"}},
        {"notifications": {"resourceSubscriptions": [7, {}]}},
    ],
)
async def test_params_that_are_nonsense_are_no_way_in_and_no_failure(params, caplog):
    async with open_protected() as client:
        for method in ("tools/call", "resources/read", "prompts/get", "completion/complete",
                       "subscriptions/listen", "resources/subscribe"):  # fmt: skip
            message = {"jsonrpc": "2.0", "id": 1, "method": method,
                       "params": {**params, "_meta": META}}  # fmt: skip
            headers = {"mcp-protocol-version": "2026-07-28", "mcp-method": method}
            for name in ("name", "uri"):
                if isinstance(params.get(name), str):
                    headers["mcp-name"] = params[name]
            answer = client.post(message, {**headers, **bearer("ada")})
            await answer.wait_started()
            assert answer.status in {200, 400, 403, 404}
            answer.leave()
            await answer.wait_complete()
    assert [each for each in caplog.records if each.levelname == "ERROR"] == []


@pytest.mark.req("R-465")
async def test_broader_scope_stands_for_narrower_ones():
    def covers(granted: str, needed: str) -> bool:
        return needed.startswith(f"{granted}:")

    verifier = Verifier({"all": token(scopes=["use", "files"]), "some": token(scopes=["files"])})
    auth = settings(scope_covers=covers)
    async with open_protected(make_server(verifier, auth)) as client:
        assert (await call(client, "change", "all")).status == 200
        answer = await call(client, "change", "some")
        assert answer.status == 403
        assert challenges(answer)["Bearer"]["scope"] == BOTH


@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_requests_without_a_body_take_what_all_take(method):
    async with open_protected() as client:
        headers = {"mcp-session-id": "x", "accept": "text/event-stream"}
        answer = await client.start(method, {**headers, **bearer("weak")}).wait_complete()
        assert answer.status == 403
        answer = await client.start(method, {**headers, **bearer("ada")}).wait_complete()
        assert answer.status == 404


async def test_server_may_take_no_scope_of_its_own():
    auth = settings(required_scopes=None)
    async with open_protected(make_server(auth=auth)) as client:
        assert (await call(client, "whoami", "weak")).status == 200
        answer = await call(client, "change", "weak")
        assert challenges(answer)["Bearer"]["scope"] == "files:read files:write"
        answer = await call(client, "whoami", None)
        assert "scope" not in challenges(answer)["Bearer"]


# The older era


@pytest.mark.req("R-457", "R-459")
@pytest.mark.parametrize("revision", ["2025-03-26", "2025-06-18", "2025-11-25"])
async def test_older_clients_are_told_by_the_status_as_well(revision):
    async with open_protected() as client:
        session = older(client, "ada", revision)
        assert (await session.initialize(headers=bearer("ada"))).status == 200
        assert (await session.call("whoami").wait_complete()).status == 200
        answer = await session.call("change").wait_complete()
        assert answer.status == 403
        assert challenges(answer)["Bearer"]["scope"] == BOTH
        # With more, in the same session.
        answer = session.ask("tools/call", {"name": "change", "arguments": {}}, **bearer("admin"))
        assert (await answer.wait_complete()).status == 200


async def test_batch_takes_what_all_of_its_requests_take():
    async with open_protected() as client:
        session = older(client, "reader", "2025-03-26")
        await session.initialize(headers=bearer("reader"))
        batch = [
            session.request("tools/call", {"name": "whoami", "arguments": {}}),
            session.request("resources/read", {"uri": "files://all"}),
        ]
        assert (await session.post(batch).wait_complete()).status == 200
        batch.append(session.request("tools/call", {"name": "change", "arguments": {}}))
        answer = await session.post(batch).wait_complete()
        assert answer.status == 403
        assert challenges(answer)["Bearer"]["scope"] == BOTH


async def test_stateless_servers_refuse_alike():
    async with open_protected(stateless_http=True) as client:
        message = {"jsonrpc": "2.0", "id": 5, "method": "tools/call",
                   "params": {"name": "change", "arguments": {}}}  # fmt: skip
        answer = await client.post(message, bearer("ada")).wait_complete()
        assert (answer.status, answer.json()["id"]) == (403, 5)
        assert (await client.post(message, bearer("admin")).wait_complete()).status == 200


# What only a handler knows


def asking(when: str) -> MCPServer:
    mcp = make_server()

    @mcp.tool()
    async def read(file: str, ctx: Context) -> str:
        if when == "late":
            await ctx.report_progress(1)
        if file == "secret":
            raise InsufficientScopeError(["use", "secrets:read"])
        return file

    return mcp


@pytest.mark.req("R-457", "R-458")
async def test_handler_that_knows_more_is_answered_for_by_a_challenge_too():
    async with open_protected(asking("early")) as client:
        assert (await call(client, "read", "ada", file="x")).status == 200
        answer = await call(client, "read", "ada", file="secret")
        assert answer.status == 403
        assert challenges(answer)["Bearer"]["scope"] == "use secrets:read"
        assert answer.json()["error"]["code"] == -31403


@pytest.mark.parametrize(
    "scopes", ["use", [7], ["a b"], ['a"'], [""], ["ä"], ["a\r\nx: y"], [b"a"]]
)
def test_error_that_no_challenge_can_tell_is_refused_where_it_is_made(scopes):
    with pytest.raises((TypeError, ValueError), match="scopes"):
        InsufficientScopeError(scopes)


@pytest.mark.parametrize(
    "data",
    [None, [], {}, {"requiredScopes": "use"}, {"requiredScopes": ["ä"]}, {"requiredScopes": [7]}],
)
async def test_error_of_another_server_is_handed_on_without_what_is_no_scope(data):
    mcp = make_server()

    @mcp.tool()
    async def ask_another() -> str:
        raise MCPError(-31403, "The other server wants more", data)

    async with open_protected(mcp) as client:
        answer = await call(client, "ask_another", "ada")
    assert answer.status == 403
    assert "scope" not in challenges(answer)["Bearer"]


async def test_when_the_answer_has_begun_it_is_an_error_like_others():
    async with open_protected(asking("late")) as client:
        params = {"name": "read", "arguments": {"file": "secret"}}
        meta = {"progressToken": "t"}
        answer = client.ask("tools/call", params, headers=bearer("ada"), meta=meta)
        await answer.wait_complete()
        assert answer.status == 200
        assert (await answer.messages())[-1]["error"]["code"] == -31403
        session = older(client, "ada")
        await session.initialize(headers=bearer("ada"))
        answer = await session.call("read", {"file": "secret"}).wait_complete()
        assert answer.status == 200


# Servers by hand, and other guards


async def test_low_level_server_says_by_a_function_what_requests_take():
    async def call_tool(ctx, params):
        return CallToolResult(content=[])

    server = Server(
        "raw",
        on_call_tool=call_tool,
        get_required_scopes=lambda method, params: {params.get("name", method)},
    )
    server.protect(settings(), token_verifier=Verifier())
    async with open_app(HttpApp(server)) as client:
        answer = await call(client, "change", "ada")
        assert challenges(answer)["Bearer"]["scope"] == "use change"
        assert (await call(client, "use", "ada")).status == 200


async def test_application_may_be_protected_alone():
    async def call_tool(ctx, params):
        return CallToolResult(content=[])

    server = Server("raw", on_call_tool=call_tool)
    given = {"auth": settings(), "token_verifier": Verifier()}
    for app in (server.streamable_http_app(**given), server.sse_app(**given)):
        async with open_app(app) as client:
            for path in ("/mcp", "/sse", "/messages/"):
                answer = await client.start("POST", path=path).wait_complete()
                assert answer.status in {401, 404}
    async with open_app(server.streamable_http_app()) as client:
        assert (await call(client, "any", None)).status == 200


async def test_scopes_count_for_whoever_else_has_found_the_caller():
    mcp = MCPServer("behind a gateway")

    @mcp.tool(required_scopes=["files:read"])
    async def read(ctx: Context) -> str:
        return ctx.principal.subject if ctx.principal else "nobody"

    async with open_app(mcp.streamable_http_app()) as client:
        # Nobody was found: what takes a scope is for nobody, then.
        answer = await call(client, "read", None)
        assert answer.status == 403
        assert challenges(answer) == {
            "Bearer": {"error": "insufficient_scope", "scope": "files:read"}
        }
        client.scope[PRINCIPAL] = Principal("ada")
        assert (await call(client, "read", None)).status == 403
        client.scope[PRINCIPAL] = Principal("ada", scopes=["files:read"])
        answer = await call(client, "read", None)
        assert answer.json()["result"]["structuredContent"] == {"result": "ada"}
    async with Client(mcp) as client:
        assert (await client.call_tool("read", {})).structured_content == {"result": "nobody"}


@pytest.mark.parametrize("scopes", ["files:read", [7], ["a b"], ['a"'], [""], ["é"], [b"a"]])
def test_what_is_no_name_of_a_scope_is_refused_where_it_is_given(scopes):
    mcp = MCPServer("x")
    with pytest.raises((TypeError, ValueError), match="required_scopes"):
        mcp.tool("t", required_scopes=scopes)(lambda: "")
    with pytest.raises((TypeError, ValueError), match="required_scopes"):
        mcp.resource("x://y", name="r", required_scopes=scopes)(lambda: "")
    with pytest.raises((TypeError, ValueError), match="required_scopes"):
        mcp.resource("x://{y}", name="r", required_scopes=scopes)(lambda y: "")
    with pytest.raises((TypeError, ValueError), match="required_scopes"):
        mcp.prompt("p", required_scopes=scopes)(lambda: "")
