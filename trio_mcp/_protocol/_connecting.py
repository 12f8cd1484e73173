"""What a client tries next while it connects, as a machine without I/O.

::

    auto ──> probe 2026-07-28 ──> answered ──────────────> adopt what both know
                 │                     └── only older ones ──> initialize
                 ├── -32022 offers a modern one we know ──> probe it, once
                 ├── -32022 offers an older one we know ──> initialize with it
                 ├── -32022 offers neither, -32020, -32021 ──> fail: it is modern
                 └── any other error, garbage, silence ──> initialize
    legacy, or an older pin ──> initialize
    a modern pin ──> adopt, unasked

    initialize ──> answered with a revision we know ──> adopt
                ├── -32022, when silence had sent us here ──> probe again, once
                └── meanwhile, a discovery for the probe ──> adopt that: it was only slow

(Versioning, "Backward compatibility"; lifecycle of the older era.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs

from trio_mcp.errors import InvalidResponse, MCPError
from trio_mcp.types import (
    HANDSHAKE_PROTOCOL_VERSIONS,
    HEADER_MISMATCH,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    MODERN_PROTOCOL_VERSIONS,
    SUPPORTED_PROTOCOL_VERSIONS,
    UNSUPPORTED_PROTOCOL_VERSION,
)
from trio_mcp.types._base import is_array, is_object
from trio_mcp.types._revisions import LATEST_HANDSHAKE, LATEST_MODERN, Revision, revision_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trio_mcp.types._base import JsonObject

_MODERN_ERRORS: Final = frozenset({HEADER_MISMATCH, MISSING_REQUIRED_CLIENT_CAPABILITY})


@attrs.frozen
class Probe:
    """Send ``server/discover`` at this revision, and feed what comes of it."""

    revision: Revision


@attrs.frozen
class Initialize:
    """Send ``initialize`` and ask for this revision, and feed what comes of it."""

    revision: Revision


@attrs.frozen
class Adopt:
    """Done: speak this revision. A pinned modern one has asked nothing: ``result`` is None."""

    revision: Revision
    result: JsonObject | None = None


Step = Probe | Initialize | Adopt


@attrs.define(eq=False)
class Connecting:
    """Decides how to connect.

    Drive it with `start`, carry out the step, and feed what came of it with `answered`,
    `refused` or `unanswered`, which return the next step or raise what ends the attempt.

    Args:
      mode: ``"auto"``, ``"legacy"``, or the revision to speak.

    """

    mode: str
    _step: Step | None = None
    _retried_probe: bool = False
    _probe_unanswered: bool = False

    def start(self) -> Step:
        """Return the first step."""
        if self.mode == "auto":
            return self._take(Probe(LATEST_MODERN))
        if self.mode == "legacy":
            return self._take(Initialize(LATEST_HANDSHAKE))
        revision = revision_for(self.mode)
        assert revision is not None
        return self._take(Initialize(revision) if revision.has_handshake else Adopt(revision))

    def answered(self, result: JsonObject) -> Step:
        """Take the result of the step.

        Raises:
          InvalidResponse: if it names no revision that this client speaks.

        """
        if isinstance(self._step, Initialize):
            return self._take(Adopt(self._read_handshake(result), result))
        return self._take(self._read_discovery(result))

    def refused(self, error: MCPError) -> Step:
        """Take the error that answered the step.

        Raises:
          MCPError: the same, or one that names the versions, when there is no other way.

        """
        step = self._after_refusal(error)
        if step is not None:
            return self._take(step)
        try:
            raise error
        finally:
            # Its traceback refers to this frame: it would keep itself, and who connects.
            del error

    def unanswered(self) -> Step:
        """Take it that no answer came to a probe: an old server may ignore what it lacks."""
        self._probe_unanswered = True
        return self._take(Initialize(LATEST_HANDSHAKE))

    def answered_late(self, result: JsonObject) -> Step:
        """Take the result of the probe that came while ``initialize`` waited for its own.

        The server was only slow, and whatever it makes of ``initialize`` is its affair: a
        modern request is complete in itself, also on a connection of both eras.

        Args:
          result: One that `is_modern`.

        """
        return self._take(self._read_discovery(result))

    def _take(self, step: Step) -> Step:
        self._step = step
        return step

    def _read_handshake(self, result: JsonObject) -> Revision:
        assert isinstance(self._step, Initialize)
        answered = result.get("protocolVersion")
        revision = revision_for(answered) if isinstance(answered, str) else None
        asked = self._step.revision
        pinned = self.mode not in ("auto", "legacy")
        if revision is None or not revision.has_handshake or (pinned and revision != asked):
            spoken = [asked.version] if pinned else list(HANDSHAKE_PROTOCOL_VERSIONS)
            raise InvalidResponse(
                f"Cannot go on: the server answered initialize with protocol version "
                f"{answered!r:.60}, this client asked for {asked.version} and speaks "
                f"{', '.join(spoken)}"
            )
        return revision

    def _read_discovery(self, result: JsonObject) -> Step:
        offered = _versions(result.get("supportedVersions"))
        if offered is None:
            # Whatever answered is no modern server: it took the request for something else.
            return Initialize(LATEST_HANDSHAKE)
        modern = _newest_mutual(offered, MODERN_PROTOCOL_VERSIONS)
        if modern is not None:
            return Adopt(modern, result)
        older = _newest_mutual(offered, HANDSHAKE_PROTOCOL_VERSIONS)
        if older is not None:
            return Initialize(older)
        raise InvalidResponse(_no_mutual_version(offered))

    def _choose_from_offer(self, error: MCPError) -> Step:
        assert isinstance(self._step, Probe)
        data = error.data
        offered = _versions(data.get("supported") if is_object(data) else None) or []
        modern = _newest_mutual(offered, MODERN_PROTOCOL_VERSIONS)
        if modern is not None and not self._retried_probe:
            self._retried_probe = True
            return Probe(modern)
        older = _newest_mutual(offered, HANDSHAKE_PROTOCOL_VERSIONS)
        if older is not None:
            return Initialize(older)
        raise MCPError(error.code, _no_mutual_version(offered), error.data) from error

    def _after_refusal(self, error: MCPError) -> Step | None:
        is_about_versions = error.code == UNSUPPORTED_PROTOCOL_VERSION
        if isinstance(self._step, Initialize):
            return self._after_refused_initialize() if is_about_versions else None
        if is_about_versions:
            return self._choose_from_offer(error)
        return None if error.code in _MODERN_ERRORS else Initialize(LATEST_HANDSHAKE)

    def _after_refused_initialize(self) -> Step | None:
        if not self._probe_unanswered or self._retried_probe:
            return None
        self._retried_probe = True
        return Probe(LATEST_MODERN)


def is_modern(discovery: JsonObject) -> bool:
    """Whether what a server answered to a probe makes it one that we speak modern with."""
    offered = _versions(discovery.get("supportedVersions"))
    return _newest_mutual(offered or [], MODERN_PROTOCOL_VERSIONS) is not None


def _versions(value: object) -> list[str] | None:
    if not is_array(value):
        return None
    return [each for each in value if isinstance(each, str)]


def _newest_mutual(offered: Sequence[str], known: Sequence[str]) -> Revision | None:
    newest = next((version for version in reversed(known) if version in offered), None)
    return None if newest is None else revision_for(newest)


def _no_mutual_version(offered: Sequence[str]) -> str:
    return (
        f"No protocol version in common: the server speaks {', '.join(offered) or 'none'}, "
        f"this client {', '.join(SUPPORTED_PROTOCOL_VERSIONS)}"
    )
