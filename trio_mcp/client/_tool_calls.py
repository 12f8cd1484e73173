"""What extensions may do round the calls of tools."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias

import attrs

from trio_mcp import types
from trio_mcp._checks import awaited, check_kind, wrong_kind
from trio_mcp._codec import decode, encode
from trio_mcp.types._base import JsonObject

from ._arguments import meta_to_json

if TYPE_CHECKING:
    from trio_mcp._rpc._link import CallOptions, ProgressFn
    from trio_mcp.types import CallToolRequestParams, RequestParamsMeta
    from trio_mcp.types._revisions import Revision

    from ._extensions_of_client import Extensions
    from ._session import ClientSession

ToolCallAnswer: TypeAlias = JsonObject | types.Result
"""What a call came to: the result as the server wrote it, or one that has been read."""

ToolCallNext: TypeAlias = Callable[[types.CallToolRequestParams], Awaitable[ToolCallAnswer]]
"""What sends a call on, with the params that it is given."""

if TYPE_CHECKING:
    Intercept: TypeAlias = Callable[
        [CallToolRequestParams, "ToolCallContext", ToolCallNext], Awaitable[ToolCallAnswer]
    ]

    Send: TypeAlias = Callable[
        [JsonObject, CallOptions, RequestParamsMeta | None], Awaitable[JsonObject]
    ]


@attrs.frozen(kw_only=True, eq=False)
class ToolCallContext:
    """What `ClientExtension.intercept_tool_call` knows of a call besides its params.

    Attributes:
      session: Sends it.
      allow_claimed: Whether the caller takes a result that an extension claims, as it comes.
      read_timeout_seconds: What the call was given.
      progress_callback: What the call was given. It hears what comes before the answer, unless
        the params that are passed on name a ``progress_token`` in their ``meta``: then whoever
        named it listens, by `ClientSession.on_progress`.

    """

    session: ClientSession
    allow_claimed: bool
    read_timeout_seconds: float | None
    progress_callback: ProgressFn | None


async def intercepted(
    extensions: Extensions,
    send: Send,
    params: JsonObject,
    options: CallOptions,
    meta: RequestParamsMeta | None,
    context: ToolCallContext,
) -> ToolCallAnswer:
    """Send a call, with interceptors round it; the first is the outermost.

    Args:
      extensions: Those with interceptors, and what they claim.
      send: Sends params with options.
      params: Of the call.
      options: Of the call.
      meta: Further ``_meta`` of the call.
      context: What interceptors are told.

    Raises:
      TypeError: if an interceptor passes on something else than params, or answers so.
      ValueError: if it passes on the call of another tool.

    """
    revision = context.session.revision
    assert revision is not None
    if meta is not None:
        params = {**params, "_meta": meta_to_json(meta)}

    async def innermost(passed: CallToolRequestParams) -> ToolCallAnswer:
        check_kind("what was passed on", passed, types.CallToolRequestParams)
        if passed.name != read.name:
            # Its result is compared with what the tool that was called is listed with.
            raise ValueError(
                f"passed on: expected a call of {read.name!r}, got {passed.name!r:.80}"
            )
        token = _progress_token(passed)
        using = options
        if token is not None and token != _progress_token(read):
            # The link would put its own in place of it.
            using = attrs.evolve(using, on_progress=None)
        # What nobody has changed need not be written again.
        json = {**params} if passed is read else encode(passed, revision)
        return await send(json, using, None)

    read = _read(params, revision)
    call_next: ToolCallNext = innermost
    for name, intercept in reversed(extensions.interceptors):
        call_next = functools.partial(_intercept, name, intercept, extensions, context, call_next)
    return await call_next(read)


def _read(params: JsonObject, revision: Revision) -> CallToolRequestParams:
    if params.keys() <= {"name", "arguments"}:
        # As most are, and checked as they are.
        return types.CallToolRequestParams(name=params["name"], arguments=params.get("arguments"))
    return decode(types.CallToolRequestParams, params, revision, where="params")


def _progress_token(params: CallToolRequestParams) -> object:
    return None if params.meta is None else params.meta.get("progress_token")


async def _intercept(
    name: str,
    intercept: Intercept,
    extensions: Extensions,
    context: ToolCallContext,
    call_next: ToolCallNext,
    params: CallToolRequestParams,
) -> ToolCallAnswer:
    # By position: what its parameters are called is its author's business.
    answer = await awaited(name, intercept(params, context, call_next))
    what, expected = f"what {name} returned", "a dict, a CallToolResult or what is claimed"
    check_kind(what, answer, (dict, types.Result), expected)
    if isinstance(answer, types.Result) and not extensions.knows(answer):
        raise wrong_kind(what, expected, answer)
    return answer
