"""The revisions of the protocol, and the only place that compares them."""

from __future__ import annotations

from typing import Final

import attrs

__all__ = [
    "HANDSHAKE_PROTOCOL_VERSIONS",
    "KNOWN_PROTOCOL_VERSIONS",
    "KNOWN_REVISIONS",
    "LATEST_HANDSHAKE",
    "LATEST_HANDSHAKE_VERSION",
    "LATEST_MODERN",
    "LATEST_MODERN_VERSION",
    "LATEST_PROTOCOL_VERSION",
    "MODERN_PROTOCOL_VERSIONS",
    "OLDEST_SUPPORTED_VERSION",
    "SUPPORTED_PROTOCOL_VERSIONS",
    "Revision",
    "is_version_at_least",
    "revision_for",
]

KNOWN_PROTOCOL_VERSIONS: Final[tuple[str, ...]] = (
    "2024-11-05",
    "2025-03-26",
    "2025-06-18",
    "2025-11-25",
    "2026-07-28",
)
"""Every revision, oldest first. Their order is this list's, not that of the strings."""

HANDSHAKE_PROTOCOL_VERSIONS: Final[tuple[str, ...]] = KNOWN_PROTOCOL_VERSIONS[:4]
"""Revisions that are agreed upon by ``initialize``."""

MODERN_PROTOCOL_VERSIONS: Final[tuple[str, ...]] = KNOWN_PROTOCOL_VERSIONS[4:]
"""Revisions that every request names for itself."""

SUPPORTED_PROTOCOL_VERSIONS: Final[tuple[str, ...]] = KNOWN_PROTOCOL_VERSIONS
"""Both kinds together."""

LATEST_PROTOCOL_VERSION: Final[str] = KNOWN_PROTOCOL_VERSIONS[-1]
LATEST_HANDSHAKE_VERSION: Final[str] = HANDSHAKE_PROTOCOL_VERSIONS[-1]
LATEST_MODERN_VERSION: Final[str] = MODERN_PROTOCOL_VERSIONS[-1]
OLDEST_SUPPORTED_VERSION: Final[str] = KNOWN_PROTOCOL_VERSIONS[0]


