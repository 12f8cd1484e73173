"""Tasks of 2025-11-25 over stdio and Streamable HTTP."""

from __future__ import annotations

import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import trio

from tests._limits import SOON
from tests.extensions.tasks._studio import error_of, serve, settle, studio
from tests.extensions.tasks.test_http import PROTECTED
from trio_mcp import BearerAuth, StdioServerParameters, stdio_client
from trio_mcp.extensions import InMemoryTaskStore
from trio_mcp.transports import InMemoryEventStore, ServeOptions, serve_http_app

from ._raw import RELATED, Raw, connect_to

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

ROOT = Path(__file__).parents[4]
PROGRAM = "from tests.extensions.tasks._studio import studio; studio(poll_interval=0.05).mcp.run('stdio')"


@asynccontextmanager
async def on(road: str) -> AsyncGenerator[Raw, None]:
    """Connect to a server by a road on which bytes travel."""
    if road == "stdio":
        program = StdioServerParameters(
            command=sys.executable, args=["-c", PROGRAM], cwd=str(ROOT)
        )
        async with connect_to(stdio_client(program)) as raw:
            yield raw
        return
    async with serve(studio(poll_interval=0.05).mcp) as url, connect_to(url) as raw:
        yield raw


real_roads = pytest.mark.parametrize("road", ["stdio", "http"])


@pytest.mark.req("R-626", "R-633", "R-649")
@real_roads
async def test_a_call_as_a_task_from_the_beginning_to_the_end(road):
    with trio.fail_after(SOON):
        async with on(road) as raw:
            task_id = await raw.start("paint", {"seconds": 0.1})
            assert (await raw.until(task_id))["status"] == "completed"
            result = await raw.result(task_id)
            assert result["content"][0]["text"] == "painted for 0.1 s"
            assert result["_meta"] == {RELATED: {"taskId": task_id}}

            failing = await raw.start("break_down")
            error = await error_of(raw.result(failing))
            assert (error.code, error.message) == (-31000, "broken")
            assert error.data == {"part": "wheel"}
            assert (await raw.get(failing))["status"] == "failed"


@pytest.mark.req("R-581", "R-582", "R-619")
@real_roads
async def test_reports_of_a_task_reach_its_session(road):
    with trio.fail_after(SOON):
        async with on(road) as raw:
            task_id = await raw.start("report", _meta={"progressToken": 7})
            await settle(lambda: len(raw.told) >= 4)
            await raw.cancel(task_id)
            await settle(lambda: raw.told[-1][0] == "notifications/tasks/status")
            *reports, (_, status) = raw.told
            methods = {method for method, _ in reports}
            assert methods == {"notifications/progress", "notifications/message"}
            for _, params in reports:
                assert params["_meta"] == {RELATED: {"taskId": task_id}}
            assert (status["taskId"], status["status"]) == (task_id, "cancelled")


@pytest.mark.req("R-616", "R-617", "R-618", "R-640", "R-641")
@real_roads
async def test_a_task_asks_over_the_request_for_its_result(road):
    with trio.fail_after(SOON):
        async with on(road) as raw:
            task_id = await raw.start("ask_all_kinds")
            await raw.until(task_id, "input_required")
            result = await raw.result(task_id)
            assert result["content"][0]["text"] == "blue: Marvellous file:///home"
            assert all(each["_meta"] == {RELATED: {"taskId": task_id}} for each in raw.asked)

            task_id = await raw.start("paint", {"seconds": 600})
            assert (await raw.cancel(task_id))["status"] == "cancelled"
            assert (await error_of(raw.result(task_id))).message == "The task was cancelled"


@real_roads
async def test_a_question_is_asked_again_over_the_next_request(road):
    with trio.fail_after(SOON):
        async with on(road) as raw, trio.open_nursery() as nursery:
            raw.holds = trio.Event()
            task_id = await raw.start("ask")
            nursery.start_soon(raw.result, task_id)
            await settle(lambda: raw.asked)
            nursery.cancel_scope.cancel()
            with trio.CancelScope(shield=True):
                raw.holds = None
                assert (await raw.result(task_id))["content"][0]["text"] == "accept blue"


# Sessions over HTTP


async def test_a_task_outlives_its_session_and_another_one_asks_for_it():
    made = studio(poll_interval=0.05)
    with trio.fail_after(SOON):
        async with serve(made.mcp) as url:
            async with connect_to(url) as first:
                working = await first.start("paint", {"seconds": 600})
                asking = await first.start("ask")
                await first.until(asking, "input_required")
            async with connect_to(url) as second:
                assert (await second.get(working))["status"] == "working"
                assert (await second.result(asking))["content"][0]["text"] == "accept blue"
                assert not first.asked
                assert (await second.cancel(working))["status"] == "cancelled"
                await settle(lambda: made.seen)
                assert made.seen == ["the client cancelled the task"]


