"""Where each feature test runs: over which road to the server, at which revision."""

from __future__ import annotations

import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import pytest
import trio

from trio_mcp import Client, StdioServerParameters, stdio_client
from trio_mcp.testing import open_client
from trio_mcp.transports import ServeOptions, serve_http_app
from trio_mcp.types._revisions import KNOWN_REVISIONS, LATEST_HANDSHAKE, LATEST_MODERN

from . import server

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable

    from trio_mcp.types._revisions import Revision

PROGRAM = str(Path(__file__).with_name("server.py"))


@attrs.frozen
class Features:
    """A server with every feature, and how this test reaches it.

    Attributes:
      road: "direct" (memory), "text" (memory, every message passed as JSON text), "stdio" (a
          process), or "http" (a socket).
      revision: What the client and the server speak; it answers which features there are.

    """

    road: str
    revision: Revision

    def __str__(self) -> str:
        return f"{self.road}-{self.revision}"

    @property
    def takes_real_time(self) -> bool:
        """Whether bytes travel outside of the program."""
        return self.road in {"stdio", "http"}

    @property
    def is_modern(self) -> bool:
        return self.revision.is_modern

    @asynccontextmanager
    async def open(self, **options: Any) -> AsyncGenerator[Client, None]:
        """Connect a client, with any of its options."""
        options = {"mode": "auto" if self.is_modern else self.revision.version, **options}
        if self.road == "http":
            async with _serve_http() as url, Client(url, **options) as client:
                yield client
        elif self.road != "stdio":
            async with open_client(server.mcp, self.road, **options) as client:  # type: ignore[arg-type]
                yield client
        else:
            parameters = StdioServerParameters(command=sys.executable, args=[PROGRAM])
            async with Client(stdio_client(parameters, errlog=None), **options) as client:
                yield client


@asynccontextmanager
async def _serve_http() -> AsyncGenerator[str, None]:
    async with trio.open_nursery() as nursery:
        app = server.mcp.streamable_http_app()
        served = await nursery.start(serve_http_app, app, ServeOptions(port=0))
        yield f"{served.url}/mcp"
        nursery.cancel_scope.cancel()


IN_MEMORY = [Features(road, each) for road in ("direct", "text") for each in KNOWN_REVISIONS]

# What differs between revisions is decided above the road, and a process takes its time: over
# stdio, one revision for each era.
OVER_STDIO = [Features("stdio", LATEST_HANDSHAKE), Features("stdio", LATEST_MODERN)]

# In the older era, headers and batches differ from one revision to the next.
OVER_HTTP = [Features("http", each) for each in KNOWN_REVISIONS if each.has_streamable_http]

EVERYWHERE = [*IN_MEMORY, *OVER_STDIO, *OVER_HTTP]


def at(cases: Iterable[Features]) -> pytest.MarkDecorator:
    """Run a test at these only."""
    return pytest.mark.parametrize("features", list(cases), indirect=True, ids=str)


in_memory = at(IN_MEMORY)
"""For what no road can change, after a test of the same feature that goes over all of them."""

in_the_modern_era = at(each for each in EVERYWHERE if each.is_modern)
in_the_older_era = at(each for each in EVERYWHERE if not each.is_modern)
