"""The names of the revisions, oldest first, and how to compare two."""

from __future__ import annotations

from ._revisions import HANDSHAKE_PROTOCOL_VERSIONS as HANDSHAKE_PROTOCOL_VERSIONS
from ._revisions import KNOWN_PROTOCOL_VERSIONS as KNOWN_PROTOCOL_VERSIONS
from ._revisions import LATEST_HANDSHAKE_VERSION as LATEST_HANDSHAKE_VERSION
from ._revisions import LATEST_MODERN_VERSION as LATEST_MODERN_VERSION
from ._revisions import LATEST_PROTOCOL_VERSION as LATEST_PROTOCOL_VERSION
from ._revisions import MODERN_PROTOCOL_VERSIONS as MODERN_PROTOCOL_VERSIONS
from ._revisions import OLDEST_SUPPORTED_VERSION as OLDEST_SUPPORTED_VERSION
from ._revisions import SUPPORTED_PROTOCOL_VERSIONS as SUPPORTED_PROTOCOL_VERSIONS
from ._revisions import is_version_at_least as is_version_at_least

__all__ = [
    "HANDSHAKE_PROTOCOL_VERSIONS",
    "KNOWN_PROTOCOL_VERSIONS",
    "LATEST_HANDSHAKE_VERSION",
    "LATEST_MODERN_VERSION",
    "LATEST_PROTOCOL_VERSION",
    "MODERN_PROTOCOL_VERSIONS",
    "OLDEST_SUPPORTED_VERSION",
    "SUPPORTED_PROTOCOL_VERSIONS",
    "is_version_at_least",
]
