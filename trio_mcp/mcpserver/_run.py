"""An `MCPServer` as a program."""

from __future__ import annotations

import logging
import signal
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args, overload

from trio_mcp._checks import check_word
from trio_mcp._rpc._interrupt import run_until_interrupt

from ._serving_base import ServingBase
from ._settings import LifespanResultT

if TYPE_CHECKING:
    from typing import Unpack

    from trio_mcp.transports import (
        RunSseOptions,
        RunStreamableHttpOptions,
        RunWebSocketOptions,
        StreamableHttpProgramOptions,
    )
    from trio_mcp.transports._foreground import Foreground

Transport: TypeAlias = Literal["stdio", "streamable-http", "sse", "websocket"]


class Runs(ServingBase[LifespanResultT]):
    """The part of an `MCPServer` that makes a program of it."""

    @overload
    def run(self, transport: Literal["stdio"] = "stdio") -> None: ...

    @overload
    def run(
        self,
        transport: Literal["streamable-http"],
        **options: Unpack[StreamableHttpProgramOptions],
    ) -> None: ...

    @overload
    def run(self, transport: Literal["sse"], **options: Unpack[RunSseOptions]) -> None: ...

    @overload
    def run(
        self, transport: Literal["websocket"], **options: Unpack[RunWebSocketOptions]
    ) -> None: ...

    def run(self, transport: Transport = "stdio", **kwargs: Any) -> None:
        """Serve until the client goes, or until Ctrl-C.

        The main function of a program that is a server: it starts Trio, and writes the log to
        stderr unless the program has set up `logging` itself.

        Over HTTP and WebSockets it says on stderr where it serves, and ends by Ctrl-C or SIGTERM:
        it takes no more requests, gives those that run ``graceful_timeout`` seconds (3 if nothing
        else is said) and the lifespan ten to end. A second signal cancels what still runs. A
        lifespan that shields itself from that ends when it likes.

        When a signal has ended it, others in the second after that are taken for the same one, and
        so are those at the exit of the program: they make no failure of a good end.

        ``run("streamable-http", stateless_http=True, workers=4)`` serves by four processes that
        share the address. They are forks of this one, in which Trio does not run; one that dies
        is replaced, and all end when this one does. It needs a POSIX system.

        Args:
          transport: How clients reach it.
          **kwargs: Options of the transport: those of `run_streamable_http_async` and
            ``workers``, `run_sse_async` or `run_websocket_async`; "stdio" has none.

        Raises:
          ValueError: if there is no such transport, or an option has a value that it cannot
            have, or a variable of the environment.
          TypeError: if there is no such option.
          InvalidSignature: if a hint that named what its module had not defined yet cannot be
            read now either; see `open`.
          OSError: if the program was started with stdin or stdout closed; over a network, if an
            address cannot be had, or the files for TLS cannot be read.
          SystemExit: if the first of several workers cannot start; it has said why.

        """
        check_word("transport", transport, get_args(Transport))
        if transport == "stdio":
            if kwargs:
                raise TypeError(f"The transport 'stdio' has no option {next(iter(kwargs))!r}")
            self._write_log()
            run_until_interrupt(self.run_stdio_async)
            return
        from trio_mcp.transports.http._guard import (  # noqa: PLC0415 - loads on first use
            check_program,
        )

        workers = 1
        if transport == "streamable-http" or "workers" in kwargs:
            from trio_mcp.transports.http._workers import (  # noqa: PLC0415 - loads on first use
                take_workers,
            )

            workers = take_workers(transport, kwargs)
        server: Any = self  # only an MCPServer is made of these parts
        check_program(server, transport, workers)
        if workers > 1:
            self._run_workers(workers, kwargs)
            return
        foreground = self._foreground()
        serve = partial(self._serve_network, transport, foreground, kwargs)
        self._write_log()
        run_until_interrupt(serve, signals=(signal.SIGINT, signal.SIGTERM), stop=foreground.stop)

    def _run_workers(self, workers: int, options: dict[str, Any]) -> None:
        from trio_mcp.transports.http._workers import (  # noqa: PLC0415 - loads on first use
            run_workers,
        )

        self._write_log()
        server: Any = self  # only an MCPServer is made of these parts
        ended = run_workers(server, workers, options, name=self._lowlevel_server.name)
        if ended.value:
            raise SystemExit(ended.value)

    async def run_stdio_async(self) -> None:
        """Serve stdin and stdout until stdin ends.

        Raises:
          OSError: if the program was started with one of them closed.

        Cancellation:
          Running functions are cancelled and the lifespan is left.

        """
        from trio_mcp.transports import stdio_server  # noqa: PLC0415 - loads on first use

        async with stdio_server() as channel:
            await self._lowlevel_server.run(channel)

    async def run_streamable_http_async(self, **options: Unpack[RunStreamableHttpOptions]) -> None:
        """Serve over Streamable HTTP, in both eras, until it is cancelled.

        A line on stderr says where. `serve_http` is for programs that do other things, too: it
        reports where to who started it, and can be told to stop in good order.

        Args:
          **options: Those of `ServeOptions` (``host``, ``port`` …) and `HttpOptions`, and
            ``streamable_http_path``. What is not given comes from the environment:
            ``MCP_PORT=80`` and so on.

        Raises:
          TypeError, ValueError: if an option is something else, or a variable is.
          OSError: if an address cannot be had, or the files for TLS cannot be read.

        Cancellation:
          Connections are closed at once, running functions are cancelled, and the lifespan is
          left.

        """
        await self._serve_network("streamable-http", self._foreground(), options)

    async def run_sse_async(self, **options: Unpack[RunSseOptions]) -> None:
        """Serve over HTTP with SSE, for clients that know nothing newer, until it is cancelled.

        Args:
          **options: As for `run_streamable_http_async`, with ``sse_path`` and ``message_path``,
            and of `HttpOptions` those that `sse_app` takes.

        Raises:
          TypeError, ValueError: if an option is something else, or a variable is.
          OSError: if an address cannot be had, or the files for TLS cannot be read.

        Cancellation:
          As for `run_streamable_http_async`.

        """
        await self._serve_network("sse", self._foreground(), options)

    async def run_websocket_async(self, **options: Unpack[RunWebSocketOptions]) -> None:
        """Serve over WebSockets, in both eras, until it is cancelled.

        Args:
          **options: As for `run_streamable_http_async`: those of `WebSocketOptions`, and of
            `ServeOptions` those that are not for HTTP alone.

        Raises:
          TypeError, ValueError: if an option is something else, or a variable is.
          OSError: if an address cannot be had, or the files for TLS cannot be read.

        Cancellation:
          As for `run_streamable_http_async`.

        """
        await self._serve_network("websocket", self._foreground(), options)

    def _foreground(self) -> Foreground:
        from trio_mcp.transports._foreground import (  # noqa: PLC0415 - loads on first use
            Foreground,
        )

        return Foreground(self._lowlevel_server.name)

    async def _serve_network(self, transport: str, foreground: Foreground, options: Any) -> None:
        from trio_mcp.transports._foreground import (  # noqa: PLC0415 - loads on first use
            serve_function,
        )

        await serve_function(transport)(self, task_status=foreground, **options)

    def _write_log(self) -> None:
        root = logging.getLogger()
        if not root.handlers:
            logging.basicConfig(
                level=self.settings.log_level, format="%(levelname)s %(name)s: %(message)s"
            )
