"""The grammar of URI templates (RFC 6570 section 2), and what its operators mean."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args
from urllib.parse import quote

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Operator = Literal["", "+", "#", ".", "/", ";", "?", "&"]

_RESERVED: Final = ":/?#[]@!$&'()*+,;="  # RFC 3986 section 2.2
_TRIPLET: Final = re.compile(r"(%[0-9A-Fa-f]{2})")
_VARCHAR: Final = r"(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})"
_VARNAME: Final = re.compile(rf"{_VARCHAR}+(?:\.{_VARCHAR}+)*")  # RFC 6570 section 2.3


class InvalidUriTemplate(ValueError):
    """A string that is no URI template, or one that could not be matched without guessing.

    Attributes:
      template: The whole string.
      position: Where in it the trouble begins, if it is in one place.

    """

    __module__ = "trio_mcp.mcpserver"

    def __init__(self, message: str, *, template: str, position: int | None = None) -> None:
        super().__init__(message)
        self.template = template
        self.position = position

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild_error, (str(self), self.template, self.position))


def _rebuild_error(message: str, template: str, position: int | None) -> InvalidUriTemplate:
    return InvalidUriTemplate(message, template=template, position=position)


@attrs.frozen
class OperatorRule:
    """One row of the table in RFC 6570 appendix A, and where a value ends in a URI."""

    first: str
    separator: str
    named: bool
    if_empty: str
    keeps_reserved: bool
    stops: str


RULES: Final[dict[Operator, OperatorRule]] = {
    "": OperatorRule("", ",", False, "", False, "/?#&"),
    "+": OperatorRule("", ",", False, "", True, "?#"),
    "#": OperatorRule("#", ",", False, "", True, ""),
    ".": OperatorRule(".", ".", False, "", False, "./?#"),
    "/": OperatorRule("/", "/", False, "", False, "/?#"),
    ";": OperatorRule(";", ";", True, "", False, ";/?#"),
    "?": OperatorRule("?", "&", True, "=", False, "&#"),
    "&": OperatorRule("&", "&", True, "=", False, "&#"),
}


@attrs.frozen
class Variable:
    """One variable of a template.

    Attributes:
      name: The name between the braces.
      operator: The character after the opening brace, or an empty string.
      explode: Whether a ``*`` follows the name, so that its value is a list.

    """

    name: str
    operator: Operator
    explode: bool = False

    @property
    def spans_segments(self) -> bool:
        return self.explode or self.operator in ("+", "#")


@attrs.frozen
class Expression:
    operator: Operator
    variables: tuple[Variable, ...]
    position: int


Part: TypeAlias = str | Expression


def expressions(parts: Sequence[Part]) -> Iterator[Expression]:
    return (part for part in parts if isinstance(part, Expression))


def parts_of(template: str) -> Iterator[Part]:
    at = 0
    while at < len(template):
        opening = template.find("{", at)
        literal_end = len(template) if opening < 0 else opening
        stray = template.find("}", at, literal_end)
        if stray >= 0:
            raise InvalidUriTemplate(
                f"'}}' at position {stray} closes nothing", template=template, position=stray
            )
        if literal_end > at:
            yield template[at:literal_end]
        if opening < 0:
            return
        closing = template.find("}", opening)
        if closing < 0:
            raise InvalidUriTemplate(
                f"The expression at position {opening} is not closed",
                template=template,
                position=opening,
            )
        yield _parse_expression(template, opening, closing)
        at = closing + 1


def _parse_expression(template: str, opening: int, closing: int) -> Expression:
    at = opening + 1
    operator: Operator = ""
    for each in get_args(Operator)[1:]:
        if template.startswith(each, at):
            operator = each
            at += 1
    if at == closing:
        raise InvalidUriTemplate(
            f"The expression at position {opening} names no variable",
            template=template,
            position=opening,
        )
    variables: list[Variable] = []
    for spec in template[at:closing].split(","):
        variables.append(_parse_variable(template, spec, at, operator))
        at += len(spec) + 1
    return Expression(operator, tuple(variables), opening)


def _parse_variable(template: str, spec: str, at: int, operator: Operator) -> Variable:
    def invalid(why: str) -> InvalidUriTemplate:
        return InvalidUriTemplate(f"{why} (position {at})", template=template, position=at)

    if ":" in spec:
        raise invalid(f"The prefix modifier of {spec!r} is not supported")
    explode = spec.endswith("*")
    name = spec.removesuffix("*")
    if not _VARNAME.fullmatch(name):
        raise invalid(f"{name!r} is no variable name")
    if explode and operator not in (".", "/", ";"):
        raise invalid(f"'*' is not supported in {{{operator}{spec}}}")
    return Variable(name, operator, explode)


def check_variables(template: str, parts: Sequence[Part], max_variables: int) -> None:
    seen: set[str] = set()
    queries = 0
    for expression in expressions(parts):
        for variable in expression.variables:
            if variable.name in seen:
                raise InvalidUriTemplate(
                    f"The variable {variable.name!r} appears more than once",
                    template=template,
                    position=expression.position,
                )
            seen.add(variable.name)
        if len(seen) > max_variables:
            raise InvalidUriTemplate(
                f"The template has more than {max_variables} variables",
                template=template,
                position=expression.position,
            )
        queries += expression.operator == "?"
        if queries > 1:
            raise InvalidUriTemplate(
                "A URI has one query: write {?a,b} or {?a}{&b} for several variables",
                template=template,
                position=expression.position,
            )


def encode(value: str, *, keep_reserved: bool) -> str:
    if not keep_reserved:
        return quote(value, safe="")
    # RFC 6570 section 3.2.3: triplets that are there already go through as they are.
    pieces = _TRIPLET.split(value)
    return "".join(
        piece if index % 2 else quote(piece, safe=_RESERVED) for index, piece in enumerate(pieces)
    )
