"""Raw bytes on the stdin of a server process: each gets its error, and the session goes on."""

from __future__ import annotations

import json
import os
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from trio_mcp._codec._lines import LineSplitter
from trio_mcp.transports._process import open_server_process
from trio_mcp.transports._stderr import StderrPump

from ._peers import SERVER

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from trio_mcp.transports._process import ServerProcess

    Json = dict[str, Any]

ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
BOTH_ERAS = pytest.mark.parametrize("era", ["modern", "older"])


class Wire:
    """The pipes of a server, without any SDK on this side."""

    def __init__(self, process: ServerProcess, era: str) -> None:
        self._process = process
        self._splitter = LineSplitter(1 << 24)
        self._lines: list[bytes] = []
        self._era = era
        self._last_id = 0

    async def write(self, data: bytes) -> None:
        await self._process.stdin.send_all(data)

    async def read(self) -> Json:
        while not self._lines:
            chunk = await self._process.stdout.receive_some()
            assert chunk, "the server has gone"
            assert b"\r" not in chunk
            for line in self._splitter.feed(bytes(chunk)):
                assert isinstance(line, bytes)
                self._lines.append(line)
        message: Json = json.loads(self._lines.pop(0))
        assert message["jsonrpc"] == "2.0"
        return message

    def request(self, method: str, params: Json | None = None) -> Json:
        self._last_id += 1
        request: Json = {"jsonrpc": "2.0", "id": f"request {self._last_id}", "method": method}
        if self._era == "modern":
            request["params"] = {**(params or {}), "_meta": ENVELOPE}
        elif params is not None:
            request["params"] = params
        return request

    async def ask(self, method: str, params: Json | None = None) -> Json:
        request = self.request(method, params)
        await self.write(json.dumps(request).encode() + b"\n")
        answer = await self.read()
        assert answer["id"] == request["id"]
        return answer

    async def refusal(self, data: bytes) -> Json:
        """Write a line and return the error that answers it; then check that it serves on."""
        await self.write(data + b"\n")
        answer = await self.read()
        assert "result" not in answer
        assert isinstance(answer["error"]["message"], str)
        await self.check()
        return answer

    async def check(self) -> None:
        answer = await self.ask("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}})
        assert answer["result"]["content"][0]["text"] == "3"


@asynccontextmanager
async def open_wire(era: str) -> AsyncGenerator[Wire, None]:
    async with open_server_process(
        [sys.executable, str(SERVER), "trio_mcp"], StderrPump(None), env=dict(os.environ)
    ) as process:
        wire = Wire(process, era)
        if era == "older":
            params = {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "raw", "version": "1"},
            }
            answer = await wire.ask("initialize", params)
            assert answer["result"]["protocolVersion"] == "2025-11-25"
            await wire.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        await wire.check()
        yield wire


@pytest.mark.req("R-012", "R-013", "R-014")
@pytest.mark.case("C005", "C029")
@BOTH_ERAS
async def test_what_is_no_message_is_answered_and_the_session_goes_on(era: str) -> None:
    async with open_wire(era) as wire:
        for line in (
            b'{"jsonrpc": "2.0", "id": 1, "met',
            b"GET / HTTP/1.1",
            b"\xff\xfe",
            b'"\xff"',
            b"NaN",
            b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x": NaN}}',
            b"[" * 10_000,
        ):
            answer = await wire.refusal(line)
            assert answer["error"]["code"] == -32700, line
            assert answer.get("id") is None
        for line in (
            b"42",
            b"null",
            b'"text"',
            b"[]",
            b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]',
            b"{}",
            b'{"jsonrpc": "2.0"}',
            b'{"jsonrpc": "2.0", "id": null, "method": "ping"}',
            b'{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}',
            b'{"jsonrpc": "2.0", "id": true, "method": "ping"}',
        ):
            answer = await wire.refusal(line)
            assert answer["error"]["code"] == -32600, line
            assert answer.get("id") is None
        for line in (
            b'{"id": 7, "method": "ping"}',
            b'{"jsonrpc": "1.0", "id": 7, "method": "ping"}',
            b'{"jsonrpc": 2.0, "id": 7, "method": "ping"}',
            b'{"jsonrpc": "2.0", "id": 7, "method": "ping", "params": []}',
            b'{"jsonrpc": "2.0", "id": 7, "method": "ping", "params": "x"}',
            b'{"jsonrpc": "2.0", "id": 7, "method": 3}',
        ):
            answer = await wire.refusal(line)
            assert answer["error"]["code"] == -32600, line
            assert answer["id"] == 7


