"""Applications of a server in those of others, under another ASGI server, and without one."""

from __future__ import annotations

import logging
import re
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import httpx
import hypercorn.trio
import pytest
import trio
from hypercorn.config import Config
from hypercorn.middleware.dispatcher import TrioDispatcherMiddleware
from quart_trio import QuartTrio
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

from trio_mcp import Client, ConnectionLost, Context, MCPServer
from trio_mcp.transports import ServeOptions, serve_http_app, streamable_http_client

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator


class Story:
    """A server whose lifespan is told."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.mcp = MCPServer("mounted", lifespan=self.lifespan)
        self.mcp.add_tool(self.greet, name="greet")
        self.mcp.custom_route("/health", ["GET"])(self.health)

    @asynccontextmanager
    async def lifespan(self, server: Any) -> AsyncGenerator[dict[str, str], None]:
        self.told.append("in")
        yield {"greeting": "Hello"}
        self.told.append("out")

    async def greet(self, name: str, ctx: Context) -> str:
        await ctx.report_progress(1)
        return f"{ctx.request_context.lifespan_context['greeting']}, {name}!"

    async def health(self, request: Any) -> Any:
        return PlainTextResponse("healthy")


async def index(request: Any = None) -> Any:
    return PlainTextResponse("index")


def starlette(story: Story, *, forgetful: bool = False) -> Any:
    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncGenerator[None, None]:
        async with story.mcp.session_manager.run():
            yield

    routes = [Mount("/tools", app=story.mcp.streamable_http_app()), Route("/", index)]
    return Starlette(routes=routes, lifespan=None if forgetful else lifespan)


def quart_trio(story: Story, *, forgetful: bool = False) -> Any:
    app = QuartTrio(__name__)
    app.add_url_rule("/", "index", lambda: "index")
    app.asgi_app = Below("/tools", story.mcp.streamable_http_app(), app.asgi_app)  # type: ignore[assignment]
    if not forgetful:

        @app.while_serving
        async def run() -> AsyncGenerator[None, None]:
            async with story.mcp.session_manager.run():
                yield  # noqa: ASYNC119 - Quart makes a context manager of it

    return app


class Below:
    """What a Quart application needs to mount another ASGI application."""

    def __init__(self, path: str, mounted: Any, app: Any) -> None:
        self.path, self.mounted, self.app = path, mounted, app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["path"].startswith(f"{self.path}/"):
            await self.mounted({**scope, "root_path": self.path}, receive, send)
        else:
            await self.app(scope, receive, send)


def dispatcher(story: Story) -> Any:
    """The one of hypercorn hands on the lifespan, too."""
    routes = [Route("/", index)]
    return TrioDispatcherMiddleware(
        {"/tools": story.mcp.streamable_http_app(), "": Starlette(routes=routes)}
    )


@asynccontextmanager
async def served(app: Any) -> AsyncGenerator[str, None]:
    async with trio.open_nursery() as nursery:
        serving = await nursery.start(serve_http_app, app, ServeOptions(port=0))
        yield serving.url
        serving.stop()


@asynccontextmanager
async def served_by_hypercorn(app: Any) -> AsyncGenerator[str, None]:
    config = Config()
    config.bind = ["127.0.0.1:0"]
    stop = trio.Event()
    async with trio.open_nursery() as nursery:
        serve = partial(hypercorn.trio.serve, app, config, shutdown_trigger=stop.wait)  # type: ignore[arg-type]
        [url] = await nursery.start(serve)
        yield url
        stop.set()


async def get(url: str) -> str:
    async with httpx.AsyncClient(trust_env=False) as browser:
        answer = await browser.get(url)
        assert answer.status_code == 200, answer
        return answer.text


@pytest.mark.case("C041")
@pytest.mark.parametrize("host", [starlette, quart_trio, dispatcher])
@pytest.mark.parametrize("serve", [served, served_by_hypercorn])
async def test_a_server_is_mounted_in_an_application(host: Any, serve: Any) -> None:
    story = Story()
    async with serve(host(story)) as url:
        assert story.told == ["in"]
        for mode in ("auto", "legacy"):
            async with Client(f"{url}/tools/mcp", mode=mode) as client:
                seen: list[float] = []

                async def on_progress(done: float, total: Any, message: Any) -> None:
                    seen.append(done)  # noqa: B023 - it is called before the next round

                result = await client.call_tool(
                    "greet", {"name": "Ada"}, progress_callback=on_progress
                )
                assert result.structured_content == {"result": "Hello, Ada!"}
                assert seen == [1]
        assert await get(f"{url}/") == "index"
        assert await get(f"{url}/tools/health") == "healthy"
    assert story.told == ["in", "out"]


@pytest.mark.case("C041")
@pytest.mark.parametrize("host", [starlette, quart_trio])
async def test_a_host_that_forgets_the_lifespan_is_told_what_to_add(
    host: Any, caplog: pytest.LogCaptureFixture
) -> None:
    line = "async with mcp.session_manager.run():"
    story = Story()
    async with served(host(story, forgetful=True)) as url:
        with pytest.raises(ConnectionLost, match=re.escape(line)) as caught:
            async with Client(f"{url}/tools/mcp"):
                pass
        assert caught.value.status == 503
        # What is served beside the endpoint does not need it.
        assert await get(f"{url}/tools/health") == "healthy"
    assert story.told == []
    errors = [each for each in caplog.records if each.levelno == logging.ERROR]
    assert errors
    assert all(line in each.getMessage() for each in errors)


@pytest.mark.parametrize("serve", [served, served_by_hypercorn])
async def test_alone_its_lifespan_is_that_of_the_server(serve: Any) -> None:
    story = Story()
    async with serve(story.mcp.streamable_http_app()) as url:
        async with Client(f"{url}/mcp") as client:
            result = await client.call_tool("greet", {"name": "Ada"})
            assert result.structured_content == {"result": "Hello, Ada!"}
        assert await get(f"{url}/health") == "healthy"
    assert story.told == ["in", "out"]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_client_of_the_same_process_needs_no_socket(mode):
    mcp = MCPServer("here")

    @mcp.tool()
    async def where(ctx: Context) -> str:
        await ctx.report_progress(1)
        return "here"

    heard = []

    async def hear(progress, total, message):
        heard.append(progress)

    app = mcp.streamable_http_app()
    async with (
        mcp.session_manager.run(),
        httpx.AsyncClient(transport=httpx.ASGITransport(app)) as http_client,
        Client(
            streamable_http_client("http://127.0.0.1/mcp", http_client=http_client), mode=mode
        ) as client,
    ):
        result = await client.call_tool("where", progress_callback=hear)
    assert result.structured_content == {"result": "here"}
    assert heard == [1]
