"""What a client says of itself: who it is, and what it can do at each revision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from trio_mcp import types
from trio_mcp._codec import encode
from trio_mcp._protocol._meta import build_client_envelope
from trio_mcp.types._revisions import LATEST_MODERN, revision_for

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trio_mcp.types import LoggingLevel
    from trio_mcp.types._base import JsonObject
    from trio_mcp.types._revisions import Revision

    from ._callbacks import Callbacks
    from ._extensions_of_client import Extensions


@attrs.frozen(eq=False)
class Declaration:
    """What one client declares to every server it meets."""

    capabilities: types.ClientCapabilities
    client_info: types.Implementation
    extensions: Extensions
    log_level: LoggingLevel | None

    def also_with(self, extensions: Mapping[str, Mapping[str, Any]]) -> Declaration:
        """Declare further extensions; what the client says of one of them itself counts."""
        joint = self.extensions.also_declaring(extensions)
        capabilities = self.capabilities.evolve(extensions=dict(joint.settings))
        return attrs.evolve(self, capabilities=capabilities, extensions=joint)

    def capabilities_at(self, revision: Revision) -> JsonObject:
        """Return the capabilities as they are written at a revision."""
        json = encode(self.capabilities, revision)
        json.pop("extensions", None)
        extensions = self.extensions.declared_at(revision)
        if extensions is not None:
            json["extensions"] = extensions
        return json

    def envelope(self, version: str) -> JsonObject:
        """Build what every request of a modern revision says in its ``_meta``."""
        return build_client_envelope(
            version,
            self.capabilities_at(revision_for(version) or LATEST_MODERN),
            encode(self.client_info, LATEST_MODERN),
            self.log_level,
        )


def declare(
    callbacks: Callbacks,
    sampling_capabilities: types.SamplingCapability | None,
    extensions: Extensions,
    client_info: types.Implementation | None,
    log_level: LoggingLevel | None,
) -> Declaration:
    """Declare what there are callbacks for."""
    from ._client_info import DEFAULT_CLIENT_INFO  # noqa: PLC0415 - loads on first use

    elicitation = None
    if callbacks.elicitation is not None:
        elicitation = types.ElicitationCapability(
            form=types.FormElicitationCapability(), url=types.UrlElicitationCapability()
        )
    sampling = None
    if callbacks.sampling is not None:
        sampling = sampling_capabilities or types.SamplingCapability()
    capabilities = types.ClientCapabilities(
        sampling=sampling,
        elicitation=elicitation,
        roots=None if callbacks.list_roots is None else types.RootsCapability(list_changed=True),
        extensions=dict(extensions.settings) if extensions.settings else None,
    )
    return Declaration(
        extensions.declare(capabilities),
        client_info or DEFAULT_CLIENT_INFO,
        extensions,
        log_level,
    )
