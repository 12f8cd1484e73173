"""What stands in ``data`` of the errors that the specification describes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._base import WireModel, wire_model

if TYPE_CHECKING:
    from ._client_capabilities import ClientCapabilities
    from ._elicitation import ElicitRequestURLParams

__all__ = [
    "ElicitationRequiredErrorData",
    "MissingRequiredClientCapabilityErrorData",
    "UnsupportedProtocolVersionErrorData",
]


@wire_model
class UnsupportedProtocolVersionErrorData(WireModel):
    """Of -32022."""

    supported: list[str]
    requested: str


@wire_model
class MissingRequiredClientCapabilityErrorData(WireModel):
    """Of -32021."""

    required_capabilities: ClientCapabilities


@wire_model
class ElicitationRequiredErrorData(WireModel):
    """Of -32042, 2025-11-25."""

    elicitations: list[ElicitRequestURLParams]
