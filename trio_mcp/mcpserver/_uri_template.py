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

from typing import TYPE_CHECKING, Final

import attrs

from ._uri_grammar import (
    RULES,
    Expression,
    InvalidUriTemplate,
    Operator,
    OperatorRule,
    Part,
    Variable,
    check_variables,
    encode,
    expressions,
    parts_of,
)
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

DEFAULT_MAX_TEMPLATE_LENGTH: Final = 8192
DEFAULT_MAX_VARIABLES: Final = 256
DEFAULT_MAX_URI_LENGTH: Final = 65536


@attrs.frozen
class UriTemplate:
    """A parsed template. Make one with `parse`; equal templates are equal strings.

    Attributes:
      template: The template as it was given.

    """

    template: str
    _parts: tuple[Part, ...] = attrs.field(repr=False, eq=False)
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
        parts = tuple(parts_of(template))
        check_variables(template, parts, max_variables)
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
        return [variable for each in expressions(self._parts) for variable in each.variables]

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
            encode(part, keep_reserved=True)
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


def _split_lenient_query(
    parts: Sequence[Part],
) -> tuple[Sequence[Part], tuple[Variable, ...]]:
    """Part a closing ``{?…}{&…}`` from the path before it.

    The path may then hold no query and no fragment of its own, or the ``?`` of the URI would
    not be the one that the expression writes; in such templates all is matched as it stands.
    """
    start = len(parts)
    while start and isinstance(last := parts[start - 1], Expression):
        if last.operator not in ("?", "&"):
            break
        start -= 1
    if start == len(parts):
        return parts, ()
    first = parts[start]
    assert isinstance(first, Expression)
    if first.operator != "?" or any(_writes_query_or_fragment(part) for part in parts[:start]):
        return parts, ()
    query = tuple(variable for each in expressions(parts[start:]) for variable in each.variables)
    return parts[:start], query


def _writes_query_or_fragment(part: Part) -> bool:
    if isinstance(part, str):
        return "?" in part or "#" in part
    return part.operator in ("?", "#")


def _atoms_of(parts: Sequence[Part]) -> Iterator[Fixed | Capture]:
    for part in parts:
        if isinstance(part, str):
            yield Fixed(part, encode(part, keep_reserved=True))
            continue
        rule = RULES[part.operator]
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
    expression: Expression, variables: Mapping[str, str | Sequence[str]]
) -> str:
    rule = RULES[expression.operator]
    written = [
        rule.separator.join(_expand_value(variable, rule, values))
        for variable in expression.variables
        if (values := _values_of(variable.name, variables)) is not None
    ]
    return rule.first + rule.separator.join(written) if written else ""


def _expand_value(variable: Variable, rule: OperatorRule, values: Sequence[str]) -> Iterator[str]:
    encoded = [encode(value, keep_reserved=rule.keeps_reserved) for value in values]
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
