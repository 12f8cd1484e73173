"""How the official SDK publishes functions and checks arguments: it converts as it checks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.tools.base import Tool

from benchmarks.sides.side import Schemas

if TYPE_CHECKING:
    from collections.abc import Callable


class McpSchemas(Schemas):
    def registrar(self) -> Callable[[Callable[..., Any], str], Any]:
        return MCPServer("schemas").add_tool

    def checkers(self, function: Callable[..., Any]) -> dict[str, Callable[[Any], Any]]:
        check = Tool.from_function(function).fn_metadata.validate_arguments
        return {"check": check, "full": check, "convert": check}
