"""The server of ``server.py`` over Streamable HTTP: ``python trio_http_server.py trio_mcp '{…}'``.

The second argument holds the options of the app; with ``"store": true`` streams can be resumed;
``"sse": true`` is HTTP with SSE.
The URL is the first line of stdout; the end of stdin ends it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import trio

from trio_mcp.transports import InMemoryEventStore, ServeOptions, serve_http_app

sys.path.insert(0, str(Path(__file__).parent))
from server import server


async def main() -> None:
    options = json.loads(sys.argv[2])
    if options.pop("store", False):
        options["event_store"] = InMemoryEventStore()
    is_sse = options.pop("sse", False)
    app = server.sse_app(**options) if is_sse else server.streamable_http_app(**options)
    async with trio.open_nursery() as nursery:
        serving = await nursery.start(serve_http_app, app, ServeOptions(port=0))
        print(serving.url + ("/sse" if is_sse else "/mcp"), flush=True)
        await trio.to_thread.run_sync(sys.stdin.read, abandon_on_cancel=True)
        nursery.cancel_scope.cancel()


if __name__ == "__main__":
    trio.run(main)
