"""What a server keeps of one connection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs
import trio

from trio_mcp._rpc._service import Connection

if TYPE_CHECKING:
    from trio_mcp._protocol._subscriptions import ServerEvent
    from trio_mcp._rpc._link import Link
    from trio_mcp.types import InitializeRequestParams, LoggingLevel
    from trio_mcp.types._base import JsonObject
    from trio_mcp.types._revisions import Revision

    from ._subscriptions import ListenStream


READY_SECONDS: Final = 5.0
"""Seconds that questions wait for a client to say that it is ready; one that forgets it is asked
all the same."""


@attrs.define(eq=False)
class ServerConnection(Connection):
    """The state of one connection: all of it belongs to the older era's session.

    A modern request finds nothing here that it would rely on: what it needs it carries
    itself (statelessness).

    Attributes:
      link: Reaches the client outside any request; None where nothing does.
      client_params: What the client said in ``initialize``.
      session_id: The name of its session over HTTP.
      log_level: From which level on it wants log messages; None until it said so.
      announced: The capabilities that ``initialize`` answered, as JSON.
      subscribed: The resources whose updates the session wants to hear of.
      untold: Changes that it has still to hear of; `being_told` while a task sees to that.
      streams: Subscriptions of the modern era that came on this connection.
      state: For the server author's own use.

    """

    link: Link | None
    client_params: InitializeRequestParams | None = None
    log_level: LoggingLevel | None = None
    session_id: str | None = None
    announced: JsonObject = attrs.Factory(dict[Any, Any])
    subscribed: set[str] = attrs.Factory(set[Any])
    untold: dict[ServerEvent, None] = attrs.Factory(dict[Any, Any])
    being_told: bool = False
    streams: set[ListenStream] = attrs.Factory(set[Any])
    state: dict[str, Any] = attrs.Factory(dict[Any, Any])
    _revision: Revision | None = None
    _ready: trio.Event = attrs.field(factory=trio.Event, init=False)

    @property
    def revision(self) -> Revision | None:
        """The revision that ``initialize`` agreed on."""
        return self._revision

    def negotiate(self, revision: Revision, params: InitializeRequestParams) -> None:
        """Enter the older era: from now on the connection speaks this revision."""
        self._revision = revision
        self.client_params = params

    def assume(self, revision: Revision) -> None:
        """No handshake will come: the client has had one elsewhere, and speaks this revision."""
        self._revision = revision
        self.become_ready()

    @property
    def initialized(self) -> bool:
        """Whether the client has said that it is ready."""
        return self._ready.is_set()

    def become_ready(self) -> None:
        """Take note that the client has said so."""
        self._ready.set()

    async def wait_ready(self) -> None:
        """Wait until a client that is asked something is ready for that (lifecycle), for a while.

        A client may call a tool before, and its server should not ask it anything yet.
        """
        if not self.initialized:
            with trio.move_on_after(READY_SECONDS):
                await self._ready.wait()

    def forget_handshake(self) -> None:
        """``initialize`` was refused after all: the client may try again."""
        self._revision = None
        self.client_params = None
