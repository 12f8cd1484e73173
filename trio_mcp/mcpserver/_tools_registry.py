"""The tools of an `MCPServer`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

import trio

from trio_mcp import types
from trio_mcp._checks import check_kind, check_text
from trio_mcp._codec import SharedArray, encode, excerpt
from trio_mcp.errors import MCPError, ToolError
from trio_mcp.server import ToolsListChanged
from trio_mcp.types import INVALID_PARAMS
from trio_mcp.types._revisions import LATEST_MODERN

from ._answers import tool_failure
from ._registry import Registry
from ._serving_base import CallableT, ServingBase, revision_of
from ._settings import LifespanResultT

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from trio_mcp.server import HandlerResult, RequestHandler, ServerRequestContext
    from trio_mcp.types import Icon, InputRequiredResult, ToolAnnotations
    from trio_mcp.types import Tool as WireTool
    from trio_mcp.types._base import JsonObject
    from trio_mcp.types._revisions import Revision

    from ._context import Context
    from ._extensions import Extension
    from ._tool import Tool


class ServesTools(ServingBase[LifespanResultT]):
    """Functions that the model may call."""

    def _open_tools(self, tools: Sequence[Tool], extensions: Sequence[Extension]) -> None:
        handler: RequestHandler = self._handle_call_tool
        self._describers: list[tuple[str, Callable[[WireTool], WireTool]]] = []
        if extensions:
            from ._extensions_of_server import (  # noqa: PLC0415 - few have any
                compose_tool_call_handler,
                tool_describers,
            )

            self._intercepted = compose_tool_call_handler(extensions, handler)
            self._describers = tool_describers(extensions)
            handler = handler if self._intercepted == handler else self._handle_intercepted
        settings = self.settings
        self._tools: Registry[Tool] = Registry(
            "Tool",
            on_duplicate=settings.duplicate_policy(warn=settings.warn_on_duplicate_tools),
            changed=self._tools_changed,
        )
        # Also where there are none yet: what a server announces holds as long as a connection.
        self._serve("tools/list", "PaginatedRequestParams", self._handle_list_tools)
        self._serve("tools/call", "CallToolRequestParams", handler)
        for tool in tools:
            self._register_tool(tool)

    def _tools_changed(self) -> None:
        self._announce(ToolsListChanged())

    # Registering

    def _register_tool(self, tool: Tool) -> None:
        from ._tool import Tool  # noqa: PLC0415 - loads on first use

        check_kind("tool", tool, Tool)
        self._complete_if_running(tool)
        self._tools.add(tool.name, tool)
        self._require(tool.required_scopes)
        self._allow_logging(tool.context_kwarg)

    def add_tool(
        self,
        fn: Callable[..., Any],
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        annotations: ToolAnnotations | None = None,
        icons: list[Icon] | None = None,
        meta: JsonObject | None = None,
        structured_output: bool | None = None,
        *,
        timeout: float | None = None,
        run_in_thread: bool = True,
        input_schema: JsonObject | None = None,
        ignore_unknown_arguments: bool = False,
        required_scopes: Sequence[str] = (),
    ) -> None:
        """Publish a function as a tool.

        A second tool of the same name is not added, and logged
        (``warn_on_duplicate_tools``, ``on_duplicate``).

        Args:
          fn: The function. Its hints are the tool's schema; a parameter annotated with
            `Context` is left out of it.
          name: The tool's name; the function's if it is not given.
          title: For people.
          description: For the model; the docstring's text if it is not given.
          annotations: Hints on what the tool does to the world.
          icons: For user interfaces.
          meta: What ``_meta`` says in the list.
          structured_output: True to insist on an output schema, False for none; when None
            there is one if the return hint has a schema.
          timeout: Seconds that a call may take, with its resolvers. A longer one is cancelled and
            fails. The time stands still while the client is asked something (``ctx.elicit``, a
            resolver's question), whatever its era. Clean-up of resolvers has 5 seconds of its
            own; one that takes longer is cancelled and logged, and the call is answered.
          run_in_thread: False runs a function that is not async in the event loop, which it
            blocks; for libraries that must be called from one thread.
          input_schema: A JSON Schema in place of the one of the hints; see
            `Tool.from_function`.
          ignore_unknown_arguments: Drop arguments that no parameter takes, instead of refusing
            the call.
          required_scopes: What a caller over a network has to be allowed; see
            `Tool.from_function`.

        Raises:
          InvalidSignature: if the hints have no schema; it names the parameter.
          ValueError: if there is no name, or the options contradict each other.

        """
        from ._tool import Tool  # noqa: PLC0415 - loads on first use

        self._register_tool(
            Tool.from_function(
                fn,
                name=name,
                title=title,
                description=description,
                annotations=annotations,
                icons=icons,
                meta=meta,
                structured_output=structured_output,
                timeout=timeout,
                run_in_thread=run_in_thread,
                input_schema=input_schema,
                ignore_unknown_arguments=ignore_unknown_arguments,
                required_scopes=required_scopes,
            )
        )

    def remove_tool(self, name: str) -> None:
        """Withdraw a tool. Calls that are running go on.

        Raises:
          ToolError: if there is no such tool.

        """
        if not self._tools.remove(name):
            raise ToolError(f"Unknown tool: {name}")

    @overload
    def tool(self, name: CallableT) -> CallableT: ...

    @overload
    def tool(
        self,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        annotations: ToolAnnotations | None = None,
        icons: list[Icon] | None = None,
        meta: JsonObject | None = None,
        structured_output: bool | None = None,
        *,
        timeout: float | None = None,
        run_in_thread: bool = True,
        input_schema: JsonObject | None = None,
        ignore_unknown_arguments: bool = False,
        required_scopes: Sequence[str] = (),
    ) -> Callable[[CallableT], CallableT]: ...

    def tool(
        self,
        name: CallableT | str | None = None,
        title: str | None = None,
        description: str | None = None,
        annotations: ToolAnnotations | None = None,
        icons: list[Icon] | None = None,
        meta: JsonObject | None = None,
        structured_output: bool | None = None,
        *,
        timeout: float | None = None,
        run_in_thread: bool = True,
        input_schema: JsonObject | None = None,
        ignore_unknown_arguments: bool = False,
        required_scopes: Sequence[str] = (),
    ) -> CallableT | Callable[[CallableT], CallableT]:
        """Publish the decorated function as a tool; see `add_tool`.

        ``@mcp.tool`` does the same as ``@mcp.tool()``. The function itself stays as it is.
        """
        if name is not None and not callable(name):
            check_text("name", name)
        if callable(name):
            self.add_tool(name)
            return name

        def decorate(fn: CallableT) -> CallableT:
            self.add_tool(
                fn,
                name,
                title,
                description,
                annotations,
                icons,
                meta,
                structured_output,
                timeout=timeout,
                run_in_thread=run_in_thread,
                input_schema=input_schema,
                ignore_unknown_arguments=ignore_unknown_arguments,
                required_scopes=required_scopes,
            )
            return fn

        return decorate

    # Using

    async def list_tools(self) -> list[WireTool]:
        """List the tools, in the order in which they were added."""
        await trio.lowlevel.checkpoint()
        return [self._described(tool, LATEST_MODERN) for tool in self._tools.items()]

    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any],
        context: Context[Any, Any] | None = None,
    ) -> types.CallToolResult | InputRequiredResult:
        """Call a tool from within this process.

        Args:
          name: The tool's name.
          arguments: As they would come from a client: JSON values.
          context: The request that it is called for, if there is one.

        Raises:
          MCPError: if there is no such tool, or raised by the tool.
          ToolError: if the tool failed, or the arguments do not fit its schema.
          UnexpectedToolError: if the tool raised anything else; that is the cause.

        """
        await trio.lowlevel.checkpoint()
        return await self._call_tool(name, arguments, context or self._context())

    def _call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any]
    ) -> Coroutine[Any, Any, types.CallToolResult | InputRequiredResult]:
        tool = self._tools.get(name)
        if tool is None:
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {excerpt(name)}")
        return tool.run(arguments, context, convert_result=True)

    # Handlers

    def _tool_input_schema(self, name: str) -> JsonObject | None:
        tool = self._tools.get(name)
        return None if tool is None else tool.parameters

    async def _handle_list_tools(
        self, ctx: ServerRequestContext[Any, Any], params: types.PaginatedRequestParams
    ) -> JsonObject:
        revision = revision_of(ctx)
        listing = self._tools.listing(revision, lambda tool: self._entry(tool, revision))
        page, next_cursor = listing.page(params.cursor, self._list_page_size)
        result: JsonObject = {"tools": SharedArray(page)}
        if next_cursor is not None:
            result["nextCursor"] = next_cursor
        return result

    def _entry(self, tool: Tool, revision: Revision) -> JsonObject:
        if not self._describers:
            return tool.to_json(revision)
        return encode(self._described(tool, revision), revision)

    def _described(self, tool: Tool, revision: Revision) -> WireTool:
        described = tool.to_wire(revision)
        for name, describe in self._describers:
            described = describe(described)
            check_kind(f"what {name} returned", described, types.Tool)
            if described.name != tool.name:
                raise ValueError(
                    f"what {name} returned: expected the tool {tool.name!r}, got "
                    f"{described.name!r}"
                )
        return described

    async def _handle_call_tool(
        self, ctx: ServerRequestContext[Any, Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult | InputRequiredResult:
        context = self._context(ctx, params)
        try:
            return await self._call_tool(params.name, params.arguments or {}, context)
        except Exception as exc:  # noqa: BLE001 - this is where all of them become answers
            return tool_failure(params.name, exc, context)

    async def _handle_intercepted(
        self, ctx: ServerRequestContext[Any, Any], params: types.CallToolRequestParams
    ) -> HandlerResult:
        try:
            return await self._intercepted(ctx, params)
        except Exception as exc:  # noqa: BLE001 - as above, for what an extension raised
            from ._extensions import failed_tool_call  # noqa: PLC0415 - few have any

            return failed_tool_call(params.name, exc, ctx)