async def test_the_next_session_is_asked_when_the_first_goes_with_the_question():
    made = studio(poll_interval=0.05)
    with trio.fail_after(SOON):
        async with serve(made.mcp) as url, connect_to(url) as second:
            async with connect_to(url) as first, trio.open_nursery() as nursery:
                first.holds = trio.Event()
                task_id = await first.start("ask")
                nursery.start_soon(first.result, task_id)
                await settle(lambda: first.asked)
                nursery.cancel_scope.cancel()
            assert (await second.result(task_id))["content"][0]["text"] == "accept blue"


async def test_a_client_that_left_its_stream_with_the_question_does_not_keep_it():
    """It says nothing, as one that has lost the network; its session is there all the while."""
    made = studio(poll_interval=0.05)
    with trio.fail_after(SOON):
        async with (
            serve(made.mcp) as url,
            connect_to(url) as second,
            httpx.AsyncClient(timeout=SOON) as client,
            trio.open_nursery() as nursery,
        ):
            silent, has_asked = Silent(client, url), trio.Event()
            await silent.initialize()
            params = {"name": "ask", "arguments": {}, "task": {}}
            created = await silent.post("tools/call", params)
            task_id = created.json()["result"]["task"]["taskId"]
            await second.until(task_id, "input_required")

            async def wait_asked() -> None:
                async with silent.stream("tasks/result", {"taskId": task_id}) as response:
                    async for line in response.aiter_lines():
                        if "elicitation/create" in line:
                            assert RELATED in line
                            has_asked.set()

            nursery.start_soon(wait_asked)
            await has_asked.wait()
            nursery.cancel_scope.cancel()
            with trio.CancelScope(shield=True):
                result = await second.result(task_id)
            assert result["content"][0]["text"] == "accept blue"


async def test_who_waits_is_asked_when_another_client_leaves_with_the_question(monkeypatch):
    monkeypatch.setattr("trio_mcp.extensions.tasks.older._result.LOOK_SECONDS", 0.05)
    made = studio(poll_interval=0.05)
    with trio.fail_after(SOON):
        async with (
            serve(made.mcp) as url,
            connect_to(url) as first,
            httpx.AsyncClient(timeout=SOON) as client,
            trio.open_nursery() as nursery,
        ):
            silent, has_asked, leaving = Silent(client, url), trio.Event(), trio.CancelScope()
            first.holds = trio.Event()
            found: list[Any] = []
            await silent.initialize()
            task_id = await first.start("ask")

            async def wait() -> None:
                found.append((await first.result(task_id))["content"][0]["text"])

            async def wait_asked() -> None:
                with leaving:
                    async with silent.stream("tasks/result", {"taskId": task_id}) as response:
                        async for line in response.aiter_lines():
                            if "elicitation/create" in line:
                                has_asked.set()

            nursery.start_soon(wait)
            await settle(lambda: first.asked)
            nursery.start_soon(wait_asked)
            await has_asked.wait()
            await settle(lambda: first.cancelled)
            leaving.cancel()
            await settle(lambda: len(first.asked) == 2)
            first.holds.set()
            await settle(lambda: found)
            assert found == ["accept blue"]


class Silent:
    """A client that speaks HTTP by hand."""

    def __init__(self, client: httpx.AsyncClient, url: str) -> None:
        self.client, self.url = client, url
        self.headers = {"Accept": "application/json, text/event-stream"}
        self.count = 0

    def _request(self, method: str, params: Any) -> dict[str, Any]:
        self.count += 1
        return {"jsonrpc": "2.0", "id": self.count, "method": method, "params": params}

    async def initialize(self) -> None:
        params = {
            "protocolVersion": "2025-11-25",
            "capabilities": {"elicitation": {}},
            "clientInfo": {"name": "silent", "version": "1"},
        }
        response = await self.post("initialize", params)
        self.headers["Mcp-Session-Id"] = response.headers["Mcp-Session-Id"]
        self.headers["MCP-Protocol-Version"] = "2025-11-25"
        await self.client.post(
            self.url,
            json={"jsonrpc": "2.0", "method": "notifications/initialized"},
            headers=self.headers,
        )

    async def post(self, method: str, params: Any) -> httpx.Response:
        request = self._request(method, params)
        return await self.client.post(self.url, json=request, headers=self.headers)

    def stream(self, method: str, params: Any) -> Any:
        request = self._request(method, params)
        return self.client.stream("POST", self.url, json=request, headers=self.headers)


@pytest.mark.req("R-659")
@pytest.mark.parametrize("keeps", [False, True])
async def test_who_polls_is_not_answered_by_a_stream(keeps):
    made = studio()
    options = {"event_store": InMemoryEventStore()} if keeps else {}
    with trio.fail_after(SOON):
        async with trio.open_nursery() as nursery, httpx.AsyncClient(timeout=SOON) as client:
            app = made.mcp.streamable_http_app(**options)
            served = await nursery.start(serve_http_app, app, ServeOptions(port=0))
            silent = Silent(client, served.url + "/mcp")
            await silent.initialize()
            params = {"name": "paint", "arguments": {"seconds": 600}, "task": {}}
            async with silent.stream("tools/call", params) as response:
                await response.aread()
                text = response.text
            task_id = text.partition('"taskId":"')[2].partition('"')[0]
            assert task_id
            polled = await silent.post("tasks/get", {"taskId": task_id})
            assert polled.headers["Content-Type"] == "application/json"
            assert polled.json()["result"]["status"] == "working"
            nursery.cancel_scope.cancel()


