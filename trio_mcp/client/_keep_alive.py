"""Signs of life of an older server (ping, 2025-11-25)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

import trio

from trio_mcp._rpc._link import CallOptions
from trio_mcp.errors import ConnectionLost, MCPError, RequestTimeout

if TYPE_CHECKING:
    from trio_mcp._rpc._link import Link

logger: Final = logging.getLogger("trio_mcp.client")


async def keep_alive(link: Link, interval: float) -> None:
    """Ask for a sign of life after each interval; give the connection up when none comes.

    Any answer is a sign of life, an error too.
    """
    options = CallOptions(timeout=interval, may_cancel=False)
    while True:
        await trio.sleep(interval)
        try:
            await link.request("ping", None, options)
        except RequestTimeout:
            logger.warning("The server did not answer a ping within %g s", interval)
            link.break_off(
                ConnectionLost(f"Connection closed: no answer to a ping within {interval:g} s")
            )
        except MCPError:
            # An error is a sign of life, too; whoever uses an ended connection hears so.
            pass
        if link.lost:
            return
