"""A server's endpoint over HTTP: requests of both eras, and what is kept between them."""

from __future__ import annotations

import math
from contextlib import asynccontextmanager, nullcontext
from typing import TYPE_CHECKING, Final

import attrs
import trio

from trio_mcp._codec import parse_frame
from trio_mcp._rpc._nursery import finish_within, open_background_nursery
from trio_mcp._rpc._sheltered import Sheltered

from . import _cors as cors
from ._answering import ActiveRequests, answer_request, cut_off, not_running
from ._asgi import HttpRequest, HttpResponse, read_body
from ._defaults import (
    DEFAULT_BODY_TIMEOUT,
    DEFAULT_KEEP_ALIVE_INTERVAL,
    DEFAULT_MAX_REQUEST_BODY_SIZE,
    DEFAULT_MAX_SESSIONS,
    DEFAULT_SESSION_IDLE_TIMEOUT,
)
from ._guard import Protection, admit, check_scopes, protection_of
from ._heart import Heart
from ._modern import serve_modern
from ._older import OlderEra
from ._options import HttpOptions
from ._rules import check_method, check_post, check_version, is_modern
from ._security import check_caller

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from trio_mcp._rpc._service import Service, Serving

    from ._asgi import Receive, Scope, Send
    from ._event_store import EventStore
    from ._options import TransportSecuritySettings
    from ._refusal import Refusal

STOP_SECONDS: Final = 1.0
"""Seconds that running requests have to answer when a run ends, and again to clean up."""


@attrs.define(eq=False)
class Run:
    """One run of an endpoint: between entering the server's lifespan and leaving it."""

    serving: Serving
    nursery: trio.Nursery
    heart: Heart
    older: OlderEra
    active: ActiveRequests = attrs.Factory(ActiveRequests)
    stopping: bool = False

    async def stop(self) -> None:
        """Take no more requests, and have streams end in good order."""
        self.stopping = True
        self.older.close_streams()
        await self.serving.stop()

    async def wait_done(self) -> None:
        """Wait until requests are answered, of older clients also those that nobody waits for."""
        await self.active.wait_idle()
        await self.older.wait_done()

    async def finish(self) -> None:
        """Let requests answer, for a while; cancel those that have not."""
        if trio.current_effective_deadline() > -math.inf:
            await self.stop()
            with trio.move_on_after(STOP_SECONDS):
                await self.wait_done()
        self.stopping = True
        self.older.sessions.end_all("the server stopped")
        self.active.cancel("the server stopped")
        with finish_within(STOP_SECONDS):
            await self.active.wait_idle()
        # One may have been opened meanwhile.
        self.older.sessions.end_all("the server stopped")


