"""What a handler still needs from the client: who may be asked what, and asking in older words.

A modern client gets the questions as an ``InputRequiredResult`` and sends its request again
with the answers. A client of the older era is asked each of them at once, while its request
waits, and the handler is called again with the answers: it need not know the difference.
"""

from __future__ import annotations

import functools
import uuid
from typing import TYPE_CHECKING, Any, Final

import trio

from trio_mcp._codec import decode, encode
from trio_mcp._protocol._sampling_turns import check_tool_turns
from trio_mcp._rpc._gather import run_all
from trio_mcp.errors import InvalidResponse, MCPError
from trio_mcp.types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    ClientCapabilities,
    CreateMessageRequest,
    CreateMessageResult,
    CreateMessageResultWithTools,
    ElicitationCapability,
    ElicitRequestURLParams,
    ElicitResult,
    FormElicitationCapability,
    InputRequiredResult,
    ListRootsRequest,
    ListRootsResult,
    RootsCapability,
    SamplingCapability,
    SamplingContextCapability,
    SamplingToolsCapability,
    UrlElicitationCapability,
)
from trio_mcp.types._methods import METHODS
from trio_mcp.types._revisions import LATEST_MODERN

from ._elicitation_url import check_elicitation_url
from ._registry import needs_input, read_params, without_rounds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trio_mcp.types import (
        CreateMessageRequestParams,
        ElicitRequest,
        ElicitRequestParams,
        InputRequest,
        InputResponse,
    )
    from trio_mcp.types._base import JsonObject, WireModel
    from trio_mcp.types._revisions import Revision

    from ._context import ServerRequestContext
    from ._registry import HandlerEntry, HandlerResult
    from ._session import ServerSession

MAX_LIVE_ROUNDS: Final = 10
"""How often a handler is called again for an older client: as often as clients come back."""

_FIRST_DELAY: Final = 0.05
_LONGEST_DELAY: Final = 0.25
# Seconds before a handler that gave a state and asked nothing is called again, as clients do.


# Questions


def answer_type(request: InputRequest) -> type[Any]:
    """Name the type of a question's answer."""
    if isinstance(request, ListRootsRequest):
        return ListRootsResult
    if isinstance(request, CreateMessageRequest):
        return CreateMessageResultWithTools if _uses_tools(request.params) else CreateMessageResult
    return ElicitResult


def missing_for(
    request: InputRequest, declared: ClientCapabilities | None, revision: Revision
) -> JsonObject | None:
    """Find what a client would have to declare to answer a question; None if it did.

    Raises:
      ValueError: if the question itself breaks the rules of sampling, or has a URL that is none.

    """
    declared = declared or ClientCapabilities()
    if isinstance(request, ListRootsRequest):
        missing = None if declared.roots else ClientCapabilities(roots=RootsCapability())
    elif isinstance(request, CreateMessageRequest):
        check_tool_turns(request.params.messages, request.params.tools or ())
        missing = _missing_for_sampling(request.params, declared.sampling, revision)
    else:
        if isinstance(request.params, ElicitRequestURLParams):
            check_elicitation_url(request.params.url)
        missing = _missing_for_elicitation(request.params, declared.elicitation)
    return None if missing is None else encode(missing, LATEST_MODERN)


def _missing_for_elicitation(
    params: ElicitRequestParams, declared: ElicitationCapability | None
) -> ClientCapabilities | None:
    if isinstance(params, ElicitRequestURLParams):
        if declared is not None and declared.url is not None:
            return None
        needed = ElicitationCapability(url=UrlElicitationCapability())
        return ClientCapabilities(elicitation=needed)
    # An empty object is how clients declared forms before there were modes.
    if declared is not None and (declared.form is not None or declared.url is None):
        return None
    needed = ElicitationCapability(form=FormElicitationCapability())
    return ClientCapabilities(elicitation=needed)


