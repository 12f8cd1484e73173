"""A server as an ASGI application."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from trio_mcp._rpc._service import Service

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Unpack

    from trio_mcp.auth import AuthSettings, OAuthAuthorizationServerProvider, TokenVerifier
    from trio_mcp.transports import (
        HttpApp,
        SseApp,
        SseAppOptions,
        StreamableHttpAppOptions,
        StreamableHTTPSessionManager,
    )
    from trio_mcp.transports.http._guard import Protection


class ServesHttp(Service):
    """The part of a server that makes applications of it."""

    _session_manager: StreamableHTTPSessionManager | None = None
    _protection: Protection | None = None
    _make_protection: Callable[[], Protection] | None = None

    def protect(
        self,
        auth: AuthSettings | None,
        *,
        token_verifier: TokenVerifier | None = None,
        auth_server_provider: OAuthAuthorizationServerProvider[Any, Any, Any] | None = None,
    ) -> None:
        """Let nobody in without a good token, wherever this is served over a network from now on.

        In memory and over stdio nobody needs one: whoever runs a program may use it.

        Args:
          auth: For whom tokens are to be, and what they have to allow.
          token_verifier: Tells which tokens are good.
          auth_server_provider: Issues them, in this process: its endpoints are served, too.

        Raises:
          TypeError: if one is of the wrong kind.
          ValueError: if neither of the two was given, or both.

        """
        self._make_protection = _protection_by(auth, token_verifier, auth_server_provider)
        self._protection = None

    def protection(self) -> Protection | None:
        """See `Service.protection`."""
        if self._protection is None and self._make_protection is not None:
            self._protection = self._make_protection()
        return self._protection

    def streamable_http_app(
        self,
        *,
        auth: AuthSettings | None = None,
        token_verifier: TokenVerifier | None = None,
        auth_server_provider: OAuthAuthorizationServerProvider[Any, Any, Any] | None = None,
        custom_starlette_routes: Sequence[Any] | None = None,
        debug: bool = False,
        **options: Unpack[StreamableHttpAppOptions],
    ) -> HttpApp:
        """Make an ASGI 3 application that serves this over Streamable HTTP, in both eras.

        It runs under any ASGI server that runs Trio, alone or mounted in another application
        (which then enters ``session_manager.run()`` in its lifespan).

        Args:
          auth: And the next two: who may ask, for this application alone; as for `protect`, which
            is for all.
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
        make_protection = _protection_by(auth, token_verifier, auth_server_provider)
        from trio_mcp.transports.http._making import (  # noqa: PLC0415 - loads on first use
            make_http_app,
        )

        app = make_http_app(
            self,
            options,
            custom_starlette_routes or (),
            None if make_protection is None else make_protection(),
        )
        self._session_manager = app.session_manager
        return app

    def sse_app(
        self,
        *,
        auth: AuthSettings | None = None,
        token_verifier: TokenVerifier | None = None,
        auth_server_provider: OAuthAuthorizationServerProvider[Any, Any, Any] | None = None,
        custom_starlette_routes: Sequence[Any] | None = None,
        **options: Unpack[SseAppOptions],
    ) -> SseApp:
        """Make an ASGI 3 application that serves this over HTTP with SSE.

        For clients that know nothing newer: the carrier is deprecated since 2025-03-26. Mounted
        in another application, it needs that one to enter its ``session_manager.run()``.

        Args:
          auth: And the next two: as for `streamable_http_app`.
          custom_starlette_routes: The same.
          **options: ``sse_path``, which is ``"/sse"``, and ``message_path``, ``"/messages/"``;
            ``host``; and of `HttpOptions` ``max_request_body_size``, ``max_sessions`` (a session
            is an open stream), ``transport_security``, ``keep_alive_interval``,
            ``body_timeout`` and ``cors_origins``. What is not said here comes from the
            environment.

        Raises:
          TypeError, ValueError: if an option is something else.

        """
        make_protection = _protection_by(auth, token_verifier, auth_server_provider)
        from trio_mcp.transports.http._making import (  # noqa: PLC0415 - loads on first use
            make_sse_app,
        )

        return make_sse_app(
            self,
            options,
            custom_starlette_routes or (),
            None if make_protection is None else make_protection(),
        )

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


def _protection_by(
    auth: AuthSettings | None,
    token_verifier: TokenVerifier | None,
    auth_server_provider: OAuthAuthorizationServerProvider[Any, Any, Any] | None,
) -> Callable[[], Protection] | None:
    """Check what was given at once; what it makes loads HTTP, and is made when that is served."""
    given = (auth, token_verifier, auth_server_provider)
    if all(each is None for each in given):
        return None
    from trio_mcp.auth.server._protect import (  # noqa: PLC0415 - few servers are protected
        check_protection,
        make_protection,
    )

    check_protection(*given)
    assert auth is not None
    return partial(make_protection, auth, token_verifier, auth_server_provider)
