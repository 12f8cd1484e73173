"""The client: `Client`, the `ClientSession` below it, and groups of many.

Names load on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trio_mcp._exports import lazy_exports

if TYPE_CHECKING:
    from trio_mcp._protocol._subscriptions import PromptsListChanged as PromptsListChanged
    from trio_mcp._protocol._subscriptions import ResourcesListChanged as ResourcesListChanged
    from trio_mcp._protocol._subscriptions import ResourceUpdated as ResourceUpdated
    from trio_mcp._protocol._subscriptions import ServerEvent as ServerEvent
    from trio_mcp._protocol._subscriptions import ToolsListChanged as ToolsListChanged

    from ._cache_store import CacheConfig as CacheConfig
    from ._cache_store import CacheEntry as CacheEntry
    from ._cache_store import CacheKey as CacheKey
    from ._cache_store import CacheMode as CacheMode
    from ._cache_store import InMemoryResponseCacheStore as InMemoryResponseCacheStore
    from ._cache_store import ResponseCacheStore as ResponseCacheStore
    from ._callbacks import ClientRequestContext as ClientRequestContext
    from ._callbacks import ElicitationFnT as ElicitationFnT
    from ._callbacks import ListRootsFnT as ListRootsFnT
    from ._callbacks import LoggingFnT as LoggingFnT
    from ._callbacks import MessageHandlerFnT as MessageHandlerFnT
    from ._callbacks import ProgressFnT as ProgressFnT
    from ._callbacks import SamplingFnT as SamplingFnT
    from ._client import Client as Client
    from ._client_info import DEFAULT_CLIENT_INFO as DEFAULT_CLIENT_INFO
    from ._client_life import ConnectMode as ConnectMode
    from ._connect import ClientOptions as ClientOptions
    from ._connect import ConnectedClient as ConnectedClient
    from ._connect import connect as connect
    from ._display_name import get_display_name as get_display_name
    from ._extensions import ClaimContext as ClaimContext
    from ._extensions import ClientExtension as ClientExtension
    from ._extensions import NotificationBinding as NotificationBinding
    from ._extensions import RequestAnswer as RequestAnswer
    from ._extensions import RequestBinding as RequestBinding
    from ._extensions import RequestNext as RequestNext
    from ._extensions import ResultClaim as ResultClaim
    from ._extensions import UnexpectedClaimedResult as UnexpectedClaimedResult
    from ._extensions import advertise as advertise
    from ._group import ClientSessionGroup as ClientSessionGroup
    from ._group import ConnectOutcome as ConnectOutcome
    from ._incoming_message import IncomingMessage as IncomingMessage
    from ._input_rounds import (
        DEFAULT_INPUT_REQUIRED_MAX_ROUNDS as DEFAULT_INPUT_REQUIRED_MAX_ROUNDS,
    )
    from ._input_rounds import InputRequiredRoundsExceededError as InputRequiredRoundsExceededError
    from ._pages import Pages as Pages
    from ._restart import RestartPolicy as RestartPolicy
    from ._server_parameters import ClientSessionParameters as ClientSessionParameters
    from ._server_parameters import ServerParameters as ServerParameters
    from ._server_parameters import SseServerParameters as SseServerParameters
    from ._server_parameters import StreamableHttpParameters as StreamableHttpParameters
    from ._server_parameters import WebSocketServerParameters as WebSocketServerParameters
    from ._session import ClientSession as ClientSession
    from ._session_agreement import DISCOVER_TIMEOUT_SECONDS as DISCOVER_TIMEOUT_SECONDS
    from ._subscriptions import ListenNotSupportedError as ListenNotSupportedError
    from ._subscriptions import Subscription as Subscription
    from ._subscriptions import SubscriptionLost as SubscriptionLost
    from ._subscriptions import listen as listen
    from ._tool_calls import ToolCallAnswer as ToolCallAnswer
    from ._tool_calls import ToolCallContext as ToolCallContext
    from ._tool_calls import ToolCallNext as ToolCallNext

__all__ = [
    "DEFAULT_CLIENT_INFO",
    "DEFAULT_INPUT_REQUIRED_MAX_ROUNDS",
    "DISCOVER_TIMEOUT_SECONDS",
    "CacheConfig",
    "CacheEntry",
    "CacheKey",
    "CacheMode",
    "ClaimContext",
    "Client",
    "ClientExtension",
    "ClientOptions",
    "ClientRequestContext",
    "ClientSession",
    "ClientSessionGroup",
    "ClientSessionParameters",
    "ConnectMode",
    "ConnectOutcome",
    "ConnectedClient",
    "ElicitationFnT",
    "InMemoryResponseCacheStore",
    "IncomingMessage",
    "InputRequiredRoundsExceededError",
    "ListRootsFnT",
    "ListenNotSupportedError",
    "LoggingFnT",
    "MessageHandlerFnT",
    "NotificationBinding",
    "Pages",
    "ProgressFnT",
    "PromptsListChanged",
    "RequestAnswer",
    "RequestBinding",
    "RequestNext",
    "ResourceUpdated",
    "ResourcesListChanged",
    "ResponseCacheStore",
    "RestartPolicy",
    "ResultClaim",
    "SamplingFnT",
    "ServerEvent",
    "ServerParameters",
    "SseServerParameters",
    "StreamableHttpParameters",
    "Subscription",
    "SubscriptionLost",
    "ToolCallAnswer",
    "ToolCallContext",
    "ToolCallNext",
    "ToolsListChanged",
    "UnexpectedClaimedResult",
    "WebSocketServerParameters",
    "advertise",
    "connect",
    "get_display_name",
    "listen",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "CacheConfig": "._cache_store",
            "CacheEntry": "._cache_store",
            "CacheKey": "._cache_store",
            "CacheMode": "._cache_store",
            "ClaimContext": "._extensions",
            "Client": "._client",
            "ClientExtension": "._extensions",
            "ClientOptions": "._connect",
            "ClientRequestContext": "._callbacks",
            "ClientSession": "._session",
            "ClientSessionGroup": "._group",
            "ClientSessionParameters": "._server_parameters",
            "ConnectMode": "._client_life",
            "ConnectOutcome": "._group",
            "ConnectedClient": "._connect",
            "DEFAULT_CLIENT_INFO": "._client_info",
            "DEFAULT_INPUT_REQUIRED_MAX_ROUNDS": "._input_rounds",
            "DISCOVER_TIMEOUT_SECONDS": "._session_agreement",
            "ElicitationFnT": "._callbacks",
            "InMemoryResponseCacheStore": "._cache_store",
            "IncomingMessage": "._incoming_message",
            "InputRequiredRoundsExceededError": "._input_rounds",
            "ListRootsFnT": "._callbacks",
            "ListenNotSupportedError": "._subscriptions",
            "LoggingFnT": "._callbacks",
            "MessageHandlerFnT": "._callbacks",
            "NotificationBinding": "._extensions",
            "Pages": "._pages",
            "ProgressFnT": "._callbacks",
            "PromptsListChanged": "trio_mcp._protocol._subscriptions",
            "RequestAnswer": "._extensions",
            "RequestBinding": "._extensions",
            "RequestNext": "._extensions",
            "ResourceUpdated": "trio_mcp._protocol._subscriptions",
            "ResourcesListChanged": "trio_mcp._protocol._subscriptions",
            "ResponseCacheStore": "._cache_store",
            "RestartPolicy": "._restart",
            "ResultClaim": "._extensions",
            "SamplingFnT": "._callbacks",
            "ServerEvent": "trio_mcp._protocol._subscriptions",
            "ServerParameters": "._server_parameters",
            "SseServerParameters": "._server_parameters",
            "StreamableHttpParameters": "._server_parameters",
            "WebSocketServerParameters": "._server_parameters",
            "Subscription": "._subscriptions",
            "SubscriptionLost": "._subscriptions",
            "ToolCallAnswer": "._tool_calls",
            "ToolCallContext": "._tool_calls",
            "ToolCallNext": "._tool_calls",
            "ToolsListChanged": "trio_mcp._protocol._subscriptions",
            "UnexpectedClaimedResult": "._extensions",
            "advertise": "._extensions",
            "connect": "._connect",
            "get_display_name": "._display_name",
            "listen": "._subscriptions",
        },
    )
