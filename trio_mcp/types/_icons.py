"""Icons and implementations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._base import WireModel, wire_field, wire_model
from ._common import BaseMetadata

if TYPE_CHECKING:
    from ._literals import IconTheme

__all__ = ["Icon", "Implementation"]


@wire_model
class Icon(WireModel):
    """A picture of a thing, in one size or any."""

    src: str
    """An ``http(s):`` or ``data:`` URI."""

    mime_type: str | None = None

    sizes: list[str] | None = None
    """Such as ``"48x48"``, or ``"any"``; None if unknown."""

    theme: IconTheme | None = None
    """The background it is made for; None for any."""


@wire_model
class Implementation(BaseMetadata):
    """The program on one side, as it calls itself. Not to be trusted."""

    version: str

    description: str | None = wire_field(default=None, since="2025-11-25")
    website_url: str | None = wire_field(default=None, since="2025-11-25")
    icons: list[Icon] | None = wire_field(default=None, since="2025-11-25")
