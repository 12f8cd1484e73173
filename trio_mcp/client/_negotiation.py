"""Connecting: carries out what `_protocol._connecting` decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trio_mcp._protocol._connecting import Adopt, Connecting, Initialize, Probe, Step
from trio_mcp.errors import InvalidResponse, LocalError, MCPError, RequestTimeout
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
    try:
        if isinstance(step, Initialize):
            result = await session.send_initialize(step.revision.version)
        else:
            assert isinstance(step, Probe)
            result = await session.send_discover(step.revision.version)
            if not _is_discovery(result):
                result = {}
    except RequestTimeout:
        if isinstance(step, Initialize):
            raise
        return connecting.unanswered()
    except InvalidResponse as exc:
        # Garbage in place of an answer to the probe: not a modern server.
        if isinstance(step, Initialize):
            raise
        return connecting.refused(exc)
    except LocalError:
        raise
    except MCPError as exc:
        return connecting.refused(exc)
    return connecting.answered(result)


def _is_discovery(result: JsonObject) -> bool:
    try:
        read_discovery(result, LATEST_MODERN)
    except InvalidResponse:
        return False
    return True
