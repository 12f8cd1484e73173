"""Who may ask over a network: the interface, and where requests meet it.

Transports know nothing of tokens. What protects a server says of each request whose it is, or how
it is refused; it is asked before anything of the request is looked at but its head.
"""

from __future__ import annotations

import logging
import math
import time
from abc import ABC, abstractmethod
from functools import partial
from typing import TYPE_CHECKING, Any, Final, final

import attrs
import trio

from trio_mcp._checks import check_scope_names
from trio_mcp._codec import Batch
from trio_mcp.errors import InsufficientScopeError
from trio_mcp.types import INSUFFICIENT_SCOPE, JSONRPCRequest
from trio_mcp.types._base import is_object

from ._asgi import PRINCIPAL
from ._refusal import Refusal, status_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from trio_mcp._codec import Frame
    from trio_mcp._rpc._exchange import Principal
    from trio_mcp._rpc._service import Service, Serving
    from trio_mcp.types import ErrorData

    from ._asgi import HttpRequest
    from ._routes import Route


logger: Final = logging.getLogger("trio_mcp.auth")

CHECK_TIMEOUT: Final = 60.0
"""Seconds to find out who asks. What asks others for that has shorter limits of its own."""

_LATEST: Final = 253_402_300_800
# The end of the year 9999.


class Guard(ABC):
    """Knows who asks, by the head of a request alone.

    Attributes:
      required_scopes: What every request takes.

    """

    required_scopes: Sequence[str] = ()

    @abstractmethod
    async def check(self, request: HttpRequest) -> Principal | Refusal:
        """Say whose a request is, or refuse it. Nothing of what it asks is done before.

        Cancellation:
          `CHECK_TIMEOUT` seconds have passed, the server ends, or the client has gone. Of the
          last one, other servers of ASGI than ours tell only who reads the body.

        """

    def challenge(self, scopes: Sequence[str]) -> tuple[tuple[str, str], ...]:
        """Give the headers that tell a client which scopes it lacks."""
        return _challenge(scopes)


@attrs.frozen
class Protection:
    """What protects a server.

    Attributes:
      guard: Knows who asks.
      routes: What is served beside the endpoint, and to everybody.
      documents: JSON to serve at paths where there are no routes.
      own_issuer: The authorization server that the routes are; None if it is another program.
      kept_in: What keeps all that it has issued in this process; None if it is shared.

    """

    guard: Guard
    routes: Sequence[Route] = ()
    documents: Mapping[str, bytes] = attrs.Factory(dict[str, bytes])
    own_issuer: str | None = None
    kept_in: str | None = None


@final
class Open(Guard):
    """Lets everybody in, as what stands before the application has found them."""

    async def check(self, request: HttpRequest) -> Any:
        """Say what the scope says, which may be that nobody knows."""
        return request.principal


EVERYBODY: Final = Protection(Open())


def protection_of(server: Service) -> Protection:
    """Give what protects a server."""
    found: Protection | None = server.protection()
    return EVERYBODY if found is None else found


def check_program(server: Service, transport: str, workers: int = 1) -> None:
    """Refuse what clients of a program would only find out one by one.

    Args:
      server: All that the program serves.
      transport: How.
      workers: By how many processes.

    Raises:
      ValueError: if its authorization server could not be reached so, or would forget in one
        process what another has issued.

    """
    protection = protection_of(server)
    if workers > 1 and protection.kept_in is not None:
        raise ValueError(
            f"workers: expected 1, since {protection.kept_in} keeps clients, logins and tokens in "
            f"one process, and no other knows them; got {workers}"
        )
    if transport == "websocket" and protection.own_issuer is not None:
        raise ValueError(
            f"The authorization server {protection.own_issuer!r} has no endpoints over a "
            "WebSocket, so nobody could log in: serve it over HTTP, with a program that serves "
            "both, or by one of its own"
        )


