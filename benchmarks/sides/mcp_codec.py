"""How the official SDK reads and writes a result: what its session and its runner do."""

from __future__ import annotations

from typing import Any

from mcp import types
from mcp.server.runner import _dump_result
from mcp.types import methods
from mcp.types.jsonrpc import JSONRPCResponse, jsonrpc_message_adapter

from benchmarks.sides.side import Codec

VERSION = "2026-07-28"
RESULTS: dict[str, Any] = {
    "tools/list": types.ListToolsResult,
    "tools/call": types.CallToolResult,
}


class McpCodec(Codec):
    def parse(self, method: str, line: bytes) -> Any:
        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        assert isinstance(message, JSONRPCResponse)
        methods.validate_server_result(method, VERSION, message.result)
        return RESULTS[method].model_validate(message.result, by_name=False)

    def build(self, method: str, result: Any) -> bytes:
        dumped = methods.serialize_server_result(method, VERSION, _dump_result(result))
        message = JSONRPCResponse(jsonrpc="2.0", id=1, result=dumped)
        return message.model_dump_json(by_alias=True, exclude_unset=True).encode()
