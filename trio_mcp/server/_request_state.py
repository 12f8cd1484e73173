"""Request state: what a server has its client keep between the rounds of one request.

A client may keep it, show it, swap it for another one or make one up. So it is sealed on the
way out, together with whom and what it was for, and opened on the way in; a handler sees only
what it wrote itself (multi round-trip requests, security considerations).
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import math
import os
import time
from typing import TYPE_CHECKING, Any, Final, NoReturn, cast

import attrs

from trio_mcp._codec import excerpt
from trio_mcp.errors import MCPError
from trio_mcp.types import INTERNAL_ERROR, INVALID_PARAMS
from trio_mcp.types._methods import METHODS

from ._registry import needs_input
from ._request_state_codec import AESGCMRequestStateCodec, InvalidRequestState
from ._used_states import UsedStates

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from trio_mcp.types import InputRequiredResult
    from trio_mcp.types._base import JsonObject

    from ._context import ServerRequestContext
    from ._registry import CallNext, HandlerResult
    from ._request_state_codec import RequestStateCodec

logger: Final = logging.getLogger("trio_mcp.server")

DEFAULT_TTL: Final = 600.0
"""Seconds that the client has for each round."""

CLOCK_SKEW: Final = 60.0
"""Seconds that the clocks of two servers with the same keys may differ."""

_VERSION: Final = 1


def authenticated_principal(ctx: ServerRequestContext[Any, Any]) -> str | None:
    """Name who asks, as the carrier has authenticated it; None where nobody did."""
    principal = None if ctx.exchange is None else ctx.exchange.principal
    return None if principal is None else principal.key


class RequestStateSecurity:
    """How request state is sealed, and what it is good for.

    Args:
      keys: For the usual sealing, `AESGCMRequestStateCodec`. Servers that share their clients
          share their keys; the first one seals, all of them open.
      codec: Another way of sealing, in place of keys.
      ttl: Seconds that a client has to come back.
      bind_principal: Names whose request it is; a state of one is worth nothing to another.
          None binds it to nobody.
      audience: The service that a state is for, where several share their keys; the server's
          name if not given.
      single_use: Let each state come back once, as far as this process remembers. Off, since a
          client may rightly send a request again whose answer was lost.
      clock: The time in seconds since the epoch.

    Raises:
      ValueError: if there are neither keys nor a codec, or both, or if ttl is no time.

    """

    codec: RequestStateCodec
    ttl: float
    bind_principal: Callable[[ServerRequestContext[Any, Any]], str | None] | None
    audience: str | None

    def __init__(
        self,
        *,
        keys: Sequence[bytes | bytearray | str] | None = None,
        codec: RequestStateCodec | None = None,
        ttl: float = DEFAULT_TTL,
        bind_principal: Callable[[ServerRequestContext[Any, Any]], str | None]
        | None = authenticated_principal,
        audience: str | None = None,
        single_use: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if (keys is None) == (codec is None):
            raise ValueError("RequestStateSecurity needs either keys= or codec=")
        if not (0 < ttl < math.inf):
            raise ValueError(f"ttl must be a number of seconds above 0, not {ttl!r}")
        if codec is None:
            assert keys is not None
            codec = AESGCMRequestStateCodec(keys)
        self.codec = codec
        self.ttl = ttl
        self.bind_principal = bind_principal
        self.audience = audience
        self.single_use = single_use
        self.clock = clock

    @classmethod
    def ephemeral(
        cls,
        *,
        ttl: float = DEFAULT_TTL,
        audience: str | None = None,
        clock: Callable[[], float] = time.time,
    ) -> RequestStateSecurity:
        """Seal with a key that lives as long as this object, in this process alone."""
        return cls(keys=[os.urandom(32)], ttl=ttl, audience=audience, clock=clock)


class RequestStateBoundary:
    """Middleware that opens the state of each request, and seals that of each answer.

    Every failure is answered -32602 "Invalid or expired requestState", which says nothing of
    the reason; the log does.

    `MCPServer` has one by itself. Add one to ``server.middleware`` of a `Server` whose handlers
    give a ``request_state`` along.

    Args:
      security: How.
      default_audience: The service that a state is for, where `security` names none: usually
          the server's name. None for any service with these keys.

    """

    def __init__(self, security: RequestStateSecurity, *, default_audience: str | None) -> None:
        self._security = security
        self._audience = default_audience if security.audience is None else security.audience
        self._used = UsedStates() if security.single_use else None

    async def __call__(
        self, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        """See `ServerMiddleware`."""
        spec = METHODS.get(ctx.method)
        if spec is None or not spec.may_need_input:
            return await call_next(ctx)
        state = (ctx.params or {}).get("requestState")
        if state is not None:
            ctx = attrs.evolve(ctx, params={**(ctx.params or {}), "requestState": self._open(ctx)})
        return self._sealed(ctx, await call_next(ctx))

    # In

    def _open(self, ctx: ServerRequestContext[Any, Any]) -> str:
        try:
            return self._checked(ctx)
        except InvalidRequestState as refused:
            logger.warning(
                "The requestState of %s %r was refused: %s",
                ctx.method,
                excerpt(ctx.request_id),
                refused,
            )
        except Exception:
            # A codec or bind_principal of the server's author: what fails, is refused.
            logger.exception(
                "The requestState of %s %r was refused", ctx.method, excerpt(ctx.request_id)
            )
        raise MCPError(
            INVALID_PARAMS,
            "Invalid or expired requestState",
            {"reason": "invalid_request_state"},
        )

    def _checked(self, ctx: ServerRequestContext[Any, Any]) -> str:
        token: Any = (ctx.params or {}).get("requestState")
        if not isinstance(token, str):
            raise InvalidRequestState("it is no text")
        claims = _claims_in(self._security.codec.unseal(token))
        now = self._security.clock()
        if not claims["iat"] <= now + CLOCK_SKEW:
            raise InvalidRequestState("it was made in the future")
        if not now < claims["exp"]:
            raise InvalidRequestState("it has expired")
        for name, value in (*self._purpose(ctx).items(), ("aud", self._audience)):
            if claims.get(name) != value:
                raise InvalidRequestState(f"it is for another {_WORDS[name]}")
        if not _is_of(claims.get("p"), self._principal(ctx)):
            raise InvalidRequestState("it is of another principal")
        if self._used is not None and not self._used.claim(claims["id"], claims["exp"], now):
            raise InvalidRequestState("it was used before")
        state: str = claims["s"]
        return state

    # Out

    def _sealed(self, ctx: ServerRequestContext[Any, Any], result: HandlerResult) -> HandlerResult:
        if result is None or not needs_input(result):
            return result
        if isinstance(result, dict):
            state: Any = result.get("requestState")
            return result if state is None else {**result, "requestState": self._seal(ctx, state)}
        asked = cast("InputRequiredResult", result)
        if asked.request_state is None:
            return asked
        return asked.evolve(request_state=self._seal(ctx, asked.request_state))

    def _seal(self, ctx: ServerRequestContext[Any, Any], state: str) -> str:
        try:
            now = self._security.clock()
            claims: JsonObject = {
                "v": _VERSION,
                "id": os.urandom(12).hex(),
                "iat": now,
                "exp": now + self._security.ttl,
                **self._purpose(ctx),
                "s": state,
            }
            if self._audience is not None:
                claims["aud"] = self._audience
            principal = self._principal(ctx)
            if principal is not None:
                claims["p"] = _fingerprint(principal, os.urandom(8))
            return self._security.codec.seal(compact_json(claims).encode())
        except Exception as exc:
            logger.exception(
                "The requestState of %s %r was not sealed", ctx.method, excerpt(ctx.request_id)
            )
            raise MCPError(INTERNAL_ERROR, "Internal server error") from exc

    def _principal(self, ctx: ServerRequestContext[Any, Any]) -> str | None:
        bind: Any = self._security.bind_principal  # the author's, whatever its hints say
        principal = None if bind is None else bind(ctx)
        if principal is None or isinstance(principal, str):
            return principal
        raise TypeError(f"bind_principal returned {type(principal).__name__}, not text or None")

    def _purpose(self, ctx: ServerRequestContext[Any, Any]) -> dict[str, str]:
        """Say what a request asks: the same in each of its rounds, and in no other request."""
        params = ctx.params or {}
        asked = compact_json(params.get("arguments") or {}, sort_keys=True)
        return {
            "m": ctx.method,
            "t": str(params.get("uri" if ctx.method == "resources/read" else "name", "")),
            "a": hashlib.sha256(asked.encode()).hexdigest()[:32],
        }


_WORDS: Final = {
    "m": "method",
    "t": "target",
    "a": "set of arguments",
    "aud": "service",
}


def compact_json(value: Any, *, sort_keys: bool = False) -> str:
    """Write JSON in ASCII without spaces; it takes lone surrogates, which UTF-8 does not."""
    import json  # noqa: PLC0415 - few requests have a state

    return json.dumps(value, separators=(",", ":"), sort_keys=sort_keys)


def _claims_in(payload: bytes) -> JsonObject:
    import json  # noqa: PLC0415 - as above

    try:
        found: Any = json.loads(payload)
    except ValueError:
        raise InvalidRequestState("what was sealed is no JSON") from None
    claims = cast("JsonObject", found) if isinstance(found, dict) else {}
    if claims.get("v") != _VERSION:
        raise InvalidRequestState("it was sealed by another version")
    for name, kind in (("s", str), ("id", str), ("iat", (int, float)), ("exp", (int, float))):
        if not isinstance(claims.get(name), kind):
            _misses(name)
    return claims


def _misses(name: str) -> NoReturn:
    raise InvalidRequestState(f"it has no {name!r}")


def _fingerprint(principal: str, salt: bytes) -> str:
    # Salted, so that states tell an onlooker with the keys nothing of who asked.
    told = hmac.digest(salt, principal.encode("utf-8", "surrogatepass"), hashlib.sha256)
    return (salt + told[:16]).hex()


def _is_of(claim: Any, principal: str | None) -> bool:
    if claim is None or principal is None:
        return claim is None and principal is None
    try:
        salt = bytes.fromhex(claim)[:8]
    except (TypeError, ValueError):
        return False
    return hmac.compare_digest(claim, _fingerprint(principal, salt))
