"""The client: `Client`, the `ClientSession` below it, and groups of many.

What not every client needs loads on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trio_mcp._exports import lazy_exports
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
from ._client_life import ConnectMode as ConnectMode
from ._declaration import DEFAULT_CLIENT_INFO as DEFAULT_CLIENT_INFO
from ._extensions import ClaimContext as ClaimContext
from ._extensions import ClientExtension as ClientExtension
from ._extensions import NotificationBinding as NotificationBinding
from ._extensions import ResultClaim as ResultClaim
from ._extensions import UnexpectedClaimedResult as UnexpectedClaimedResult
from ._extensions import advertise as advertise
from ._input_rounds import DEFAULT_INPUT_REQUIRED_MAX_ROUNDS as DEFAULT_INPUT_REQUIRED_MAX_ROUNDS
from ._input_rounds import InputRequiredRoundsExceededError as InputRequiredRoundsExceededError
from ._pages import Pages as Pages
from ._session import ClientSession as ClientSession
from ._session_agreement import DISCOVER_TIMEOUT_SECONDS as DISCOVER_TIMEOUT_SECONDS
from ._subscriptions import ListenNotSupportedError as ListenNotSupportedError
from ._subscriptions import Subscription as Subscription
from ._subscriptions import SubscriptionLost as SubscriptionLost
from ._subscriptions import listen as listen

if TYPE_CHECKING:
    from ._connect import ClientOptions as ClientOptions
    from ._connect import ConnectedClient as ConnectedClient
    from ._connect import connect as connect
    from ._display_name import get_display_name as get_display_name
    from ._group import ClientSessionGroup as ClientSessionGroup
    from ._group import ConnectOutcome as ConnectOutcome
    from ._incoming_message import IncomingMessage as IncomingMessage
    from ._restart import RestartPolicy as RestartPolicy
    from ._server_parameters import ClientSessionParameters as ClientSessionParameters
    from ._server_parameters import ServerParameters as ServerParameters
    from ._server_parameters import SseServerParameters as SseServerParameters
    from ._server_parameters import StreamableHttpParameters as StreamableHttpParameters

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
    "ToolsListChanged",
    "UnexpectedClaimedResult",
    "advertise",
    "connect",
    "get_display_name",
    "listen",
]

for _public in (
    CacheConfig,
    CacheEntry,
    CacheKey,
    ClaimContext,
    Client,
    ClientExtension,
    ClientRequestContext,
    ClientSession,
    ElicitationFnT,
    InMemoryResponseCacheStore,
    InputRequiredRoundsExceededError,
    ListRootsFnT,
    ListenNotSupportedError,
    LoggingFnT,
    MessageHandlerFnT,
    NotificationBinding,
    Pages,
    ProgressFnT,
    PromptsListChanged,
    ResourceUpdated,
    ResourcesListChanged,
    ResponseCacheStore,
    ResultClaim,
    SamplingFnT,
    Subscription,
    SubscriptionLost,
    ToolsListChanged,
    UnexpectedClaimedResult,
    advertise,
    listen,
):
    _public.__module__ = __name__
del _public

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "ClientOptions": "._connect",
            "ClientSessionGroup": "._group",
            "ClientSessionParameters": "._server_parameters",
            "ConnectOutcome": "._group",
            "ConnectedClient": "._connect",
            "IncomingMessage": "._incoming_message",
            "RestartPolicy": "._restart",
            "ServerParameters": "._server_parameters",
            "SseServerParameters": "._server_parameters",
            "StreamableHttpParameters": "._server_parameters",
            "connect": "._connect",
            "get_display_name": "._display_name",
        },
    )
