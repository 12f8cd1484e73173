"""Clients of a server in this process, over every road that needs no other process."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, Unpack, get_args

import trio
import trio.testing

from trio_mcp._checks import check_kind
from trio_mcp._rpc._block import guarded_block
from trio_mcp._rpc._peer import open_peer
from trio_mcp._rpc._service import Service
from trio_mcp.client import Client, ClientSession
from trio_mcp.client._negotiation import negotiate
from trio_mcp.client._roads import ended_by_its_lifespan, road_to
from trio_mcp.transports import LineChannel, open_memory_channel_pair

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from trio_mcp._rpc._channel import Channel
    from trio_mcp.client import (
        ClientExtension,
        ClientOptions,
        ConnectMode,
        ElicitationFnT,
        ListRootsFnT,
        LoggingFnT,
        MessageHandlerFnT,
        NotificationBinding,
        ResultClaim,
        SamplingFnT,
    )
    from trio_mcp.types import Implementation, LoggingLevel, SamplingCapability

Road: TypeAlias = Literal["direct", "memory", "text", "lines"]
"""What lies between a client and a server of this process.

* ``"direct"``: nothing; a handler runs in the caller's task, as with ``Client(server)``.
* ``"memory"``: a pair of channels, with the tasks of a real connection at both ends.
* ``"text"``: the same, and every message is passed as JSON text.
* ``"lines"``: two streams of bytes with one message a line, as stdio has them.
"""


class SessionOptions(TypedDict, total=False):
    """The keyword arguments of `trio_mcp.client.ClientSession`, for `open_session`."""

    read_timeout_seconds: float | None
    sampling_callback: SamplingFnT | None
    elicitation_callback: ElicitationFnT | None
    list_roots_callback: ListRootsFnT | None
    logging_callback: LoggingFnT | None
    message_handler: MessageHandlerFnT | None
    client_info: Implementation | None
    log_level: LoggingLevel | None
    sampling_capabilities: SamplingCapability | None
    extensions: Sequence[ClientExtension] | dict[str, dict[str, Any]] | None
    result_claims: Mapping[str, Sequence[ResultClaim[Any]]] | None
    notification_bindings: Sequence[NotificationBinding[Any]] | None
    ping_interval: float | None


@guarded_block("open_client")
@asynccontextmanager
async def open_client(
    server: Service, over: Road = "text", **options: Unpack[ClientOptions]
) -> AsyncGenerator[Client, None]:
    """Open a server of this process and a client that is connected to it.

    ::

        async with open_client(mcp, mode="2025-06-18", sampling_callback=sample) as client:
            result = await client.call_tool("summarize", {"text": "…"})

    No process, no socket and no real time are involved, so every road works under
    `trio.testing.MockClock`, too.

    Args:
      server: An `MCPServer` or `Server`; its lifespan is entered, and left at the end.
      over: What lies between the two; see `Road`.
      options: The keyword arguments of `trio_mcp.Client`. ``mode`` sets the revision or the
          era; ``raise_exceptions`` lets the first defect of a handler leave the block, or the
          call where the road is direct. ``restart`` is for servers that can die, as processes.

    Raises:
      MCPError: what entering a `trio_mcp.Client` raises.
      TypeError: if the server is none.

    Cancellation:
      Leaving cancels the server's handlers and waits for their clean-up.

    """
    raise_exceptions = options.get("raise_exceptions", False)
    async with Client(_by(over, server, raise_exceptions), **options) as client:
        yield client


@guarded_block("open_session")
@asynccontextmanager
async def open_session(
    server: Service,
    over: Road = "text",
    *,
    mode: ConnectMode = "auto",
    raise_exceptions: bool = False,
    **options: Unpack[SessionOptions],
) -> AsyncGenerator[ClientSession, None]:
    """Open a server of this process and a session with it, one level below `open_client`.

    Args:
      server: A `Server` or `MCPServer`; its lifespan is entered, and left at the end.
      over: What lies between the two; see `Road`.
      mode: As of `trio_mcp.Client`: the revision or the era that the session speaks when the
          block is entered.
      raise_exceptions: Let the first defect of a handler leave the block, or the call where
          the road is direct.
      options: The keyword arguments of `trio_mcp.client.ClientSession`.

    Raises:
      MCPError: if the two do not agree on a revision.
      TypeError: if the server is none.

    Cancellation:
      Leaving cancels the server's handlers and waits for their clean-up.

    """
    road = road_to(_by(over, server, raise_exceptions), raise_exceptions=raise_exceptions)
    async with ClientSession(open_link=road, **options) as session:
        await negotiate(session, mode)
        yield session


def _by(over: Road, server: Service, raise_exceptions: bool) -> Any:
    if over not in get_args(Road):
        raise ValueError(f"over is one of {', '.join(get_args(Road))}, not {over!r}")
    check_kind("server", server, Service, "a Server or MCPServer")
    return server if over == "direct" else _serve(server, over, raise_exceptions)


@guarded_block("the server")
@asynccontextmanager
async def _serve(
    server: Service, over: Road, raise_exceptions: bool
) -> AsyncGenerator[Channel, None]:
    near, far = _make_pair(over)
    is_left = False
    async with server.open() as serving:
        serving.raise_exceptions = raise_exceptions
        async with open_peer(far, serving):
            try:
                yield near
            finally:
                # The server has nobody to write to any more, and need not wait for that.
                await trio.aclose_forcefully(near)  # noqa: ASYNC102 - it does not wait
        is_left = True
    if not is_left:
        raise ended_by_its_lifespan()


def _make_pair(over: Road) -> tuple[Channel, Channel]:
    if over == "lines":
        near, far = trio.testing.memory_stream_pair()
        return LineChannel(near, near), LineChannel(far, far)
    return open_memory_channel_pair(as_text=over == "text")
