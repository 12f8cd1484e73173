"""The contents of resources, alone and as a content block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ._base import JsonObject, WireModel, wire_field, wire_model

if TYPE_CHECKING:
    from ._content import Annotations

__all__ = ["BlobResourceContents", "EmbeddedResource", "ResourceContents", "TextResourceContents"]


@wire_model
class ResourceContents(WireModel):
    """Where contents are from."""

    uri: str
    mime_type: str | None = None
    meta: JsonObject | None = wire_field(default=None, wire="_meta", since="2025-06-18")


@wire_model
class TextResourceContents(ResourceContents):
    text: str


@wire_model
class BlobResourceContents(ResourceContents):
    blob: str
    """Base64."""


@wire_model
class EmbeddedResource(WireModel):
    """The contents of a resource, right here."""

    type: Literal["resource"] = wire_field(default="resource", always=True)
    resource: TextResourceContents | BlobResourceContents
    annotations: Annotations | None = None
    meta: JsonObject | None = wire_field(default=None, wire="_meta", since="2025-06-18")
