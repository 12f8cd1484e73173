"""Connecting: carries out what `_protocol._connecting` decides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from trio_mcp._protocol._connecting import Adopt, Connecting, Initialize, Probe, Step
from trio_mcp.errors import (
    ConnectionLost,
    InvalidResponse,
    LocalError,
    MCPError,
    RequestTimeout,
)
from trio_mcp.types._revisions import LATEST_MODERN

from ._results import read_discovery

if TYPE_CHECKING:
    from trio_mcp.types import DiscoverResult
    from trio_mcp.types._base import JsonObject

    from ._session import ClientSession


async def negotiate(
    session: ClientSession, mode: str, prior_discover: DiscoverResult | None = None
) -> None:
    """Agree with the server on a revision, and have the session speak it.

    Args:
      session: An entered session.
      mode: ``"auto"``, ``"legacy"`` or a revision.
      prior_discover: What a pinned modern server answered another time.

    Raises:
      MCPError: if there is no revision in common, or the server refuses.
      ConnectionLost: if the connection ends meanwhile.

    """
    connecting = Connecting(mode)
    step = connecting.start()
    while not isinstance(step, Adopt):
        step = await _carry_out(session, connecting, step)
    if step.result is None:
        if prior_discover is None:
            session.assume(step.revision)
        else:
            session.adopt(prior_discover, step.revision)
    elif step.revision.has_handshake:
        await session.complete_initialize(step.revision, step.result)
    else:
        session.adopt(read_discovery(step.result, step.revision), step.revision)


async def _carry_out(session: ClientSession, connecting: Connecting, step: Step) -> Step:
    if isinstance(step, Initialize):
        return await _initialize(session, connecting, step)
    assert isinstance(step, Probe)
    try:
        result = await session.send_discover(step.revision.version)
    except RequestTimeout:
        return connecting.unanswered()
    except MCPError as exc:
        if isinstance(exc, LocalError) and not _is_of_older_server(exc):
            raise
        return connecting.refused(exc)
    return connecting.answered(result if _is_discovery(result) else {})


async def _initialize(session: ClientSession, connecting: Connecting, step: Initialize) -> Step:
    try:
        result = await session.send_initialize(step.revision.version)
    except LocalError:
        raise
    except MCPError as exc:
        return connecting.refused(exc)
    return connecting.answered(result)


def _is_of_older_server(error: LocalError) -> bool:
    """Whether what came of a probe shows that the server is older (versioning).

    It is garbage in place of an answer, or, over HTTP, a status without an error of the
    protocol; those are left out that are about who asks, how often, and from where.
    """
    if isinstance(error, InvalidResponse):
        return True
    status = error.status if isinstance(error, ConnectionLost) else None
    return status is not None and 400 <= status < 500 and status not in _NOT_ABOUT_ERAS


_NOT_ABOUT_ERAS: Final = frozenset({401, 402, 403, 407, 408, 421, 425, 429, 451})


def _is_discovery(result: JsonObject) -> bool:
    try:
        read_discovery(result, LATEST_MODERN)
    except InvalidResponse:
        return False
    return True
