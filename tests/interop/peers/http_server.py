"""The server of ``server.py`` over HTTP: ``python http_server.py mcp '{…}'``.

The second argument holds the options of the app, and ``sse`` for the one of 2024-11-05. The port is the first line of stdout; the
end of stdin ends it.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
from pathlib import Path

import uvicorn

sys.path.insert(0, str(Path(__file__).parent))
from server import server


def main() -> None:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    # From now on clients may connect, although nobody answers yet.
    listener.listen()
    print(listener.getsockname()[1], flush=True)
    options = json.loads(sys.argv[2])
    is_old = options.pop("sse", False)
    app = server.sse_app(**options) if is_old else server.streamable_http_app(**options)
    config = uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1)
    uvicorn_server = uvicorn.Server(config)

    def stop_at_end_of_input() -> None:
        sys.stdin.read()
        uvicorn_server.should_exit = True

    threading.Thread(target=stop_at_end_of_input, daemon=True).start()
    uvicorn_server.run(sockets=[listener])


if __name__ == "__main__":
    main()
