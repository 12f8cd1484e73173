"""Connecting: carries out what `_protocol._connecting` decides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs
import trio

from trio_mcp._protocol._connecting import (
    Adopt,
    Connecting,
    Initialize,
    Probe,
    Step,
    is_modern,
)
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
    from collections.abc import Callable

    from trio_mcp.types import DiscoverResult
    from trio_mcp.types._base import JsonObject

    from ._session import ClientSession


async def negotiate(
    session: ClientSession,
    mode: str,
    prior_discover: DiscoverResult | None = None,
    on_late_discovery: Callable[[], None] | None = None,
) -> None:
    """Agree with the server on a revision, and have the session speak it.

    Args:
      session: An entered session.
      mode: ``"auto"``, ``"legacy"`` or a revision.
      prior_discover: What a pinned modern server answered another time.
      on_late_discovery: Called by the task that reads the wire, at any time until the session
          ends, if a server that was silent about its era turns out to be a modern one.

    Raises:
      MCPError: if there is no revision in common, or the server refuses.
      ConnectionLost: if the connection ends meanwhile.

    """
    step = await _Negotiation(session, Connecting(mode), on_late_discovery).run()
    if step.result is None:
        if prior_discover is None:
            session.assume(step.revision)
        else:
            session.adopt(prior_discover, step.revision)
    elif step.revision.has_handshake:
        await session.complete_initialize(step.revision, step.result)
    else:
        session.adopt(read_discovery(step.result, step.revision), step.revision)


@attrs.define(eq=False)
class _Negotiation:
    _session: ClientSession
    _connecting: Connecting
    _on_late_discovery: Callable[[], None] | None
    # Of whoever waits for the answer to `initialize`.
    _waiting: trio.CancelScope | None = None
    _late_discovery: JsonObject | None = None

    async def run(self) -> Adopt:
        step = self._connecting.start()
        while not isinstance(step, Adopt):
            if isinstance(step, Probe):
                step = await self._probe(step)
            else:
                step = await self._initialize(step)
        return step

    async def _probe(self, step: Probe) -> Step:
        try:
            result = await self._session.send_discover(step.revision.version, self._take_late)
        except RequestTimeout:
            return self._connecting.unanswered()
        except MCPError as exc:
            if isinstance(exc, LocalError) and not _is_of_older_server(exc):
                raise
            return self._connecting.refused(exc)
        return self._connecting.answered(result if _is_discovery(result) else {})

    async def _initialize(self, step: Initialize) -> Step:
        result: JsonObject = {}
        try:
            with trio.CancelScope() as self._waiting:
                result = await self._session.send_initialize(step.revision.version)
        except LocalError:
            raise
        except MCPError as exc:
            return self._after_late_discovery() or self._connecting.refused(exc)
        finally:
            self._waiting = None
        return self._after_late_discovery() or self._connecting.answered(result)

    def _take_late(self, result: JsonObject) -> None:
        if not _is_discovery(result) or not is_modern(result):
            return
        if self._on_late_discovery is not None:
            self._on_late_discovery()
        if self._waiting is not None:
            self._late_discovery = result
            self._waiting.cancel(reason="the server has answered the probe")

    def _after_late_discovery(self) -> Step | None:
        late = self._late_discovery
        return None if late is None else self._connecting.answered_late(late)


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
