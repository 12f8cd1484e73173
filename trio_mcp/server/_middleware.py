"""What stands round the handlers of a server."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Self, SupportsIndex, overload

from trio_mcp._checks import awaited, check_callable

from ._registry import ServerMiddleware

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable

    from ._context import ServerRequestContext
    from ._registry import CallNext, HandlerResult


class MiddlewareList(list[ServerMiddleware]):
    """The middleware of a server, the first one outermost; what cannot be called is refused.

    Raises:
      TypeError: if an item is no function; nothing is added then.

    """

    def __init__(self, items: Iterable[ServerMiddleware] = ()) -> None:
        super().__init__(_checked(items))

    def append(self, item: ServerMiddleware, /) -> None:
        """See `list.append`."""
        super().append(*_checked([item]))

    def insert(self, index: SupportsIndex, item: ServerMiddleware, /) -> None:
        """See `list.insert`."""
        super().insert(index, *_checked([item]))

    def extend(self, items: Iterable[ServerMiddleware], /) -> None:
        """See `list.extend`."""
        super().extend(_checked(items))

    def __iadd__(self, items: Iterable[ServerMiddleware], /) -> Self:  # type: ignore[override, misc]  # the same arguments
        self.extend(items)
        return self

    @overload
    def __setitem__(self, index: SupportsIndex, item: ServerMiddleware, /) -> None: ...
    @overload
    def __setitem__(
        self, index: slice[Any, Any, Any], item: Iterable[ServerMiddleware], /
    ) -> None: ...
    def __setitem__(self, index: Any, item: Any, /) -> None:
        """See `list`."""
        many = index.__class__ is slice
        checked = _checked(item if many else [item])
        super().__setitem__(index, checked if many else checked[0])


def in_middleware(middleware: Iterable[ServerMiddleware], call_next: CallNext) -> CallNext:
    """Put middleware round the rest of the way to a handler."""
    for each in reversed(list(middleware)):
        call_next = functools.partial(_call, each, call_next)
    return call_next


def _call(
    middleware: ServerMiddleware, call_next: CallNext, ctx: ServerRequestContext[Any, Any]
) -> Awaitable[HandlerResult]:
    # By position: what its parameters are called is its author's business.
    return awaited("middleware", middleware(ctx, call_next), middleware)


def _checked(items: Iterable[ServerMiddleware]) -> list[ServerMiddleware]:
    listed = list(items)
    for item in listed:
        check_callable("middleware", item)
    return listed
