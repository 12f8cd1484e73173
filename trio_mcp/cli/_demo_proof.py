"""What the steps of the demo rely on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trio_mcp.cli._mistakes import Failure
from trio_mcp.types._base import is_object

if TYPE_CHECKING:
    from trio_mcp.types import CallToolResult


def structured(result: CallToolResult) -> dict[str, Any]:
    """Return the structured content of a tool that succeeded."""
    content: Any = result.structured_content
    if result.is_error or not is_object(content):
        raise Failure(f"the tool failed: {result.content}")
    return content


def require(held: object, otherwise: str) -> None:
    """Fail the step if something does not hold."""
    if not held:
        raise Failure(otherwise)
