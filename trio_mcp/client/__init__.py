"""The client: `Client`, and the `ClientSession` below it."""

from __future__ import annotations

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
from ._callbacks import SamplingFnT as SamplingFnT
from ._client import Client as Client
from ._client import ConnectMode as ConnectMode
from ._input_rounds import DEFAULT_INPUT_REQUIRED_MAX_ROUNDS as DEFAULT_INPUT_REQUIRED_MAX_ROUNDS
from ._input_rounds import InputRequiredRoundsExceededError as InputRequiredRoundsExceededError
from ._pages import Pages as Pages
from ._session import DEFAULT_CLIENT_INFO as DEFAULT_CLIENT_INFO
from ._session import DISCOVER_TIMEOUT_SECONDS as DISCOVER_TIMEOUT_SECONDS
from ._session import ClientSession as ClientSession
from ._subscriptions import ListenNotSupportedError as ListenNotSupportedError
from ._subscriptions import Subscription as Subscription
from ._subscriptions import SubscriptionLost as SubscriptionLost
from ._subscriptions import listen as listen

__all__ = [
    "DEFAULT_CLIENT_INFO",
    "DEFAULT_INPUT_REQUIRED_MAX_ROUNDS",
    "DISCOVER_TIMEOUT_SECONDS",
    "CacheConfig",
    "CacheEntry",
    "CacheKey",
    "CacheMode",
    "Client",
    "ClientRequestContext",
    "ClientSession",
    "ConnectMode",
    "ElicitationFnT",
    "InMemoryResponseCacheStore",
    "InputRequiredRoundsExceededError",
    "ListRootsFnT",
    "ListenNotSupportedError",
    "LoggingFnT",
    "MessageHandlerFnT",
    "Pages",
    "PromptsListChanged",
    "ResourceUpdated",
    "ResourcesListChanged",
    "ResponseCacheStore",
    "SamplingFnT",
    "ServerEvent",
    "Subscription",
    "SubscriptionLost",
    "ToolsListChanged",
    "listen",
]

for _public in (
    CacheConfig,
    CacheEntry,
    CacheKey,
    Client,
    ClientRequestContext,
    ClientSession,
    ElicitationFnT,
    InMemoryResponseCacheStore,
    InputRequiredRoundsExceededError,
    ListRootsFnT,
    ListenNotSupportedError,
    LoggingFnT,
    MessageHandlerFnT,
    Pages,
    PromptsListChanged,
    ResourceUpdated,
    ResourcesListChanged,
    ResponseCacheStore,
    SamplingFnT,
    Subscription,
    SubscriptionLost,
    ToolsListChanged,
    listen,
):
    _public.__module__ = __name__
del _public
