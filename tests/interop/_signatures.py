"""What a caller may do with a class or function, and what of it another one does not allow.

`differences` compares in one direction: it lists what callers of *theirs* would trip over with
*ours*. What ours allows in addition (more arguments that may be left out, arguments by position
that theirs takes by keyword only, more members) is no difference.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import textwrap
from inspect import Parameter
from typing import TYPE_CHECKING, Any, Protocol

import attrs
import pydantic

from trio_mcp import auth, transports

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

BY_POSITION = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
VARIADIC = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
SPECIAL = ("__call__", "__aenter__", "__aexit__", "__aiter__", "__anext__", "__enter__")
OBJECT = object()


def differences(name: str, theirs: Any, ours: Any) -> Iterator[tuple[str, str]]:
    """Give pairs of the place (``Client.call_tool``) and what is different there."""
    if not inspect.isclass(theirs):
        yield from _of_calls(name, theirs, ours)
        return
    for base in _lacking_bases(theirs, ours):
        yield name, f"no `{base}`"
    if not _is_protocol(theirs):
        yield from _of_calls(name, theirs, ours)
    for member in members_of(theirs):
        if member in members_of(ours):
            theirs_member = inspect.getattr_static(theirs, member, OBJECT)
            ours_member = inspect.getattr_static(ours, member, OBJECT)
            yield from _of_members(f"{name}.{member}", theirs_member, ours_member)
        else:
            yield f"{name}.{member}", "missing"


# Members


def members_of(cls: type) -> set[str]:
    """Name the public methods, properties, fields and attributes of a class."""
    names: set[str] = set()
    for each in cls.__mro__:
        if _is_foreign(each):
            continue
        names.update(vars(each), inspect.get_annotations(each), _set_by_methods(each))
    names.update(getattr(cls, "model_fields", ()))
    if issubclass(cls, pydantic.BaseModel):
        names.difference_update(_validators(cls), dir(pydantic.BaseModel))
    return {each for each in names if each in SPECIAL or not each.startswith("_")}


def _is_foreign(cls: type) -> bool:
    return cls.__module__.partition(".")[0] in {
        "builtins",
        "abc",
        "typing",
        "typing_extensions",
        "pydantic",
    }


def _is_protocol(cls: type) -> bool:
    return Protocol in cls.__bases__ or bool(getattr(cls, "_is_protocol", False))


def _validators(cls: type) -> set[str]:
    # Methods that pydantic calls, and nobody else.
    decorators = getattr(cls, "__pydantic_decorators__", None)
    kinds = ("validators", "field_validators", "root_validators", "model_validators")
    return {name for kind in kinds for name in getattr(decorators, kind, ())}


def _set_by_methods(cls: type) -> set[str]:
    """Find the attributes that ``__init__`` sets: ``self.name = …``."""
    init = vars(cls).get("__init__")
    if init is None or init.__module__ == "attr" or not inspect.isfunction(init):
        return set()
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(init)))
    except (OSError, TypeError):  # it was generated
        return set()
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    }


def _of_members(name: str, theirs: Any, ours: Any) -> Iterator[tuple[str, str]]:
    theirs_function, ours_function = _function(theirs), _function(ours)
    if (theirs_function is None) != (ours_function is None):
        yield name, "no method" if ours_function is None else "a method"
    elif theirs_function is not None and ours_function is not None and not name.endswith("__"):
        yield from _of_calls(name, theirs_function, ours_function)


def _function(member: Any) -> Callable[..., Any] | None:
    if isinstance(member, staticmethod | classmethod):
        member = member.__func__
    return member if inspect.isfunction(member) else None


def _lacking_bases(theirs: type, ours: type) -> list[str]:
    known = {each.__name__ for each in ours.__mro__}
    return [
        each.__name__
        for each in theirs.__mro__
        if each.__name__ not in known
        and (issubclass(each, BaseException) or each.__module__.startswith("mcp"))
    ]


# Calls


def _of_calls(name: str, theirs: Any, ours: Any) -> Iterator[tuple[str, str]]:
    if _is_async(theirs) != _is_async(ours):
        yield name, "async" if _is_async(ours) else "not async"
    yield from ((name, what) for what in _of_parameters(theirs, ours))


def _is_async(fn: Any) -> bool:
    return inspect.iscoroutinefunction(inspect.unwrap(fn))


def _of_parameters(theirs: Any, ours: Any) -> Iterator[str]:
    if _takes_anything(theirs):
        return
    known, new = inspect.signature(theirs).parameters, _spelled_out(inspect.signature(ours))
    order = [each.name for each in new.values() if each.kind in BY_POSITION]
    place = 0
    for each in known.values():
        if not each.name.startswith("_"):
            may_stand_here = order[place : place + 1] == [each.name]
            if each.kind in VARIADIC:
                yield from _of_rest(each, new.values())
            elif each.name not in new or new[each.name].kind in VARIADIC:
                yield f"no `{each.name}`"
            elif each.kind in BY_POSITION and not may_stand_here:
                yield f"`{each.name}` {'elsewhere' if each.name in order else 'by keyword'}"
            else:
                yield from _of_default(
                    each.name, _default(theirs, each), _default(ours, new[each.name])
                )
        place += each.kind in BY_POSITION
    for each in new.values():
        if (
            each.name not in known
            and each.kind not in VARIADIC
            and each.default is Parameter.empty
        ):
            yield f"needs `{each.name}`"


UNPACKED = re.compile(r"Unpack\[(\w+)\]")


def _spelled_out(signature: inspect.Signature) -> dict[str, Parameter]:
    """Write the parameters in place of ``**options: Unpack[RunSseOptions]``."""
    parameters: dict[str, Parameter] = {}
    for each in signature.parameters.values():
        found = UNPACKED.fullmatch(str(each.annotation))
        if found is None:
            parameters[each.name] = each
            continue
        defaults = {
            field.name: field.default
            for cls in (transports.HttpOptions, transports.HttpPaths, transports.ServeOptions)
            for field in attrs.fields(cls)
        }
        home = transports if hasattr(transports, found[1]) else auth
        for name in getattr(home, found[1]).__optional_keys__:
            kind = Parameter.KEYWORD_ONLY
            parameters[name] = Parameter(name, kind, default=defaults.get(name))
    return parameters


def _of_rest(each: Parameter, new: Iterable[Parameter]) -> Iterator[str]:
    if all(here.kind is not each.kind for here in new):
        yield f"no `{'**' if each.kind is Parameter.VAR_KEYWORD else '*'}{each.name}`"


def _of_default(name: str, before: str, here: str) -> Iterator[str]:
    # What had to be given may have any default now.
    if before not in (here, "required"):
        yield f"`{name}={here}`"


def _takes_anything(fn: Any) -> bool:
    # An exception without an __init__ of its own takes what Exception takes, and nothing
    # says what is meant.
    return (
        inspect.isclass(fn)
        and issubclass(fn, BaseException)
        and "__init__"
        not in {name for each in fn.__mro__ if not _is_foreign(each) for name in vars(each)}
    )


def _default(owner: Any, parameter: Parameter) -> str:
    if parameter.default is Parameter.empty:
        return "required"
    factory = _factory(owner, parameter.name)
    if factory is None:
        return re.sub(r" at 0x\w+", "", repr(parameter.default))
    if inspect.isfunction(factory) and inspect.signature(factory).parameters:
        return "by the other fields"
    return repr(factory())


def _factory(owner: Any, name: str) -> Callable[[], Any] | None:
    """Find what makes the default of a field; a signature has a placeholder only."""
    if attrs.has(owner):
        default = getattr(attrs.fields_dict(owner).get(name), "default", None)
        return getattr(default, "factory", None)
    if isinstance(owner, type) and issubclass(owner, pydantic.BaseModel):
        return getattr(owner.model_fields.get(name), "default_factory", None)
    if dataclasses.is_dataclass(owner):
        found = [each.default_factory for each in dataclasses.fields(owner) if each.name == name]
        return None if not found or found[0] is dataclasses.MISSING else found[0]
    return None
