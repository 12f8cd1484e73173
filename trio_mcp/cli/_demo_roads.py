"""How the demo reaches its server: each road starts it, and can tell that it has ended."""

from __future__ import annotations

import os
import sys
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any

import attrs

from trio_mcp.cli._mistakes import Failure
from trio_mcp.transports import Channel, StdioServerParameters, stdio_client
from trio_mcp.transports._stdio_client import _ServerProcessChannel

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

SERVER_MODULE = "trio_mcp.cli._demo_server"


@attrs.frozen(kw_only=True)
class RunningServer:
    """The demo's server, while it runs and after it has ended.

    Attributes:
      carrier: What a `Client` connects to.
      started: What was started, in a few words.
      ended: Says how it ended, once its road is left; raises `Failure` if it has not.

    """

    carrier: Any
    started: str
    ended: Callable[[], str]


@attrs.frozen
class Road:
    """One way to reach the server.

    Attributes:
      name: Its name, as people say it.
      open: Starts the server; leaving the block ends it.

    """

    name: str
    open: Callable[[], AbstractAsyncContextManager[RunningServer]]


@asynccontextmanager
async def open_stdio() -> AsyncGenerator[RunningServer, None]:
    """Start the server as a child process that is spoken to through its stdin and stdout."""
    parameters = StdioServerParameters(command=sys.executable, args=["-P", "-m", SERVER_MODULE])
    async with stdio_client(parameters) as channel:
        # A transport speaks of its process only when it dies; the demo wants to see it go.
        assert isinstance(channel, _ServerProcessChannel)
        process = channel._process  # noqa: SLF001

        def ended() -> str:
            if process.exit_status != 0:
                raise Failure(f"the server ended with status {process.exit_status}")
            if is_running(process.pid):
                raise Failure(f"process {process.pid} is still there")
            return f"exit status 0, process {process.pid} is gone"

        yield RunningServer(
            carrier=_given(channel), started=f"a child process, {process.pid}", ended=ended
        )


@asynccontextmanager
async def _given(channel: Channel) -> AsyncGenerator[Channel, None]:
    yield channel


def is_running(pid: int) -> bool:
    """Whether there is a process of that number (Windows: whether it can be looked at)."""
    if sys.platform == "win32":
        return False  # a number is free there as soon as its last handle is closed
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


ROADS = (Road("stdio", open_stdio),)
