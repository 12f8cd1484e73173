"""What a callable is called, and what is said of it, whichever kind it is."""

from __future__ import annotations

import functools
import inspect
from typing import Any

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
