"""What a server answers is what its method promises: the other direction of the ladder."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from trio_mcp._codec import DecodeError, SharedArray, decode, excerpt
from trio_mcp.types import CORE_RESULT_TYPES
from trio_mcp.types._base import is_object
from trio_mcp.types._methods import METHODS
from trio_mcp.types._revisions import KNOWN_REVISIONS

if TYPE_CHECKING:
    from trio_mcp._rpc._exchange import Exchange
    from trio_mcp.types._base import JsonObject
    from trio_mcp.types._revisions import Revision

    from ._server import Server


def check_answer(
    server: Server[Any], exchange: Exchange, result: object, answer: JsonObject
) -> None:
    """Check that a result is one of its method's, and one that its client understands.

    An object of the method's own type needs no look: writing it has checked it. What only
    extensions know, a method or the shape of a ``resultType``, is for them to check.

    Args:
      server: Whose extensions say which ``resultType`` they bring.
      exchange: The request.
      result: What its handler, or middleware, returned.
      answer: That as JSON, as it is about to be sent.

    Raises:
      ValueError: if it is not; names the method, and what does not fit where.

    """
    revision = exchange.accepted.revision
    kind: Any = answer.get("resultType", "complete") if revision.has_result_type else "complete"
    wanted = _result_type(exchange.method, revision.position)
    if not (isinstance(kind, str) and kind in CORE_RESULT_TYPES):
        _check_extension(server, exchange, kind)
        return
    if wanted is None or (kind == "complete" and result.__class__ is wanted):
        return
    if kind == "input_required":
        if not METHODS[exchange.method].may_need_input:
            raise ValueError(f"{exchange.method}: its result cannot be an InputRequiredResult")
        from trio_mcp.types import InputRequiredResult  # noqa: PLC0415 - most servers never ask

        wanted = InputRequiredResult
    elif "task" in answer and _may_make_a_task(exchange, revision):
        from trio_mcp.types import CreateTaskResult  # noqa: PLC0415 - hardly ever

        wanted = CreateTaskResult
    _check_json(exchange.method, wanted, result, answer, revision)


def _check_extension(server: Server[Any], exchange: Exchange, kind: Any) -> None:
    # SEP-2133: active for a request only where both sides declare it. Clients take a result that
    # none of their extensions brings for an invalid one.
    method, accepted = exchange.method, exchange.accepted
    shown = excerpt(repr(kind))
    if method in METHODS and method != "tools/call":
        raise ValueError(f"{method}: its result has no resultType but the core's, got {shown}")
    version = accepted.revision.version
    identifier = server.extension_of_result(kind, version) if isinstance(kind, str) else None
    if identifier is None:
        raise ValueError(
            f"{method}: no extension of this server brings the resultType {shown} (its "
            f"Extension.result_types names it) at {version}"
        )
    declared: Any = (accepted.capabilities or {}).get("extensions")
    if not (is_object(declared) and is_object(declared.get(identifier))):
        raise ValueError(
            f"{method}: the resultType {shown} is of the extension {identifier}, which the client "
            "did not declare with this request, so it would not understand the result"
        )


def _check_json(
    method: str, wanted: type, result: object, answer: JsonObject, revision: Revision
) -> None:
    # What is shared between answers was checked when it was made.
    own: JsonObject = {
        name: [] if member.__class__ is SharedArray else member for name, member in answer.items()
    }
    try:
        decode(wanted, own, revision, where="result")
    except (DecodeError, ValueError) as exc:
        # Whoever forgot to return anything is not told of it by what nothing lacks.
        why = "it is None" if result is None else str(exc)
        if "resultType" in answer and not revision.has_result_type:
            why += f" (and {revision.version} knows no resultType)"
        raise ValueError(f"{method}: what was returned is no {wanted.__name__}: {why}") from exc


@cache
def _result_type(method: str, position: int) -> type | None:
    # By a number, which is found faster than an object that is compared.
    spec = METHODS.get(method)
    if spec is None or not spec.may_be_sent_by("client", KNOWN_REVISIONS[position]):
        return None
    result_type: type = spec.result_type()
    return result_type


def _may_make_a_task(exchange: Exchange, revision: Revision) -> bool:
    return (
        exchange.method == "tools/call"
        and "task" in exchange.params
        and METHODS["tasks/get"].exists_in(revision)
    )
