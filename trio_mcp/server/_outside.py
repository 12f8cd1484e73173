"""The way from work that outlives its request to the client, in the older era's sessions."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

import trio

from trio_mcp._rpc._link import NO_OPTIONS, CallOptions, Link
from trio_mcp.errors import ConnectionLost

if TYPE_CHECKING:
    from trio_mcp._rpc._exchange import Exchange
    from trio_mcp.types._base import JsonObject

    from ._connection import ServerConnection

_ABOUT_TASKS: Final = frozenset({"tasks/get", "tasks/result", "tasks/cancel"})


class OutsideLink(Link):
    """Belongs to the request until that is answered, and to its session from then on.

    Args:
      exchange: The request.
      scope: Of the work. Once it is cancelled, nothing is reported any more.
      meta: What the ``_meta`` of all that is sent says, too.

    """

    __slots__ = ("_connection", "_exchange", "_meta", "_scope")

    def __init__(self, exchange: Exchange, scope: trio.CancelScope, meta: JsonObject) -> None:
        self._exchange = exchange
        self._connection: ServerConnection = exchange.connection
        self._scope = scope
        self._meta = meta

    @property
    def lost(self) -> bool:
        """See `Link.lost`."""
        link = self._connection.link
        return link is None or link.lost

    @property
    def can_ask(self) -> bool:
        """See `Link.can_ask`."""
        link = self._connection.link
        return link is not None and link.can_ask

    async def request(
        self, method: str, params: JsonObject | None, options: CallOptions = NO_OPTIONS
    ) -> JsonObject:
        """See `Link.request`. It belongs to the session from the beginning."""
        link = self._connection.link
        if link is None:
            await trio.lowlevel.checkpoint()
            raise ConnectionLost("The session has ended")
        # Tasks: what asks about another one is told from that by its params alone.
        said = params if method in _ABOUT_TASKS else self._with_meta(params)
        return await link.request(method, said, options)

    async def notify(self, method: str, params: JsonObject | None = None) -> None:
        """See `Link.notify`. Nobody hears it where the session has ended."""
        if self._scope.cancel_called:
            await trio.lowlevel.checkpoint()
            return
        params = self._with_meta(params)
        link = self._connection.link
        if not self._exchange.closed:
            await self._exchange.notify(method, params)
        elif link is None:
            await trio.lowlevel.checkpoint()
        else:
            with suppress(ConnectionLost):
                await link.notify(method, params)

    def _with_meta(self, params: JsonObject | None) -> JsonObject | None:
        if not self._meta:
            return params
        said = {} if params is None else params
        return {**said, "_meta": {**(said.get("_meta") or {}), **self._meta}}
