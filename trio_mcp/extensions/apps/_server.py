"""MCP Apps on the server's side: user interfaces, and the tools that have one."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final, TypeVar

from trio_mcp._checks import check_items, check_kind, check_mapping, check_word
from trio_mcp._codec import check_wire, encode
from trio_mcp.mcpserver import (
    Context,
    Extension,
    Resource,
    ResourceBinding,
    TextResource,
    ToolBinding,
)
from trio_mcp.types import CallToolResult
from trio_mcp.types._base import is_array, is_object
from trio_mcp.types._revisions import LATEST_MODERN

from ._wire import (
    APP_MIME_TYPE,
    META_KEY,
    UI,
    ResourceCsp,
    ResourcePermissions,
    ResourceUI,
    Visibility,
    check_ui_uri,
    is_app_type,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from trio_mcp.server import CallNext, HandlerResult, ServerRequestContext
    from trio_mcp.types import CallToolRequestParams, JsonObject, JsonValue

CallableT = TypeVar("CallableT", bound="Callable[..., Any]")

logger: Final = logging.getLogger("trio_mcp.extensions")

_VISIBILITIES: Final = ("model", "app")


class Apps(Extension):
    """Gives tools a user interface, for hosts that can show one (MCP Apps).

    ::

        apps = Apps()
        apps.add_html_resource("ui://clock/face.html", "<!doctype html>…")

        @apps.tool(resource_uri="ui://clock/face.html")
        def get_time() -> str:
            return "12:00"

        mcp = MCPServer("clock", extensions=[apps])

    All is added before the server is made, which checks that each user interface that a tool
    names is there. What a tool returns has to make sense without it, too: hosts without apps, and
    models, see nothing else. A result without any content is warned of in the log.
    """

    identifier = UI

    def __init__(self) -> None:
        self._tools: list[tuple[ToolBinding, str]] = []
        self._resources: list[ResourceBinding] = []
        self._is_given = False
        self._warned: set[str] = set()

    def tool(
        self,
        *,
        resource_uri: str,
        visibility: Sequence[Visibility] | None = None,
        meta: JsonObject | None = None,
        **tool_kwargs: Any,
    ) -> Callable[[CallableT], CallableT]:
        """Publish the decorated function as a tool with a user interface.

        Args:
          resource_uri: The URI of that: ``ui://…``.
          visibility: For whom the tool is: ``"model"``, ``"app"``, or both, as when not given.
          meta: What else ``_meta`` says.
          tool_kwargs: What else `MCPServer.add_tool` takes.

        Raises:
          ValueError: if the URI is of something else, or nobody is to see the tool, or ``meta``
            has a key ``ui``, which is written here.
          RuntimeError: if the server has been made already.

        """
        self._check_open()
        check_ui_uri("resource_uri", resource_uri)
        check_mapping("meta", meta or {})
        if meta and META_KEY in meta:
            raise ValueError("meta: 'ui' is written by resource_uri= and visibility=")
        ui: JsonObject = {"resourceUri": resource_uri}
        if visibility is not None:
            ui["visibility"] = _checked_visibility(visibility)

        def decorate(fn: CallableT) -> CallableT:
            self._check_open()
            binding = ToolBinding(fn, meta={**(meta or {}), META_KEY: ui}, kwargs=tool_kwargs)
            self._tools.append((binding, resource_uri))
            return fn

        return decorate

    def add_html_resource(
        self,
        uri: str,
        html: str,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        csp: ResourceCsp | None = None,
        permissions: ResourcePermissions | None = None,
        domain: str | None = None,
        prefers_border: bool | None = None,
    ) -> None:
        """Publish a user interface that is one HTML document.

        Args:
          uri: ``ui://…``
          html: The document, as HTML5.
          name: For programs; the URI if it is not given.
          title: For people.
          description: What it shows.
          csp: The origins that it uses; without it a host allows none.
          permissions: What it would like to use.
          domain: Where a host shall show it; what it means is up to the host.
          prefers_border: Whether it would like a border.

        Raises:
          TypeError: if an argument is of the wrong kind.
          ValueError: if the URI is of something else.
          RuntimeError: if the server has been made already.

        """
        check_ui_uri("uri", uri)
        ui = ResourceUI(
            csp=csp, permissions=permissions, domain=domain, prefers_border=prefers_border
        )
        check_wire(ui)
        said = encode(ui, LATEST_MODERN)
        self.add_resource(
            TextResource(
                uri=uri,
                name=name,
                title=title,
                description=description,
                mime_type=APP_MIME_TYPE,
                meta={META_KEY: said} if said else None,
                text=html,
            )
        )

    def add_resource(self, resource: Resource) -> None:
        """Publish a user interface that is any resource, as a `FileResource` with HTML.

        Without a MIME type it gets that of user interfaces.

        Raises:
          ValueError: if its URI or its MIME type is of something else.
          RuntimeError: if the server has been made already.

        """
        self._check_open()
        check_kind("resource", resource, Resource)
        check_ui_uri("resource.uri", resource.uri)
        if resource.declared_mime_type is None:
            resource.mime_type = resource.declared_mime_type = APP_MIME_TYPE
        elif not is_app_type(resource.declared_mime_type):
            raise ValueError(
                f"resource.mime_type: hosts show {APP_MIME_TYPE} alone, got "
                f"{resource.declared_mime_type!r}"
            )
        self._resources.append(ResourceBinding(resource))

    def _check_open(self) -> None:
        if self._is_given:
            raise RuntimeError(
                "The server has asked these Apps for what they have: add tools and user "
                "interfaces before MCPServer(extensions=[...])"
            )

    def tools(self) -> Sequence[ToolBinding]:
        """See `Extension.tools`.

        Raises:
          ValueError: if the user interface of a tool is not there.

        """
        there = {binding.resource.uri for binding in self._resources}
        for binding, uri in self._tools:
            if uri not in there:
                name = binding.kwargs.get("name") or getattr(binding.fn, "__name__", binding.fn)
                raise ValueError(
                    f"The tool {name!r} names the user interface {uri!r}, and there is none: "
                    "add_html_resource() or add_resource() adds it"
                )
        self._is_given = True
        return [binding for binding, _ in self._tools]

    def resources(self) -> Sequence[ResourceBinding]:
        """See `Extension.resources`."""
        return self._resources

    async def intercept_tool_call(
        self,
        params: CallToolRequestParams,
        ctx: ServerRequestContext[Any, Any],
        call_next: CallNext,
    ) -> HandlerResult:
        """See `Extension.intercept_tool_call`."""
        result = await call_next(ctx)
        if isinstance(result, CallToolResult) and not result.content:
            self._warn(params.name)
        return result

    def _warn(self, tool: str) -> None:
        if tool in self._warned or tool not in self._names():
            return
        self._warned.add(tool)
        logger.warning(
            "The tool %r returned no content beside its user interface: hosts without apps, and "
            "models, see nothing of it",
            tool,
        )

    def _names(self) -> set[str]:
        return {
            str(binding.kwargs.get("name") or getattr(binding.fn, "__name__", ""))
            for binding, _ in self._tools
        }


def _checked_visibility(visibility: Sequence[Visibility]) -> list[Visibility]:
    check_items("visibility", visibility, str, "a list of 'model' and 'app'")
    for each in visibility:
        check_word("visibility", each, _VISIBILITIES)
    if not visibility:
        raise ValueError("visibility: a tool is for the model, for apps, or for both")
    return list(dict.fromkeys(visibility))


def client_supports_apps(ctx: Context[Any, Any] | ServerRequestContext[Any, Any]) -> bool:
    """Tell whether the client of a request can show user interfaces of `APP_MIME_TYPE`.

    In the older era it says so when it connects, in the newer one with each request.
    """
    capabilities = ctx.session.client_capabilities
    settings: JsonValue = ((capabilities and capabilities.extensions) or {}).get(UI)
    # What is not as the extension says counts as not declared.
    listed: JsonValue = settings.get("mimeTypes") if is_object(settings) else None
    return is_array(listed) and any(map(is_app_type, listed))