# Who may ask


@pytest.mark.req("R-650", "R-651", "R-652", "R-655", "R-638")
async def test_a_task_is_that_of_the_principal_who_asked_for_it():
    made = studio(server=PROTECTED)
    with trio.fail_after(SOON):
        async with (
            serve(made.mcp) as url,
            connect_to(url, auth=BearerAuth("secret-of-ada")) as ada,
            connect_to(url, auth=BearerAuth("secret-of-ada")) as ada_again,
            connect_to(url, auth=BearerAuth("secret-of-bob")) as bob,
        ):
            assert ada.client.server_capabilities.tasks.list is not None
            task_id = await ada.start("paint", {"seconds": 600})
            for attempt in (bob.get, bob.result, bob.cancel):
                error = await error_of(attempt(task_id))
                assert (error.code, error.message) == (-32602, f"Unknown task: {task_id}")
            own = await bob.start("paint", {"seconds": 600})
            found = await ada_again.get(task_id)
            assert await ada.ask("tasks/list") == {"tasks": [found]}
            assert [each["taskId"] for each in (await bob.ask("tasks/list"))["tasks"]] == [own]
            assert (await ada_again.cancel(task_id))["status"] == "cancelled"
            # What can be got is listed, also when it is over.
            [listed] = (await ada.ask("tasks/list"))["tasks"]
            assert listed == await ada.get(task_id)


@pytest.mark.req("R-635", "R-636", "R-637", "R-645")
async def test_tasks_are_listed_by_pages(monkeypatch):
    monkeypatch.setattr("trio_mcp.extensions.tasks.older._serving.PAGE", 3)
    made = studio(server=PROTECTED)
    with trio.fail_after(SOON):
        async with (
            serve(made.mcp) as url,
            connect_to(url, auth=BearerAuth("secret-of-ada")) as ada,
        ):
            ids = [await ada.start("paint", {"seconds": 600}) for _ in range(7)]
            listed: list[str] = []
            pages, more = 0, {}
            while True:
                page = await ada.ask("tasks/list", **more)
                assert page.keys() <= {"tasks", "nextCursor"}
                listed += [each["taskId"] for each in page["tasks"]]
                pages += 1
                if "nextCursor" not in page:
                    break
                more = {"cursor": page["nextCursor"]}
            assert (listed, pages) == (ids, 3)
            # What is cut off there goes on there later, whatever has come meanwhile.
            first = await ada.ask("tasks/list")
            await ada.start("paint", {"seconds": 600})
            second = await ada.ask("tasks/list", cursor=first["nextCursor"])
            assert [each["taskId"] for each in second["tasks"]] == ids[3:6]
            for wrong in ("no cursor", "", "-1", "9" * 300, "1.5"):
                error = await error_of(ada.ask("tasks/list", cursor=wrong))
                assert (error.code, error.message) == (-32602, "Invalid cursor")
            assert (await error_of(ada.ask("tasks/list", cursor=5))).code == -32602


@pytest.mark.req("R-655")
async def test_a_store_that_cannot_list_lists_nothing():
    class Plain:
        """One of somebody else's, of the time before there were lists."""

        def __init__(self) -> None:
            self._inner = InMemoryTaskStore()
            for name in ("create", "get", "replace", "delete", "subscribe"):
                setattr(self, name, getattr(self._inner, name))

    made = studio(server=PROTECTED, store=Plain())
    with trio.fail_after(SOON):
        async with (
            serve(made.mcp) as url,
            connect_to(url, auth=BearerAuth("secret-of-ada")) as ada,
        ):
            assert ada.client.server_capabilities.tasks.list is None
            assert (await error_of(ada.ask("tasks/list"))).code == -32601
            assert await ada.start("paint", {"seconds": 600})


async def test_a_server_that_cannot_ask_says_so_in_the_tool():
    made = studio(poll_interval=0.05)
    with trio.fail_after(SOON):
        async with trio.open_nursery() as nursery:
            app = made.mcp.streamable_http_app(json_response=True)
            served = await nursery.start(serve_http_app, app, ServeOptions(port=0))
            async with connect_to(served.url + "/mcp") as raw:
                plain = await error_of(raw.call("ask"))
                error = await error_of(raw.result(await raw.start("ask")))
                assert error.error == plain.error
                assert error.code == -32600
                result = await raw.result(await raw.start("paint", {"seconds": 0}))
                assert result["content"][0]["text"] == "painted for 0 s"
            nursery.cancel_scope.cancel()
