"""What a callable is called, and what is said of it, whichever kind it is."""

from __future__ import annotations

import functools
import inspect
from typing import Any

from trio_mcp.errors import InvalidSignature

from ._docstring import leave_out_params


def callable_name(fn: Any) -> str:
    """Return the name of a function, or of the class of a callable object."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    name = getattr(fn, "__name__", None)
    return name if isinstance(name, str) else type(fn).__name__


def callable_docstring(fn: Any) -> str:
    """Return the docstring of a function, or of a callable object or its class."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    places: list[Any] = [fn]
    if not (inspect.isroutine(fn) or isinstance(fn, type)):
        places = [type(fn).__call__, type(fn)]
    for place in places:
        if isinstance(place.__doc__, str) and place.__doc__:
            return inspect.cleandoc(place.__doc__)
    return ""


def callable_description(fn: Any) -> str:
    """Return the docstring without what it says of arguments, which their schemas say."""
    docstring = callable_docstring(fn)
    if "\n" not in docstring:
        return docstring
    try:
        names = inspect.signature(fn).parameters
    except (TypeError, ValueError):
        return docstring
    return leave_out_params(docstring, names)


def refuse_async_generator(fn: Any, name: str) -> None:
    """Refuse a function whose result would never be there as a whole.

    Raises:
      InvalidSignature: if it is an async generator function.

    """
    while isinstance(fn, functools.partial):
        fn = fn.func
    call = fn if inspect.isroutine(fn) else getattr(fn.__class__, "__call__", fn)  # noqa: B004
    if inspect.isasyncgenfunction(call):
        raise InvalidSignature(
            f"{name}: there is one result, which is sent as a whole, and so it cannot be an "
            "async generator; return a list"
        )
