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
from ._server import InitializationOptions as InitializationOptions
from ._server import Server as Server
from ._session import ServerSession as ServerSession

__all__ = [
    "CacheHint",
    "CacheableMethod",
    "HandlerEntry",
    "InitializationOptions",
    "NotificationOptions",
    "Server",
    "ServerConnection",
    "ServerMiddleware",
    "ServerRequestContext",
    "ServerSession",
    "apply_cache_hint",
    "validate_cache_hints",
]

for _public in (
    CacheHint,
    HandlerEntry,
    InitializationOptions,
    NotificationOptions,
    Server,
    ServerConnection,
    ServerMiddleware,
    ServerRequestContext,
    ServerSession,
    apply_cache_hint,
    validate_cache_hints,
):
    _public.__module__ = __name__
del _public