async def admit(guard: Guard, request: HttpRequest) -> Refusal | None:
    """Refuse a request, or note in its scope whose it is."""
    if isinstance(guard, Open):
        # It waits for nothing.
        return await _admit(guard, request)
    with trio.move_on_after(CHECK_TIMEOUT) as limit:
        request.watch_head(partial(limit.cancel, reason="the client has gone"))
        return await _admit(guard, request)
    if limit.deadline > trio.current_time():
        return Refusal.of(400, "The client has gone", level=logging.DEBUG)
    logger.error("The guard took longer than %g s", CHECK_TIMEOUT)
    return Refusal.of(503, f"It was not known within {CHECK_TIMEOUT:g} s who asks")


async def _admit(guard: Guard, request: HttpRequest) -> Refusal | None:
    try:
        found = await guard.check(request)
    except Exception:
        # Whatever carries the request: over some, nobody else would answer it.
        logger.exception("The guard failed")
        return Refusal.of(500, "The server failed")
    if isinstance(found, Refusal):
        return found
    request.scope[PRINCIPAL] = found
    return None


def check_scopes(
    guard: Guard, serving: Serving, request: HttpRequest, frame: Frame | None = None
) -> Refusal | None:
    """Refuse a request of somebody who is not allowed what it asks for.

    One challenge names all that it takes, of the server and of what is asked for.

    Args:
      guard: What has admitted it.
      serving: Knows what its requests take.
      request: Says whose it is.
      frame: What its body holds.

    """
    needed = [*guard.required_scopes, *_scopes_of(serving, frame)]
    if not needed:
        return None
    principal = request.principal
    if principal is not None and not principal.lacks(needed):
        return None
    error = InsufficientScopeError(dict.fromkeys(needed)).error
    request_id = frame.id if isinstance(frame, JSONRPCRequest) else None
    return refuse_scopes(guard, error).for_request(request_id)


def seconds_left(principal: Principal | None) -> float:
    """Give how long it holds that somebody may ask, for what goes on without being asked again."""
    if principal is None or principal.expires_at is None:
        return math.inf
    # Whoever made it may mean "never" by an integer that becomes no float.
    return max(0.0, max(0.0, min(principal.expires_at, _LATEST)) - time.time())


def end_in_time(
    nursery: trio.Nursery, principal: Principal | None, end: Callable[[], None]
) -> None:
    """Have a stream end in good order when its client would have to authenticate again.

    Args:
      nursery: Is open as long as the stream.
      principal: Whose token it was opened with.
      end: Ends it.

    """
    seconds = seconds_left(principal)
    if seconds < math.inf:
        nursery.start_soon(_end_after, seconds, end, name="HTTP expiry")


async def _end_after(seconds: float, end: Callable[[], None]) -> None:
    await trio.sleep(seconds)
    end()


def _scopes_of(serving: Serving, frame: Frame | None) -> Iterable[str]:
    frames = frame.messages if isinstance(frame, Batch) else (frame,)
    for each in frames:
        if isinstance(each, JSONRPCRequest):
            yield from serving.required_scopes(each.method, each.params or {})


def refuse_scopes(guard: Guard, error: ErrorData) -> Refusal:
    """Refuse what takes more scopes, in words that a client can act on."""
    scopes = _scopes_in(error.data)
    status = status_for(error.code)
    return Refusal(status, error, headers=guard.challenge(scopes))


def _scopes_in(data: Any) -> list[str]:
    # A handler may hand on the error of another server, which says whatever it likes.
    found: Any = data.get("requiredScopes") if is_object(data) else None
    try:
        check_scope_names("scopes", found)
    except (TypeError, ValueError):
        return []
    return list(found)


def asks_for_scopes(error: ErrorData) -> bool:
    """Tell whether an error is that of a handler whose caller lacks scopes."""
    return error.code == INSUFFICIENT_SCOPE


def _challenge(scopes: Sequence[str]) -> tuple[tuple[str, str], ...]:
    # Names of scopes hold neither quotes nor backslashes (RFC 6749, section 3.3).
    said = f'Bearer error="insufficient_scope", scope="{" ".join(scopes)}"'
    return (("www-authenticate", said),)
