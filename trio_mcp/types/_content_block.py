"""The union of all content blocks."""

from __future__ import annotations

from typing import TypeAlias

from ._content import AudioContent, ImageContent, TextContent
from ._resource_contents import EmbeddedResource
from ._resources import ResourceLink

__all__ = ["ContentBlock"]

ContentBlock: TypeAlias = (
    TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource
)
"""What a tool may return and a prompt may hold, told apart by `type`."""
