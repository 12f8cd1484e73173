"""How a public package loads each of its names when it is first used.

A package lists its names three times: in ``__all__``, as imports for type checkers, and in the
table given to `lazy_exports`. `tests/test_exports.py` compares them. The functions are hidden
from type checkers, to whom a module with a ``__getattr__`` has every name there could be::

    if not TYPE_CHECKING:
        __getattr__, __dir__ = lazy_exports(__name__, {"Client": "._client"})
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import FunctionType
from typing import TYPE_CHECKING

from ._late_hints import defer_hints

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def lazy_exports(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Make ``__getattr__`` and ``__dir__`` for a public package.

    A class or function that comes from an underscored module gets the package as its
    ``__module__``, so that tracebacks, pickle and the documentation show the path that users
    import.

    Args:
      package: Its ``__name__``.
      homes: For each name the module that has it, relative to the package or absolute;
          ``module:other`` if it is called otherwise there.

    """

    def load(name: str) -> object:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name)
        module, _, own_name = home.partition(":")
        value: object = getattr(import_module(module, package), own_name or name)
        if isinstance(value, type | FunctionType):
            defer_hints(value)
            if "._" in value.__module__:
                value.__module__ = package
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return load, names
