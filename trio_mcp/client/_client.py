"""`Client`: one server, whatever it is reached by."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar, overload

import trio

from trio_mcp import types
from trio_mcp._checks import check_flag, check_text
from trio_mcp._deprecation import deprecated
from trio_mcp._rpc._time_limit import within
from trio_mcp.errors import MCPDeprecationWarning, MCPError
from trio_mcp.types import INVALID_PARAMS
from trio_mcp.types._methods import METHODS

from ._arguments import check_cached, check_function, check_timeout
from ._client_life import LivingClient
from ._input_rounds import complete_input, repeatable
from ._pages import Pages, pages_of
from ._session_older import LOGGING_IS_DEPRECATED, ROOTS_ARE_DEPRECATED
from ._subscriptions import listen

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Sequence
    from contextlib import AbstractAsyncContextManager

    from trio_mcp._rpc._link import ProgressFn
    from trio_mcp.types import (
        CompleteResult,
        EmptyResult,
        GetPromptResult,
        InputResponses,
        ListPromptsResult,
        ListResourcesResult,
        ListResourceTemplatesResult,
        ListToolsResult,
        LoggingLevel,
        Prompt,
        PromptReference,
        ReadResourceResult,
        RequestParamsMeta,
        Resource,
        ResourceTemplate,
        ResourceTemplateReference,
        Tool,
    )
    from trio_mcp.types._base import JsonObject

    from ._cache_store import CacheMode
    from ._subscriptions import Subscription

T = TypeVar("T")
ResultT = TypeVar("ResultT")

# Who has a list announces a capability; and what the list is called in its result.
_LISTS: Final = {
    "tools/list": ("tools", "tools"),
    "resources/list": ("resources", "resources"),
    "resources/templates/list": ("resources", "resource_templates"),
    "prompts/list": ("prompts", "prompts"),
}


class Client(LivingClient):
    """Talks to one server, inside ``async with``.

    Any number of tasks may call at once. Leaving the block ends everything that belongs to
    it, in bounded time; calls that still wait in other tasks fail with `ConnectionLost`.

    Args:
      server: A `Server` or `MCPServer` of this process, `StdioServerParameters`, a URL
          (``https://…``, ``wss://…`` and the like), or a transport: an async context manager
          that yields a `Channel` or its two ends.
      raise_exceptions: For a server of this process: let a defect of a handler reach the
          caller as it is: one of a `Server`, or of a middleware. What a function of an
          `MCPServer` raises is its answer, as ever.
      read_timeout_seconds: How long each request may wait for its answer, from when it was
          written; None for no limit. A server that does not read keeps a request from being
          written: that ends after `max_total_timeout`, which is ten times the limit where a
          call does not set it. Cancel scopes of Trio run from the call on, at all times.
      sampling_callback: And its siblings: answer what the server asks.
      logging_callback: Takes the server's log messages, in order.
      log_level: Ask for log messages, from this level on: a modern server with each request, an
        older one that announces them after the handshake (``logging/setLevel``).
      message_handler: Takes every notification but progress, which its call's own callback
        takes, and what arrived and was no message.
      client_info: Who this client says it is.
      mode: ``"auto"`` probes for a modern server and falls back to ``initialize``;
          ``"legacy"`` only initializes; the name of a revision pins it (a modern one is
          adopted without a question).
      prior_discover: What a modern server answered another time, for a pinned revision.
      extensions: What the client declares and understands beyond the core protocol.
      input_required_max_rounds: How often a call is sent again with what the server asked
          for, before it gives up.
      cache: How to keep results that say how long they stay fresh; None to keep none.
      ping_interval: Seconds between signs of life that an older server is asked for; one that
          is not answered within as many ends the connection.
      restart: How to start a server again that died; None to leave it dead. The server has to
          be one that can be opened more than once, as a command can.
      auth: For a URL: what signs the requests: `OAuth`, `BearerAuth`, another `Authorizer`, or
          over HTTP what an ``httpx.AsyncClient`` takes.

    Cancellation:
      Entering may be cancelled at any time. A stdio server that does not go by itself makes
      leaving take as long as the escalation of `stdio_client`.

    """

    __slots__ = ()

    # Tools

    async def list_tools(
        self,
        *,
        cursor: str | None = None,
        meta: RequestParamsMeta | None = None,
        cache_mode: CacheMode = "use",
    ) -> ListToolsResult:
        """Ask for one page of the server's tools; `iter_tools` goes through all of them.

        A server that has not announced tools is not asked: it has none. The same holds for
        resources, their templates and prompts; the session below asks in any case.

        Raises:
          MCPError: as `call_tool`: what the server answered, or why there is no answer.

        """
        session = self.session
        learn = session.tools_learner()
        result = await self._list("tools/list", session.list_tools, cursor, meta, cache_mode)
        # A kept list says what results have to look like, and what to repeat in headers, too.
        learn(result.tools)
        return result

    async def _ask_tool_page(self, cursor: str | None) -> tuple[Sequence[Tool], str | None]:
        page = await self.list_tools(cursor=cursor)
        return page.tools, page.next_cursor

    def iter_tools(self) -> Pages[Tool]:
        """Go through all tools: ``async for tool in client.iter_tools()``."""
        return pages_of("tools/list", self.list_tools, lambda page: page.tools)

    @overload
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
        reset_timeout_on_progress: bool = False,
        max_total_timeout: float | None = None,
        allow_claimed: Literal[False] = False,
    ) -> types.CallToolResult: ...

    @overload
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
        reset_timeout_on_progress: bool = False,
        max_total_timeout: float | None = None,
        allow_claimed: bool,
    ) -> types.Result: ...

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
        reset_timeout_on_progress: bool = False,
        max_total_timeout: float | None = None,
        allow_claimed: bool = False,
    ) -> types.Result:
        """Have the server run a tool, and wait for its result.

        See `ClientSession.call_tool` for what each argument does. What a modern server asks
        before it can answer makes rounds of one call: ``read_timeout_seconds`` holds for each
        round, without the time that a callback takes for its answer, and ``max_total_timeout``
        for all of them, with that time.

        With ``allow_claimed`` the result may be one that an extension claims, as it came: the
        caller finishes the call, by hand or by `ClientSession.resolve_claimed`.

        Returns:
          The result. A tool that failed by itself returns too, with ``is_error`` set.

        Raises:
          MCPError: if the server answered with an error.
          ConnectionLost: if the connection ended before the answer.
          RequestTimeout: if the time passed.
          InvalidResponse: if the tool is listed with an output schema that the result does
              not fit. The tools are listed for that where they were not, once.
          TypeError: if the arguments are no JSON.
          Exception: what an extension's resolver raised.

        Cancellation:
          The server may have begun. It is told to stop, nobody waits for that, and an answer
          that still comes is dropped.

        """
        session = self.session
        if max_total_timeout is not None:
            check_timeout("max_total_timeout", max_total_timeout)

        # As `repeatable` does, without its detours: this is on the way of every call.
        def send(
            responses: InputResponses | None, state: str | None
        ) -> Coroutine[Any, Any, types.Result]:
            return session.call_tool(
                name,
                arguments,
                read_timeout_seconds,
                progress_callback,
                input_responses=responses,
                request_state=state,
                meta=meta,
                allow_input_required=True,
                allow_claimed=allow_claimed,
                finish_claimed=True,
                reset_timeout_on_progress=reset_timeout_on_progress,
                max_total_timeout=max_total_timeout,
            )

        async def call() -> types.Result:
            result = await send(input_responses, request_state)
            if isinstance(result, types.CallToolResult):
                return result
            if isinstance(result, types.InputRequiredResult):
                rounds = self.input_required_max_rounds
                result = await complete_input(session, result, send, rounds)
            return result

        return await within(max_total_timeout, "tools/call", call)

    # Resources

    async def list_resources(
        self,
        *,
        cursor: str | None = None,
        meta: RequestParamsMeta | None = None,
        cache_mode: CacheMode = "use",
    ) -> ListResourcesResult:
        """Ask for one page of the server's resources.

        Raises:
          MCPError: as `call_tool`: what the server answered, or why there is no answer.

        """
        return await self._list(
            "resources/list", self.session.list_resources, cursor, meta, cache_mode
        )

    def iter_resources(self) -> Pages[Resource]:
        """Go through all resources."""
        return pages_of("resources/list", self.list_resources, lambda page: page.resources)

    async def list_resource_templates(
        self,
        *,
        cursor: str | None = None,
        meta: RequestParamsMeta | None = None,
        cache_mode: CacheMode = "use",
    ) -> ListResourceTemplatesResult:
        """Ask for one page of the server's resource templates.

        Raises:
          MCPError: as `call_tool`: what the server answered, or why there is no answer.

        """
        return await self._list(
            "resources/templates/list",
            self.session.list_resource_templates,
            cursor,
            meta,
            cache_mode,
        )

    def iter_resource_templates(self) -> Pages[ResourceTemplate]:
        """Go through all resource templates."""
        return pages_of(
            "resources/templates/list",
            self.list_resource_templates,
            lambda page: page.resource_templates,
        )

    async def read_resource(
        self,
        uri: str,
        *,
        input_responses: InputResponses | None = None,
        request_state: str | None = None,
        meta: RequestParamsMeta | None = None,
        cache_mode: CacheMode = "use",
        read_timeout_seconds: float | None = None,
        progress_callback: ProgressFn | None = None,
        reset_timeout_on_progress: bool = False,
        max_total_timeout: float | None = None,
    ) -> ReadResourceResult:
        """Read a resource.

        The time limits and the progress callback are as for `call_tool`. Who gives any does not
        wait for what somebody else has asked for already.

        Raises:
          MCPError: -32602 (an older server: -32002) if there is none at this URI; see
              `MCPError.is_resource_not_found`.
          RequestTimeout: if the time passed.

        """
        session = self.session
        check_text("uri", uri)
        timing = _timing(
            read_timeout_seconds, progress_callback, reset_timeout_on_progress, max_total_timeout
        )
        send = repeatable(
            partial(session.read_resource, uri, meta=meta, allow_input_required=True, **timing)
        )
        # A retry's result depends on its answers: it is neither taken from the cache nor kept.
        retried = input_responses is not None or request_state is not None

        async def read() -> ReadResourceResult:
            first = await self._through_cache(
                "resources/read",
                {"uri": uri},
                "bypass" if retried else cache_mode,
                meta,
                partial(send, input_responses, request_state),
                alone=bool(timing),
            )
            return await complete_input(session, first, send, self.input_required_max_rounds)

        return await within(max_total_timeout, "resources/read", read)

    async def subscribe_resource(
        self, uri: str, *, meta: RequestParamsMeta | None = None
    ) -> EmptyResult:
        """Ask an older server to tell when a resource changes (deprecated).

        Raises:
          MCPError: as `call_tool`: what the server answered, or why there is no answer.

        """
        return await self.session.subscribe_resource(uri, meta=meta)

    async def unsubscribe_resource(
        self, uri: str, *, meta: RequestParamsMeta | None = None
    ) -> EmptyResult:
        """Take `subscribe_resource` back (deprecated).

        Raises:
          MCPError: as `call_tool`: what the server answered, or why there is no answer.

        """
        return await self.session.unsubscribe_resource(uri, meta=meta)

    def listen(
        self,
        *,
        tools_list_changed: bool = False,
        prompts_list_changed: bool = False,
        resources_list_changed: bool = False,
        resource_subscriptions: Sequence[str] = (),
    ) -> AbstractAsyncContextManager[Subscription]:
        """Have a modern server tell what changes, for as long as the block lasts.

        ::

            async with client.listen(tools_list_changed=True) as changes:
                async for change in changes:
                    tools = await client.list_tools()

        See `trio_mcp.client.listen` for what each argument does and what it raises. What the
        client has kept of a result is out of date before the loop hears of a change.
        """
        return listen(
            self.session,
            tools_list_changed=tools_list_changed,
            prompts_list_changed=prompts_list_changed,
            resources_list_changed=resources_list_changed,
            resource_subscriptions=resource_subscriptions,
        )

    # Prompts and completion

    async def list_prompts(
        self,
        *,
        cursor: str | None = None,
        meta: RequestParamsMeta | None = None,
        cache_mode: CacheMode = "use",
    ) -> ListPromptsResult:
        """Ask for one page of the server's prompts.

        Raises:
          MCPError: as `call_tool`: what the server answered, or why there is no answer.

        """
        return await self._list(
            "prompts/list", self.session.list_prompts, cursor, meta, cache_mode
        )

    def iter_prompts(self) -> Pages[Prompt]:
        """Go through all prompts."""
        return pages_of("prompts/list", self.list_prompts, lambda page: page.prompts)

    async def get_prompt(
        self,
        name: str,
        arguments: dict[str, str] | None = None,
        *,
        input_responses: InputResponses | None = None,
        request_state: str | None = None,
        meta: RequestParamsMeta | None = None,
        read_timeout_seconds: float | None = None,
        progress_callback: ProgressFn | None = None,
        reset_timeout_on_progress: bool = False,
        max_total_timeout: float | None = None,
    ) -> GetPromptResult:
        """Ask for a prompt, filled in with the arguments.

        The time limits and the progress callback are as for `call_tool`.

        Raises:
          MCPError: -32602 if there is no such prompt, or its arguments are wrong.
          RequestTimeout: if the time passed.

        """
        session = self.session
        timing = _timing(
            read_timeout_seconds, progress_callback, reset_timeout_on_progress, max_total_timeout
        )
        verb = partial(session.get_prompt, name, arguments, meta=meta, allow_input_required=True)
        send = repeatable(partial(verb, **timing))

        async def get() -> GetPromptResult:
            first = await send(input_responses, request_state)
            return await complete_input(session, first, send, self.input_required_max_rounds)

        return await within(max_total_timeout, "prompts/get", get)

    async def complete(
        self,
        ref: ResourceTemplateReference | PromptReference,
        argument: dict[str, str],
        context_arguments: dict[str, str] | None = None,
    ) -> CompleteResult:
        """Ask for values that would complete an argument of a prompt or template.

        Raises:
          MCPError: as `call_tool`: what the server answered, or why there is no answer.

        """
        return await self.session.complete(ref, argument, context_arguments)

    # The cache

    async def _list(
        self,
        method: str,
        verb: Callable[..., Awaitable[ResultT]],
        cursor: str | None,
        meta: RequestParamsMeta | None,
        cache_mode: CacheMode,
    ) -> ResultT:
        if cursor is not None:
            check_text("cursor", cursor)
        check_cached(meta, cache_mode)
        ask = partial(self._ask_list, method, verb, _page(cursor, meta))
        params = {} if cursor is None else {"cursor": cursor}
        try:
            return await self._through_cache(method, params, cache_mode, meta, ask)
        except MCPError as exc:
            if cursor is not None and exc.code == INVALID_PARAMS and self._cache is not None:
                # Caching: a cursor that is no longer good makes every page of its list stale.
                self._cache.forget_pages(method)
            raise

    async def _ask_list(
        self, method: str, verb: Callable[..., Awaitable[ResultT]], params: Any
    ) -> ResultT:
        capability, items = _LISTS[method]
        if await self.session.offers(capability):
            return await verb(params=params)
        # What a server did not announce it has none of, and is not asked for.
        await trio.lowlevel.checkpoint()
        empty: ResultT = METHODS[method].result_type()(**{items: []})
        return empty

    async def _through_cache(
        self,
        method: str,
        params: JsonObject,
        mode: CacheMode,
        meta: RequestParamsMeta | None,
        ask: Callable[[], Awaitable[T]],
        *,
        alone: bool = False,
    ) -> T:
        check_cached(meta, mode)
        revision = self.session.revision
        if self._cache is None or revision is None or mode == "bypass":
            return await ask()
        # What a caller adds to a request may change its result.
        asked_mode: CacheMode = "refresh" if meta is not None and mode == "use" else mode
        result: T = await self._cache.fetch(method, params, revision, asked_mode, ask, alone=alone)
        return result

    # Utilities of the older era

    async def send_ping(self, *, meta: RequestParamsMeta | None = None) -> EmptyResult:
        """Ask an older server for a sign of life.

        Raises:
          MCPError: as `call_tool`: what the server answered, or why there is no answer.

        """
        return await self.session.send_ping(meta=meta)

    async def send_progress_notification(
        self,
        progress_token: str | int,
        progress: float,
        total: float | None = None,
        message: str | None = None,
    ) -> None:
        """Tell an older server how far the answer to its request is (deprecated).

        Raises:
          TypeError, ValueError: if a number is none, or not finite.
          ConnectionLost: if the connection has ended.

        """
        await self.session.send_progress_notification(progress_token, progress, total, message)

    @deprecated(LOGGING_IS_DEPRECATED, category=MCPDeprecationWarning)
    async def set_logging_level(
        self, level: LoggingLevel, *, meta: RequestParamsMeta | None = None
    ) -> EmptyResult:
        """Ask an older server for log messages from a level on (deprecated).

        Raises:
          MCPError: as `call_tool`: what the server answered, or why there is no answer.

        """
        return await self.session._set_logging_level(level, meta)  # noqa: SLF001 - warned above

    @deprecated(ROOTS_ARE_DEPRECATED, category=MCPDeprecationWarning)
    async def send_roots_list_changed(self) -> None:
        """Tell an older server that the roots have changed (deprecated).

        Raises:
          ConnectionLost: if the connection has ended.

        """
        await self.session._tell_of_changed_roots()  # noqa: SLF001 - warned above


def _timing(
    read_timeout_seconds: float | None,
    progress_callback: ProgressFn | None,
    reset_timeout_on_progress: bool,
    max_total_timeout: float | None,
) -> dict[str, Any]:
    """Check what a call says of its own time and progress; empty where it says nothing.

    It is checked here, as the answer may be kept already.
    """
    check_timeout("read_timeout_seconds", read_timeout_seconds)
    check_timeout("max_total_timeout", max_total_timeout)
    check_function("progress_callback", progress_callback)
    check_flag("reset_timeout_on_progress", reset_timeout_on_progress)
    given = {
        "read_timeout_seconds": read_timeout_seconds,
        "progress_callback": progress_callback,
        "reset_timeout_on_progress": reset_timeout_on_progress or None,
        "max_total_timeout": max_total_timeout,
    }
    return {name: value for name, value in given.items() if value is not None}


def _page(cursor: str | None, meta: RequestParamsMeta | None) -> Any:
    if cursor is None and meta is None:
        return None
    from trio_mcp.types import PaginatedRequestParams  # noqa: PLC0415 - a first page needs none

    return PaginatedRequestParams(cursor=cursor, meta=meta)
