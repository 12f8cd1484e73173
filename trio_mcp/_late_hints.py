"""Hints that resolve although what they name is loaded when it is first needed.

Modules import what only their hints name for type checkers alone (``if TYPE_CHECKING:``), since
loading it takes time that a program need not spend. Whoever asks for hints at run time, as
`typing.get_type_hints` and `attrs.resolve_types` do, needs those names: they are imported then,
when somebody first looks into the annotations of a class or function.
"""

from __future__ import annotations

import contextlib
import sys
from importlib import import_module
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable, ItemsView, Iterator, KeysView, ValuesView

_PACKAGE: Final = __name__.partition(".")[0]

_loaded: Final[set[str]] = set()


class LateHints(dict[str, Any]):
    """Annotations that call a function before they are looked into for the first time.

    Attributes:
      written: What they were in the source.

    """

    __slots__ = ("_prepare", "written")

    def __init__(self, hints: dict[str, Any], prepare: Callable[[LateHints], None]) -> None:
        super().__init__(hints)
        self.written = hints
        self._prepare: Callable[[LateHints], None] | None = prepare

    def _ready(self) -> None:
        prepare, self._prepare = self._prepare, None
        if prepare is not None:
            prepare(self)

    # All of these, as what copies a dict takes its contents past them only if none is there.

    def __iter__(self) -> Iterator[str]:
        self._ready()
        return super().__iter__()

    def keys(self) -> KeysView[str]:  # type: ignore[override]  # a view all the same
        self._ready()
        return super().keys()

    def values(self) -> ValuesView[Any]:  # type: ignore[override]  # as above
        self._ready()
        return super().values()

    def items(self) -> ItemsView[str, Any]:  # type: ignore[override]  # as above
        self._ready()
        return super().items()


def defer_hints(public: object) -> None:
    """Make the hints of a function, or of a class and its methods, resolve when they are wanted.

    To be called before the class is said to belong to another module.
    """
    if isinstance(public, FunctionType):
        _defer_function(public)
    elif isinstance(public, type):
        for each in public.__mro__:
            if each.__module__.partition(".")[0] == _PACKAGE:
                defer_class_hints(each)
                for member in list(vars(each).values()):
                    _defer_member(member, each)


def defer_class_hints(cls: type) -> None:
    """Do so for the fields of one class."""
    hints = vars(cls).get("__annotations__")
    if type(hints) is not dict or not hints:
        return
    module = cls.__module__

    def prepare(late: LateHints) -> None:
        names = hinted_names(_home_of(cls, module))
        members = {name: each for name, each in vars(cls).items() if isinstance(each, type)}
        for name, hint in list(late.items()):
            if isinstance(hint, str):
                # What cannot be told stays as it is, for the error of whoever wants it.
                with contextlib.suppress(Exception):
                    late[name] = eval(hint, names, members)  # noqa: S307 - our own text

    cls.__annotations__ = LateHints(cast("dict[str, Any]", hints), prepare)


def _home_of(cls: type, module: str) -> str:
    if "__getattr__" in vars(sys.modules[module]):
        # Its author wrote where users find it.
        for name, each in list(sys.modules.items()):
            is_inner = name.startswith(module + ".") and "._" in name[len(module) :]
            if is_inner and vars(each).get(cls.__name__) is cls:
                return name
    return module


def _defer_member(member: Any, cls: type) -> None:
    if isinstance(member, (classmethod, staticmethod)):
        member = cast("Any", member).__func__
    if isinstance(member, property):
        for function in (member.fget, member.fset):
            _defer_member(function, cls)
    if isinstance(member, FunctionType):
        _defer_function(member, cls)


def _defer_function(function: FunctionType, cls: type | None = None) -> None:
    hints = function.__annotations__
    if type(hints) is not dict or not hints:
        return
    inmost: Any = function
    while hasattr(inmost, "__wrapped__"):
        inmost = inmost.__wrapped__
    namespace: dict[str, Any] = inmost.__globals__
    module = namespace.get("__name__", "")
    if module.partition(".")[0] != _PACKAGE:
        return

    def prepare(late: LateHints) -> None:
        # That of a method that attrs has made is a copy.
        for name, value in hinted_names(module).items():
            namespace.setdefault(name, value)
        if cls is not None and function.__name__ == "__init__":
            fields = _fields_of(cls)
            late.update({name: fields[name] for name in late.keys() & fields.keys()})

    function.__annotations__ = LateHints(hints, prepare)


def _fields_of(cls: type) -> dict[str, Any]:
    """Give what the parameters of the ``__init__`` are that attrs has made, if it has."""
    fields: dict[str, Any] = {}
    if "__attrs_attrs__" in vars(cls):
        for each in reversed(cls.__mro__):
            for name, hint in vars(each).get("__annotations__", {}).items():
                if not isinstance(hint, str):
                    fields[name.lstrip("_")] = hint
    return fields


def hinted_names(module: str) -> dict[str, Any]:
    """Import what a module names in hints alone, and return its namespace."""
    names = vars(sys.modules[module])
    if module not in _loaded and "__getattr__" not in names:
        _loaded.add(module)
        hinted = dict(names)
        for statement in _for_type_checkers(module):
            with contextlib.suppress(Exception):
                exec(compile(statement, module, "exec"), hinted)  # noqa: S102 - our own text
        for name, value in hinted.items():
            names.setdefault(name, value)
    return names


def _for_type_checkers(module: str) -> Iterator[ast.Module]:
    import ast  # noqa: PLC0415 - for the few programs that want hints
    import inspect  # noqa: PLC0415 - as above

    with contextlib.suppress(OSError, TypeError):
        for node in ast.parse(inspect.getsource(sys.modules[module])).body:
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
                for statement in node.body:
                    if isinstance(statement, ast.ImportFrom):
                        _load_home(module, statement)
                    yield ast.Module([statement], type_ignores=[])


def _load_home(module: str, statement: ast.ImportFrom) -> None:
    """Load the module that a name comes from; it may have it for hints alone, too."""
    package = module if hasattr(sys.modules[module], "__path__") else module.rpartition(".")[0]
    with contextlib.suppress(ImportError):
        home = import_module("." * statement.level + (statement.module or ""), package)
        is_ours = home.__name__.partition(".")[0] == _PACKAGE
        # Public packages load their names when they are asked for them.
        is_lazy = hasattr(home, "__getattr__")
        if is_ours and not is_lazy and any(not hasattr(home, it.name) for it in statement.names):
            hinted_names(home.__name__)
