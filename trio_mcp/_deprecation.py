"""`deprecated`, as `typing_extensions` has it: for async methods its own would load asyncio."""

from __future__ import annotations

import functools
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import deprecated as deprecated
else:

    def deprecated(
        message: str, *, category: type[Warning]
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Warn whoever calls the function; type checkers tell before."""

        def decorate(fn: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(fn)
            def warning(*args: Any, **kwargs: Any) -> Any:
                warnings.warn(message, category, stacklevel=2)
                return fn(*args, **kwargs)

            # Where type checkers, editors and documentation look (PEP 702).
            warning.__deprecated__ = message
            return warning

        return decorate
