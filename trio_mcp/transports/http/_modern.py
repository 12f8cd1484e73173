"""A request of the modern era: complete in itself, and handled in the task that received it."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Final

import attrs
import trio

from trio_mcp._codec import excerpt
from trio_mcp._rpc._answer import answer
from trio_mcp._rpc._exchange import NO_PARAMS, Exchange, HttpDetails
from trio_mcp._rpc._nursery import open_background_nursery
from trio_mcp._rpc._pump import run_logged
from trio_mcp.errors import MCPError
from trio_mcp.types import (
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

from ._guard import asks_for_scopes, end_in_time, refuse_scopes
from ._outgoing import Outgoing
from ._refusal import Refusal, status_for
from ._rules import (
    EVENT_STREAM,
    check_accept,
    check_frame,
    check_mirrored,
    check_modern,
    check_notification,
)
from ._written import dump_answer, dump_notification

if TYPE_CHECKING:
    from trio_mcp._codec import Frame
    from trio_mcp._rpc._service import Serving
    from trio_mcp.types._base import JsonObject

    from ._asgi import HttpRequest, HttpResponse
    from ._guard import Guard
    from ._heart import Heart

logger: Final = logging.getLogger("trio_mcp.http")

LISTEN: Final = "subscriptions/listen"


async def serve_modern(
    serving: Serving,
    heart: Heart,
    request: HttpRequest,
    response: HttpResponse,
    frame: Frame,
    *,
    json_only: bool,
    guard: Guard,
) -> Refusal | None:
    """Answer a POST of the modern era, or say why not.

    Cancellation:
      The handler is cancelled, and the answer breaks off.

    """
    refusal = check_frame(frame)
    if refusal is not None:
        return refusal
    if isinstance(frame, JSONRPCNotification):
        return await _take_notification(serving, request, response, frame)
    assert isinstance(frame, JSONRPCRequest)
    name_param = serving.name_param(frame.method)
    refusal = check_modern(request.headers, frame, name_param) or _check_call(
        serving, request, frame
    )
    if refusal is None and frame.method == LISTEN:
        # Where other answers are JSON alone, this was not asked for yet.
        refusal = check_accept(request.headers, (EVENT_STREAM,))
    if refusal is not None:
        return refusal
    connection = serving.connect(None)
    reply = _Reply(response, guard, json_only=json_only and frame.method != LISTEN)
    exchange = Exchange(
        frame.id,
        frame.method,
        NO_PARAMS if frame.params is None else frame.params,
        connection,
        reply.notify,
        None,
        request.headers,
        request.principal,
        HttpDetails(request),
    )
    try:
        refusal = _accept(serving, exchange)
        if refusal is None:
            refusal = await _handle(serving, heart, request, exchange, reply)
    finally:
        exchange.close()
        reply.let_go()
        serving.disconnect(connection)
    return refusal


async def _take_notification(
    serving: Serving, request: HttpRequest, response: HttpResponse, frame: JSONRPCNotification
) -> Refusal | None:
    refusal = check_notification(request.headers)
    if refusal is not None:
        return refusal
    await response.send_whole(202)
    # Those of the protocol change nothing, as nothing is kept between requests: to cancel is to
    # close the stream of an answer. Those of extensions are handled before the next request that
    # comes on this connection.
    connection = serving.connect(None)
    try:
        callback = serving.notified(connection, frame.method, frame.params or {})
        if callback is not None:
            await run_logged(callback)
    finally:
        serving.disconnect(connection)
    return None


def _check_call(serving: Serving, request: HttpRequest, frame: JSONRPCRequest) -> Refusal | None:
    if frame.method != "tools/call" or frame.params is None:
        return None
    tool = frame.params.get("name")
    mirrored = serving.mirrored_arguments(tool) if isinstance(tool, str) else None
    return check_mirrored(request.headers, frame, mirrored) if mirrored else None


def _accept(serving: Serving, exchange: Exchange) -> Refusal | None:
    try:
        serving.accept(exchange)
    except MCPError as exc:
        return Refusal.for_error(exc, exchange.id)
    return None


async def _handle(
    serving: Serving, heart: Heart, request: HttpRequest, exchange: Exchange, reply: _Reply
) -> Refusal | None:
    async with open_background_nursery() as nursery:
        outgoing = reply.open(nursery, heart.interval)

        def on_gone() -> None:
            # Cancellation, HTTP: closing the stream of the answer cancels the request.
            outgoing.give_up()
            exchange.cancel("the client closed the stream of its answer")

        request.watch(nursery, on_gone)
        if exchange.method == LISTEN:
            end = partial(serving.ending, exchange.connection)
            end_in_time(nursery, exchange.principal, end)
        message: JSONRPCResponse | JSONRPCError | None = None
        if reply.json_only:
            with exchange.scope:
                message = await answer(serving, exchange)
        else:
            with heart.beating(outgoing), exchange.scope:
                message = await answer(serving, exchange)
        if message is None or exchange.closed:
            shown = excerpt(exchange.method), excerpt(exchange.id)
            logger.debug("%s #%r ended: %s", *shown, excerpt(exchange.cancel_reason or ""))
            return None
        exchange.close()
        return await reply.finish(message)
    return None


@attrs.define(eq=False)
class _Reply:
    """The way back of one request: JSON first, and a stream once something else is sent."""

    _response: HttpResponse
    _guard: Guard
    json_only: bool
    _outgoing: Outgoing = attrs.field(factory=Outgoing)
    _written: trio.Event | None = None

    def open(self, nursery: trio.Nursery, keep_alive: float) -> Outgoing:
        """Begin; the nursery is for the one who writes, if it becomes a stream."""

        def start_writing() -> None:
            self._written = trio.Event()
            nursery.start_soon(self._write, self._written, keep_alive, name="HTTP stream")

        self._outgoing.on_stream = start_writing
        return self._outgoing

    def let_go(self) -> None:
        """Forget whom it would call: that would tie it into a cycle with what it sends by."""
        self._outgoing.give_up()

    async def _write(self, written: trio.Event, keep_alive: float) -> None:
        await self._outgoing.write(self._response, keep_alive)
        written.set()

    async def notify(self, method: str, params: JsonObject | None) -> None:
        """Send a notification; waits while too much waits for the client."""
        await trio.lowlevel.checkpoint()
        _, data = dump_notification(method, params)
        if not self.json_only:
            await self._outgoing.wait_room()
            self._outgoing.put(data)

    async def finish(self, message: JSONRPCResponse | JSONRPCError) -> Refusal | None:
        """Send the answer, or return it as a refusal where the status can still say so."""
        message, data = dump_answer(message)
        if self._written is not None:
            self._outgoing.put(data)
            self._outgoing.end()
            await self._written.wait()
            return None
        if isinstance(message, JSONRPCError):
            if asks_for_scopes(message.error):
                return refuse_scopes(self._guard, message.error).for_request(message.id)
            status = status_for(message.error.code)
            if status != 200:
                return Refusal(status, message.error, message.id)
        await self._response.send_whole(200, data)
        return None
