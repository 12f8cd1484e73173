"""Tasks over HTTP: who may ask for them, and which headers name them."""

from __future__ import annotations

import pytest
import trio

from trio_mcp import BearerAuth, Client, MCPError
from trio_mcp.auth import AuthSettings, StaticTokenVerifier
from trio_mcp.extensions import Task, TasksClientExtension
from trio_mcp.transports import ServeOptions, serve_http_app
from trio_mcp.types import SERVER_BUSY, EmptyResult, Request, Result

from ._studio import NamedRequest, connect, error_of, serve, settle, start, studio

URL = "https://studio.example.com/mcp"

PROTECTED = {
    "auth": AuthSettings(issuer_url="https://login.example.com", resource_server_url=URL),
    "token_verifier": StaticTokenVerifier(
        {
            "secret-of-ada": {"client_id": "ci", "subject": "ada"},
            "secret-of-bob": {"client_id": "ci", "subject": "bob"},
        },
        resource=URL,
    ),
}


@pytest.mark.req("R-703")
async def test_a_task_is_that_of_the_principal_who_asked_for_it():
    made = studio(patience=0, server=PROTECTED)
    extensions = [TasksClientExtension()]
    async with (
        serve(made.mcp) as url,
        Client(url, auth=BearerAuth("secret-of-ada"), extensions=extensions) as ada,
        Client(url, auth=BearerAuth("secret-of-ada"), extensions=extensions) as ada_again,
        Client(url, auth=BearerAuth("secret-of-bob"), extensions=extensions) as bob,
    ):
        task = await start(ada, "paint", {"seconds": 60})
        stolen = Task(bob, task.task_id)
        for attempt in (stolen.get, stolen.cancel, lambda: stolen.update({})):
            error = await error_of(attempt())
            assert (error.code, error.message) == (-32602, f"Unknown task: {task.task_id}")
        assert (await Task(ada_again, task.task_id).get()).status == "working"
        await task.cancel()


@pytest.mark.req("R-703")
async def test_ids_cannot_be_guessed():
    async with connect(studio(patience=0).mcp, "http") as client:
        ids = {(await start(client, "paint", {"seconds": 60})).task_id for _ in range(20)}
    assert len(ids) == 20
    # 192 bits, in 64 characters.
    assert all(len(each) == 32 for each in ids)


class Unnamed(Request):
    pass


class Misnamed(Request):
    name_param = "other"


@pytest.mark.req("R-695")
@pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel"])
async def test_a_header_repeats_the_id_of_the_task(method):
    async with connect(studio(patience=0).mcp, "http") as client:
        task = await start(client, "paint", {"seconds": 60})
        params = {"taskId": task.task_id, "inputResponses": {}, "other": "another"}
        for kind, said in ((Unnamed, "missing"), (Misnamed, "'another'")):
            asked = kind(method=method, params=params)
            error = await error_of(client.session.send_request(asked, Result))
            assert error.code == -32020
            assert f"Mcp-Name is {said}, and params.taskId is" in error.message
        await task.get()
        await task.update({})
        await task.cancel()


@pytest.mark.req("R-700")
@pytest.mark.parametrize("method", ["tasks/result", "tasks/list"])
async def test_what_only_older_clients_may_ask_is_unknown_with_the_header_and_without(method):
    async with connect(studio().mcp, "http") as client:
        for kind in (Unnamed, NamedRequest):
            asked = kind(method=method, params={"taskId": "t-1"})
            error = await error_of(client.session.send_request(asked, Result))
            assert error.code == -32601


@pytest.mark.req("R-695")
async def test_a_method_of_any_extension_may_have_such_a_header():
    made = studio()

    async def fetch(ctx, params):
        return EmptyResult()

    made.mcp.lowlevel_server.add_request_handler(
        "com.example/fetch", dict, fetch, name_param="parcel"
    )

    class Fetch(Request):
        name_param = "parcel"

    async with connect(made.mcp, "http") as client:
        for kind, code in ((Fetch, None), (Unnamed, -32020)):
            asked = kind(method="com.example/fetch", params={"parcel": "p/1 ü"})
            sent = client.session.send_request(asked, EmptyResult)
            if code is None:
                await sent
            else:
                assert (await error_of(sent)).code == code


@pytest.mark.parametrize("mode", ["2026-07-28", "2025-11-25"])
async def test_a_server_that_is_away_for_a_while_is_asked_again(mode, monkeypatch):
    monkeypatch.setattr("trio_mcp.extensions.tasks._polling.DEFAULT_POLL_SECONDS", 0.05)
    made = studio({"paint": "required"}, patience=0, poll_interval=0.1)
    app = made.mcp.streamable_http_app()
    refused = []

    async def flaky(scope, receive, send):
        body = {"type": "http.request", "body": b"", "more_body": False}
        if scope["type"] == "http" and scope["method"] == "POST":
            body = await receive()
        if b'"tasks/get"' in body["body"] and len(refused) < 3:
            refused.append(scope["path"])
            headers = [(b"content-length", b"0")]
            await send({"type": "http.response.start", "status": 503, "headers": headers})
            await send({"type": "http.response.body", "body": b""})
            return
        messages = [body] if scope["type"] == "http" and scope["method"] == "POST" else []

        async def receive_again():
            return messages.pop() if messages else await receive()

        await app(scope, receive_again, send)

    async with trio.open_nursery() as nursery:
        served = await nursery.start(serve_http_app, flaky, ServeOptions(port=0))
        options = {"mode": mode, "extensions": [TasksClientExtension()]}
        async with Client(served.url + "/mcp", **options) as client:
            result = await client.call_tool("paint", {"seconds": 0.1})
            assert result.content[0].text == "painted for 0.1 s"
        nursery.cancel_scope.cancel()
    assert len(refused) == 3


@pytest.mark.req("R-657")
@pytest.mark.parametrize("mode", ["2025-11-25", "2026-07-28"])
async def test_no_principal_takes_all_places_where_works_go_on(mode):
    tools = {"paint": "required", "ask": "optional"}
    made = studio(tools, patience=0, max_running=8, server=PROTECTED)
    options = {"mode": mode, "extensions": [TasksClientExtension()]}

    async def fill(client: Client) -> list[Task]:
        tasks = []
        while True:
            try:
                tasks.append(await start(client, "paint", {"seconds": 600}))
            except MCPError as exc:
                if exc.code == SERVER_BUSY:
                    return tasks
                raise

    async with (
        serve(made.mcp) as url,
        Client(url, auth=BearerAuth("secret-of-ada"), **options) as ada,
        Client(url, auth=BearerAuth("secret-of-bob"), **options) as bob,
    ):
        own = await fill(ada)
        assert len(own) == 5
        assert len(await fill(bob)) == 2
        assert len(await fill(ada)) == 0
        # What has ended makes room again, for whoever has less.
        for task in own:
            await task.cancel()
        await settle(lambda: len(made.seen) == 5)
        assert len(await fill(bob)) == 3
        assert len(await fill(ada)) == 2