def _missing_for_sampling(
    params: CreateMessageRequestParams, declared: SamplingCapability | None, revision: Revision
) -> ClientCapabilities | None:
    tools = _uses_tools(params)
    # Until 2025-06-18 every client that samples took a context.
    context = params.include_context not in (None, "none") and revision.has_sampling_tools
    lacks_tools = tools and (declared is None or declared.tools is None)
    lacks_context = context and (declared is None or declared.context is None)
    if declared is not None and not lacks_tools and not lacks_context:
        return None
    needed = SamplingCapability(
        tools=SamplingToolsCapability() if tools else None,
        context=SamplingContextCapability() if context else None,
    )
    return ClientCapabilities(sampling=needed)


def _uses_tools(params: CreateMessageRequestParams) -> bool:
    return params.tools is not None or params.tool_choice is not None


def in_older_words(request: InputRequest) -> InputRequest:
    """Say a question as 2025-11-25 does, which gives the visit of a URL a name."""
    if isinstance(request, (ListRootsRequest, CreateMessageRequest)):
        return request
    params = request.params
    if not isinstance(params, ElicitRequestURLParams) or params.elicitation_id is not None:
        return request
    # 2025-11-25 wants an id, to tell when the user is done; 2026-07-28 has none.
    named: ElicitRequest = request.evolve(params=params.evolve(elicitation_id=str(uuid.uuid4())))
    return named


# Rounds


async def settle_input(
    entry: HandlerEntry, ctx: ServerRequestContext[Any, Any], result: HandlerResult
) -> HandlerResult:
    """Bring a handler's questions to the client, in the way of its era.

    Returns:
      The questions, for a modern client; what the handler came to with the answers, for one of
      the older era.

    Raises:
      TypeError: if this method may not ask.
      MCPError: -32021 if the client did not declare that it can answer; -32602 if its answer
        is none; -32603 if the handler still asks after `MAX_LIVE_ROUNDS`; whatever error the
        client answered with.

    """
    spec = METHODS.get(ctx.method)
    if spec is not None and not spec.may_need_input:
        raise TypeError(
            f"{ctx.method} cannot ask for input; only tools, prompts and resources can"
        )
    assert ctx.exchange is not None
    revision = ctx.exchange.accepted.revision
    if not revision.has_server_requests:
        asked = _read(result)
        for key, request in (asked.input_requests or {}).items():
            ctx.session.require_for(request, f"the question {key!r}")
        return result
    delay = _FIRST_DELAY
    for _ in range(MAX_LIVE_ROUNDS):
        if result is None or not needs_input(result):
            return result
        asked = _read(result)
        if asked.input_requests:
            answers = await _ask_all(ctx.session, asked.input_requests)
        else:
            answers = {}
            await trio.sleep(delay)
            delay = min(2 * delay, _LONGEST_DELAY)
        params = _params_of_retry(ctx.params, answers, asked.request_state)
        result = await entry.handler(ctx, read_params(entry.params_type, params, revision))
    if result is not None and needs_input(result):
        raise MCPError(
            INTERNAL_ERROR, f"{ctx.method}: input is still needed after {MAX_LIVE_ROUNDS} rounds"
        )
    return result


def _read(result: HandlerResult) -> InputRequiredResult:
    if isinstance(result, dict):
        return decode(InputRequiredResult, result, LATEST_MODERN, where="result")
    assert isinstance(result, InputRequiredResult)
    return result


async def _ask_all(
    session: ServerSession, requests: dict[str, InputRequest]
) -> dict[str, InputResponse]:
    for key, request in requests.items():
        session.require_for(request, f"the question {key!r}")
    return await run_all(
        {key: functools.partial(_ask, session, key, each) for key, each in requests.items()}
    )


async def _ask(session: ServerSession, key: str, request: InputRequest) -> InputResponse:
    try:
        return await session.ask(request)
    except InvalidResponse as exc:
        # As where it comes with the request that is sent again, and does not fit its schema.
        raise MCPError(INVALID_PARAMS, f"The question {key!r} got a wrong answer: {exc}") from exc


def _params_of_retry(
    params: Mapping[str, Any] | None, answers: dict[str, InputResponse], state: str | None
) -> JsonObject:
    again = without_rounds(params)
    if answers:
        again["inputResponses"] = {
            key: encode(_as_model(answer), LATEST_MODERN) for key, answer in answers.items()
        }
    if state is not None:
        again["requestState"] = state
    return again


def _as_model(answer: InputResponse) -> WireModel:
    return answer
