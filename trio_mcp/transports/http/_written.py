"""Messages of a server as they are written, checked where they are handed over."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from trio_mcp._codec import (
    check_notification,
    dump_message,
    dumps,
    message_to_json,
    why_unwritable,
)
from trio_mcp._rpc._answer import INTERNAL_ERROR_TEXT
from trio_mcp.types import (
    INTERNAL_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCResponse,
)

if TYPE_CHECKING:
    from trio_mcp.types import JSONRPCMessage
    from trio_mcp.types._base import JsonObject

logger: Final = logging.getLogger("trio_mcp.http")


def dump_notification(method: str, params: JsonObject | None) -> tuple[JSONRPCNotification, bytes]:
    """Write a notification.

    Returns:
      The message, and how it is written.

    Raises:
      TypeError, ValueError: if it holds what JSON cannot say; the message has the path.

    """
    message = JSONRPCNotification(method=method, params=params)
    try:
        data = dump_message(message)
    except (TypeError, ValueError):
        check_notification(method, params)
        raise
    # The encoder takes NaN for null.
    if b"null" in data:
        check_notification(method, params)
    return message, data


def dump_answer(
    message: JSONRPCResponse | JSONRPCError,
) -> tuple[JSONRPCResponse | JSONRPCError, bytes]:
    """Write an answer; one that cannot be written becomes an error, since someone waits for it.

    Returns:
      What is answered, and how it is written.

    """
    try:
        return message, dump_message(message)
    except (TypeError, ValueError) as exc:
        logger.error("An answer cannot be written as JSON: %s", why_unwritable(message) or exc)  # noqa: TRY400 - the path says where
    error = ErrorData(code=INTERNAL_ERROR, message=INTERNAL_ERROR_TEXT)
    substitute = JSONRPCError(id=message.id, error=error)
    return substitute, dump_message(substitute)


def dump_with_id(message: JSONRPCMessage) -> bytes:
    """Write a message of the older era, where errors have an id, as JSON-RPC says.

    It is null where the error answers nothing that could be read.

    Raises:
      TypeError, ValueError: as `dump_message`.

    """
    if isinstance(message, JSONRPCError) and message.id is None:
        return dumps({"jsonrpc": "2.0", "id": None, **message_to_json(message)})
    return dump_message(message)
