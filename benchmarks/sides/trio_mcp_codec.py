"""How trio_mcp reads and writes a result."""

from __future__ import annotations

from typing import Any

from benchmarks.sides.side import Codec
from trio_mcp._codec import decode, dump_message, encode, parse_frame
from trio_mcp.types import JSONRPCResponse
from trio_mcp.types._methods import METHODS
from trio_mcp.types._revisions import LATEST_MODERN


class TrioMcpCodec(Codec):
    def parse(self, method: str, line: bytes) -> Any:
        frame = parse_frame(line)
        assert isinstance(frame, JSONRPCResponse)
        return decode(METHODS[method].result_type(), frame.result, LATEST_MODERN, where="result")

    def build(self, method: str, result: Any) -> bytes:
        del method
        return dump_message(JSONRPCResponse(id=1, result=encode(result, LATEST_MODERN)))
