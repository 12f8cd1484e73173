"""Where each feature test runs: over which road to the server, at which revision."""

from __future__ import annotations

import sys
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import pytest
import trio

from trio_mcp import Client, StdioServerParameters, stdio_client
from trio_mcp.testing import open_client
from trio_mcp.transports import ServeOptions, serve_http_app, serve_websocket
from trio_mcp.types._revisions import KNOWN_REVISIONS, LATEST_HANDSHAKE, LATEST_MODERN

from . import server

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable

    from trio_mcp.types._revisions import Revision

PROGRAM = str(Path(__file__).with_name("server.py"))


@attrs.frozen
class Features:
    """A server with every feature, and how this test reaches it.

    Attributes:
      road: "direct" (memory), "text" (memory, every message passed as JSON text), "stdio" (a
          process), "websocket", or one of `HTTP`, over a socket.
      revision: What the client and the server speak; it answers which features there are.

    """

    road: str
    revision: Revision

    def __str__(self) -> str:
        return f"{self.road}-{self.revision}"

    @property
    def takes_real_time(self) -> bool:
        """Whether bytes travel outside of the program."""
        return self.road not in {"direct", "text"}

    @property
    def is_modern(self) -> bool:
        return self.revision.is_modern

    @property
    def hears_while_it_waits(self) -> bool:
        """Whether the server can say something before it answers: not with JSON alone."""
        return self.road != "http-json"

    @property
    def is_remembered(self) -> bool:
        """Whether the server can tell that two requests are one client's, or needs not to."""
        return self.is_modern or self.road != "http-stateless"

    @property
    def can_be_asked(self) -> bool:
        """Whether the server's questions reach the client."""
        return self.is_modern or (self.hears_while_it_waits and self.is_remembered)

    @asynccontextmanager
    async def open(self, **options: Any) -> AsyncGenerator[Client, None]:
        """Connect a client, with any of its options."""
        options = {"mode": "auto" if self.is_modern else self.revision.version, **options}
        if self.road == "websocket":
            async with _serve_websocket() as url, Client(url, **options) as client:
                yield client
        elif self.road in HTTP:
            async with _serve_http(self.road) as url, Client(url, **options) as client:
                yield client
        elif self.road != "stdio":
            async with open_client(server.mcp, self.road, **options) as client:  # type: ignore[arg-type]
                yield client
        else:
            parameters = StdioServerParameters(command=sys.executable, args=[PROGRAM])
            async with Client(stdio_client(parameters, errlog=None), **options) as client:
                yield client


HTTP: dict[str, Callable[[], Any]] = {
    "http": server.mcp.streamable_http_app,
    "http-json": partial(server.mcp.streamable_http_app, json_response=True),
    "http-stateless": partial(server.mcp.streamable_http_app, stateless_http=True),
    "sse": server.mcp.sse_app,
}


@asynccontextmanager
async def _serve_http(road: str) -> AsyncGenerator[str, None]:
    async with trio.open_nursery() as nursery:
        served = await nursery.start(serve_http_app, HTTP[road](), ServeOptions(port=0))
        yield served.url + ("/sse" if road == "sse" else "/mcp")
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def _serve_websocket() -> AsyncGenerator[str, None]:
    async with trio.open_nursery() as nursery:
        served = await nursery.start(serve_websocket, server.mcp, "127.0.0.1", 0)
        yield served.url
        nursery.cancel_scope.cancel()


IN_MEMORY = [Features(road, each) for road in ("direct", "text") for each in KNOWN_REVISIONS]

# What differs between revisions is decided above the road, and a process takes its time: over
# stdio and WebSockets, one revision for each era.
OVER_STDIO = [Features("stdio", LATEST_HANDSHAKE), Features("stdio", LATEST_MODERN)]
OVER_WEBSOCKET = [Features("websocket", LATEST_HANDSHAKE), Features("websocket", LATEST_MODERN)]

# In the older era, headers and batches differ from one revision to the next.
OVER_HTTP = [
    *(Features("http", each) for each in KNOWN_REVISIONS if each.has_streamable_http),
    *(Features("http-json", each) for each in (LATEST_HANDSHAKE, LATEST_MODERN)),
    Features("http-stateless", LATEST_HANDSHAKE),
    *(Features("sse", each) for each in (KNOWN_REVISIONS[0], LATEST_HANDSHAKE)),
]

EVERYWHERE = [*IN_MEMORY, *OVER_STDIO, *OVER_WEBSOCKET, *OVER_HTTP]


def at(cases: Iterable[Features]) -> pytest.MarkDecorator:
    """Run a test at these only."""
    return pytest.mark.parametrize("features", list(cases), indirect=True, ids=str)


in_memory = at(IN_MEMORY)
"""For what no road can change, after a test of the same feature that goes over all of them."""

in_the_modern_era = at(each for each in EVERYWHERE if each.is_modern)
in_the_older_era = at(each for each in EVERYWHERE if not each.is_modern)

# What a carrier cannot do by the specification, it is not asked for.
where_it_hears_while_it_waits = at(each for each in EVERYWHERE if each.hears_while_it_waits)
where_it_is_remembered = at(each for each in EVERYWHERE if each.is_remembered)
where_it_can_be_asked = at(each for each in EVERYWHERE if each.can_be_asked)
in_a_conversation = at(
    each for each in EVERYWHERE if each.hears_while_it_waits and each.is_remembered
)
