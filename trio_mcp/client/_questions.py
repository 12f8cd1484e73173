"""What extensions do with requests of the server: stand round some, and serve others."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from trio_mcp import types
from trio_mcp._checks import awaited, check_kind, wrong_kind
from trio_mcp._codec import checked_copy, encode
from trio_mcp._codec._reading import read_as
from trio_mcp._protocol._refusals import invalid_params
from trio_mcp.errors import MCPError
from trio_mcp.types._base import WireModel, is_object

from ._callbacks import ClientRequestContext

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from trio_mcp.types import InputRequest
    from trio_mcp.types._base import JsonObject
    from trio_mcp.types._revisions import Revision

    from ._extensions import RequestAnswer, RequestBinding, RequestNext

    InterceptRequest: TypeAlias = Callable[
        [InputRequest, ClientRequestContext, RequestNext], Awaitable[RequestAnswer]
    ]


def question_of(method: str, params: Any) -> InputRequest:
    """Make the question that a request of the server is."""
    import trio_mcp.types as wire  # noqa: PLC0415 - classes are looked up by name

    question: InputRequest = getattr(wire, _QUESTIONS[method])(params=params)
    return question


_QUESTIONS: Final = {
    "roots/list": "ListRootsRequest",
    "sampling/createMessage": "CreateMessageRequest",
    "elicitation/create": "ElicitRequest",
}


async def ask_intercepted(
    interceptors: Sequence[tuple[str, InterceptRequest]],
    request: InputRequest,
    context: ClientRequestContext,
    ask: RequestNext,
) -> Any:
    """Put a question to a callback through those that stand round it; the first is outermost.

    Args:
      interceptors: Each with what it is called in errors.
      request: The question.
      context: What the callback is told of it.
      ask: Calls the callback.

    Raises:
      TypeError: if one of them is no async function, answers something else, or passes it on.
      ValueError: if it passes on another question.

    """
    call_next: RequestNext = functools.partial(_ask_for, request.method, ask)
    for name, intercept in reversed(interceptors):
        call_next = functools.partial(_intercept, name, intercept, call_next, context)
    return await call_next(request)


def _ask_for(
    method: str,
    ask: RequestNext,
    request: InputRequest,
    changed: ClientRequestContext | None = None,
    /,
) -> Awaitable[RequestAnswer]:
    check_kind("what intercept_request passes on", request, types.Request)
    if request.method != method:
        raise ValueError(
            f"what intercept_request passes on: expected a question of {method}, "
            f"got {request.method!r:.80}"
        )
    if request.params is not None:
        check_kind("the params that intercept_request passes on", request.params, WireModel)
    if changed is not None:
        check_kind("the context that intercept_request passes on", changed, ClientRequestContext)
    return ask(request, changed)


async def _intercept(
    name: str,
    intercept: InterceptRequest,
    call_next: RequestNext,
    context: ClientRequestContext,
    request: InputRequest,
    changed: ClientRequestContext | None = None,
    /,
) -> RequestAnswer:
    told = context if changed is None else changed
    answer = await awaited(name, intercept(request, told, _telling(call_next, told)))
    kinds = (WireModel, dict, types.ErrorData)
    expected = "a wire type, a dict or ErrorData"
    check_kind(f"what {name} returned", answer, kinds, expected)
    return answer


def _telling(call_next: RequestNext, told: ClientRequestContext) -> RequestNext:
    """Pass on what somebody further out has changed in the context."""

    def answer(
        request: InputRequest, changed: ClientRequestContext | None = None, /
    ) -> Awaitable[RequestAnswer]:
        return call_next(request, told if changed is None else changed)

    return answer


async def serve(
    binding: RequestBinding[Any],
    context: ClientRequestContext,
    params: JsonObject,
    revision: Revision,
) -> JsonObject:
    """Have an extension answer a request of its own.

    Raises:
      MCPError: what it answers with; -32602 if the params do not fit.
      TypeError: if its handler is no async function, or its answer is none.

    """
    try:
        read = read_as(binding.params_type, params, revision, where="params")
    except ValueError as exc:
        raise invalid_params(f"Invalid params: {exc}") from exc
    name = f"the handler of {binding.method}"
    return write_answer(name, await awaited(name, binding.handler(context, read)), revision)


def write_answer(whose: str, answer: object, revision: Revision) -> JsonObject:
    """Write what a request of the server is answered with.

    Raises:
      MCPError: if it is an error.
      TypeError: if it is none of what answers may be.

    """
    if isinstance(answer, types.ErrorData):
        raise MCPError.from_error_data(answer)
    if isinstance(answer, WireModel):
        return encode(answer, revision)
    if not is_object(answer):
        raise wrong_kind(f"the answer of {whose}", "a wire type, a dict or ErrorData", answer)
    copied: JsonObject = checked_copy(answer, "result")
    return copied
