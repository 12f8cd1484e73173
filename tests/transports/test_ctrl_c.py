"""Ctrl-C in a program that leaves it to Trio, and whose main function is one that serves."""

from __future__ import annotations

import signal
from contextlib import AsyncExitStack
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import pytest
import trio
import trio.testing

from trio_mcp import MCPServer
from trio_mcp.transports import serve_http, serve_websocket

SERVING = {
    "http": serve_http,
    "sse": partial(serve_http, transport="sse"),
    "websocket": serve_websocket,
}


class Interrupting:
    """Presses Ctrl-C when the server waits for its clients."""

    def __init__(self, *, connected: bool) -> None:
        self._connected = connected

    def started(self, serving: Any) -> None:
        trio.lowlevel.spawn_system_task(self._press, serving)

    async def _press(self, serving: Any) -> None:
        async with AsyncExitStack() as stack:
            if self._connected:
                url = urlsplit(serving.url)
                stream = await trio.open_tcp_stream(url.hostname, url.port)
                await stack.enter_async_context(stream)
                await stream.send_all(b"GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n")
                # Once it has answered, a task of the server has the connection.
                assert await stream.receive_some()
            await trio.testing.wait_all_tasks_blocked()
            signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("connected", [False, True])
@pytest.mark.parametrize("road", ["http", "sse", "websocket"])
def test_ctrl_c_leaves_a_function_that_serves_alone(road: str, connected: bool) -> None:
    serve = partial(
        SERVING[road], MCPServer("x"), port=0, task_status=Interrupting(connected=connected)
    )
    with pytest.raises(KeyboardInterrupt):
        trio.run(serve)
