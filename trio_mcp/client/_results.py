"""Reading what a server answered."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from trio_mcp import types
from trio_mcp._codec._reading import read_as
from trio_mcp.errors import InvalidResponse
from trio_mcp.types._methods import METHODS

if TYPE_CHECKING:
    from trio_mcp.types._base import JsonObject
    from trio_mcp.types._revisions import Revision

ResultT = TypeVar("ResultT")


def read_result(
    method: str, result: JsonObject, result_type: type[ResultT], revision: Revision
) -> ResultT | types.InputRequiredResult:
    """Read the result of a method.

    Basic protocol, result types: an absent one is "complete"; one that nobody declared makes
    the response invalid.

    Returns:
      The result type, or an `InputRequiredResult` where the method may need input.

    Raises:
      InvalidResponse: if it is not what the method says.

    """
    kind = result.get("resultType", "complete") if revision.has_result_type else "complete"
    wanted: type[ResultT | types.InputRequiredResult] = result_type
    if kind == "input_required" and method in METHODS and METHODS[method].may_need_input:
        wanted = types.InputRequiredResult
    elif kind != "complete":
        raise InvalidResponse(f"{method}: the server answered with resultType {kind!r:.60}")
    return decode_answer(method, result, wanted, revision)


def decode_answer(
    method: str, result: JsonObject, result_type: type[ResultT], revision: Revision
) -> ResultT:
    """Read the result of a method into a type that is known to be meant.

    Raises:
      InvalidResponse: if it does not fit.

    """
    try:
        read: ResultT = read_as(result_type, result, revision, where="result")
    except ValueError as exc:
        raise InvalidResponse(f"{method}: the server's answer is invalid: {exc}") from exc
    return read


def read_discovery(result: JsonObject, revision: Revision) -> types.DiscoverResult:
    """Read what ``server/discover`` answered.

    Raises:
      InvalidResponse: if it is no discovery.

    """
    method = "server/discover"
    return refuse_input(method, read_result(method, result, types.DiscoverResult, revision))


def refuse_input(method: str, result: ResultT | types.InputRequiredResult) -> ResultT:
    """Return the result, if it is the complete one.

    Raises:
      InvalidResponse: if the server needs input first.

    """
    if isinstance(result, types.InputRequiredResult):
        raise InvalidResponse(
            f"{method}: the server needs input first; pass allow_input_required=True to answer "
            "it by hand, or call through Client"
        )
    return result