@attrs.frozen(repr=False, order=True)
class Revision:
    """One revision of the protocol: what it can do, and where it stands among the others.

    Revisions are made here and compared by age: ``a < b`` when `a` is the older one. Use
    `revision_for` to get one.
    """

    position: int = attrs.field()
    """Its place in `KNOWN_PROTOCOL_VERSIONS`."""

    version: str = attrs.field(eq=False)
    """Its name on the wire."""

    @property
    def is_modern(self) -> bool:
        """Each request names its revision and capabilities; there is no session."""
        return self.position >= _FIRST_MODERN

    @property
    def has_handshake(self) -> bool:
        """A session opens with ``initialize``."""
        return self.position < _FIRST_MODERN

    @property
    def has_server_requests(self) -> bool:
        """Servers send requests of their own, rather than an ``InputRequiredResult``."""
        return self.position < _FIRST_MODERN

    @property
    def has_result_type(self) -> bool:
        """Each result says what it is in ``resultType``."""
        return self.position >= _FIRST_MODERN

    @property
    def has_cache_hints(self) -> bool:
        """Lists and contents say how long they may be kept."""
        return self.position >= _FIRST_MODERN

    @property
    def has_subscription_streams(self) -> bool:
        """Changes are listened for with ``subscriptions/listen``."""
        return self.position >= _FIRST_MODERN

    @property
    def has_routing_headers(self) -> bool:
        """HTTP requests carry ``Mcp-Method`` and its kin."""
        return self.position >= _FIRST_MODERN

    @property
    def has_any_structured_content(self) -> bool:
        """Structured content may be any JSON value, and an output schema any schema."""
        return self.position >= _FIRST_MODERN

    @property
    def has_tasks(self) -> bool:
        """The experimental tasks of 2025-11-25 are part of the core."""
        return self.position == _WITH_TASKS

    @property
    def has_url_elicitation_error(self) -> bool:
        """The error -32042 exists."""
        return self.position == _WITH_TASKS

    @property
    def has_batching(self) -> bool:
        """A frame may be a JSON array of messages."""
        return self.position == _WITH_BATCHES

    @property
    def has_streamable_http(self) -> bool:
        """HTTP is one endpoint, rather than HTTP+SSE's two."""
        return self.position >= _WITH_BATCHES

    @property
    def has_audio(self) -> bool:
        return self.position >= _WITH_BATCHES

    @property
    def has_tool_annotations(self) -> bool:
        return self.position >= _WITH_BATCHES

    @property
    def has_progress_message(self) -> bool:
        return self.position >= _WITH_BATCHES

    @property
    def has_completions_capability(self) -> bool:
        """A server that completes says so; before, a client just tries."""
        return self.position >= _WITH_BATCHES

    @property
    def has_completion_context(self) -> bool:
        """A completion is told which arguments are settled already."""
        return self.position >= _WITH_ELICITATION

    @property
    def has_elicitation(self) -> bool:
        return self.position >= _WITH_ELICITATION

    @property
    def has_resource_links(self) -> bool:
        return self.position >= _WITH_ELICITATION

    @property
    def has_structured_content(self) -> bool:
        """Tools publish output schemas and return structured content."""
        return self.position >= _WITH_ELICITATION

    @property
    def has_version_header(self) -> bool:
        """HTTP clients send ``MCP-Protocol-Version``."""
        return self.position >= _WITH_ELICITATION

    @property
    def has_url_elicitation(self) -> bool:
        return self.position >= _WITH_TASKS

    @property
    def has_titled_enums(self) -> bool:
        """Elicitation has titled choices, multiple choice and defaults of every kind."""
        return self.position >= _WITH_TASKS

    @property
    def has_sampling_tools(self) -> bool:
        """Sampling messages hold several blocks, tool uses and tool results."""
        return self.position >= _WITH_TASKS

    @property
    def has_sse_polling(self) -> bool:
        """A stream opens with an event that only carries an id, and may be cut on purpose."""
        return self.position == _WITH_TASKS

    def at_least(self, version: str) -> bool:
        """Whether this is the revision of that name, or a later one."""
        return self.position >= KNOWN_PROTOCOL_VERSIONS.index(version)

    def includes(self, since: str | None, until: str | None) -> bool:
        """Whether something that came with `since` and went with `until` exists here."""
        return (since is None or self.at_least(since)) and (
            until is None or not self.at_least(until)
        )

    def __repr__(self) -> str:
        return f"<Revision {self.version}>"

    def __str__(self) -> str:
        return self.version


_FIRST_MODERN: Final = KNOWN_PROTOCOL_VERSIONS.index("2026-07-28")
_WITH_TASKS: Final = KNOWN_PROTOCOL_VERSIONS.index("2025-11-25")
_WITH_ELICITATION: Final = KNOWN_PROTOCOL_VERSIONS.index("2025-06-18")
_WITH_BATCHES: Final = KNOWN_PROTOCOL_VERSIONS.index("2025-03-26")

KNOWN_REVISIONS: Final[tuple[Revision, ...]] = tuple(
    Revision(position, version) for position, version in enumerate(KNOWN_PROTOCOL_VERSIONS)
)
"""Every revision, oldest first."""

LATEST_HANDSHAKE: Final = KNOWN_REVISIONS[_FIRST_MODERN - 1]
LATEST_MODERN: Final = KNOWN_REVISIONS[-1]

_BY_VERSION: Final = {each.version: each for each in KNOWN_REVISIONS}


def revision_for(version: str) -> Revision | None:
    """Return the revision of that name, or None for one that is not known."""
    return _BY_VERSION.get(version)


def is_version_at_least(version: str, minimum: str) -> bool:
    """Tell whether a version is a known one that is not older than `minimum`.

    Raises:
      ValueError: if `minimum` is not a known version.

    """
    least = revision_for(minimum)
    if least is None:
        msg = f"minimum must be a known protocol version, got {minimum!r}"
        raise ValueError(msg)
    found = revision_for(version)
    return found is not None and found >= least
