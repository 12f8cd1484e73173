"""What a client says over HTTP+SSE: each message is a POST, and none waits for another's.

A server may keep a POST open for as long as it works on it, ask meanwhile, and go on only when
that is answered. So requests and answers go by themselves. What tells of an order does not:
later messages wait until the server has taken ``notifications/initialized``, and other
notifications follow each other, but for those that cancel a request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs
import trio

from trio_mcp._codec import dump_message
from trio_mcp._rpc._calls import logger
from trio_mcp._rpc._channel import Undelivered
from trio_mcp._rpc._nursery import finish_within
from trio_mcp._rpc._repeats import Repeats
from trio_mcp.errors import ConnectionLost
from trio_mcp.types import JSONRPCNotification, JSONRPCRequest

from ._body import Body
from ._client_notices import NOTICE_AGAIN_AFTER, NOTICE_TIMEOUT
from ._endpoint import refused
from ._http_errors import is_for_want_of_connections, shown

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from trio_mcp.types import JSONRPCMessage, RequestId

    from ._endpoint import Endpoint

MAX_REQUESTS: Final = 256
"""Requests whose POST is under way at once; more wait to be sent."""

MAX_NOTIFICATIONS: Final = 256
"""Notifications that may wait for the server; then whoever notifies has to wait, too."""

INITIALIZED_TIMEOUT: Final = 5.0
"""Seconds that later messages wait for the server to take ``notifications/initialized``."""

_POST: Final = {"content-type": "application/json", "accept-encoding": "identity"}


@attrs.define(eq=False)
class _Posting:
    """A request that the server has not taken yet, and why it was given up, if by this side."""

    scope: trio.CancelScope = attrs.field(factory=trio.CancelScope)
    lost: ConnectionLost | None = None


class SsePosts:
    """Posts messages, in tasks of their own.

    Args:
      nursery: Runs them.
      on_undelivered: Takes what stands for the answer to a request that was not delivered.

    Attributes:
      endpoint: Where to; None until the server has said so.

    """

    def __init__(
        self, nursery: trio.Nursery, on_undelivered: Callable[[Undelivered], Awaitable[None]]
    ) -> None:
        self._nursery = nursery
        self._on_undelivered = on_undelivered
        self._requests: dict[RequestId, _Posting] = {}
        self._limiter = trio.CapacityLimiter(MAX_REQUESTS)
        self._notifications = 0
        self._in_order = trio.Lock()
        self._initialized: trio.Event | None = None
        self._notices = 0
        self._changed = trio.lowlevel.ParkingLot()
        self._closing = trio.Event()
        self._repeats = Repeats()
        self.endpoint: Endpoint | None = None

    async def start(self, messages: list[JSONRPCMessage]) -> None:
        """Begin to post messages; waits only where too many notifications do.

        Raises:
          TypeError, ValueError: if one cannot be written as JSON; none is posted then.

        """
        for message, content in [(each, dump_message(each)) for each in messages]:
            while self._notifications >= MAX_NOTIFICATIONS:
                await self._changed.park()
            if isinstance(message, JSONRPCRequest):
                # At once, so that it can be cancelled before its task has begun.
                self._requests[message.id] = _Posting()
                self._start(self._request, message, content)
            elif not isinstance(message, JSONRPCNotification):
                self._start(self._answer, message, content)
            elif message.method == "notifications/cancelled":
                self._notices += 1
                self._start(self._cancel, message, content)
            else:
                if message.method == "notifications/initialized":
                    self._initialized = trio.Event()
                self._notifications += 1
                self._start(self._notify, message, content)

    async def finish(self) -> None:
        """Wait until notices of cancelled requests are sent; each takes bounded time."""
        self._closing.set()
        while self._notices:
            await self._changed.park()

    def _start(
        self, job: Callable[[Any, bytes], Awaitable[None]], message: JSONRPCMessage, content: bytes
    ) -> None:
        what = getattr(message, "method", "answer")
        self._nursery.start_soon(job, message, content, name=f"POST {what}")

    async def _request(self, request: JSONRPCRequest, content: bytes) -> None:
        posting = self._requests[request.id]
        why: Exception | None = None
        try:
            with posting.scope:
                await self._wait_initialized()
                async with self._limiter:
                    await self._post(content)
        except ConnectionLost as exc:
            why = exc.again()
        except Exception as exc:  # noqa: BLE001 - such as of an `httpx.Auth`: the caller is told
            why = exc
        finally:
            del self._requests[request.id]
        why = why or posting.lost
        if why is not None:
            await self._on_undelivered(Undelivered(request.id, why))

    async def _answer(self, answer: JSONRPCMessage, content: bytes) -> None:
        del answer
        lost = await self._post_or_log(content, "An answer")
        if lost is not None and is_for_want_of_connections(lost):
            # One of those that are kept open may wait for it.
            for posting in self._requests.values():
                posting.lost = lost.again()
                posting.scope.cancel(reason=lost.message)

    async def _notify(self, notification: JSONRPCNotification, content: bytes) -> None:
        is_first = notification.method == "notifications/initialized"
        try:
            if not is_first:
                await self._wait_initialized()
            async with self._in_order:
                await self._post_or_log(content, notification.method)
        finally:
            if is_first and self._initialized is not None:
                self._initialized.set()
            self._notifications -= 1
            self._changed.unpark_all()

    async def _cancel(self, notice: JSONRPCNotification, content: bytes) -> None:
        posting = self._requests.get((notice.params or {}).get("requestId", ""))
        if posting is not None:
            posting.scope.cancel(reason="the request was cancelled")
        try:
            # What cancels the call may cancel everything; the notice is owed all the same.
            with finish_within(NOTICE_TIMEOUT):
                await self._post_or_log(content, notice.method)
                if posting is not None:
                    # It may have overtaken the request.
                    with trio.move_on_after(NOTICE_AGAIN_AFTER):
                        await self._closing.wait()
                    if not self._closing.is_set():
                        await self._post_or_log(content, notice.method)
        finally:
            self._notices -= 1
            self._changed.unpark_all()

    async def _wait_initialized(self) -> None:
        if self._initialized is not None:
            with trio.move_on_after(INITIALIZED_TIMEOUT):
                await self._initialized.wait()

    async def _post_or_log(self, content: bytes, what: str) -> ConnectionLost | None:
        try:
            # A notice of what was given up is sent on leaving.
            await self._post(content, may_ask=what != "notifications/cancelled")
        except ConnectionLost as exc:
            self._repeats.warn(logger, "%s did not reach the server: %s", what, exc)
            return exc.again()
        except Exception:  # noqa: BLE001 - such as of an `httpx.Auth`; it ends nothing else
            logger.exception("%s did not reach the server", what)
        return None

    async def _post(self, content: bytes, *, may_ask: bool = True) -> None:
        assert self.endpoint is not None
        response = await self.endpoint.send("POST", _POST, content, may_ask=may_ask)
        what = f"POST {shown(self.endpoint.url)}"
        if response.status_code >= 300:
            raise await refused(response, what)
        body = Body(response, what)
        try:
            await body.finish()
        finally:
            await body.leave()  # noqa: ASYNC102 - it shields itself, bounded
