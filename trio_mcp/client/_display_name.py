"""What to call something of a server in front of people (schema, ``BaseMetadata``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trio_mcp.types import Tool

if TYPE_CHECKING:
    from trio_mcp.types import Implementation, Prompt, Resource, ResourceTemplate

__all__ = ["get_display_name"]


def get_display_name(obj: Tool | Resource | Prompt | ResourceTemplate | Implementation) -> str:
    """Choose the name for people: the title, of a tool also that of its annotations, or the name.

    Args:
      obj: What a server listed, or the server itself.

    """
    if obj.title is not None:
        return obj.title
    if isinstance(obj, Tool) and obj.annotations is not None and obj.annotations.title is not None:
        return obj.annotations.title
    return obj.name
