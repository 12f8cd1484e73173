"""The low-level server: handlers by method, middleware, lifespan.

Names load on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trio_mcp._exports import lazy_exports

if TYPE_CHECKING:
    from trio_mcp._protocol._subscriptions import EventsLost as EventsLost
    from trio_mcp._protocol._subscriptions import PromptsListChanged as PromptsListChanged
    from trio_mcp._protocol._subscriptions import ResourcesListChanged as ResourcesListChanged
    from trio_mcp._protocol._subscriptions import ResourceUpdated as ResourceUpdated
    from trio_mcp._protocol._subscriptions import ServerEvent as ServerEvent
    from trio_mcp._protocol._subscriptions import ToolsListChanged as ToolsListChanged

    from ._caching import CacheableMethod as CacheableMethod
    from ._caching import CacheHint as CacheHint
    from ._caching import apply_cache_hint as apply_cache_hint
    from ._caching import validate_cache_hints as validate_cache_hints
    from ._capabilities import AnnounceFnT as AnnounceFnT
    from ._capabilities import NotificationOptions as NotificationOptions
    from ._connection import ServerConnection as ServerConnection
    from ._context import ServerRequestContext as ServerRequestContext
    from ._redis_bus import RedisSubscriptionBus as RedisSubscriptionBus
    from ._registry import CallNext as CallNext
    from ._registry import HandlerEntry as HandlerEntry
    from ._registry import HandlerResult as HandlerResult
    from ._registry import NotificationHandler as NotificationHandler
    from ._registry import RequestHandler as RequestHandler
    from ._registry import ServerMiddleware as ServerMiddleware
    from ._request_state import RequestStateBoundary as RequestStateBoundary
    from ._request_state import RequestStateSecurity as RequestStateSecurity
    from ._request_state import authenticated_principal as authenticated_principal
    from ._request_state_codec import AESGCMRequestStateCodec as AESGCMRequestStateCodec
    from ._request_state_codec import InvalidRequestState as InvalidRequestState
    from ._request_state_codec import RequestStateCodec as RequestStateCodec
    from ._server import InitializationOptions as InitializationOptions
    from ._server import Server as Server
    from ._session import AskFnT as AskFnT
    from ._session import ServerSession as ServerSession
    from ._session import Stopwatch as Stopwatch
    from ._subscriptions import AcceptFnT as AcceptFnT
    from ._subscriptions import InMemorySubscriptionBus as InMemorySubscriptionBus
    from ._subscriptions import ListenHandler as ListenHandler
    from ._subscriptions import SubscriptionBus as SubscriptionBus
    from ._subscriptions import TellFnT as TellFnT
    from ._subscriptions import subscribe_resource as subscribe_resource
    from ._subscriptions import unsubscribe_resource as unsubscribe_resource

__all__ = [
    "AESGCMRequestStateCodec",
    "AcceptFnT",
    "AnnounceFnT",
    "AskFnT",
    "CacheHint",
    "CacheableMethod",
    "CallNext",
    "EventsLost",
    "HandlerEntry",
    "HandlerResult",
    "InMemorySubscriptionBus",
    "InitializationOptions",
    "InvalidRequestState",
    "ListenHandler",
    "NotificationHandler",
    "NotificationOptions",
    "PromptsListChanged",
    "RedisSubscriptionBus",
    "RequestHandler",
    "RequestStateBoundary",
    "RequestStateCodec",
    "RequestStateSecurity",
    "ResourceUpdated",
    "ResourcesListChanged",
    "Server",
    "ServerConnection",
    "ServerEvent",
    "ServerMiddleware",
    "ServerRequestContext",
    "ServerSession",
    "Stopwatch",
    "SubscriptionBus",
    "TellFnT",
    "ToolsListChanged",
    "apply_cache_hint",
    "authenticated_principal",
    "subscribe_resource",
    "unsubscribe_resource",
    "validate_cache_hints",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "AESGCMRequestStateCodec": "._request_state_codec",
            "AcceptFnT": "._subscriptions",
            "AnnounceFnT": "._capabilities",
            "AskFnT": "._session",
            "CacheHint": "._caching",
            "CacheableMethod": "._caching",
            "CallNext": "._registry",
            "EventsLost": "trio_mcp._protocol._subscriptions",
            "HandlerEntry": "._registry",
            "HandlerResult": "._registry",
            "InMemorySubscriptionBus": "._subscriptions",
            "InitializationOptions": "._server",
            "InvalidRequestState": "._request_state_codec",
            "ListenHandler": "._subscriptions",
            "NotificationHandler": "._registry",
            "NotificationOptions": "._capabilities",
            "PromptsListChanged": "trio_mcp._protocol._subscriptions",
            "RedisSubscriptionBus": "._redis_bus",
            "RequestHandler": "._registry",
            "RequestStateBoundary": "._request_state",
            "RequestStateCodec": "._request_state_codec",
            "RequestStateSecurity": "._request_state",
            "ResourceUpdated": "trio_mcp._protocol._subscriptions",
            "ResourcesListChanged": "trio_mcp._protocol._subscriptions",
            "Server": "._server",
            "ServerConnection": "._connection",
            "ServerEvent": "trio_mcp._protocol._subscriptions",
            "ServerMiddleware": "._registry",
            "ServerRequestContext": "._context",
            "ServerSession": "._session",
            "Stopwatch": "._session",
            "SubscriptionBus": "._subscriptions",
            "TellFnT": "._subscriptions",
            "ToolsListChanged": "trio_mcp._protocol._subscriptions",
            "apply_cache_hint": "._caching",
            "authenticated_principal": "._request_state",
            "subscribe_resource": "._subscriptions",
            "unsubscribe_resource": "._subscriptions",
            "validate_cache_hints": "._caching",
        },
    )
