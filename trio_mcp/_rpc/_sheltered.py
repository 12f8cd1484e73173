"""Blocks of somebody else round ours: told when what runs inside ends, and not of how.

A server's lifespan belongs to the server, and in memory a client's own code runs inside it. What
fails there is none of the lifespan's business: behind a wire it would see a client that left.
Thrown into it, an error could be swallowed (``contextlib.suppress`` round the ``yield``), come
out in the group of a nursery there, or be replaced by what the clean-up raises. Cancellation is
Trio's, and goes through: a scope or nursery of the block may be the one that it belongs to.
"""

from __future__ import annotations

import logging
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Final, Generic, TypeVar, cast, final

import trio

from trio_mcp._checks import check_block

if TYPE_CHECKING:
    from types import TracebackType

T = TypeVar("T")

logger: Final = logging.getLogger("trio_mcp")


@final
class Sheltered(AbstractAsyncContextManager[T], Generic[T]):
    """Enters a block that errors of what runs inside do not reach.

    It is left as if there were none, and they leave as they are. If leaving it fails, too, that is
    logged, since one exception can leave; if nothing else failed, it is raised.

    Args:
      what: The name of the block, for the log.
      inner: The block.

    """

    __slots__ = ("_inner", "_what")

    def __init__(self, what: str, inner: AbstractAsyncContextManager[T]) -> None:
        self._what = what
        self._inner = inner

    async def __aenter__(self) -> T:
        """Enter the block.

        Raises:
          TypeError: if it is none.

        """
        check_block(self._what, self._inner)
        return await self._inner.__aenter__()

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> bool | None:
        """Leave the block; takes as long as it does."""
        cancelled, others = (None, None) if exc_val is None else _parts(exc_val)
        if others is None or isinstance(exc_val, GeneratorExit):
            return await self._inner.__aexit__(  # noqa: ASYNC102 - its own to bound
                exc_type, exc_val, exc_tb
            )
        try:
            is_absorbed = await self._leave_with(cancelled)  # noqa: ASYNC102 - as above
            if is_absorbed and cancelled is not None:
                # That was the block's own, and has done its work.
                raise others from None
        finally:
            # What leaves refers to this frame.
            del others
        return False

    async def _leave_with(self, cancelled: BaseException | None) -> bool:
        kind = None if cancelled is None else type(cancelled)
        try:
            return bool(await self._inner.__aexit__(kind, cancelled, None))
        except BaseException as exc:  # noqa: ASYNC103 - another exception leaves instead
            if not self._is_settled(exc):
                raise
            return False  # noqa: ASYNC104 - as above

    def _is_settled(self, exc: BaseException) -> bool:
        failure = _parts(exc)[1]
        if failure is None:
            # Whoever cancelled is outside, and cancels what comes next as well.
            return True
        if not isinstance(failure, Exception):
            return False
        logger.error("%s could not be left properly", self._what, exc_info=failure)
        return True


def _parts(exc: BaseException) -> tuple[BaseException | None, BaseException | None]:
    """Give what is cancellation, and what is not."""
    if isinstance(exc, BaseExceptionGroup):
        # isinstance() cannot say what the group holds.
        return cast("BaseExceptionGroup[BaseException]", exc).split(trio.Cancelled)
    return (exc, None) if isinstance(exc, trio.Cancelled) else (None, exc)
