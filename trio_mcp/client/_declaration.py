"""What a client says of itself: who it is, and what it can do at each revision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs

from trio_mcp._codec import encode
from trio_mcp._protocol._meta import build_client_envelope
from trio_mcp.types import (
    ClientCapabilities,
    ElicitationCapability,
    FormElicitationCapability,
    Implementation,
    RootsCapability,
    SamplingCapability,
    UrlElicitationCapability,
)
from trio_mcp.types._revisions import LATEST_MODERN, revision_for

if TYPE_CHECKING:
    from trio_mcp.types import LoggingLevel
    from trio_mcp.types._base import JsonObject
    from trio_mcp.types._revisions import Revision

    from ._callbacks import Callbacks
    from ._extensions import Extensions

DEFAULT_CLIENT_INFO: Final = Implementation(name="trio-mcp", version="0.1.0")


@attrs.frozen(eq=False)
class Declaration:
    """What one client declares to every server it meets."""

    capabilities: ClientCapabilities
    client_info: Implementation
    extensions: Extensions
    log_level: LoggingLevel | None

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
    sampling_capabilities: SamplingCapability | None,
    extensions: Extensions,
    client_info: Implementation | None,
    log_level: LoggingLevel | None,
) -> Declaration:
    """Declare what there are callbacks for."""
    elicitation = None
    if callbacks.elicitation is not None:
        elicitation = ElicitationCapability(
            form=FormElicitationCapability(), url=UrlElicitationCapability()
        )
    sampling = None
    if callbacks.sampling is not None:
        sampling = sampling_capabilities or SamplingCapability()
    capabilities = ClientCapabilities(
        sampling=sampling,
        elicitation=elicitation,
        roots=None if callbacks.list_roots is None else RootsCapability(list_changed=True),
        extensions=dict(extensions.settings) if extensions.settings else None,
    )
    return Declaration(capabilities, client_info or DEFAULT_CLIENT_INFO, extensions, log_level)