class StreamableHTTPSessionManager:
    """Answers the requests of one endpoint, and keeps the sessions of older clients.

    It has to run while requests come in. Where the application of
    `MCPServer.streamable_http_app` is the whole server, its lifespan sees to that; where it is
    mounted in another one, that one's lifespan does::

        async with mcp.session_manager.run():
            yield

    `MCPServer.streamable_http_app` makes one. The arguments are those of that method.

    Args:
      app: The server.
      stateless: Whether older clients have no sessions (``stateless_http`` there).
      security_settings: From where it may be called (``transport_security`` there). If it is
          not given, by every name, and from no web page but those of `cors_origins`.

    Attributes:
      options: How requests are answered.
      protection: Who may ask: what the server was told of that.

    """

    def __init__(
        self,
        app: Service,
        event_store: EventStore | None = None,
        json_response: bool = False,
        stateless: bool = False,
        security_settings: TransportSecuritySettings | None = None,
        retry_interval: int | None = None,
        session_idle_timeout: float | None = DEFAULT_SESSION_IDLE_TIMEOUT,
        max_request_body_size: int = DEFAULT_MAX_REQUEST_BODY_SIZE,
        max_sessions: int | None = DEFAULT_MAX_SESSIONS,
        *,
        keep_alive_interval: float = DEFAULT_KEEP_ALIVE_INTERVAL,
        body_timeout: float = DEFAULT_BODY_TIMEOUT,
        cors_origins: Sequence[str] = (),
    ) -> None:
        self._server = app
        self.options = HttpOptions(
            json_response=json_response,
            stateless_http=stateless,
            event_store=event_store,
            retry_interval=retry_interval,
            max_request_body_size=max_request_body_size,
            session_idle_timeout=session_idle_timeout,
            max_sessions=max_sessions,
            transport_security=security_settings,
            keep_alive_interval=keep_alive_interval,
            body_timeout=body_timeout,
            cors_origins=cors_origins,
        )
        self.protection: Protection = protection_of(app)
        self._run: Run | None = None
        self._has_run = False

    @classmethod
    def with_options(cls, app: Service, options: HttpOptions) -> StreamableHTTPSessionManager:
        """Make one of options that are put together already."""
        manager = cls(app)
        manager.options = options
        return manager

    @asynccontextmanager
    async def run(self) -> AsyncGenerator[None]:
        """Enter the server's lifespan, and answer requests until the block is left.

        Raises:
          RuntimeError: if it runs already. When it has ended, it may run again.

        Cancellation:
          Leaving takes up to `STOP_SECONDS` seconds for answers, and as long for clean-up.

        """
        if self._run is not None:
            raise RuntimeError(
                "This session manager runs already: enter session_manager.run() once, and not "
                "where the lifespan of streamable_http_app() does it"
            )
        store = self.options.event_store
        async with (
            nullcontext() if store is None else Sheltered("The event store", store.open()),
            self._server.open() as serving,
            open_background_nursery() as nursery,
        ):
            heart = Heart(self.options.keep_alive_interval)
            older = OlderEra(serving, nursery, heart, self.options, self.protection.guard)
            run = Run(serving, nursery, heart, older)
            nursery.start_soon(heart.run, name="HTTP keep-alive")
            nursery.start_soon(run.older.sessions.expire, name="HTTP idle sessions")
            self._run = run
            try:
                yield
            finally:
                try:
                    await run.finish()  # noqa: ASYNC102 - it shields itself, bounded
                finally:
                    self._run = None
                    self._has_run = True

    async def stop(self) -> None:
        """Take no more requests, have streams end in good order, and wait for what runs.

        That is requests of clients that are there, and what older ones asked for that may not be
        connected meanwhile, to which whoever waits for connections alone gives no time. How long,
        is for whoever serves the application to say: the end of `run` cancels what still runs a
        second later. A handler that waits for this waits for itself.

        Cancellation:
          No more requests are taken; nothing that runs is cancelled by this.

        """
        run = self._run
        if run is not None:
            await run.stop()
            # Requests first: one whose client goes meanwhile may leave a handler behind.
            await run.wait_done()

    async def handle_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request: an ASGI application for the endpoint alone."""
        request = HttpRequest(scope, receive)
        response = HttpResponse(send, scope.get("http_version", "1.1"))
        response.headers += cors.answer_headers(request.headers, self.options.cors_origins)
        await answer_request(request, response, self._answer)

    async def _answer(self, request: HttpRequest, response: HttpResponse) -> Refusal | None:
        run = self._run
        if run is None or run.stopping:
            return not_running(
                stopping=run is not None, has_run=self._has_run, manager="mcp.session_manager"
            )
        with run.active.request():
            return await self._serve(run, request, response)
        return cut_off(response)

    async def _serve(
        self, run: Run, request: HttpRequest, response: HttpResponse
    ) -> Refusal | None:
        options, headers = self.options, request.headers
        refusal = check_caller(headers, options.transport_security, options.cors_origins)
        if refusal is not None:
            return refusal
        if cors.is_preflight(request.method, headers, options.cors_origins):
            told = cors.preflight_headers(headers, run.older.methods)
            await response.send_whole(204, headers=told)
            return None
        guard = self.protection.guard
        refusal = await admit(guard, request)
        if refusal is not None:
            return refusal
        if request.method == "POST":
            return await self._post(run, request, response)
        refusal = check_scopes(guard, run.serving, request)
        if refusal is not None:
            return refusal
        if is_modern(headers, None) and not run.older.ignores_version(request):
            return check_version(headers) or check_method(request.method, ("POST",))
        return await run.older.serve(request, response)

    async def _post(
        self, run: Run, request: HttpRequest, response: HttpResponse
    ) -> Refusal | None:
        options = self.options
        limit = options.max_request_body_size
        refusal = check_post(request.headers, limit, json_only=options.json_response)
        if refusal is not None:
            return refusal
        body = await read_body(request, limit, options.body_timeout)
        if not isinstance(body, bytes):
            return body
        frame = parse_frame(body)
        refusal = check_scopes(self.protection.guard, run.serving, request, frame)
        if refusal is not None:
            return refusal
        if is_modern(request.headers, frame) and not run.older.ignores_version(request):
            return await serve_modern(
                run.serving,
                run.heart,
                request,
                response,
                frame,
                json_only=options.json_response,
                guard=self.protection.guard,
            )
        return await run.older.post(request, response, frame)
