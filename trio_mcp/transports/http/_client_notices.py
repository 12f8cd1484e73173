"""Telling an older server that a call was cancelled: leaving its response does not say so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import trio

from trio_mcp._rpc._calls import logger
from trio_mcp._rpc._nursery import finish_within
from trio_mcp._rpc._reasons import reason_of
from trio_mcp.errors import ConnectionLost
from trio_mcp.types import JSONRPCNotification

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ._client_call import HttpCall

NOTICE_TIMEOUT: Final = 2.0
"""Seconds for telling a server of the older era that a call was cancelled."""

NOTICE_AGAIN_AFTER: Final = 0.5
"""Seconds after which a server that had not begun to answer is told once more. The notice
travels by another connection than the request, and may have overtaken it; one that nobody
understands any more is ignored."""


class CancelNotices:
    """Posts notices of cancelled calls, for which nobody waits but the end of the connection.

    Args:
      post: Sends one.
      closing: Set when the connection is being closed.

    Attributes:
      nursery: Runs the tasks that post.

    """

    def __init__(
        self, post: Callable[[JSONRPCNotification], Awaitable[None]], closing: trio.Event
    ) -> None:
        self._post: Callable[[JSONRPCNotification], Awaitable[None]] | None = post
        self._closing = closing
        self._under_way = 0
        self._sent = trio.lowlevel.ParkingLot()
        self.nursery: trio.Nursery | None = None

    def send(self, call: HttpCall, why: BaseException) -> None:
        """Tell the server; does not wait."""
        notice = JSONRPCNotification(
            method="notifications/cancelled",
            params={"requestId": call.id, "reason": reason_of(why)},
        )
        assert self.nursery is not None
        self._under_way += 1
        self.nursery.start_soon(self._send, call, notice, name=f"cancel #{call.id}")

    async def wait_sent(self) -> None:
        """Wait until all have been sent, or their time has passed."""
        while self._under_way:
            await self._sent.park()

    def forget(self) -> None:
        """Let go of the link, so that it is freed at once."""
        self._post = self.nursery = None

    async def _send(self, call: HttpCall, notice: JSONRPCNotification) -> None:
        assert self._post is not None
        try:
            # What cancels the call may cancel everything; the notice is owed all the same.
            with finish_within(NOTICE_TIMEOUT):
                await self._post(notice)
                if not call.has_arrived:
                    with trio.move_on_after(NOTICE_AGAIN_AFTER):
                        await self._closing.wait()
                    if not self._closing.is_set():
                        await self._post(notice)
        except ConnectionLost as exc:
            logger.debug("The server was not told of a cancelled call: %s", exc)
        except Exception:  # noqa: BLE001 - such as of an `httpx.Auth`; it ends nothing else
            logger.exception("The server was not told of a cancelled call")
        finally:
            self._under_way -= 1
            self._sent.unpark_all()
