"""A server over HTTP in a child process, and callers that cost it nothing but their requests."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from benchmarks.sides.side import FEW_TOOLS, ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
MODERN = {
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": "add",
}
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "benchmark", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
OLDER = "2025-11-25"


class HttpServer:
    """A server of ``benchmarks.peers`` that runs."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self.url = self._line().decode().strip()
        assert self.url, "the server did not start"

    def costs(self) -> tuple[int, int]:
        """Its processor time so far, in microseconds, and its memory, in KiB."""
        assert self._process.stdin is not None
        self._process.stdin.write(b"\n")
        self._process.stdin.flush()
        time, memory = self._line().split()
        return int(time), int(memory)

    def _line(self) -> bytes:
        assert self._process.stdout is not None
        return self._process.stdout.readline()


@contextmanager
def serving(module: str) -> Iterator[HttpServer]:
    """Run the server of a module; it ends with the block."""
    command = [sys.executable, "-m", module, str(FEW_TOOLS), "http"]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            yield HttpServer(process)
        finally:
            process.kill()


class Caller:
    """A client made of a connection and the bytes it sends, the same for every server."""

    def __init__(self, server: HttpServer) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=30)
        self._older: dict[str, str] | None = None

    def initialize(self) -> None:
        """Begin a session of the older era; what is called afterwards belongs to it."""
        info = {"name": "benchmark", "version": "1"}
        params = {"protocolVersion": OLDER, "capabilities": {}, "clientInfo": info}
        response = self._post(HEADERS, "initialize", params, number=0)
        session = response.getheader("mcp-session-id")
        response.read()
        assert session is not None
        self._older = {**HEADERS, "mcp-protocol-version": OLDER, "mcp-session-id": session}
        accepted = self._post(self._older, "notifications/initialized", {}, number=None)
        accepted.read()
        assert accepted.status == 202

    def call(self) -> None:
        """Call the tool `add`, and read the whole answer."""
        params: dict[str, Any] = {"name": "add", "arguments": {"a": 1, "b": 2}}
        if self._older is None:
            params["_meta"] = ENVELOPE
        headers = self._older or {**HEADERS, **MODERN}
        answer = self._post(headers, "tools/call", params, number=1).read()
        assert b'"structuredContent":{"result":3}' in answer, answer

    def open_stream(self) -> None:
        """Open the session's GET stream, and leave it open."""
        assert self._older is not None
        stream = {**self._older, "accept": "text/event-stream"}
        self._connection.request("GET", "/mcp", headers=stream)
        assert self._connection.getresponse().status == 200

    def close(self) -> None:
        self._connection.close()

    def _post(
        self, headers: dict[str, str], method: str, params: dict[str, Any], number: int | None
    ) -> http.client.HTTPResponse:
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
        if number is not None:
            message["id"] = number
        self._connection.request("POST", "/mcp", json.dumps(message), headers)
        return self._connection.getresponse()


def call_at_once(callers: list[Caller], often: int) -> None:
    """Let each call so often, in a thread of its own."""

    def call_often(caller: Caller) -> None:
        for _ in range(often):
            caller.call()

    threads = [threading.Thread(target=call_often, args=(caller,)) for caller in callers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
