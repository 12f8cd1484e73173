"""Where the names in string hints are looked up.

``from __future__ import annotations`` leaves every hint a string. It means what it would have
meant without: the names of the module, of the function's own closure, and of the functions
round it. The last are gone from sight once these return, so they are read from their frames,
and only when a name is not found elsewhere.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections import ChainMap
from typing import TYPE_CHECKING, Any, ForwardRef

import attrs

from ._errors import UnknownName

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import FrameType


@attrs.frozen(eq=False)
class Scope:
    """The names that hints of one function or class can use.

    Attributes:
      module: The names of its module.
      names: Names nearer than that: a closure, type parameters, the class itself.
      qualname: Of the function or class, to find the functions round it.
      outer: The scope of what mentioned the class.

    """

    module: dict[str, Any]
    names: Mapping[str, Any] = attrs.field(factory=dict[str, Any])
    qualname: str = ""
    outer: Scope | None = None

    @classmethod
    def of_callable(cls, fn: Callable[..., Any]) -> Scope:
        """Make the scope of a function, method, partial, callable object or class."""
        if isinstance(fn, type):
            return cls.of_class(fn)
        function = innermost_function(fn)
        if function is None:
            return cls.of_class(type(fn))
        closure = {
            name: cell.cell_contents
            for name, cell in zip(
                function.__code__.co_freevars, function.__closure__ or (), strict=True
            )
            if _is_filled(cell)
        }
        return cls(function.__globals__, closure | _parameters(function), function.__qualname__)

    @classmethod
    def of_class(cls, owner: type, outer: Scope | None = None) -> Scope:
        """Make the scope of a class body."""
        module = sys.modules.get(owner.__module__)
        names = {owner.__name__: owner} | _parameters(owner)
        return cls({} if module is None else vars(module), names, owner.__qualname__, outer)

    @classmethod
    def of_module(cls, name: str, outer: Scope | None = None) -> Scope:
        module = sys.modules.get(name)
        return cls({} if module is None else vars(module), outer=outer)

    def evaluate(self, hint: Any) -> Any:
        """Return what a string or forward reference stands for.

        Raises:
          UnknownName: if it cannot be evaluated.

        """
        text: str = hint.__forward_arg__ if isinstance(hint, ForwardRef) else hint
        try:
            return self._eval(text)
        except NameError as exc:
            reason = f"the name {exc.name!r} is not known in its module"
            raise UnknownName(text, reason, exc.name) from exc
        except Exception as exc:
            # The text is an expression of the author's own source, and may raise anything.
            raise UnknownName(text, f"cannot be evaluated ({exc})") from exc

    def name_of(self, value: Any) -> str | None:
        """Return the name that stands for this very object, or None if none does."""
        for names in (self.names, self.module, *self._enclosing()):
            for name, each in names.items():
                if each is value:
                    return name
        return None if self.outer is None else self.outer.name_of(value)

    def _eval(self, text: str) -> Any:
        try:
            return self._eval_with(text, self.names)
        except NameError:
            enclosing = self._enclosing()
            if not enclosing:
                if self.outer is None:
                    raise
                return self.outer._eval(text)  # noqa: SLF001 - of the same class
        try:
            return self._eval_with(text, ChainMap(dict(self.names), *enclosing))
        except NameError:
            if self.outer is None:
                raise
            return self.outer._eval(text)  # noqa: SLF001 - of the same class

    def _eval_with(self, text: str, names: Mapping[str, Any]) -> Any:
        return eval(text, self.module, names)  # noqa: S307 - source text of the author

    def _enclosing(self) -> list[dict[str, Any]]:
        wanted = _functions_round(self.qualname)
        if not wanted:
            return []
        return [
            dict(frame.f_locals)
            for frame in _frames()
            if frame.f_code.co_qualname in wanted and frame.f_globals is self.module
        ]


def is_still_running(scope: Scope) -> bool:
    """Tell whether the module is being executed, and so may still define a missing name."""
    return any(
        frame.f_code.co_name == "<module>" and frame.f_globals is scope.module
        for frame in _frames()
    )


def innermost_function(fn: Any) -> Any:
    """Return the Python function whose hints a callable shows, or None if there is none."""
    while True:
        if isinstance(fn, functools.partial):
            fn = fn.func
        elif hasattr(fn, "__wrapped__"):
            fn = fn.__wrapped__
        elif inspect.ismethod(fn):
            fn = fn.__func__
        elif inspect.isfunction(fn):
            return fn
        else:
            call: Any = getattr(fn.__class__, "__call__", None)  # noqa: B004 - the method is wanted
            if isinstance(fn, type) or not inspect.isfunction(call):
                return None
            fn = call


def _frames() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - documented, and what inspect uses
    while frame is not None:
        yield frame
        frame = frame.f_back


def _functions_round(qualname: str) -> set[str]:
    # "make.<locals>.Inner.method" lies in "make".
    parts = qualname.split(".<locals>.")[:-1]
    return {".<locals>.".join(parts[: n + 1]) for n in range(len(parts))}


def _parameters(owner: Any) -> dict[str, Any]:
    return {each.__name__: each for each in getattr(owner, "__type_params__", ())}


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:  # assigned later
        return False
