"""Answering what a server needs before it can answer (multi round-trip requests)."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final, Self, TypeVar

import trio

from trio_mcp import types
from trio_mcp._rpc._gather import run_all
from trio_mcp.errors import MCPError

from ._callbacks import ClientRequestContext

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from trio_mcp.types import InputRequest, InputResponse, InputResponses

    from ._session import ClientSession

T = TypeVar("T")

DEFAULT_INPUT_REQUIRED_MAX_ROUNDS: Final = 10

_FIRST_DELAY: Final = 0.05
_LONGEST_DELAY: Final = 0.25
# Seconds before a state that comes without questions is sent back: the server waits for
# something else than this client.


class InputRequiredRoundsExceededError(RuntimeError):
    """The server still needs input after as many rounds as the client allows."""

    __module__ = "trio_mcp.client"

    def __init__(self, max_rounds: int) -> None:
        super().__init__(f"The server still needs input after {max_rounds} rounds")
        self.max_rounds = max_rounds

    def __reduce__(self) -> tuple[type[Self], tuple[int]]:
        # Pickled by what it was made of, which is not what it says.
        return type(self), (self.max_rounds,)


def repeatable(
    verb: Callable[..., Awaitable[T]],
) -> Callable[[InputResponses | None, str | None], Awaitable[T]]:
    """Make what sends one request again and again, each time with other answers and state."""

    def send(responses: InputResponses | None, state: str | None) -> Awaitable[T]:
        return verb(input_responses=responses, request_state=state)

    return send


async def complete_input(
    session: ClientSession,
    first: T | types.InputRequiredResult,
    retry: Callable[[InputResponses | None, str | None], Awaitable[T | types.InputRequiredResult]],
    max_rounds: int,
) -> T:
    """Answer questions and ask again, until the server gives its result.

    All questions of a round are answered at the same time. What is sent back belongs to this
    one request: the answers under the server's keys, the state as it came.

    Args:
      session: Its callbacks answer.
      first: What the request came to.
      retry: Sends the same request again, with answers and state.
      max_rounds: How often.

    Raises:
      InputRequiredRoundsExceededError: if that is not enough.
      MCPError: if a callback is missing, or answers with an error. The server hears nothing
          of it: it is not waiting.

    """
    result = first
    delay = _FIRST_DELAY
    for _ in range(max_rounds):
        if not isinstance(result, types.InputRequiredResult):
            return result
        responses: InputResponses | None = None
        if result.input_requests:
            responses = await _answer_all(session, result)
        else:
            await trio.sleep(delay)
            delay = min(2 * delay, _LONGEST_DELAY)
        result = await retry(responses, result.request_state)
    if isinstance(result, types.InputRequiredResult):
        raise InputRequiredRoundsExceededError(max_rounds)
    return result


async def _answer_all(session: ClientSession, result: types.InputRequiredResult) -> InputResponses:
    assert result.input_requests is not None
    return await run_all(
        {
            key: functools.partial(_answer, session, key, request)
            for key, request in result.input_requests.items()
        }
    )


async def _answer(session: ClientSession, key: str, request: InputRequest) -> InputResponse:
    context = ClientRequestContext(session=session, request_id=key)
    answer = await session.dispatch_input_request(context, request)
    if isinstance(answer, types.ErrorData):
        raise MCPError.from_error_data(answer)
    return answer
