"""What a form says of fields that the user left alone (elicitation, defaults)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trio_mcp.types import ElicitResult
from trio_mcp.types._base import is_object

if TYPE_CHECKING:
    from trio_mcp.types import ElicitRequestParams, ErrorData


def with_defaults(
    params: ElicitRequestParams, answer: ElicitResult | ErrorData
) -> ElicitResult | ErrorData:
    """Fill an accepted form's missing fields with the defaults that its schema names."""
    schema: Any = getattr(params, "requested_schema", None)
    if not isinstance(answer, ElicitResult) or answer.action != "accept" or schema is None:
        return answer
    properties = schema.get("properties") if is_object(schema) else None
    if not is_object(properties):
        return answer
    content = dict(answer.content or {})
    content |= {
        name: field["default"]
        for name, field in properties.items()
        if name not in content and is_object(field) and "default" in field
    }
    return answer.evolve(content=content)
