"""What a request to an `MCPServer` takes, by what it asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from trio_mcp.types._base import is_object

from ._path_security import ResourceSecurityError
from ._serving_base import ServingBase
from ._settings import LifespanResultT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ._prompts import Prompt
    from ._registry import Registry
    from ._resource_template import ResourceTemplate
    from ._resources import Resource
    from ._tool import Tool

_OF_RESOURCES: Final = ("resources/read", "resources/subscribe")


class RequiresScopes(ServingBase[LifespanResultT]):
    """The part of an `MCPServer` that knows what its tools, resources and prompts take."""

    _tools: Registry[Tool]
    _resources: Registry[Resource]
    _templates: Registry[ResourceTemplate]
    _prompts: Registry[Prompt]

    def _required_scopes(self, method: str, params: Mapping[str, Any]) -> Sequence[str]:
        """Say what a request takes. Its params are whatever a client sent."""
        if method == "tools/call":
            return _of(self._tools, params.get("name"))
        if method == "prompts/get":
            return _of(self._prompts, params.get("name"))
        if method in _OF_RESOURCES:
            return self._of_resource(params.get("uri"))
        if method == "subscriptions/listen":
            return [scope for uri in _listened(params) for scope in self._of_resource(uri)]
        if method == "completion/complete":
            return self._of_reference(params.get("ref"))
        return ()

    def _of_resource(self, uri: Any) -> Sequence[str]:
        if not isinstance(uri, str):
            return ()
        resource = self._resources.get(uri)
        if resource is not None:
            return resource.required_scopes
        # The first that matches decides, as where it is read.
        for template in self._templates.items():
            try:
                if template.matches(uri) is not None:
                    return template.required_scopes
            except ResourceSecurityError:
                return template.required_scopes
        return ()

    def _of_reference(self, reference: Any) -> Sequence[str]:
        if not is_object(reference):
            return ()
        if reference.get("type") == "ref/prompt":
            return _of(self._prompts, reference.get("name"))
        # Of a template, by what it is called, or of one of its resources.
        return _of(self._templates, reference.get("uri")) or self._of_resource(
            reference.get("uri")
        )


def _of(registry: Registry[Any], key: Any) -> Sequence[str]:
    found: Any = registry.get(key) if isinstance(key, str) else None
    return () if found is None else cast("Sequence[str]", found.required_scopes)


def _listened(params: Mapping[str, Any]) -> Iterator[Any]:
    wanted = params.get("notifications")
    uris: object = wanted.get("resourceSubscriptions") if is_object(wanted) else None
    if isinstance(uris, list):
        yield from cast("list[object]", uris)
