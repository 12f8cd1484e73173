"""Resources and their templates: things with a URI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ._base import JsonObject, WireModel, wire_field, wire_model
from ._common import BaseMetadata

if TYPE_CHECKING:
    from ._content import Annotations
    from ._icons import Icon

__all__ = ["Resource", "ResourceLink", "ResourceTemplate", "ResourceTemplateReference"]


@wire_model
class Resource(BaseMetadata):
    """Something the server can read out."""

    uri: str
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None
    """Raw bytes, before Base64."""
    icons: list[Icon] | None = wire_field(default=None, since="2025-11-25")
    annotations: Annotations | None = None
    meta: JsonObject | None = wire_field(default=None, wire="_meta", since="2025-06-18")


@wire_model
class ResourceTemplate(BaseMetadata):
    """A family of resources."""

    uri_template: str
    """Of RFC 6570."""
    description: str | None = None
    mime_type: str | None = None
    """Only if all of them have the same."""
    icons: list[Icon] | None = wire_field(default=None, since="2025-11-25")
    annotations: Annotations | None = None
    meta: JsonObject | None = wire_field(default=None, wire="_meta", since="2025-06-18")


@wire_model(since="2025-06-18")
class ResourceLink(Resource):
    """A content block that names a resource. Before 2025-06-18 a text with the URI is sent."""

    type: Literal["resource_link"] = wire_field(default="resource_link", always=True)


@wire_model
class ResourceTemplateReference(WireModel):
    """What is completed: a variable of this template."""

    type: Literal["ref/resource"] = wire_field(default="ref/resource", always=True)
    uri: str
    """A URI or a URI template."""
