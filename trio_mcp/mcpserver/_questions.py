"""What a resolver may return instead of a value: a question to the client."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeGuard, TypeVar, Unpack

from trio_mcp.errors import MCPDeprecationWarning
from trio_mcp.types import (
    CreateMessageResult,
    CreateMessageResultWithTools,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    ListRootsRequest,
    ListRootsResult,
)
from trio_mcp.types._sampling_options import sampling_request, spells_out_sampling_options

from ._elicitation import AcceptedElicitation, result_of
from ._elicitation_form import form_of

if TYPE_CHECKING:
    from trio_mcp.types import (
        InputResponse,
        SamplingMessage,
    )
    from trio_mcp.types._sampling_options import SamplingOptions

    from ._elicitation import ElicitationResult

T = TypeVar("T")


class WrongAnswer(ValueError):
    """The client answered something else than what was asked."""


class Elicit(Generic[T]):
    """Ask the user to fill in a form; the value is an object of the class.

    Args:
      message: What the user reads.
      schema: The form: an attrs class, dataclass, TypedDict, pydantic model or msgspec struct
          of flat fields; see `render_elicitation_schema`.

    Raises:
      TypeError: if the class cannot be a form.

    """

    answer_type: type[InputResponse] = ElicitResult

    def __init__(self, message: str, schema: type[T]) -> None:
        self.message = message
        self.schema = schema
        self.request = ElicitRequest(
            params=ElicitRequestFormParams(
                message=message, requested_schema=dict(form_of(schema).schema)
            )
        )

    def outcome(self, answer: InputResponse) -> ElicitationResult[T]:
        """Read an answer.

        Raises:
          WrongAnswer: if it is none to this question.

        """
        if not isinstance(answer, ElicitResult):
            raise WrongAnswer("an answer to an elicitation was expected")
        try:
            return result_of(answer, self.schema)
        except ValueError as exc:
            raise WrongAnswer(str(exc)) from exc


class Sample:
    """Ask the client's model to go on with a conversation; the value is a `CreateMessageResult`.

    With tools, which the client must have declared that it takes, it is a
    `CreateMessageResultWithTools`.

    .. deprecated:: 2026-07-28
       By the specification. It goes on working until the revision that removes it.
    """

    @spells_out_sampling_options
    def __init__(
        self,
        messages: list[SamplingMessage],
        *,
        max_tokens: int,
        **options: Unpack[SamplingOptions],
    ) -> None:
        self.request = sampling_request(messages, max_tokens, options)
        self.params = params = self.request.params
        if params.include_context not in (None, "none"):
            warnings.warn(
                f"include_context={params.include_context!r} is deprecated since protocol version "
                "2025-11-25",
                MCPDeprecationWarning,
                stacklevel=2,
            )
        uses_tools = params.tools is not None or params.tool_choice is not None
        self.answer_type: type[InputResponse] = (
            CreateMessageResultWithTools if uses_tools else CreateMessageResult
        )

    def outcome(self, answer: InputResponse) -> ElicitationResult[Any]:
        """Read an answer.

        Raises:
          WrongAnswer: if it is none to this question.

        """
        if self.answer_type is CreateMessageResultWithTools and isinstance(
            answer, CreateMessageResult
        ):
            # One block without tools is written the same in both.
            answer = CreateMessageResultWithTools(
                role=answer.role,
                content=answer.content,
                model=answer.model,
                stop_reason=answer.stop_reason,
                meta=answer.meta,
            )
        if not isinstance(answer, self.answer_type):
            raise WrongAnswer("a message of a model was expected")
        return AcceptedElicitation(data=answer)


class ListRoots:
    """Ask the client for its roots; the value is a `ListRootsResult`.

    .. deprecated:: 2026-07-28
       By the specification. It goes on working until the revision that removes it.
    """

    answer_type: type[InputResponse] = ListRootsResult

    def __init__(self) -> None:
        self.request = ListRootsRequest()

    def outcome(self, answer: InputResponse) -> ElicitationResult[ListRootsResult]:
        """Read an answer.

        Raises:
          WrongAnswer: if it is none to this question.

        """
        if not isinstance(answer, ListRootsResult):
            raise WrongAnswer("a list of roots was expected")
        return AcceptedElicitation(data=answer)


Question: TypeAlias = Elicit[Any] | Sample | ListRoots


def is_question(value: object) -> TypeGuard[Question]:
    return isinstance(value, (Elicit, Sample, ListRoots))
