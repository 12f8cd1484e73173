"""What asking the user comes to, and asking while the call waits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar

import attrs
from typing_extensions import TypeAliasType

from ._elicitation_form import FormError, form_of

if TYPE_CHECKING:
    from trio_mcp.server import ServerSession
    from trio_mcp.types import ElicitResult, RequestId
    from trio_mcp.types._base import JsonObject

ElicitSchemaModelT = TypeVar("ElicitSchemaModelT")


@attrs.frozen(kw_only=True)
class AcceptedElicitation(Generic[ElicitSchemaModelT]):
    """The user answered; ``data`` is an object of the class that was asked for."""

    action: Literal["accept"] = "accept"
    data: ElicitSchemaModelT


@attrs.frozen(kw_only=True)
class DeclinedElicitation:
    """The user said no."""

    action: Literal["decline"] = "decline"


@attrs.frozen(kw_only=True)
class CancelledElicitation:
    """The user closed the question without an answer."""

    action: Literal["cancel"] = "cancel"


ElicitationResult = TypeAliasType(
    "ElicitationResult",
    AcceptedElicitation[ElicitSchemaModelT] | DeclinedElicitation | CancelledElicitation,
    type_params=(ElicitSchemaModelT,),
)
"""What became of a question, told apart by ``action`` or by class."""


@attrs.frozen(kw_only=True)
class AcceptedUrlElicitation:
    """The user agreed to visit the URL; whether what waits there is done, is not said."""

    action: Literal["accept"] = "accept"


UrlElicitationResult: TypeAlias = (
    AcceptedUrlElicitation | DeclinedElicitation | CancelledElicitation
)
"""What became of an invitation to visit a URL."""


def render_elicitation_schema(schema: type[Any]) -> JsonObject:
    """Write a class as the schema of a form (elicitation, requested schema).

    Args:
      schema: An attrs class, dataclass, TypedDict, pydantic model or msgspec struct. Fields
        are text, numbers, booleans, dates, and choices of text: a Literal or an Enum, or a list
        of one for several choices. Members of an Enum with an attribute ``title`` are shown by
        it. A field with a default may be left empty.

    Raises:
      TypeError: if a field is anything else.

    """
    return dict(form_of(schema).schema)


async def elicit_with_validation(
    session: ServerSession,
    message: str,
    schema: type[ElicitSchemaModelT],
    related_request_id: RequestId | None = None,
) -> ElicitationResult[ElicitSchemaModelT]:
    """Ask the user to fill in a form, and wait for the answer.

    Raises:
      TypeError: if the class cannot be a form. Nothing is sent then.
      ValueError: if the answer does not fit the form.
      MCPError: -32021 if the client did not declare that it shows forms.
      NoBackChannelError: if the client cannot be asked here, as always in the modern era.

    """
    form = form_of(schema)
    answer = await session.elicit_form(message, dict(form.schema), related_request_id)
    return result_of(answer, schema)


def result_of(
    answer: ElicitResult, schema: type[ElicitSchemaModelT]
) -> ElicitationResult[ElicitSchemaModelT]:
    """Read the answer to a form.

    Raises:
      FormError: if it does not fit.

    """
    if answer.action == "decline":
        return DeclinedElicitation()
    if answer.action == "cancel":
        return CancelledElicitation()
    if answer.content is None:
        raise FormError("the form was accepted without content")
    return AcceptedElicitation(data=form_of(schema).read(answer.content))


async def elicit_url(
    session: ServerSession,
    message: str,
    url: str,
    elicitation_id: str,
    related_request_id: RequestId | None = None,
) -> UrlElicitationResult:
    """Ask the user to visit a URL, and wait for consent.

    Raises:
      MCPError: -32021 if the client did not declare that it opens URLs.
      NoBackChannelError: if the client cannot be asked here, as always in the modern era.

    """
    answer = await session.elicit_url(message, url, elicitation_id, related_request_id)
    match answer.action:
        case "accept":
            return AcceptedUrlElicitation()
        case "decline":
            return DeclinedElicitation()
        case "cancel":
            return CancelledElicitation()
