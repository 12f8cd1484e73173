"""URI templates of RFC 6570, in both directions.

`UriTemplate.expand` does what the RFC defines. `UriTemplate.match` is the way back, which the
RFC leaves open (section 1.4); `_uri_match` tells how it decides. A template that could not be
matched without guessing is refused when it is parsed, with the position of the trouble:

- the prefix modifier ``{x:3}``, since what was cut off cannot come back;
- ``*`` where the items of a list would have no separator of their own (``{x*}``, ``{+x*}``,
  ``{#x*}``), and on query variables;
- one name twice, and two ``{?…}`` expressions;
- two variables with nothing between them (``{x}{/y*}`` has the ``/``), and two that may each
  span several segments.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal, get_args
from urllib.parse import quote

import attrs

from ._uri_match import Capture, Fixed, Matcher, UnclearTemplate, decode

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = [
    "DEFAULT_MAX_TEMPLATE_LENGTH",
    "DEFAULT_MAX_URI_LENGTH",
    "DEFAULT_MAX_VARIABLES",
    "InvalidUriTemplate",
    "Operator",
    "UriTemplate",
    "Variable",
]

Operator = Literal["", "+", "#", ".", "/", ";", "?", "&"]

DEFAULT_MAX_TEMPLATE_LENGTH: Final = 8192
DEFAULT_MAX_VARIABLES: Final = 256
DEFAULT_MAX_URI_LENGTH: Final = 65536

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

    def __init__(self, message: str, *, template: str, position: int | None = None) -> None:
        super().__init__(message)
        self.template = template
        self.position = position

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild_error, (str(self), self.template, self.position))


def _rebuild_error(message: str, template: str, position: int | None) -> InvalidUriTemplate:
    return InvalidUriTemplate(message, template=template, position=position)


@attrs.frozen
class _OperatorRule:
    """One row of the table in RFC 6570 appendix A, and where a value ends in a URI."""

    first: str
    separator: str
    named: bool
    if_empty: str
    keeps_reserved: bool
    stops: str


_RULES: Final[dict[Operator, _OperatorRule]] = {
    "": _OperatorRule("", ",", False, "", False, "/?#&"),
    "+": _OperatorRule("", ",", False, "", True, "?#"),
    "#": _OperatorRule("#", ",", False, "", True, ""),
    ".": _OperatorRule(".", ".", False, "", False, "./?#"),
    "/": _OperatorRule("/", "/", False, "", False, "/?#"),
    ";": _OperatorRule(";", ";", True, "", False, ";/?#"),
    "?": _OperatorRule("?", "&", True, "=", False, "&#"),
    "&": _OperatorRule("&", "&", True, "=", False, "&#"),
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
class _Expression:
    operator: Operator
    variables: tuple[Variable, ...]
    position: int


_Part = str | _Expression


@attrs.frozen
class UriTemplate:
    """A parsed template. Make one with `parse`; equal templates are equal strings.

    Attributes:
      template: The template as it was given.

    """

    template: str
    _parts: tuple[_Part, ...] = attrs.field(repr=False, eq=False)
    _matcher: Matcher = attrs.field(repr=False, eq=False)
    _query: tuple[Variable, ...] = attrs.field(repr=False, eq=False)

    @staticmethod
    def is_template(value: str) -> bool:
        """Tell whether a string holds a ``{…}``, without checking that it is well-formed."""
        opening = value.find("{")
        return opening >= 0 and value.find("}", opening) >= 0

    @classmethod
    def parse(
        cls,
        template: str,
        *,
        max_length: int = DEFAULT_MAX_TEMPLATE_LENGTH,
        max_variables: int = DEFAULT_MAX_VARIABLES,
    ) -> UriTemplate:
        """Parse a template.

        Args:
          template: What RFC 6570 calls a URI template.
          max_length: The most characters it may have.
          max_variables: The most variables it may have in all its expressions.

        Raises:
          InvalidUriTemplate: if it is malformed, too large, or cannot be matched clearly.

        """
        if len(template) > max_length:
            raise InvalidUriTemplate(
                f"The template has {len(template)} characters, at most {max_length} are allowed",
                template=template,
            )
        parts = tuple(_parts_of(template))
        _check_variables(template, parts, max_variables)
        path, query = _split_lenient_query(parts)
        try:
            matcher = Matcher.of(list(_atoms_of(path)))
        except UnclearTemplate as unclear:
            raise InvalidUriTemplate(
                str(unclear), template=template, position=unclear.position
            ) from None
        return cls(template, parts, matcher, query)

    @property
    def variables(self) -> list[Variable]:
        """All variables, in the order of the template."""
        return [variable for each in _expressions(self._parts) for variable in each.variables]

    @property
    def variable_names(self) -> list[str]:
        """The names of all variables, in the order of the template."""
        return [variable.name for variable in self.variables]

    @property
    def query_variable_names(self) -> frozenset[str]:
        """The variables that a matching URI may leave out.

        They are those of a ``{?…}`` at the end of the template and of the ``{&…}`` after it.
        All other variables have a value, perhaps an empty one, in every match.
        """
        return frozenset(variable.name for variable in self._query)

    def expand(self, variables: Mapping[str, str | Sequence[str]]) -> str:
        """Write the URI for these values.

        Args:
          variables: A string or a list of strings for each variable. As the RFC has it, a
            variable without a value (and one with an empty list) is left out.

        Raises:
          TypeError: if a value is neither a string nor a sequence of strings.

        """
        return "".join(
            _encode(part, keep_reserved=True)
            if isinstance(part, str)
            else _expand_expression(part, variables)
            for part in self._parts
        )

    def match(
        self, uri: str, *, max_uri_length: int = DEFAULT_MAX_URI_LENGTH
    ) -> dict[str, str | list[str]] | None:
        """Read the values out of a URI.

        ``{x}`` takes text within one segment, ``{+x}`` and exploded variables more than one.
        Values are percent-decoded once, after the URI has been taken apart, so a value may hold
        the ``/`` of a ``%2F``; a ``+`` stays a ``+``. In a query at the end the order is free,
        variables may be missing and others may be there.

        Args:
          uri: The URI as the peer sent it.
          max_uri_length: A longer URI does not match.

        Returns:
          A string for each variable, a list for an exploded one; None if the URI does not match.
          It takes time linear in the URI's length for each variable, whatever the URI.

        """
        if len(uri) > max_uri_length:
            return None
        if not self._query:
            return self._matcher.match(uri)
        path, _, query = uri.partition("#")[0].partition("?")
        found = self._matcher.match(path)
        if found is None:
            return None
        given = dict(_query_pairs(query))
        for variable in self._query:
            if variable.name in given:
                value = decode(given[variable.name])
                if value is None:
                    return None
                found[variable.name] = value
        return found

    def __str__(self) -> str:
        return self.template


def _expressions(parts: Sequence[_Part]) -> Iterator[_Expression]:
    return (part for part in parts if isinstance(part, _Expression))


# Parsing


def _parts_of(template: str) -> Iterator[_Part]:
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


def _parse_expression(template: str, opening: int, closing: int) -> _Expression:
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
    return _Expression(operator, tuple(variables), opening)


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


def _check_variables(template: str, parts: Sequence[_Part], max_variables: int) -> None:
    seen: set[str] = set()
    queries = 0
    for expression in _expressions(parts):
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


def _split_lenient_query(
    parts: Sequence[_Part],
) -> tuple[Sequence[_Part], tuple[Variable, ...]]:
    """Part a closing ``{?…}{&…}`` from the path before it.

    The path may then hold no query and no fragment of its own, or the ``?`` of the URI would
    not be the one that the expression writes; in such templates all is matched as it stands.
    """
    start = len(parts)
    while start and isinstance(last := parts[start - 1], _Expression):
        if last.operator not in ("?", "&"):
            break
        start -= 1
    if start == len(parts):
        return parts, ()
    first = parts[start]
    assert isinstance(first, _Expression)
    if first.operator != "?" or any(_writes_query_or_fragment(part) for part in parts[:start]):
        return parts, ()
    query = tuple(variable for each in _expressions(parts[start:]) for variable in each.variables)
    return parts[:start], query


def _writes_query_or_fragment(part: _Part) -> bool:
    if isinstance(part, str):
        return "?" in part or "#" in part
    return part.operator in ("?", "#")


def _atoms_of(parts: Sequence[_Part]) -> Iterator[Fixed | Capture]:
    for part in parts:
        if isinstance(part, str):
            yield Fixed(part, _encode(part, keep_reserved=True))
            continue
        rule = _RULES[part.operator]
        for index, variable in enumerate(part.variables):
            lead = rule.separator if index else rule.first
            stops = rule.stops
            if not part.operator and len(part.variables) > 1:
                stops += ","  # the separator; in a lone {x} a comma is like any other character
            if variable.explode:
                # "{/x*}" writes its own separators: "/a/b" for two values, nothing for none.
                yield Capture(
                    variable.name,
                    stops.replace(rule.separator, ""),
                    part.position,
                    lead=rule.separator,
                    separator=rule.separator,
                    item_prefix=f"{variable.name}=" if rule.named else "",
                    spans_segments=True,
                )
            elif part.operator == ";":
                # ";x=1", but ";x" alone when the value is empty.
                text = f"{lead}{variable.name}"
                yield Fixed(text, text)
                yield Capture(variable.name, stops, part.position, lead="=")
            else:
                text = f"{lead}{variable.name}=" if rule.named else lead
                if text:
                    yield Fixed(text, text)
                yield Capture(
                    variable.name, stops, part.position, spans_segments=variable.spans_segments
                )


def _query_pairs(query: str) -> Iterator[tuple[str, str]]:
    """Give the names and values of a query, the first of each name last, so that it counts.

    Names are taken as they are: expansion never encodes them, and decoding them would let
    ``%74oken=x`` pass for ``token``.
    """
    for pair in reversed(query.split("&")):
        name, _, value = pair.partition("=")
        yield name, value


# Expanding


def _expand_expression(
    expression: _Expression, variables: Mapping[str, str | Sequence[str]]
) -> str:
    rule = _RULES[expression.operator]
    written = [
        rule.separator.join(_expand_value(variable, rule, values))
        for variable in expression.variables
        if (values := _values_of(variable.name, variables)) is not None
    ]
    return rule.first + rule.separator.join(written) if written else ""


def _expand_value(variable: Variable, rule: _OperatorRule, values: Sequence[str]) -> Iterator[str]:
    encoded = [_encode(value, keep_reserved=rule.keeps_reserved) for value in values]
    for text in encoded if variable.explode else [",".join(encoded)]:
        if not rule.named:
            yield text
        elif text:
            yield f"{variable.name}={text}"
        else:
            yield variable.name + rule.if_empty


def _values_of(name: str, variables: Mapping[str, str | Sequence[str]]) -> Sequence[str] | None:
    if name not in variables:
        return None
    value: object = variables[name]
    if isinstance(value, str):
        return [value]
    if isinstance(value, (list, tuple)):
        items: list[object] = list(value)
        texts = [item for item in items if isinstance(item, str)]
        if len(texts) == len(items):
            return texts or None
    raise TypeError(f"The value of {name!r} must be a string or a list of strings, not {value!r}")


def _encode(value: str, *, keep_reserved: bool) -> str:
    if not keep_reserved:
        return quote(value, safe="")
    # RFC 6570 section 3.2.3: triplets that are there already go through as they are.
    pieces = _TRIPLET.split(value)
    return "".join(
        piece if index % 2 else quote(piece, safe=_RESERVED) for index, piece in enumerate(pieces)
    )
