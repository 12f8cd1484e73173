"""The server's half of ``initialize`` (lifecycle, 2025-11-25 and older)."""

from __future__ import annotations

from trio_mcp.types._revisions import LATEST_HANDSHAKE, Revision, revision_for


def choose_handshake_revision(requested: str) -> Revision:
    """Choose what to answer a client that asks for a revision.

    A supported one is answered with itself. Anything else, the modern revisions too, which
    are never negotiated this way, is answered with the newest of the era.
    """
    revision = revision_for(requested)
    if revision is None or not revision.has_handshake:
        return LATEST_HANDSHAKE
    return revision
