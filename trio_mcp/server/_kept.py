"""How much of what a client says is kept for as long as its session or stream lasts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from trio_mcp._codec import dumps
from trio_mcp._protocol._refusals import invalid_params

if TYPE_CHECKING:
    from trio_mcp._rpc._exchange import Exchange

MAX_KEPT_SIZE: Final = 256 * 1024
"""Bytes of a request that is kept: ``initialize``, or one for a stream of notifications. Clients
have 1 to 10 KB to say of themselves; there may be thousands of them."""

MAX_URI_LENGTH: Final = 65_536
"""Characters of one URI that is subscribed to, as many as templates take."""

MAX_URIS_LENGTH: Final = 1024 * 1024
"""Characters of all URIs together that one session is subscribed to."""


def check_kept(exchange: Exchange) -> None:
    """Refuse a request that takes too much for being kept.

    Raises:
      MCPError: -32602, if it does.

    """
    size = len(dumps({"id": exchange.id, "params": exchange.params}))
    if size > MAX_KEPT_SIZE:
        raise invalid_params(
            f"{exchange.method} is kept for long, so it may have {MAX_KEPT_SIZE} bytes, "
            f"and has {size}"
        )
