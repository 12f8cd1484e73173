"""Code for one class at one revision, made from the metadata of its fields.

A session decodes and encodes a dozen classes over and over. Straight-line code for each of
them, without a loop over fields, takes a third of the time that general code needs. It is made
from our own annotations alone; nothing that a peer or a user sends gets into the source.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attrs

from . import _strict
from ._decode_error import DecodeError
from ._json import checked_copy
from ._shapes import Field, Items, Plain, Shape, Words

if TYPE_CHECKING:
    from trio_mcp.types._revisions import Revision

__all__ = ["Hook", "HookMaker", "make_decoder", "make_encoder"]

Hook: TypeAlias = Callable[[Any], Any]
HookMaker: TypeAlias = Callable[[Shape, str], Hook]
"""Makes the function for a shape that needs one; the string names the field for errors."""

_EXPECTED: Final[dict[str, str]] = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "a boolean",
    "id": "a string or an integer",
    "object": "an object",
}

_PASSES: Final[dict[str, str]] = {
    "string": "x.__class__ is str",
    "integer": "x.__class__ is int",
    "boolean": "x is True or x is False",
    "id": "x.__class__ is str or x.__class__ is int",
    "object": "x.__class__ is dict",
}
"""When a value can go on as it is. The commonest class comes first."""

_ENCODERS: Final[dict[str, str]] = {
    "string": "encode_text",
    "integer": "encode_integer",
    "number": "encode_number",
    "boolean": "encode_bool",
    "id": "encode_id",
    "object": "encode_object",
}


class _Source:
    """Lines of a function, and the names that they use."""

    def __init__(self, head: str) -> None:
        self.lines = [head]
        self.names: dict[str, Any] = {
            "DecodeError": DecodeError,
            "checked_copy": checked_copy,
            **{name: getattr(_strict, name) for name in _strict.__all__},
        }
        self._indent = 1

    def add(self, line: str) -> None:
        self.lines.append("    " * self._indent + line)

    def block(self, head: str) -> _Block:
        self.add(head)
        return _Block(self)

    def shift(self, by: int) -> None:
        self._indent += by

    def compiled(self, name: str, file: str) -> Hook:
        code = compile("\n".join(self.lines), f"<{file}>", "exec")
        exec(code, self.names)  # noqa: S102 - source of this module
        made: Hook = self.names[name]
        return made


class _Block:
    def __init__(self, source: _Source) -> None:
        self._source = source

    def __enter__(self) -> None:
        self._source.shift(1)

    def __exit__(self, *_: object) -> None:
        self._source.shift(-1)


def _lazily(source: _Source, name: str, make: Callable[[], Hook]) -> None:
    """Bind `name` to a function that makes the real one when it is first called."""

    def first(value: Any) -> Any:
        hook = source.names[name] = make()
        return hook(value)

    source.names[name] = first


def make_decoder(cls: Any, fields: list[Field], revision: Revision, make_hook: HookMaker) -> Hook:
    """Make the function from JSON to an object of this class."""
    source = _Source("def decode(v):")
    readable = [each for each in fields if _is_read(each, revision)]
    source.names.update(
        new=object.__new__,
        cls=cls,
        draft=_draft_of(cls),
        known=frozenset(each.wire for each in readable),
    )
    with source.block("if v.__class__ is not dict:"):
        source.add('raise wrong("an object", v)')
    source.add("o = new(draft)")
    source.add("n = 0")
    has_strays = any(_is_foreign(each, revision) or _keeps_null(each) for each in readable)
    if has_strays:
        source.add("strays = ()")
    for number, field in enumerate(fields):
        if field in readable:
            _read_field(source, number, field, revision, make_hook)
        else:
            source.add(f"o.{field.name} = {_default(source, number, field, revision)}")
    left_out = "k not in known or k in strays" if has_strays else "k not in known"
    source.add(f"o.extra = {{}} if n == len(v) else {{k: w for k, w in v.items() if {left_out}}}")
    source.add("o.__class__ = cls")
    if hasattr(cls, "__attrs_post_init__"):
        with source.block("try:"):
            source.add("o.__attrs_post_init__()")
        with source.block("except ValueError as exc:"):
            source.add('raise DecodeError("a valid " + cls.__name__, str(exc)) from None')
    source.add("return o")
    return source.compiled("decode", f"trio_mcp decode {cls.__name__} {revision}")


def _draft_of(cls: Any) -> Any:
    """Make a twin of a class whose attributes can be set.

    An object begins as a draft, is filled by plain assignments, and then gets its own class,
    which Python allows because both have the same layout. That takes a quarter of the time of
    a frozen class's ``__init__``, which has to go round its own ``__setattr__``.
    """
    unlocked = {
        "__slots__": (),
        "__setattr__": object.__setattr__,
        "__delattr__": object.__delattr__,
    }
    return type(cls)(cls.__name__, (cls,), unlocked)


def _is_foreign(field: Field, revision: Revision) -> bool:
    return not revision.includes(field.since, field.until)


def _is_read(field: Field, revision: Revision) -> bool:
    return field.foreign == "read" or not _is_foreign(field, revision)


def _keeps_null(field: Field) -> bool:
    """Whether null is a value of its own, which is kept in ``extra``; None stands for absent."""
    return field.shape == Plain("any") and field.default is None


def _must_be_there(field: Field, revision: Revision) -> bool:
    return field.default is attrs.NOTHING or revision.version in field.required


def _default(source: _Source, number: int, field: Field, revision: Revision) -> str:
    """Write the expression for the value of a field that is not there."""
    if field.wire == "resultType" and field.default is None and revision.has_result_type:
        # An old server's empty result.
        return "'complete'"
    default: Any = field.default
    if isinstance(default, attrs.Factory):  # type: ignore[arg-type]  # a function to checkers
        source.names[f"make{number}"] = default.factory
        return f"make{number}()"
    if default is None or default.__class__ in (str, int, bool):
        return repr(default)
    source.names[f"default{number}"] = default
    return f"default{number}"


def _read_field(
    source: _Source, number: int, field: Field, revision: Revision, make_hook: HookMaker
) -> None:
    wire = field.wire
    must = _must_be_there(field, revision)
    with source.block(f"if {wire!r} in v:"):
        source.add(f"x = v[{wire!r}]")
        if _keeps_null(field):
            with source.block("if x is None:"):
                source.add(f"strays += ({wire!r},)")
            with source.block("else:"):
                source.add("n += 1")
        elif _is_foreign(field, revision):
            # Of another revision: taken if it fits, and kept aside if not.
            with source.block("try:"):
                _check(source, number, field, must=False, make_hook=make_hook)
            with source.block("except DecodeError:"):
                source.add(f"strays += ({wire!r},)")
                source.add(f"x = {_default(source, number, field, revision)}")
            with source.block("else:"):
                source.add("n += 1")
        else:
            source.add("n += 1")
            _check(source, number, field, must=must, make_hook=make_hook)
        source.add(f"o.{field.name} = x")
    with source.block("else:"):
        if must:
            source.add(f"raise missing({_expected(field.shape)!r}, {wire!r})")
        else:
            source.add(f"o.{field.name} = {_default(source, number, field, revision)}")


def _expected(shape: Shape) -> str:
    if isinstance(shape, Words):
        return _strict.listing(shape.words)
    if isinstance(shape, Plain):
        return _EXPECTED.get(shape.kind, "a value")
    return "an array" if isinstance(shape, Items) else "an object"


def _check(
    source: _Source, number: int, field: Field, *, must: bool, make_hook: HookMaker
) -> None:
    """Add the lines that check and convert ``x``, read from the wire."""
    shape, wire = field.shape, field.wire
    # Null stands for absent where absent is allowed, as many servers write it.
    null = "x is not None and " if field.nullable and not (must and field.required) else ""
    if isinstance(shape, Words):
        source.names[f"words{number}"] = words = shape.words
        test = f"x == {words[0]!r}" if len(words) == 1 else f"x in words{number}"
        with source.block(f"if {null}not (x.__class__ is str and {test}):"):
            source.add(f"raise chosen(words{number}, x, {wire!r})")
        return
    kind = shape.kind if isinstance(shape, Plain) else None
    if kind in ("any", "model"):
        source.add("pass")
        return
    if kind == "number":
        least, greatest = field.bounds or (None, None)
        test = "(x.__class__ is float or x.__class__ is int)"
        if least is not None:
            test = f"({test} and {least} <= x <= {greatest})"
        with source.block(f"if {null}not {test}:"):
            source.add(f"x = decode_number(x, {least!r}, {greatest!r}, {wire!r})")
        return
    if kind == "integer":
        with source.block(f"if {null}x.__class__ is not int:"):
            source.add(f"x = decode_integer(x, {wire!r})")
        if field.bounds:
            # Less than the least counts as that (2026-07-28, caching).
            with source.block(f"if {null}x < {field.bounds[0]}:"):
                source.add(f"x = {field.bounds[0]}")
        return
    if kind in _PASSES:
        with source.block(f"if {null}not ({_PASSES[kind]}):"):
            source.add(f"raise wrong({_EXPECTED[kind]!r}, x, {wire!r})")
        return
    _lazily(source, f"hook{number}", lambda: make_hook(shape, wire))
    with source.block("try:"):
        source.add(f"x = hook{number}(x)" + (" if x is not None else None" if null else ""))
    with source.block("except DecodeError as exc:"):
        source.add(f"raise exc.inside({wire!r})")


def make_encoder(cls: Any, fields: list[Field], revision: Revision, make_hook: HookMaker) -> Hook:
    """Make the function from an object of this class to JSON."""
    source = _Source("def encode(o):")
    source.add("d = {}")
    for number, field in enumerate(fields):
        if not _is_foreign(field, revision):
            _write_field(source, number, field, cls, revision, make_hook)
    with source.block("if o.extra:"), source.block("for k, w in o.extra.items():"):
        source.add("d.setdefault(k, checked_copy(w, k))")
    if _needs_result_type(cls, fields, revision):
        source.add('d.setdefault("resultType", "complete")')
    source.add("return d")
    return source.compiled("encode", f"trio_mcp encode {cls.__name__} {revision}")


def _needs_result_type(cls: Any, fields: list[Field], revision: Revision) -> bool:
    """Whether ``resultType`` has to be added to a result that knows nothing of it."""
    if not revision.has_result_type or getattr(cls, "is_input_response", True):
        return False
    return not any(each.wire == "resultType" and each.always for each in fields)


def _write_field(
    source: _Source,
    number: int,
    field: Field,
    cls: Any,
    revision: Revision,
    make_hook: HookMaker,
) -> None:
    source.add(f"x = o.{field.name}")
    where = f"{cls.__name__}.{field.name}"
    written = f"d[{field.wire!r}] = x"
    if field.nullable:
        if revision.version in field.required:
            with source.block("if x is None:"):
                problem = f"{where} is needed in revision {revision}"
                source.add(f"raise ValueError({problem!r})")
        condition: str | None = "x is not None"
    else:
        condition = _differs_from_default(source, number, field)
    if condition is None:
        _convert(source, number, field, where, make_hook)
        source.add(written)
        return
    with source.block(f"if {condition}:"):
        _convert(source, number, field, where, make_hook)
        source.add(written)
    if field.nullable and field.always:
        with source.block("else:"):
            source.add(f"d[{field.wire!r}] = None")


def _differs_from_default(source: _Source, number: int, field: Field) -> str | None:
    """Write the condition under which a field is written, None for always."""
    default: Any = field.default
    if default is None:
        return "x is not None"
    if field.always or default is attrs.NOTHING:
        return None
    if isinstance(default, attrs.Factory):  # type: ignore[arg-type]  # a function to checkers
        return "x"
    source.names[f"default{number}"] = default
    return f"x is not default{number}" if default.__class__ is bool else f"x != default{number}"


def _convert(source: _Source, number: int, field: Field, where: str, make_hook: HookMaker) -> None:
    """Add the lines that check and convert ``x``, an attribute's value."""
    shape = field.shape
    if isinstance(shape, Words):
        source.names[f"words{number}"] = words = shape.words
        with source.block(f"if not (x.__class__ is str and x in words{number}):"):
            source.add(f"x = encode_word(x, {words!r}, {where!r})")
        return
    kind = shape.kind if isinstance(shape, Plain) else None
    if kind in ("any", "object"):
        # JSON that user code made: nothing else can be wrong about what is written here.
        if kind == "object":
            with source.block("if x.__class__ is not dict:"):
                source.add(f"x = encode_object(x, {where!r})")
        source.add(f"x = checked_copy(x, {where!r})")
        return
    if kind == "number":
        with source.block("if x.__class__ is not int:"):
            source.add(f"x = encode_number(x, {where!r})")
        return
    if kind in _PASSES:
        with source.block(f"if not ({_PASSES[kind]}):"):
            source.add(f"x = {_ENCODERS[kind]}(x, {where!r})")
        return
    _lazily(source, f"hook{number}", lambda: make_hook(shape, where))
    with source.block("try:"):
        source.add(f"x = hook{number}(x)")
    with source.block("except (TypeError, ValueError) as exc:"):
        source.add(f"found_in(exc, {field.wire!r})")
        source.add("raise")
