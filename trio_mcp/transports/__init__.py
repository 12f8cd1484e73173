"""The roads that messages take, and the interfaces that own roads implement.

A carrier is a `Channel`. `open_memory_channel_pair` joins two in memory, `stdio_client` runs
a server as a child process, `stdio_server` is the other end of that. Over HTTP,
`streamable_http_client` and `sse_client` reach a server at a URL, `serve_http` serves one, and
`serve_http_app` any ASGI application. For WebSockets there are `websocket_client` and
`serve_websocket`.

Names load on first use, so that a program pays for the carriers it uses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trio_mcp._exports import lazy_exports

if TYPE_CHECKING:
    from trio_mcp._codec._envelope import Batch as Batch
    from trio_mcp._codec._envelope import Malformed as Malformed
    from trio_mcp._codec._lines import MAX_LINE_SIZE as MAX_LINE_SIZE
    from trio_mcp._rpc._channel import Channel as Channel
    from trio_mcp.transports._environment import (
        DEFAULT_INHERITED_ENV_VARS as DEFAULT_INHERITED_ENV_VARS,
    )
    from trio_mcp.transports._environment import get_default_environment as get_default_environment
    from trio_mcp.transports._line_channel import LineChannel as LineChannel
    from trio_mcp.transports._memory import (
        create_client_server_memory_streams as create_client_server_memory_streams,
    )
    from trio_mcp.transports._memory import open_memory_channel_pair as open_memory_channel_pair
    from trio_mcp.transports._process import FORCE_KILL_TIMEOUT as FORCE_KILL_TIMEOUT
    from trio_mcp.transports._process import (
        PROCESS_TERMINATION_TIMEOUT as PROCESS_TERMINATION_TIMEOUT,
    )
    from trio_mcp.transports._stdio_client import StdioServerParameters as StdioServerParameters
    from trio_mcp.transports._stdio_client import stdio_client as stdio_client
    from trio_mcp.transports._stdio_server import stdio_server as stdio_server
    from trio_mcp.transports.http._app import HttpApp as HttpApp
    from trio_mcp.transports.http._app import SseApp as SseApp
    from trio_mcp.transports.http._asgi import HttpRequest as HttpRequest
    from trio_mcp.transports.http._authorizing import Authorizer as Authorizer
    from trio_mcp.transports.http._authorizing import SignedRequest as SignedRequest
    from trio_mcp.transports.http._client import streamable_http_client as streamable_http_client
    from trio_mcp.transports.http._defaults import (
        DEFAULT_MAX_REQUEST_BODY_SIZE as DEFAULT_MAX_REQUEST_BODY_SIZE,
    )
    from trio_mcp.transports.http._defaults import DEFAULT_MAX_SESSIONS as DEFAULT_MAX_SESSIONS
    from trio_mcp.transports.http._defaults import (
        DEFAULT_SESSION_IDLE_TIMEOUT as DEFAULT_SESSION_IDLE_TIMEOUT,
    )
    from trio_mcp.transports.http._event_store import EventCallback as EventCallback
    from trio_mcp.transports.http._event_store import EventId as EventId
    from trio_mcp.transports.http._event_store import EventMessage as EventMessage
    from trio_mcp.transports.http._event_store import EventStore as EventStore
    from trio_mcp.transports.http._event_store import InMemoryEventStore as InMemoryEventStore
    from trio_mcp.transports.http._event_store import SharedEventStore as SharedEventStore
    from trio_mcp.transports.http._event_store import StreamId as StreamId
    from trio_mcp.transports.http._keywords import RunSseOptions as RunSseOptions
    from trio_mcp.transports.http._keywords import (
        RunStreamableHttpOptions as RunStreamableHttpOptions,
    )
    from trio_mcp.transports.http._keywords import ServeHttpOptions as ServeHttpOptions
    from trio_mcp.transports.http._keywords import SseAppOptions as SseAppOptions
    from trio_mcp.transports.http._keywords import (
        StreamableHttpAppOptions as StreamableHttpAppOptions,
    )
    from trio_mcp.transports.http._keywords import (
        StreamableHttpProgramOptions as StreamableHttpProgramOptions,
    )
    from trio_mcp.transports.http._manager import (
        StreamableHTTPSessionManager as StreamableHTTPSessionManager,
    )
    from trio_mcp.transports.http._options import HttpOptions as HttpOptions
    from trio_mcp.transports.http._options import HttpPaths as HttpPaths
    from trio_mcp.transports.http._options import (
        TransportSecuritySettings as TransportSecuritySettings,
    )
    from trio_mcp.transports.http._redis_event_store import RedisEventStore as RedisEventStore
    from trio_mcp.transports.http._serve import HttpServing as HttpServing
    from trio_mcp.transports.http._serve import serve_http_app as serve_http_app
    from trio_mcp.transports.http._serve_http import serve_http as serve_http
    from trio_mcp.transports.http._serve_options import ServeOptions as ServeOptions
    from trio_mcp.transports.http._sse_client import sse_client as sse_client
    from trio_mcp.transports.websocket._client import websocket_client as websocket_client
    from trio_mcp.transports.websocket._keywords import RunWebSocketOptions as RunWebSocketOptions
    from trio_mcp.transports.websocket._keywords import (
        ServeWebSocketOptions as ServeWebSocketOptions,
    )
    from trio_mcp.transports.websocket._options import WebSocketOptions as WebSocketOptions
    from trio_mcp.transports.websocket._serve import WebSocketServing as WebSocketServing
    from trio_mcp.transports.websocket._serve import serve_websocket as serve_websocket

__all__ = [
    "DEFAULT_INHERITED_ENV_VARS",
    "DEFAULT_MAX_REQUEST_BODY_SIZE",
    "DEFAULT_MAX_SESSIONS",
    "DEFAULT_SESSION_IDLE_TIMEOUT",
    "FORCE_KILL_TIMEOUT",
    "MAX_LINE_SIZE",
    "PROCESS_TERMINATION_TIMEOUT",
    "Authorizer",
    "Batch",
    "Channel",
    "EventCallback",
    "EventId",
    "EventMessage",
    "EventStore",
    "HttpApp",
    "HttpOptions",
    "HttpPaths",
    "HttpRequest",
    "HttpServing",
    "InMemoryEventStore",
    "LineChannel",
    "Malformed",
    "RedisEventStore",
    "RunSseOptions",
    "RunStreamableHttpOptions",
    "RunWebSocketOptions",
    "ServeHttpOptions",
    "ServeOptions",
    "ServeWebSocketOptions",
    "SharedEventStore",
    "SignedRequest",
    "SseApp",
    "SseAppOptions",
    "StdioServerParameters",
    "StreamId",
    "StreamableHTTPSessionManager",
    "StreamableHttpAppOptions",
    "StreamableHttpProgramOptions",
    "TransportSecuritySettings",
    "WebSocketOptions",
    "WebSocketServing",
    "create_client_server_memory_streams",
    "get_default_environment",
    "open_memory_channel_pair",
    "serve_http",
    "serve_http_app",
    "serve_websocket",
    "sse_client",
    "stdio_client",
    "stdio_server",
    "streamable_http_client",
    "websocket_client",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            # What own roads implement or meet.
            "Batch": "trio_mcp._codec._envelope",
            "Channel": "trio_mcp._rpc._channel",
            "Malformed": "trio_mcp._codec._envelope",
            # Lines: stdio, and any other stream of bytes.
            "DEFAULT_INHERITED_ENV_VARS": "._environment",
            "FORCE_KILL_TIMEOUT": "._process",
            "LineChannel": "._line_channel",
            "MAX_LINE_SIZE": "trio_mcp._codec._lines",
            "PROCESS_TERMINATION_TIMEOUT": "._process",
            "StdioServerParameters": "._stdio_client",
            "get_default_environment": "._environment",
            "stdio_client": "._stdio_client",
            "stdio_server": "._stdio_server",
            # HTTP.
            "Authorizer": ".http._authorizing",
            "SignedRequest": ".http._authorizing",
            "DEFAULT_MAX_REQUEST_BODY_SIZE": ".http._defaults",
            "DEFAULT_MAX_SESSIONS": ".http._defaults",
            "DEFAULT_SESSION_IDLE_TIMEOUT": ".http._defaults",
            "EventCallback": ".http._event_store",
            "EventId": ".http._event_store",
            "EventMessage": ".http._event_store",
            "EventStore": ".http._event_store",
            "HttpApp": ".http._app",
            "SseApp": ".http._app",
            "HttpOptions": ".http._options",
            "HttpPaths": ".http._options",
            "HttpRequest": ".http._asgi",
            "InMemoryEventStore": ".http._event_store",
            "SharedEventStore": ".http._event_store",
            "RedisEventStore": ".http._redis_event_store",
            "StreamId": ".http._event_store",
            "StreamableHTTPSessionManager": ".http._manager",
            "TransportSecuritySettings": ".http._options",
            "HttpServing": ".http._serve",
            "RunSseOptions": ".http._keywords",
            "RunStreamableHttpOptions": ".http._keywords",
            "ServeHttpOptions": ".http._keywords",
            "ServeOptions": ".http._serve_options",
            "SseAppOptions": ".http._keywords",
            "StreamableHttpAppOptions": ".http._keywords",
            "StreamableHttpProgramOptions": ".http._keywords",
            "serve_http": ".http._serve_http",
            "serve_http_app": ".http._serve",
            "sse_client": ".http._sse_client",
            "streamable_http_client": ".http._client",
            # WebSockets.
            "RunWebSocketOptions": ".websocket._keywords",
            "ServeWebSocketOptions": ".websocket._keywords",
            "WebSocketOptions": ".websocket._options",
            "WebSocketServing": ".websocket._serve",
            "serve_websocket": ".websocket._serve",
            "websocket_client": ".websocket._client",
            # Memory.
            "create_client_server_memory_streams": "._memory",
            "open_memory_channel_pair": "._memory",
        },
    )
