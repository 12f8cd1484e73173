"""What the parts of an `MCPServer` share."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from trio_mcp import types

from ._context import Context
from ._settings import LifespanResultT
from ._workers import Workers

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping, Sequence

    from trio_mcp.server import Server, ServerEvent, ServerRequestContext
    from trio_mcp.types import InputResponseRequestParams
    from trio_mcp.types._revisions import Revision

    from ._settings import Settings

CallableT = TypeVar("CallableT", bound="Callable[..., Any]")


class Published(Protocol):
    """A function that clients can reach."""

    @property
    def context_kwarg(self) -> str | None: ...

    def complete(self) -> None:
        """Read the hints, if that has not been possible yet."""


class ServingBase(Generic[LifespanResultT]):
    """The low-level server below, and how its handlers come to a `Context`."""

    settings: Settings[LifespanResultT]
    _lowlevel_server: Server[Any]
    _list_page_size: int | None

    def __init__(self) -> None:
        self.workers = Workers()
        self._runs: set[object] = set()  # one thing for each run that goes on

    # Hints that named what their module had not defined yet

    @contextmanager
    def _running(self) -> Generator[None]:
        """Be one run. All hints are read by then, so no client meets one that cannot be."""
        run = object()
        self._runs.add(run)
        try:
            for each in self._published():
                each.complete()
                self._allow_logging(each.context_kwarg)
            yield
        finally:
            self._runs.discard(run)

    def _published(self) -> Iterable[Published]:
        raise NotImplementedError

    def _complete_if_running(self, added: Published) -> None:
        if self._runs:
            added.complete()

    def _serve(self, method: str, params_type: str, handler: Callable[..., Any]) -> None:
        """Serve a method from now on, and so announce its capability.

        Args:
          method: Of the specification.
          params_type: The name of what its params are read into, which loads on first use.
          handler: See `Server.add_request_handler`.

        """
        if self._lowlevel_server.get_request_handler(method) is None:
            self._lowlevel_server.add_request_handler(method, params_type, handler)

    def _announce(self, event: ServerEvent) -> None:
        """Have clients told, once a series of changes is over."""
        self._lowlevel_server.announce(event)

    def _require(self, scopes: Sequence[str]) -> None:
        """Have requests refused whose senders lack scopes, once something takes any."""
        if scopes:
            self._lowlevel_server.get_required_scopes = self._required_scopes

    def _required_scopes(self, method: str, params: Mapping[str, Any]) -> Sequence[str]:
        raise NotImplementedError

    def _allow_logging(self, context_kwarg: str | None) -> None:
        """Announce logging as soon as a function has the `Context` that it takes."""
        if context_kwarg is not None:
            self._serve("logging/setLevel", "SetLevelRequestParams", _set_logging_level)

    def _context(
        self,
        request_context: ServerRequestContext[Any, Any] | None = None,
        params: InputResponseRequestParams | None = None,
    ) -> Context[Any, Any]:
        server: Any = self  # only an MCPServer is made of these parts
        return Context(request_context=request_context, mcp_server=server, input_params=params)


async def _set_logging_level(
    _ctx: ServerRequestContext[Any, Any], _params: types.SetLevelRequestParams
) -> types.EmptyResult:
    # The connection keeps the level; there is nothing else to do.
    return types.EmptyResult()


def revision_of(ctx: ServerRequestContext[Any, Any]) -> Revision:
    """Give the revision that a request speaks."""
    assert ctx.exchange is not None
    return ctx.exchange.accepted.revision
