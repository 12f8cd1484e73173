"""Sync context managers of authors, entered and left in worker threads."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final

import attrs
import trio

from trio_mcp._rpc._nursery import finish_within

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from types import TracebackType

CLEANUP_SECONDS: Final = 5.0
"""How long a sync clean-up may hold up a request that was cancelled; then it is let go."""


def in_thread(make: Callable[..., AbstractContextManager[Any]]) -> Callable[..., InThread]:
    """Turn what makes a sync context manager into what makes an async one."""

    def made(**kwargs: Any) -> InThread:
        return InThread(make, kwargs)

    return made


@attrs.define(eq=False)
class InThread:
    """A sync context manager as an async one.

    Attributes:
      limiter: Of the threads; Trio's default one if not set.

    """

    make: Callable[..., AbstractContextManager[Any]]
    kwargs: dict[str, Any]
    limiter: trio.CapacityLimiter | None = None
    _manager: AbstractContextManager[Any] | None = attrs.field(default=None, init=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False)
    _abandoned: bool = attrs.field(default=False, init=False)

    async def __aenter__(self) -> Any:
        try:
            (value,) = await trio.to_thread.run_sync(
                self._enter, abandon_on_cancel=True, limiter=self.limiter
            )
        except trio.Cancelled:
            self._abandon()
            raise
        return value

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        manager = self._manager
        assert manager is not None
        with finish_within(CLEANUP_SECONDS):
            return await trio.to_thread.run_sync(  # noqa: ASYNC102 - in finish_within
                manager.__exit__,
                kind,
                exc,
                traceback,
                abandon_on_cancel=True,
                limiter=self.limiter,
            )
        return None

    def _enter(self) -> tuple[Any]:
        manager = self.make(**self.kwargs)
        value = manager.__enter__()
        with self._lock:
            if not self._abandoned:
                self._manager = manager
                return (value,)
        # The request was cancelled meanwhile, and nobody else will leave it.
        manager.__exit__(None, None, None)
        return (None,)

    def _abandon(self) -> None:
        with self._lock:
            self._abandoned = True
            entered, self._manager = self._manager, None
        if entered is not None:
            # It was done just when the request was cancelled.
            threading.Thread(target=entered.__exit__, args=(None, None, None)).start()
