"""Content blocks: what tools return and prompts hold. Resources have files of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ._base import JsonObject, WireModel, wire_field, wire_model

if TYPE_CHECKING:
    from ._literals import Role

__all__ = [
    "Annotations",
    "AudioContent",
    "ImageContent",
    "TextContent",
]


@wire_model
class Annotations(WireModel):
    """Hints for the client on whom content is for and how much it matters."""

    audience: list[Role] | None = None

    priority: float | None = wire_field(default=None, bounds=(0, 1))
    """From 0, which may be left out, to 1, which is needed."""

    last_modified: str | None = wire_field(default=None, since="2025-06-18")
    """An ISO 8601 time."""


@wire_model
class TextContent(WireModel):
    type: Literal["text"] = wire_field(default="text", always=True)
    text: str
    annotations: Annotations | None = None
    meta: JsonObject | None = wire_field(default=None, wire="_meta", since="2025-06-18")


@wire_model
class ImageContent(WireModel):
    type: Literal["image"] = wire_field(default="image", always=True)
    data: str
    """Base64."""
    mime_type: str
    annotations: Annotations | None = None
    meta: JsonObject | None = wire_field(default=None, wire="_meta", since="2025-06-18")


@wire_model(since="2025-03-26")
class AudioContent(WireModel):
    """Sound. Before 2025-03-26 a text that says so is sent instead."""

    type: Literal["audio"] = wire_field(default="audio", always=True)
    data: str
    """Base64."""
    mime_type: str
    annotations: Annotations | None = None
    meta: JsonObject | None = wire_field(default=None, wire="_meta", since="2025-06-18")
