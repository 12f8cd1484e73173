"""What a form says of fields that the user left alone, and of those that were filled in."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from trio_mcp import types
from trio_mcp._codec import excerpt
from trio_mcp.types._base import is_object

if TYPE_CHECKING:
    from trio_mcp._rpc._repeats import Repeats
    from trio_mcp.types import ElicitRequestParams, ErrorData

logger: Final = logging.getLogger("trio_mcp.client")


def with_defaults(
    params: ElicitRequestParams, answer: types.ElicitResult | ErrorData, repeats: Repeats
) -> types.ElicitResult | ErrorData:
    """Fill an accepted form's missing fields with the defaults that its schema names.

    Where the user was sent to a URL, nothing that the callback adds is told to the server.

    An answer that does not fit the form is logged, without what the user wrote, and left to the
    server to refuse: it is the one that knows what it asked for.
    """
    if (
        params.mode == "url"
        and isinstance(answer, types.ElicitResult)
        and answer.content is not None
    ):
        logger.warning(
            "The answer to a URL elicitation has no content; what was given is not sent"
        )
        return answer.evolve(content=None)
    schema: Any = getattr(params, "requested_schema", None)
    if not isinstance(answer, types.ElicitResult) or answer.action != "accept" or schema is None:
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
    _check(schema, content, repeats)
    return answer.evolve(content=content)


def _check(schema: Any, content: dict[str, Any], repeats: Repeats) -> None:
    from trio_mcp._codec._schema import SchemaError, compile_validator  # noqa: PLC0415 - heavy

    try:
        violation = compile_validator(schema, trusted=False, where="the form").check(content)
    except SchemaError as exc:
        repeats.warn(
            logger,
            "A form of the server cannot be used to check its answer: %s",
            excerpt(str(exc)),
        )
        return
    if violation is not None:
        logger.warning(
            "The answer to an elicitation does not fit its form, at %s",
            excerpt(violation.path or "the top"),
        )
