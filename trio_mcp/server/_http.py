"""A server as an ASGI application."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trio_mcp._rpc._service import Service

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Unpack

    from trio_mcp.transports import (
        HttpApp,
        SseApp,
        SseAppOptions,
        StreamableHttpAppOptions,
        StreamableHTTPSessionManager,
    )


class ServesHttp(Service):
    """The part of a server that makes applications of it."""

    _session_manager: StreamableHTTPSessionManager | None = None

    def streamable_http_app(
        self,
        *,
        auth: Any = None,
        token_verifier: Any = None,
        auth_server_provider: Any = None,
        custom_starlette_routes: Sequence[Any] | None = None,
        debug: bool = False,
        **options: Unpack[StreamableHttpAppOptions],
    ) -> HttpApp:
        """Make an ASGI 3 application that serves this over Streamable HTTP, in both eras.

        It runs under any ASGI server that runs Trio, alone or mounted in another application
        (which then enters ``session_manager.run()`` in its lifespan).

        Args:
          auth: And the next two: not served by this version.
          custom_starlette_routes: What is served beside the endpoint: objects with a ``path``,
            ``methods`` and an ASGI ``app``, as the routes of Starlette are.
          debug: Without effect: no traceback is sent to anybody.
          **options: Those of `HttpOptions`; ``streamable_http_path``, which is ``"/mcp"``; and
            ``host``, where the application will be served, which decides on
            ``transport_security`` if that is not given. What is not said here comes from the
            environment: ``MCP_JSON_RESPONSE=true`` and so on.

        Raises:
          TypeError, ValueError: if an option is something else.

        """
        del debug
        for name, value in {
            "auth": auth,
            "token_verifier": token_verifier,
            "auth_server_provider": auth_server_provider,
        }.items():
            if value is not None:
                raise NotImplementedError(f"{name}=… is not served by this version")
        from trio_mcp.transports.http._making import (  # noqa: PLC0415 - loads on first use
            make_http_app,
        )

        app = make_http_app(self, options, custom_starlette_routes or ())
        self._session_manager = app.session_manager
        return app

    def sse_app(
        self,
        *,
        custom_starlette_routes: Sequence[Any] | None = None,
        **options: Unpack[SseAppOptions],
    ) -> SseApp:
        """Make an ASGI 3 application that serves this over HTTP with SSE.

        For clients that know nothing newer: the carrier is deprecated since 2025-03-26. Mounted
        in another application, it needs that one to enter its ``session_manager.run()``.

        Args:
          custom_starlette_routes: As for `streamable_http_app`.
          **options: ``sse_path``, which is ``"/sse"``, and ``message_path``, ``"/messages/"``;
            ``host``; and of `HttpOptions` ``max_request_body_size``, ``max_sessions`` (a session
            is an open stream), ``transport_security``, ``keep_alive_interval`` and
            ``body_timeout``. What is not said here comes from the environment.

        Raises:
          TypeError, ValueError: if an option is something else.

        """
        from trio_mcp.transports.http._making import (  # noqa: PLC0415 - loads on first use
            make_sse_app,
        )

        return make_sse_app(self, options, custom_starlette_routes or ())

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
