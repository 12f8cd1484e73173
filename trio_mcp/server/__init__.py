"""The low-level server: handlers by method, middleware, lifespan."""

from __future__ import annotations

from ._caching import CacheableMethod as CacheableMethod
from ._caching import CacheHint as CacheHint
from ._caching import apply_cache_hint as apply_cache_hint
from ._caching import validate_cache_hints as validate_cache_hints
from ._capabilities import NotificationOptions as NotificationOptions
from ._connection import ServerConnection as ServerConnection
from ._context import ServerRequestContext as ServerRequestContext
from ._registry import HandlerEntry as HandlerEntry
from ._registry import ServerMiddleware as ServerMiddleware
from ._request_state import RequestStateBoundary as RequestStateBoundary
from ._request_state import RequestStateSecurity as RequestStateSecurity
from ._request_state import authenticated_principal as authenticated_principal
from ._request_state_codec import AESGCMRequestStateCodec as AESGCMRequestStateCodec
from ._request_state_codec import InvalidRequestState as InvalidRequestState
from ._request_state_codec import RequestStateCodec as RequestStateCodec
from ._server import InitializationOptions as InitializationOptions
from ._server import Server as Server
from ._session import ServerSession as ServerSession

__all__ = [
    "AESGCMRequestStateCodec",
    "CacheHint",
    "CacheableMethod",
    "HandlerEntry",
    "InitializationOptions",
    "InvalidRequestState",
    "NotificationOptions",
    "RequestStateBoundary",
    "RequestStateCodec",
    "RequestStateSecurity",
    "Server",
    "ServerConnection",
    "ServerMiddleware",
    "ServerRequestContext",
    "ServerSession",
    "apply_cache_hint",
    "authenticated_principal",
    "validate_cache_hints",
]

for _public in (
    AESGCMRequestStateCodec,
    CacheHint,
    HandlerEntry,
    InitializationOptions,
    InvalidRequestState,
    NotificationOptions,
    RequestStateBoundary,
    RequestStateCodec,
    RequestStateSecurity,
    Server,
    ServerConnection,
    ServerMiddleware,
    ServerRequestContext,
    ServerSession,
    apply_cache_hint,
    authenticated_principal,
    validate_cache_hints,
):
    _public.__module__ = __name__
del _public
