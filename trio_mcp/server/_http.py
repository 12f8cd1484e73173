"""A server as an ASGI application."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trio_mcp._rpc._service import Service
from trio_mcp.transports.http._defaults import (
    DEFAULT_BODY_TIMEOUT,
    DEFAULT_KEEP_ALIVE_INTERVAL,
    DEFAULT_MAX_REQUEST_BODY_SIZE,
    DEFAULT_MAX_SESSIONS,
    DEFAULT_MESSAGE_PATH,
    DEFAULT_SESSION_IDLE_TIMEOUT,
    DEFAULT_SSE_PATH,
    DEFAULT_STREAMABLE_HTTP_PATH,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trio_mcp.transports import (
        EventStore,
        HttpApp,
        SseApp,
        StreamableHTTPSessionManager,
        TransportSecuritySettings,
    )


class ServesHttp(Service):
    """The part of a server that makes applications of it."""

    _session_manager: StreamableHTTPSessionManager | None = None

    def streamable_http_app(
        self,
        *,
        streamable_http_path: str = DEFAULT_STREAMABLE_HTTP_PATH,
        json_response: bool = False,
        stateless_http: bool = False,
        event_store: EventStore | None = None,
        retry_interval: int | None = None,
        max_request_body_size: int = DEFAULT_MAX_REQUEST_BODY_SIZE,
        session_idle_timeout: float | None = DEFAULT_SESSION_IDLE_TIMEOUT,
        max_sessions: int | None = DEFAULT_MAX_SESSIONS,
        transport_security: TransportSecuritySettings | None = None,
        host: str = "127.0.0.1",
        auth: Any = None,
        token_verifier: Any = None,
        auth_server_provider: Any = None,
        custom_starlette_routes: Sequence[Any] | None = None,
        debug: bool = False,
        keep_alive_interval: float = DEFAULT_KEEP_ALIVE_INTERVAL,
        body_timeout: float = DEFAULT_BODY_TIMEOUT,
        cors_origins: Sequence[str] = (),
    ) -> HttpApp:
        """Make an ASGI 3 application that serves this over Streamable HTTP, in both eras.

        It runs under any ASGI server that runs Trio, alone or mounted in another application
        (which then enters ``session_manager.run()`` in its lifespan).

        Args:
          streamable_http_path: Of the endpoint, with or without a slash at the end.
          json_response: Answer as JSON alone: what comes before an answer is lost, and nobody
            can be asked. ``subscriptions/listen`` is a stream all the same.
          stateless_http: Keep no sessions for clients of the older era, so that any process may
            answer them; they cannot be asked.
          event_store: Keeps what older clients are sent, so that they can resume a stream.
          retry_interval: Milliseconds that they are to wait before that.
          max_request_body_size: In bytes.
          session_idle_timeout: Seconds that an older session is kept while its client is not
            connected, whatever it had asked for; None for ever.
          max_sessions: At the same time; more are refused with 503. None for any number.
          transport_security: From where it may be called. If it is not given, `host` decides.
          host: Where it will listen. On a loopback address the names of that are accepted;
            elsewhere every name, and web pages of the same host alone.
          auth: And the next two: not served by this version.
          custom_starlette_routes: What is served beside the endpoint: objects with a ``path``,
            ``methods`` and an ASGI ``app``, as the routes of Starlette are.
          debug: Without effect: no traceback is sent to anybody.
          keep_alive_interval: Seconds after which an answer that has not come becomes a stream,
            and between the comments on one that is silent.
          body_timeout: Seconds for the body of a request.
          cors_origins: Pages of these origins may call from browsers; ``"*"`` for all.

        Raises:
          TypeError, ValueError: if an argument is something else.

        """
        del debug
        for name, value in {
            "auth": auth,
            "token_verifier": token_verifier,
            "auth_server_provider": auth_server_provider,
        }.items():
            if value is not None:
                raise NotImplementedError(f"{name}=… is not served by this version")
        from trio_mcp.transports import (  # noqa: PLC0415 - loads on first use
            HttpApp,
            HttpOptions,
            TransportSecuritySettings,
        )
        from trio_mcp.transports.http._routes import as_route  # noqa: PLC0415 - as above

        if transport_security is None:
            transport_security = TransportSecuritySettings.for_host(host)
        options = HttpOptions(
            json_response=json_response,
            stateless_http=stateless_http,
            event_store=event_store,
            retry_interval=retry_interval,
            max_request_body_size=max_request_body_size,
            session_idle_timeout=session_idle_timeout,
            max_sessions=max_sessions,
            transport_security=transport_security,
            keep_alive_interval=keep_alive_interval,
            body_timeout=body_timeout,
            cors_origins=cors_origins,
        )
        routes = [as_route(each) for each in custom_starlette_routes or ()]
        app = HttpApp(self, options, path=streamable_http_path, routes=routes)
        self._session_manager = app.session_manager
        return app

    def sse_app(
        self,
        *,
        sse_path: str = DEFAULT_SSE_PATH,
        message_path: str = DEFAULT_MESSAGE_PATH,
        max_request_body_size: int = DEFAULT_MAX_REQUEST_BODY_SIZE,
        transport_security: TransportSecuritySettings | None = None,
        host: str = "127.0.0.1",
        custom_starlette_routes: Sequence[Any] | None = None,
        max_sessions: int | None = DEFAULT_MAX_SESSIONS,
        keep_alive_interval: float = DEFAULT_KEEP_ALIVE_INTERVAL,
        body_timeout: float = DEFAULT_BODY_TIMEOUT,
    ) -> SseApp:
        """Make an ASGI 3 application that serves this over HTTP with SSE.

        For clients that know nothing newer: the carrier is deprecated since 2025-03-26. Mounted
        in another application, it needs that one to enter its ``session_manager.run()``.

        Args:
          sse_path: Of the stream.
          message_path: Where clients post.
          max_request_body_size: In bytes.
          transport_security: As for `streamable_http_app`.
          host: As there.
          custom_starlette_routes: As there.
          max_sessions: As there; a session is an open stream.
          keep_alive_interval: Seconds between the comments on a silent stream.
          body_timeout: Seconds for the body of a request.

        Raises:
          TypeError, ValueError: if an argument is something else.

        """
        from trio_mcp.transports import (  # noqa: PLC0415 - loads on first use
            HttpOptions,
            SseApp,
            TransportSecuritySettings,
        )
        from trio_mcp.transports.http._routes import as_route  # noqa: PLC0415 - as above

        if transport_security is None:
            transport_security = TransportSecuritySettings.for_host(host)
        options = HttpOptions(
            max_request_body_size=max_request_body_size,
            max_sessions=max_sessions,
            transport_security=transport_security,
            keep_alive_interval=keep_alive_interval,
            body_timeout=body_timeout,
        )
        routes = [as_route(each) for each in custom_starlette_routes or ()]
        return SseApp(self, options, sse_path=sse_path, message_path=message_path, routes=routes)

    @property
    def session_manager(self) -> StreamableHTTPSessionManager:
        """What answers the requests of the application that was made last.

        Raises:
          RuntimeError: if none was made.

        """
        if self._session_manager is None:
            raise RuntimeError(
                "There is no session manager before streamable_http_app() has made one"
            )
        return self._session_manager
