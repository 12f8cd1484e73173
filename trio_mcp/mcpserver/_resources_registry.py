"""The resources and resource templates of an `MCPServer`."""

from __future__ import annotations

from operator import methodcaller
from typing import TYPE_CHECKING, Any

import trio

from trio_mcp import types
from trio_mcp._checks import check_kind, check_text
from trio_mcp._codec import check_wire, excerpt
from trio_mcp.errors import (
    MCPError,
    ResourceError,
    ResourceNotFoundError,
    UnexpectedResourceError,
)
from trio_mcp.server import ResourcesListChanged, subscribe_resource, unsubscribe_resource
from trio_mcp.types._base import is_input_required

from ._answers import is_answer, resource_failure, single_cause, unknown_resource
from ._path_security import ResourceSecurity, ResourceSecurityError
from ._registry import Registry
from ._serving_base import CallableT, ServingBase
from ._settings import LifespanResultT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from trio_mcp.server import ServerRequestContext
    from trio_mcp.types import Annotations, Icon, InputRequiredResult
    from trio_mcp.types._base import JsonObject

    from ._context import Context
    from ._function_resource import FunctionResource
    from ._resource_contents import ReadResourceContents
    from ._resource_template import ResourceTemplate
    from ._resources import Resource


class ServesResources(ServingBase[LifespanResultT]):
    """What clients may read."""

    _resource_security: ResourceSecurity

    def _open_resources(self, resources: Sequence[Resource]) -> None:
        settings = self.settings
        policy = settings.duplicate_policy(warn=settings.warn_on_duplicate_resources)
        self._resources: Registry[Resource] = Registry(
            "Resource", on_duplicate=policy, changed=self._resources_changed
        )
        self._templates: Registry[ResourceTemplate] = Registry(
            "Resource template", on_duplicate=policy, changed=self._resources_changed
        )
        paginated = "PaginatedRequestParams"
        self._serve("resources/list", paginated, self._handle_list_resources)
        self._serve("resources/templates/list", paginated, self._handle_list_templates)
        self._serve("resources/read", "ReadResourceRequestParams", self._handle_read_resource)
        self._serve("resources/subscribe", "SubscribeRequestParams", subscribe_resource)
        self._serve("resources/unsubscribe", "UnsubscribeRequestParams", unsubscribe_resource)
        for resource in resources:
            self.add_resource(resource)

    def _resources_changed(self) -> None:
        self._announce(ResourcesListChanged())

    # Registering

    def add_resource(self, resource: Resource) -> None:
        """Publish a resource.

        A second one under the same URI is not added, and logged
        (``warn_on_duplicate_resources``, ``on_duplicate``).

        Raises:
          InvalidSignature: if the server runs, and a hint names what nothing defines.

        """
        from ._function_resource import FunctionResource  # noqa: PLC0415 - loads on first use
        from ._resources import Resource  # noqa: PLC0415 - as above

        check_kind(
            "resource", resource, Resource, "a Resource (@mcp.resource(…) is for functions)"
        )
        check_wire(resource.to_wire())
        if isinstance(resource, FunctionResource):
            self._complete_if_running(resource)
        self._resources.add(resource.uri, resource)
        self._require(resource.required_scopes)
        if isinstance(resource, FunctionResource):
            self._allow_logging(resource.context_kwarg)

    def _function_resources(self) -> list[FunctionResource]:
        resources = self._resources.items()
        if not resources:
            return []
        from ._function_resource import FunctionResource  # noqa: PLC0415 - as above

        return [each for each in resources if isinstance(each, FunctionResource)]

    def remove_resource(self, uri: str) -> None:
        """Withdraw a resource.

        Raises:
          ResourceNotFoundError: if there is none under this URI.

        """
        if not self._resources.remove(uri):
            raise unknown_resource(uri)

    def add_resource_template(self, template: ResourceTemplate) -> None:
        """Publish a family of resources; of two with the same template the first one stays.

        Raises:
          InvalidSignature: if the server runs, and a hint names what nothing defines.

        """
        from ._resource_template import ResourceTemplate  # noqa: PLC0415 - loads on first use

        check_kind("template", template, ResourceTemplate)
        check_wire(template.to_wire())
        self._complete_if_running(template)
        self._templates.add(template.uri_template, template)
        self._require(template.required_scopes)
        self._allow_logging(template.context_kwarg)

    def remove_resource_template(self, uri_template: str) -> None:
        """Withdraw a family of resources.

        Raises:
          ResourceNotFoundError: if there is none with this template.

        """
        if not self._templates.remove(uri_template):
            raise ResourceNotFoundError(f"Unknown resource template: {uri_template}")

    def resource(
        self,
        uri: str,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        mime_type: str | None = None,
        icons: list[Icon] | None = None,
        annotations: Annotations | None = None,
        meta: JsonObject | None = None,
        security: ResourceSecurity | None = None,
        required_scopes: Sequence[str] = (),
    ) -> Callable[[CallableT], CallableT]:
        """Publish what the decorated function returns under a URI.

        It is called each time someone reads it. Text and bytes are sent as they are, an
        `Image`, `Audio` or `File` with its type, anything else as JSON text. With variables
        in the URI (``notes://{name}``, RFC 6570) it is a template, and the function's
        parameters are those variables, converted to their hints.

        Args:
          uri: A URI, or a URI template.
          name: For programs; the function's name if it is not given.
          title: For people.
          description: For the model; the docstring's text if it is not given.
          mime_type: What is listed and sent, whatever the function returns. Without it the
            type is guessed.
          icons: For user interfaces.
          annotations: Whom it is for, and how much it matters.
          meta: What ``_meta`` says, in the list and with the contents.
          security: Which values a template's variables may have; what the server was made
            with if it is not given.
          required_scopes: What a reader over a network has to be allowed; as for tools.

        Raises:
          InvalidUriTemplate: if the template is malformed; a `ValueError`.
          ValueError: if there is no scheme, if variables and parameters differ, or if a
            parameter for a variable of the query has no default, since clients may omit it.
          InvalidSignature: if a hint has no schema; a `ValueError` too.

        """
        from ._function_resource import FunctionResource  # noqa: PLC0415 - loads on first use
        from ._resource_template import ResourceTemplate  # noqa: PLC0415 - as above
        from ._uri_template import UriTemplate  # noqa: PLC0415 - as above

        if callable(uri):
            raise TypeError("A resource needs a URI: write @mcp.resource('notes://all')")
        check_text("uri", uri)
        if security is not None:
            check_kind("security", security, ResourceSecurity)
        is_template = bool(UriTemplate.parse(uri).variables)

        def decorate(fn: CallableT) -> CallableT:
            if is_template:
                self.add_resource_template(
                    ResourceTemplate.from_function(
                        fn,
                        uri,
                        name=name,
                        title=title,
                        description=description,
                        mime_type=mime_type,
                        icons=icons,
                        annotations=annotations,
                        meta=meta,
                        security=self._resource_security if security is None else security,
                        required_scopes=required_scopes,
                    )
                )
            else:
                self.add_resource(
                    FunctionResource.from_function(
                        fn,
                        uri,
                        name=name,
                        title=title,
                        description=description,
                        mime_type=mime_type,
                        icons=icons,
                        annotations=annotations,
                        meta=meta,
                        required_scopes=required_scopes,
                    )
                )
            return fn

        return decorate

    # Using

    async def list_resources(self) -> list[types.Resource]:
        """List the resources, in the order in which they were added."""
        await trio.lowlevel.checkpoint()
        return [resource.to_wire() for resource in self._resources.items()]

    async def list_resource_templates(self) -> list[types.ResourceTemplate]:
        """List the templates, in the order in which they were added."""
        await trio.lowlevel.checkpoint()
        return [template.to_wire() for template in self._templates.items()]

    async def read_resource(
        self, uri: str, context: Context[Any, Any] | None = None
    ) -> Iterable[ReadResourceContents] | InputRequiredResult:
        """Read a resource from within this process.

        A resource with this very URI comes first, then the first template that matches.

        Args:
          uri: The resource's URI.
          context: The request that it is read for, if there is one.

        Raises:
          ResourceNotFoundError: if there is none, or a template's security refuses the URI.
          ResourceError: if it could not be read.
          UnexpectedResourceError: if its function raised anything else; that is the cause.
          MCPError: if its function raised that.

        """
        await trio.lowlevel.checkpoint()
        return await self._read_resource(str(uri), context or self._context())

    async def _read_resource(
        self, uri: str, context: Context[Any, Any]
    ) -> list[ReadResourceContents] | InputRequiredResult:
        try:
            resource = await self._find_resource(uri, context)
            if is_input_required(resource):
                return resource
            return await resource.read_contents(context)
        except Exception as raised:  # noqa: BLE001 - whatever a function raises is told as one kind
            exc = single_cause(raised)
            try:
                if is_answer(exc) or isinstance(exc, ResourceError):
                    raise exc from exc.__cause__
                raise UnexpectedResourceError(f"Error reading resource {excerpt(uri)}") from exc
            finally:
                # Its traceback holds this frame, which must not hold it in turn.
                del exc

    async def _find_resource(
        self, uri: str, context: Context[Any, Any]
    ) -> Resource | InputRequiredResult:
        from ._function_resource import FunctionResource  # noqa: PLC0415 - loads on first use

        resource = self._resources.get(uri)
        if isinstance(resource, FunctionResource):
            return await resource.create_resource(context)
        if resource is not None:
            return resource
        for template in self._templates.items():
            try:
                params = template.matches(uri)
            except ResourceSecurityError as refused:
                # The first match decides: a later template might be less careful.
                raise unknown_resource(uri) from refused
            if params is not None:
                return await template.create_resource(uri, params, context)
        raise unknown_resource(uri)

    # Handlers

    async def _handle_list_resources(
        self, _ctx: ServerRequestContext[Any, Any], params: types.PaginatedRequestParams
    ) -> types.ListResourcesResult:
        listing = self._resources.listing("wire", methodcaller("to_wire"))
        page, next_cursor = listing.page(params.cursor, self._list_page_size)
        return types.ListResourcesResult(resources=page, next_cursor=next_cursor)

    async def _handle_list_templates(
        self, _ctx: ServerRequestContext[Any, Any], params: types.PaginatedRequestParams
    ) -> types.ListResourceTemplatesResult:
        listing = self._templates.listing("wire", methodcaller("to_wire"))
        page, next_cursor = listing.page(params.cursor, self._list_page_size)
        return types.ListResourceTemplatesResult(resource_templates=page, next_cursor=next_cursor)

    async def _handle_read_resource(
        self, ctx: ServerRequestContext[Any, Any], params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult | InputRequiredResult:
        context = self._context(ctx, params)
        try:
            found = await self._read_resource(params.uri, context)
        except (MCPError, ResourceError) as exc:
            if is_answer(exc):
                raise
            raise resource_failure(params.uri, exc, context) from exc
        if is_input_required(found):
            return found
        return types.ReadResourceResult(contents=[piece.to_wire(params.uri) for piece in found])