@pytest.mark.req("R-024")
@pytest.mark.case("C022", "C031")
@BOTH_ERAS
async def test_what_must_not_be_answered_is_not(era: str) -> None:
    async with open_wire(era) as wire:
        for message in (
            {"method": "notifications/vendor/x"},
            {"method": "notifications/vendor/x", "params": {"a": 1}},
            {"method": "notifications/cancelled"},
            {"method": "notifications/cancelled", "params": {"requestId": 99}},
            {"method": "notifications/cancelled", "params": {"requestId": None}},
            {"method": "notifications/cancelled", "params": {"requestId": {"id": 1}}},
            {"method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}},
            {"method": "notifications/progress", "params": {"progressToken": {}}},
            {"id": 99, "result": {}},
            {"id": 99, "error": {"code": 1, "message": ""}},
        ):
            await wire.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        await wire.write(b"\n  \r\n\n")
        # The next answer is that to the next request.
        await wire.check()


@pytest.mark.req("R-006")
@pytest.mark.case("C027")
@BOTH_ERAS
async def test_ids_come_back_as_they_were(era: str) -> None:
    async with open_wire(era) as wire:
        for request_id in ("1", 1, 0, "", -7, "007", 2**53, "ü"):
            request = {**wire.request("tools/list"), "id": request_id}
            await wire.write(json.dumps(request).encode() + b"\r\n")
            answer = await wire.read()
            assert answer["id"] == request_id
            assert type(answer["id"]) is type(request_id)
            assert answer["result"]["tools"]


@pytest.mark.case("C029")
@BOTH_ERAS
async def test_invalid_params_are_refused_with_their_path(era: str) -> None:
    async with open_wire(era) as wire:
        for method, params, path in (
            ("tools/call", {}, "params.name"),
            ("tools/call", {"name": 3}, "params.name"),
            ("tools/call", {"name": "add", "arguments": [1]}, "params.arguments"),
            ("resources/read", {"uri": {}}, "params.uri"),
            ("prompts/get", {"name": "greet", "arguments": {"name": 3}}, "params.arguments.name"),
            ("completion/complete", {"ref": {"type": "ref/prompt", "name": "greet"}}, "argument"),
            ("tools/list", {"cursor": 3}, "params.cursor"),
        ):
            answer = await wire.ask(method, params)
            assert answer["error"]["code"] == -32602, (method, params)
            assert path in answer["error"]["message"]
            await wire.check()
        answer = await wire.ask("tools/call", {"name": "nope"})
        assert answer["error"]["code"] == -32602
        assert "nope" in answer["error"]["message"]
        answer = await wire.ask("vendor/unknown")
        assert answer["error"]["code"] == -32601
        answer = await wire.ask("tools/call", {"name": "add", "arguments": {"a": "x", "b": 1}})
        assert answer["result"]["isError"]
        assert answer["result"]["content"][0]["text"].endswith(
            "a: expected integer, got string 'x'"
        )
        await wire.check()


@pytest.mark.case("C028")
@BOTH_ERAS
async def test_a_second_request_with_an_id_in_flight_is_refused(era: str) -> None:
    async with open_wire(era) as wire:
        nap = {**wire.request("tools/call", {"name": "nap", "arguments": {"name": "x"}}), "id": 5}
        await wire.write(json.dumps(nap).encode() + b"\n")
        running = {"name": "wait_running", "arguments": {"number": 1}}
        await wire.ask("tools/call", running)
        answer = await wire.refusal(json.dumps({**wire.request("tools/list"), "id": 5}).encode())
        assert (answer["id"], answer["error"]["code"]) == (5, -32600)
        # The first is untouched: it still runs, and can be cancelled.
        await wire.ask("tools/call", running)
        cancel = {"requestId": 5, "reason": "enough"}
        notice = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel}
        await wire.write(json.dumps(notice).encode() + b"\n")
        await wire.ask("tools/call", {"name": "wait_running", "arguments": {"number": 0}})
        await wire.check()
