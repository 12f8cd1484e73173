"""Writing what a handler returned as the answer to its request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trio_mcp import types
from trio_mcp._codec import SharedArray, checked_copy, dumps, encode
from trio_mcp._rpc._exchange import NO_PARAMS
from trio_mcp.types import SERVER_INFO_META_KEY
from trio_mcp.types._base import WireModel, is_object
from trio_mcp.types._methods import METHODS

from ._caching import NO_HINT, apply_cache_hint_to_json
from ._result_check import check_answer

if TYPE_CHECKING:
    from trio_mcp._rpc._exchange import Exchange
    from trio_mcp.types._base import JsonObject
    from trio_mcp.types._revisions import Revision

    from ._registry import HandlerResult
    from ._server import Server


def write_answer(server: Server[Any], exchange: Exchange, result: HandlerResult) -> JsonObject:
    """Write a result as it is sent, completed and checked.

    Raises:
      TypeError, ValueError: if it is no result of the request's method.

    """
    revision = exchange.accepted.revision
    answer = _to_json(result, revision)
    if revision.has_result_type:
        _complete(server, exchange, answer)
    check_answer(server, exchange, result, answer)
    if exchange.method == "tools/call":
        _tell_in_text(answer)
    return answer


def _complete(server: Server[Any], exchange: Exchange, answer: JsonObject) -> None:
    spec = METHODS.get(exchange.method)
    answer.setdefault("resultType", "complete")
    if spec is not None and spec.cacheable and answer["resultType"] == "complete":
        apply_cache_hint_to_json(answer, server.cache_hints.get(exchange.method, NO_HINT))
    answer["_meta"] = {
        SERVER_INFO_META_KEY: server.server_info_json(exchange.accepted.revision),
        **(answer.get("_meta") or NO_PARAMS),
    }


def _to_json(result: Any, revision: Revision) -> JsonObject:
    if result is None:
        return encode(types.EmptyResult(), revision)
    if isinstance(result, WireModel):
        return encode(result, revision)
    if is_object(result):
        return {
            name: member
            if member.__class__ is SharedArray
            else checked_copy({name: member}, "result")[name]
            for name, member in result.items()
        }
    dump = getattr(result, "model_dump", None)
    if dump is None:
        raise TypeError(
            f"A handler returns a result type, a dict or None, not {type(result).__name__}"
        )
    dumped = checked_copy(dump(mode="json", by_alias=True, exclude_none=True), "result")
    if not is_object(dumped):
        raise TypeError(f"A result is an object, and {type(result).__name__} was written as none")
    return dumped


def _tell_in_text(answer: JsonObject) -> None:
    # Structured content: an array or a primitive value comes with its JSON as text, since there
    # are clients that know of objects alone.
    if "structuredContent" not in answer or is_object(answer["structuredContent"]):
        return
    content: list[Any] = answer.get("content") or []
    if not any(block.get("type") == "text" for block in content):
        text = dumps(answer["structuredContent"]).decode()
        answer["content"] = [*content, {"type": "text", "text": text}]
