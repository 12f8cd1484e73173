"""From bytes to objects and back, without any carrier. Processor time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from benchmarks.measures import Figure, measure
from benchmarks.peers.tools import DESCRIPTION
from benchmarks.timing import cpu_of_each

if TYPE_CHECKING:
    from benchmarks.sides.side import Side


# One page with 200 tools, as a client reads it and as a server writes it. Each in a process of
# its own: how the allocator treats big blocks depends on those that were freed before.
# So many that full passes of the garbage collector count as they do in the long run. The other
# side has one for some 20 lists that it writes, which takes as long as all of them.
@measure(Figure("codec: list of 200 tools, parse", "us", 0.20, 0.13), count=160)
def codec_list_parse(side: Side, count: int) -> list[float]:
    return _parse(side, count, "tools/list", _list_of_tools())


@measure(Figure("codec: list of 200 tools, build", "us", 0.12, 0.05), count=160)
def codec_list_build(side: Side, count: int) -> list[float]:
    return _build(side, count, "tools/list", _list_of_tools())


# A tool's result with one text of 1 MiB.
@measure(Figure("codec: 1 MiB result, parse", "us", 0.45, 0.30), count=100)
def codec_big_parse(side: Side, count: int) -> list[float]:
    return _parse(side, count, "tools/call", _big_result())


@measure(Figure("codec: 1 MiB result, build", "us", 0.60, 0.55), count=100)
def codec_big_build(side: Side, count: int) -> list[float]:
    return _build(side, count, "tools/call", _big_result())


def _parse(side: Side, count: int, method: str, result: Any) -> list[float]:
    codec, line = side.codec(), _line(result)
    return [cpu_of_each(lambda: codec.parse(method, line), count)]


def _build(side: Side, count: int, method: str, result: Any) -> list[float]:
    codec, line = side.codec(), _line(result)
    read = codec.parse(method, line)
    assert json.loads(codec.build(method, read))["result"].keys() >= {*result}
    return [cpu_of_each(lambda: codec.build(method, read), count)]


def _line(result: Any) -> bytes:
    message = {"jsonrpc": "2.0", "id": 1, "result": result}
    return json.dumps(message, separators=(",", ":")).encode()


def _big_result() -> dict[str, Any]:
    text = "The quick brown fox jumps over the lazy dog. " * 23302
    return {"content": [{"type": "text", "text": text}], "resultType": "complete"}


def _list_of_tools() -> dict[str, Any]:
    nullable = {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}
    schema = {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "What to look for"},
            "limit": {"type": "integer", "default": 10},
            "exact": {"type": "boolean", "default": False},
            "since": nullable,
        },
        "required": ["query"],
    }
    tools = [
        {"name": f"lookup_{number}", "description": DESCRIPTION, "inputSchema": schema}
        for number in range(200)
    ]
    return {"tools": tools, "ttlMs": 0, "cacheScope": "private", "resultType": "complete"}
