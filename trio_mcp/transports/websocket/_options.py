"""What a WebSocket endpoint can be told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs

from trio_mcp._checks import check_kind
from trio_mcp._variables import (
    naming_variables,
    number,
    options_of,
    or_none,
    settable,
    whole,
)
from trio_mcp.transports._settling import SECURITY, settle_options, settle_security
from trio_mcp.transports.http._options import URL_PATH, TransportSecuritySettings
from trio_mcp.transports.http._serve_options import ServeOptions

from ._defaults import (
    DEFAULT_MAX_MESSAGE_SIZE,
    DEFAULT_PING_INTERVAL,
    DEFAULT_PING_TIMEOUT,
    DEFAULT_WEBSOCKET_PATH,
)

if TYPE_CHECKING:
    from collections.abc import Mapping


@attrs.frozen(kw_only=True)
class WebSocketOptions:
    """How clients over WebSockets are served.

    Attributes:
      websocket_path: Of the endpoint, with or without a slash at either end.
      max_message_size: The longest message that is received, in bytes; a longer one ends its
          connection with code 1009.
      ping_interval: Seconds of silence before a client is asked whether it is there; None not
          to ask.
      ping_timeout: Seconds in which something has to come then.
      transport_security: From where it may be called. If it is not given, it goes by the
          address that is listened on, as for `HttpOptions`.

    """

    websocket_path: str = settable(DEFAULT_WEBSOCKET_PATH, URL_PATH)
    max_message_size: int = settable(DEFAULT_MAX_MESSAGE_SIZE, whole(least=1))
    ping_interval: float | None = settable(DEFAULT_PING_INTERVAL, or_none(number(above=0)))
    ping_timeout: float = settable(DEFAULT_PING_TIMEOUT, number(above=0))
    transport_security: TransportSecuritySettings | None = None

    def __attrs_post_init__(self) -> None:
        if self.transport_security is not None:
            check_kind(SECURITY, self.transport_security, TransportSecuritySettings)


LISTENING: Final = (
    "host",
    "port",
    "binds",
    "unix_socket",
    "certfile",
    "keyfile",
    "keyfile_password",
    "max_connections",
    "head_timeout",
    "write_timeout",
    "graceful_timeout",
)
"""The options of `ServeOptions` that mean something here."""

_OWN: Final = options_of(WebSocketOptions)
_OPTIONS: Final = {**options_of(ServeOptions), **_OWN}


def read_options(given: Mapping[str, Any]) -> tuple[ServeOptions, WebSocketOptions]:
    """Put together what was given and what the environment says of the rest.

    Who may call is decided, too, where nobody has told it.

    Raises:
      TypeError: if one was given that there is not.
      TypeError, ValueError: if one has a value that it cannot have, or a variable has.

    """
    settled = settle_options(
        "The transport 'websocket'", (*LISTENING, *_OWN, SECURITY), _OPTIONS, given
    )
    with naming_variables(given):
        listening = ServeOptions(
            **{name: settled.pop(name) for name in LISTENING if name in settled}
        )
    settle_security(settled, listening.most_open_host)
    return listening, WebSocketOptions(**settled)
