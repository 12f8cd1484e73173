"""The tools of a session: listing them, calling them, and looking at what comes of it."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

import attrs
import trio

from trio_mcp import types
from trio_mcp._checks import (
    awaited,
    check_flag,
    check_items,
    check_kind,
    check_text,
    wrong_kind,
)
from trio_mcp._rpc._time_limit import within
from trio_mcp.errors import InvalidResponse, LocalError, MCPError
from trio_mcp.types import HEADER_MISMATCH

from ._arguments import add_input, check_timeout, object_to_json
from ._extensions import ClaimContext, UnexpectedClaimedResult
from ._extensions_of_client import read_claimed
from ._mirrors import Mirrors
from ._output_schema import OutputSchemas
from ._pages import MAX_LISTED, PageReader
from ._results import read_result, refuse_input
from ._session_agreement import once_usable
from ._session_older import OlderSession
from ._tool_lookup import ToolLookup, time_left

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from trio_mcp._rpc._link import CallOptions, ProgressFn
    from trio_mcp.types import InputResponses, RequestParamsMeta
    from trio_mcp.types._base import JsonObject
    from trio_mcp.types._revisions import Revision

    from ._declaration import Declaration
    from ._serving import ClientServing
    from ._session import ClientSession
    from ._session_life import OpenLink
    from ._tool_calls import ToolCallAnswer
    from ._tool_lookup import ToolPage

logger: Final = logging.getLogger("trio_mcp.client")

# What a `resultType` of the core protocol is, and its absence.
_UNCLAIMED: Final = frozenset({None, "complete", "input_required"})


class ToolSession(OlderSession):
    """A session that calls tools.

    Args:
      open_link: And the others: see `AgreedSession`.

    """

    def __init__(
        self,
        open_link: OpenLink,
        serving: ClientServing,
        declaration: Declaration,
        *,
        read_timeout_seconds: float | None,
        ping_interval: float | None,
    ) -> None:
        super().__init__(
            open_link,
            serving,
            declaration,
            read_timeout_seconds=read_timeout_seconds,
            ping_interval=ping_interval,
        )
        self._extensions = declaration.extensions
        self._output_schemas = OutputSchemas()
        self._tool_lookup = ToolLookup(self._output_schemas)
        self.ask_tool_page: ToolPage | None = None
        """In place of this session, what lists the tools that have to be known for a check."""
        # The program may be another one by now: what it was listed with may refuse what is right.
        self.on_reconnect(self._output_schemas.forget)
        self.on_reconnect(self._tool_lookup.forget)
        self.on_notification(self._output_schemas.notified)
        self._mirrors = Mirrors()

    async def list_tools(
        self, *, params: types.PaginatedRequestParams | None = None
    ) -> types.ListToolsResult:
        """Ask for one page of the server's tools.

        Raises:
          MCPError: as `call_tool`: what the server answered, or why there is no answer.

        """
        learn = self.tools_learner()
        result = await self._list("tools/list", params, types.ListToolsResult)
        if self._mirrors_arguments:
            result = self._mirrors.keep_usable(result)
        learn(result.tools)
        return result

    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        read_timeout_seconds: float | None = None,
        progress_callback: ProgressFn | None = None,
        *,
        input_responses: InputResponses | None = None,
        request_state: str | None = None,
        meta: RequestParamsMeta | None = None,
        allow_input_required: bool = False,
        allow_claimed: bool = False,
        finish_claimed: bool = False,
        reset_timeout_on_progress: bool = False,
        max_total_timeout: float | None = None,
    ) -> types.CallToolResult | types.InputRequiredResult | types.Result:
        """Have the server run a tool, and wait for its result.

        Args:
          name: A name that `list_tools` lists.
          arguments: Must be JSON: what is not is refused before anything is sent.
          read_timeout_seconds: In place of the session's.
          progress_callback: Called in this task, in order, before this returns.
          input_responses: Answers to an earlier `InputRequiredResult`, by its keys; since
              2026-07-28, as that is.
          request_state: Of that result, as it came.
          meta: Further ``_meta`` of the request.
          allow_input_required: Return an `InputRequiredResult` instead of refusing it.
          allow_claimed: Return the result of an extension instead of refusing it.
          finish_claimed: Have the extension finish the call instead, as `resolve_claimed` does.
          reset_timeout_on_progress: Let progress start the timeout anew.
          max_total_timeout: Seconds from the call on after which progress no longer helps,
              and a server that does not read is given up; ten times the timeout when None. It
              is a limit also where there is no timeout.

        Returns:
          The result. A tool that failed by itself returns too, with ``is_error`` set.

        Raises:
          MCPError: if the server answered with an error.
          ConnectionLost: if the connection ended before the answer.
          RequestTimeout: if the time passed.
          InvalidResponse: if the tool is listed with an output schema that the structured
              content does not fit. The tools are listed for that, once, if nobody has listed
              this one; where that fails, or takes longer than the call may, the result is
              returned unchecked.
          UnexpectedClaimedResult: if an extension has to finish the call.
          Exception: what an extension raised that stands round the calls.
          TypeError: if an argument is of the wrong kind, or the arguments are no JSON;
              ``ValueError`` for numbers that are none, and for answers or a state that the
              revision does not know. Nothing is sent then.

        Cancellation:
          The server may have begun. It is told to stop, nobody waits for that, and an answer
          that still comes is dropped.

        """
        check_text("name", name)
        params: JsonObject = {"name": name}
        if arguments is not None:
            params["arguments"] = object_to_json("arguments", arguments)
        add_input(params, input_responses, request_state, allow_input_required, self._revision)
        check_flag("allow_claimed", allow_claimed)
        if finish_claimed is not False:
            check_flag("finish_claimed", finish_claimed)
        options = self._options(
            "read_timeout_seconds",
            read_timeout_seconds,
            progress_callback,
            reset_timeout_on_progress=reset_timeout_on_progress,
            max_total_timeout=max_total_timeout,
        )
        # For audit (tools, security considerations): the name, but not what it is called with.
        logger.debug("The tool %r is called", name)
        began = trio.current_time() if options.is_limited else None
        answer: ToolCallAnswer
        if self._extensions.interceptors:
            context: dict[str, Any] = {
                "allow_claimed": allow_claimed,
                "read_timeout_seconds": read_timeout_seconds,
                "progress_callback": progress_callback,
            }
            answer = await self._send_intercepted(params, options, meta, context)
        else:
            answer = await self._send_call(params, options, meta)
        result = answer if isinstance(answer, types.Result) else self._read_call(answer)
        if isinstance(result, types.CallToolResult):
            if self._output_schemas.should_know(name, result):
                return await self._check_unknown(name, result, time_left(options, began))
            self._output_schemas.check(name, result)
            return result
        if isinstance(result, types.InputRequiredResult):
            return result if allow_input_required else refuse_input("tools/call", result)
        if allow_claimed:
            return result
        if finish_claimed:
            return await self.resolve_claimed(result, name, read_timeout_seconds)
        raise UnexpectedClaimedResult(result)

    def _send_call(
        self, params: JsonObject, options: CallOptions, meta: RequestParamsMeta | None
    ) -> Coroutine[Any, Any, JsonObject]:
        send = self._send_mirrored if self._mirrors_arguments else self._send
        return send("tools/call", params, options, meta)

    async def _send_intercepted(
        self,
        params: JsonObject,
        options: CallOptions,
        meta: RequestParamsMeta | None,
        context: dict[str, Any],
    ) -> ToolCallAnswer:
        from ._tool_calls import ToolCallContext, intercepted  # noqa: PLC0415 - few want it

        link = self._require_link()
        if link.mends:
            # What stands round the call asks what the server can do, and not what it could.
            options = await once_usable(link, "tools/call", options)
        # They may ask for more than the one answer that the limit in the options is for.
        return await within(
            options.max_total_timeout,
            "tools/call",
            partial(
                intercepted,
                self._extensions,
                self._send_call,
                params,
                options,
                meta,
                ToolCallContext(session=cast("ClientSession", self), **context),
            ),
        )

    async def _send_mirrored(
        self,
        method: str,
        params: JsonObject,
        options: CallOptions,
        meta: RequestParamsMeta | None,
    ) -> JsonObject:
        name = params["name"]
        again = dict(params)
        age = self._mirrors.age(name)
        try:
            return await self._send(method, params, self._mirrored(params, options), meta)
        except MCPError as exc:
            if exc.code != HEADER_MISMATCH or isinstance(exc, LocalError):
                raise
        # x-mcp-header, client behaviour: the tool is not what it was when it was listed.
        await self._mirrors.list_again(name, age, self._tool_pages)
        return await self._send(method, again, self._mirrored(again, options), meta)

    def _tool_pages(self) -> PageReader[types.Tool]:
        return PageReader("tools/list", self._tools_page, most=MAX_LISTED)

    @property
    def _mirrors_arguments(self) -> bool:
        link, revision = self._link, self._revision
        if link is None or not link.mirrors_arguments:
            return False
        return revision is not None and revision.has_routing_headers

    def _mirrored(self, params: JsonObject, options: CallOptions) -> CallOptions:
        headers = self._mirrors.headers(params["name"], params.get("arguments"))
        return attrs.evolve(options, headers=headers) if headers else options

    def _read_call(self, json: JsonObject) -> types.Result:
        revision = self._require_revision()
        if revision.has_result_type and json.get("resultType") not in _UNCLAIMED:
            claimed = self._read_claimed(json, revision)
            if claimed is not None:
                return claimed
        return read_result("tools/call", json, types.CallToolResult, revision)

    def _read_claimed(self, json: JsonObject, revision: Revision) -> types.Result | None:
        # Extension negotiation: it is in force if both sides have declared it.
        found = self._extensions.claim_for(json.get("resultType"), revision)
        if found is None:
            return None
        identifier, claim = found
        said = self.server_capabilities
        if not self._is_assumed and (said is None or identifier not in (said.extensions or {})):
            raise InvalidResponse(
                f"tools/call: the server answered with resultType {claim.result_type!r}, and "
                f"has not declared the extension {identifier!r}"
            )
        claimed: types.Result = read_claimed(claim, json, revision)
        return claimed

    async def resolve_claimed(
        self, result: types.Result, tool_name: str, read_timeout_seconds: float | None = None
    ) -> types.CallToolResult:
        """Have its extension finish what `call_tool` returned for ``allow_claimed``.

        Raises:
          TypeError: if no extension claims it, or the one that does returned no
              `CallToolResult`.
          Exception: what it raised.

        """
        check_kind("result", result, types.Result)
        check_text("tool_name", tool_name)
        check_timeout("read_timeout_seconds", read_timeout_seconds)
        context = ClaimContext(
            session=cast("ClientSession", self),
            tool_name=tool_name,
            read_timeout_seconds=read_timeout_seconds,
        )
        claim = self._extensions.claim_of(result)
        if claim is None:
            raise wrong_kind("result", "one that an extension of this client claims", result)
        finished = await awaited(
            f"resolve of {claim.result_type!r}", claim.resolve(result, context)
        )
        check_kind(
            f"what resolve of {claim.result_type!r} returned", finished, types.CallToolResult
        )
        if self._output_schemas.should_know(tool_name, finished):
            seconds = time_left(self._options("read_timeout_seconds", read_timeout_seconds, None))
            return await self._check_unknown(tool_name, finished, seconds)
        self._output_schemas.check(tool_name, finished)
        return finished

    async def _check_unknown(
        self, name: str, result: types.CallToolResult, seconds: float
    ) -> types.CallToolResult:
        version = self._output_schemas.version
        if self.may_offer("tools"):
            ask_page = self.ask_tool_page or self._tools_page
            await self._tool_lookup.try_to_make_known(name, ask_page, seconds)
        if self._output_schemas.version == version:
            self._output_schemas.check(name, result)
        # Else what is listed by now says nothing of it.
        return result

    async def validate_tool_result(self, name: str, result: types.CallToolResult) -> None:
        """Check a result against the output schema of its tool.

        `call_tool` does that by itself. The tools are listed first where this one is not known.

        Raises:
          InvalidResponse: if the structured content does not fit, or is missing.
          MCPError: if the tools cannot be listed.

        """
        check_text("name", name)
        check_kind("result", result, types.CallToolResult)
        await trio.lowlevel.checkpoint()
        if not self._output_schemas.knows(name):
            await self._tool_lookup.make_known(name, self.ask_tool_page or self._tools_page)
        self._output_schemas.check(name, result)

    async def tool_execution(
        self, name: str, read_timeout_seconds: float | None = None, *, anew: bool = False
    ) -> types.ToolExecution | None:
        """Say how a tool may be run, as it was listed last; only 2025-11-25 says that of tools.

        The tools are listed first where this one is not known. Where that fails, or takes longer
        than a call may, it is logged, and nothing is known.

        Args:
          name: Of the tool.
          read_timeout_seconds: What a call was given that it is asked for.
          anew: List the tools in any case, and raise why they cannot be listed: a server that
            refuses what it has listed may have changed it, and not have told.

        Raises:
          RuntimeError: before a revision is agreed on.
          MCPError: if they are to be listed anew, and cannot be.

        """
        check_text("name", name)
        check_timeout("read_timeout_seconds", read_timeout_seconds)
        check_flag("anew", anew)
        await trio.lowlevel.checkpoint()
        if not self._require_revision().has_tasks:
            return None
        seconds = time_left(self._options("read_timeout_seconds", read_timeout_seconds, None))
        if anew:
            self._output_schemas.forget()
            list_again = partial(self._tool_lookup.make_known, name, self._tools_page)
            await within(seconds, "tools/list", list_again)
        elif not self._output_schemas.knows(name) and self.may_offer("tools"):
            ask_page = self.ask_tool_page or self._tools_page
            await self._tool_lookup.try_to_make_known(name, ask_page, seconds)
        return self._output_schemas.execution(name)

    async def _tools_page(self, cursor: str | None) -> tuple[list[types.Tool], str | None]:
        page = await self.list_tools(
            params=None if cursor is None else types.PaginatedRequestParams(cursor=cursor)
        )
        return page.tools, page.next_cursor

    def learn_tools(self, tools: Sequence[types.Tool]) -> None:
        """Take note of tools that were listed elsewhere, for the check of their results."""
        check_items("tools", tools, types.Tool, "a list of tools")
        self.tools_learner()(tools)

    def tools_learner(self) -> Callable[[Sequence[types.Tool]], None]:
        """Make what takes note of tools that are asked for from now on, or found in a cache.

        How results are checked is learned only while the list is in force: what was asked for
        before a change may be old.
        """
        learn_schemas = self._output_schemas.learner()

        def learn(tools: Sequence[types.Tool]) -> None:
            learn_schemas(tools)
            if self._mirrors_arguments:
                self._mirrors.learn(tools)

        return learn
