"""The dialects of JSON Schema that are understood.

A schema without ``$schema`` is 2020-12 (specification, *JSON Schema usage*). The older drafts
below are understood too, and a schema is always checked by the rules of the dialect it declares.
Any other ``$schema``, a custom metaschema included, is refused, because ignoring it would mean to
validate by rules that the author did not choose.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs

from trio_mcp.types._base import is_object

from ._errors import SchemaError
from ._paths import quote

if TYPE_CHECKING:
    from trio_mcp.types._base import JsonValue


@attrs.frozen
class Dialect:
    """One draft of JSON Schema."""

    name: str
    uri: str
    """The value of ``$schema``, without a trailing ``#``."""
    engine_class: str
    """The class of the full engine that implements it."""
    id_keyword: str = "$id"


DRAFT_2020_12: Final = Dialect(
    "2020-12", "https://json-schema.org/draft/2020-12/schema", "Draft202012Validator"
)

DIALECTS: Final = {
    dialect.uri: dialect
    for dialect in (
        DRAFT_2020_12,
        Dialect("2019-09", "https://json-schema.org/draft/2019-09/schema", "Draft201909Validator"),
        Dialect("draft-07", "http://json-schema.org/draft-07/schema", "Draft7Validator"),
        Dialect("draft-06", "http://json-schema.org/draft-06/schema", "Draft6Validator"),
        Dialect("draft-04", "http://json-schema.org/draft-04/schema", "Draft4Validator", "id"),
    )
}


def dialect_of(schema: JsonValue, *, where: str = "schema") -> Dialect:
    """The dialect that a schema declares, or the default.

    Raises:
      SchemaError: if it declares one that is not supported.

    """
    if not is_object(schema) or "$schema" not in schema:
        return DRAFT_2020_12
    declared = schema["$schema"]
    found = DIALECTS.get(declared.removesuffix("#")) if isinstance(declared, str) else None
    if found is None:
        shown = quote(declared, 100) if isinstance(declared, str) else "no string"
        raise SchemaError(
            f"unsupported JSON Schema dialect {shown}; supported: {', '.join(DIALECTS)}",
            path="$schema",
            where=where,
        )
    return found
