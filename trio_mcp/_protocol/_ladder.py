"""What an inbound request means: its era, its revision, or the error that refuses it.

The order of the checks is that of the specification's reference servers and of the
conformance suite: first whether the request's own envelope is whole, then the version it
names, then the method. Parameters come last, when the handler is known.

A connection is not locked to an era. ``initialize`` opens the older one for the connection;
a request whose ``_meta`` names a version is modern, complete in itself, wherever it arrives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, get_args

import attrs

from trio_mcp.types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    LOG_LEVEL_META_KEY,
    PROTOCOL_VERSION_META_KEY,
)
from trio_mcp.types._base import is_object
from trio_mcp.types._literals import LoggingLevel
from trio_mcp.types._methods import METHODS
from trio_mcp.types._revisions import KNOWN_REVISIONS, LATEST_HANDSHAKE

from ._refusals import invalid_params, invalid_request, method_not_found, unsupported_version

if TYPE_CHECKING:
    from collections.abc import Callable

    from trio_mcp.types import JsonObject, ProgressToken
    from trio_mcp.types._revisions import Revision

LOG_LEVELS: Final[tuple[str, ...]] = get_args(LoggingLevel)
"""All levels, ascending."""

_MODERN: Final = {each.version: each for each in KNOWN_REVISIONS if each.is_modern}

_NO_META: Final[JsonObject] = {}


# Not frozen, since each request makes one, and that makes it three times as slow.
@attrs.define
class Accepted:
    """A request that may be handled, and what its envelope says. Not to be changed.

    Attributes:
      revision: The revision to read it and to answer it at.
      meta: Its ``_meta``, empty when there is none.
      capabilities: What the client can do for this request, as it was sent; None in the
          older era, where the handshake said it.
      client_info: Who the client says it is, on a modern request.
      log_level: From which level on the client wants log messages for this request.

    """

    revision: Revision
    meta: JsonObject
    capabilities: JsonObject | None = None
    client_info: JsonObject | None = None
    log_level: str | None = None

    @property
    def progress_token(self) -> ProgressToken | None:
        """The token to report progress with; 0 and the empty string are tokens."""
        token = self.meta.get("progressToken")
        if token.__class__ is int or token.__class__ is str:
            return token
        return None


def accept_request(
    method: str,
    params: JsonObject,
    negotiated: Revision | None,
    serves: Callable[[str, Revision], bool],
) -> Accepted:
    """Decide what a request means, or refuse it.

    Args:
      method: Of the request.
      params: Of the request; empty when it has none.
      negotiated: The revision that ``initialize`` agreed on for this connection, if it did.
      serves: Whether the server has a handler for a method at a revision.

    Raises:
      MCPError: with the error to answer.

    """
    meta = params.get("_meta", _NO_META)
    if meta.__class__ is not dict:
        raise invalid_params("params._meta: expected an object")
    if method == "initialize":
        return _accept_initialize(meta, negotiated)
    if PROTOCOL_VERSION_META_KEY in meta or CLIENT_CAPABILITIES_META_KEY in meta:
        return _accept_modern(method, meta, serves)
    if negotiated is not None:
        return _accept_in_session(method, meta, negotiated, serves)
    return _accept_before_handshake(method, meta, serves)


def _accept_initialize(meta: JsonObject, negotiated: Revision | None) -> Accepted:
    if negotiated is not None:
        raise invalid_request("initialize: this connection is initialized already")
    return Accepted(LATEST_HANDSHAKE, meta)


def _accept_modern(
    method: str, meta: JsonObject, serves: Callable[[str, Revision], bool]
) -> Accepted:
    version, capabilities = read_envelope(meta)
    revision = modern_revision(version)
    client_info = meta.get(CLIENT_INFO_META_KEY)
    if client_info is not None and client_info.__class__ is not dict:
        raise invalid_params(_missing(CLIENT_INFO_META_KEY, "an object", client_info))
    log_level = meta.get(LOG_LEVEL_META_KEY)
    if log_level is not None and log_level not in LOG_LEVELS:
        raise invalid_params(_missing(LOG_LEVEL_META_KEY, "a log level", log_level))
    if not serves(method, revision):
        raise method_not_found(method)
    return Accepted(revision, meta, capabilities, client_info, log_level)


def read_envelope(meta: JsonObject) -> tuple[str, JsonObject]:
    """Read what each modern request says of itself: its version, and what its client can do.

    Raises:
      MCPError: if one of them is missing.

    """
    version = meta.get(PROTOCOL_VERSION_META_KEY)
    capabilities = meta.get(CLIENT_CAPABILITIES_META_KEY)
    if not isinstance(version, str):
        raise invalid_params(_missing(PROTOCOL_VERSION_META_KEY, "a string", version))
    if not is_object(capabilities):
        raise invalid_params(_missing(CLIENT_CAPABILITIES_META_KEY, "an object", capabilities))
    return version, capabilities


def modern_revision(version: str) -> Revision:
    """Give the revision that a modern request names.

    Raises:
      MCPError: if it is none that requests can name.

    """
    revision = _MODERN.get(version)
    if revision is None:
        raise unsupported_version(version)
    return revision


def _accept_in_session(
    method: str, meta: JsonObject, negotiated: Revision, serves: Callable[[str, Revision], bool]
) -> Accepted:
    if not serves(method, negotiated):
        raise method_not_found(method)
    return Accepted(negotiated, meta)


def _accept_before_handshake(
    method: str, meta: JsonObject, serves: Callable[[str, Revision], bool]
) -> Accepted:
    # Lifecycle of the older era: only ping may come before `initialize`. A request without
    # an envelope on a fresh connection may as well be a modern one that forgot it, so the
    # error names both ways.
    if method == "ping":
        return Accepted(LATEST_HANDSHAKE, meta)
    if method in METHODS or serves(method, LATEST_HANDSHAKE):
        raise invalid_params(
            f"{method}: params._meta lacks {PROTOCOL_VERSION_META_KEY} and "
            f"{CLIENT_CAPABILITIES_META_KEY}, and no initialize came before"
        )
    raise method_not_found(method)


def _missing(key: str, expected: str, got: object) -> str:
    if got is None:
        return f"params._meta lacks {key}: expected {expected}"
    return f"params._meta.{key}: expected {expected}, got {got!r:.60}"
