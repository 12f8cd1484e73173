"""How trio_mcp publishes functions and checks arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.sides.side import Schemas
from trio_mcp import MCPServer
from trio_mcp._codec._schema import compile_validator
from trio_mcp.mcpserver._signature import read_signature
from trio_mcp.mcpserver._tool import Tool, is_context

if TYPE_CHECKING:
    from collections.abc import Callable


class TrioMcpSchemas(Schemas):
    def registrar(self) -> Callable[[Callable[..., Any], str], Any]:
        return MCPServer("schemas").add_tool

    def checkers(self, function: Callable[..., Any]) -> dict[str, Callable[[Any], Any]]:
        tool = Tool.from_function(function)
        fast = tool.validator
        assert fast.engine == "fast"
        # As for a schema that came from a peer.
        full = compile_validator(tool.parameters, trusted=False)
        convert = read_signature(function, is_context=is_context).prepare
        return {"check": fast.check, "full": full.check, "convert": convert}
