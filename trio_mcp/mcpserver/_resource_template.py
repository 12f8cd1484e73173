"""Families of resources: one function for all URIs that fit a template."""

from __future__ import annotations

from inspect import Parameter
from typing import TYPE_CHECKING, Any

import attrs

from trio_mcp._checks import check_kind, check_scope_names, check_text
from trio_mcp._codec import excerpt
from trio_mcp._protocol._meta import check_meta_keys
from trio_mcp.errors import ResourceError, ResourceNotFoundError
from trio_mcp.types import InputRequiredResult
from trio_mcp.types import ResourceTemplate as WireResourceTemplate

from ._answers import single_cause, unknown_resource
from ._function_resource import ValueResource, guess_by_hint
from ._path_security import (
    DEFAULT_RESOURCE_SECURITY,
    PathEscapeError,
    ResourceSecurity,
    ResourceSecurityError,
)
from ._resource_uris import check_uri_template
from ._signature import ArgumentsError
from ._text_arguments import TextFunction, description_of, name_of
from ._uri_template import UriTemplate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from trio_mcp.types import Annotations, Icon
    from trio_mcp.types._base import JsonObject

    from ._context import Context
    from ._resources import Resource


@attrs.define(kw_only=True, eq=False)
class ResourceTemplate:
    """A function that makes the resource for each URI of a template.

    Attributes:
      uri_template: The template (RFC 6570).
      name: For programs.
      title: For people.
      description: For the model.
      mime_type: The MIME type of all these resources; empty if nothing says it.
      icons: For user interfaces.
      annotations: Whom they are for, and how much they matter.
      meta: What ``_meta`` says, both in the list and with the contents.
      parsed_template: The template, ready to match.
      security: Which values its variables may have.
      required_scopes: What a reader over a network has to be allowed.

    """

    uri_template: str
    name: str
    title: str | None = None
    description: str
    mime_type: str
    icons: list[Icon] | None = None
    annotations: Annotations | None = None
    meta: JsonObject | None = None
    parsed_template: UriTemplate
    security: ResourceSecurity = DEFAULT_RESOURCE_SECURITY
    required_scopes: tuple[str, ...] = ()
    _function: TextFunction = attrs.field(alias="function")
    _declared_type: str | None = attrs.field(alias="declared_type")

    @classmethod
    def from_function(
        cls,
        fn: Callable[..., Any],
        uri_template: str,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        mime_type: str | None = None,
        icons: list[Icon] | None = None,
        annotations: Annotations | None = None,
        meta: JsonObject | None = None,
        context_kwarg: str | None = None,
        security: ResourceSecurity = DEFAULT_RESOURCE_SECURITY,
        required_scopes: Sequence[str] = (),
    ) -> ResourceTemplate:
        """Make a template of a function whose parameters are the template's variables.

        Args:
          fn: The function.
          uri_template: The template (RFC 6570).
          name: For programs; the function's name if it is not given.
          title: For people.
          description: For the model; the docstring if it is not given.
          mime_type: Of all these resources; guessed if it is not given.
          icons: For user interfaces.
          annotations: Whom they are for, and how much they matter.
          meta: What ``_meta`` says.
          context_kwarg: The parameter that gets the context; found by its hint if not given.
          security: Which values the variables may have.
          required_scopes: What a reader over a network has to be allowed.

        Raises:
          InvalidUriTemplate: if the template is malformed.
          ValueError: if it can be no URI, or does not fit the function.
          InvalidSignature: if a hint has no schema.

        """
        check_text("uri_template", uri_template)
        check_kind("security", security, ResourceSecurity)
        check_scope_names("required_scopes", required_scopes)
        check_meta_keys("meta", meta)
        parsed = UriTemplate.parse(uri_template)
        check_uri_template(uri_template)
        published = name_of(fn, name)
        function = TextFunction(fn, published, context_kwarg)
        _check_fit(parsed, function.parameters)
        return cls(
            uri_template=uri_template,
            name=published,
            title=title,
            description=description_of(fn, description),
            mime_type=mime_type or guess_by_hint(fn),
            icons=icons,
            annotations=annotations,
            meta=meta,
            parsed_template=parsed,
            security=security,
            required_scopes=tuple(required_scopes),
            function=function,
            declared_type=mime_type,
        )

    def complete(self) -> None:
        """Read the hints, if that has not been possible yet.

        Raises:
          InvalidSignature: if the function cannot be published.

        """
        _ = self._function.signature

    @property
    def fn(self) -> Callable[..., Any]:
        """The function."""
        return self._function.fn

    @property
    def parameters(self) -> JsonObject:
        """The JSON Schema of the function's parameters."""
        return self._function.signature.schema

    @property
    def context_kwarg(self) -> str | None:
        """The parameter that gets the context."""
        return self._function.context_kwarg

    def matches(self, uri: str) -> dict[str, str | list[str]] | None:
        """Read the variables out of a URI; None if it does not match.

        Raises:
          ResourceSecurityError: if it matches, but with a value that is not allowed.

        """
        params = self.parsed_template.match(uri)
        if params is not None:
            refused = self.security.validate(params)
            if refused is not None:
                raise ResourceSecurityError(self.uri_template, refused)
        return params

    async def create_resource(
        self, uri: str, params: Mapping[str, str | list[str]], context: Context[Any, Any]
    ) -> Resource | InputRequiredResult:
        """Call the function for one URI.

        Args:
          uri: The URI.
          params: What `matches` read out of it.
          context: The request that it is called for.

        Returns:
          The resource, ready to read; or the request for input that the function returned.

        Raises:
          ResourceNotFoundError: if a variable has no value of its parameter's hint, or the
            function found by `safe_join` that the path leads out of its directory.

        """
        try:
            value = await self._function.call(params, context, ResourceError)
        except ArgumentsError as misfit:
            raise ResourceNotFoundError(f"Unknown resource: {excerpt(uri)} ({misfit})") from misfit
        except Exception as raised:
            if isinstance(single_cause(raised), PathEscapeError):
                # Only the file system could tell, and so it was not refused before: a symbolic
                # link. The client learns as little as from `ResourceSecurity`.
                raise unknown_resource(uri) from raised
            raise
        if isinstance(value, InputRequiredResult):
            return value
        return ValueResource(
            uri=uri,
            name=self.name,
            title=self.title,
            description=self.description,
            mime_type=self._declared_type or "",
            icons=self.icons,
            annotations=self.annotations,
            meta=self.meta,
            value=value,
        )

    def to_wire(self) -> WireResourceTemplate:
        """Make the entry of ``resources/templates/list``."""
        return WireResourceTemplate(
            uri_template=self.uri_template,
            name=self.name,
            title=self.title,
            description=self.description or None,
            mime_type=self.mime_type or None,
            icons=self.icons,
            annotations=self.annotations,
            meta=self.meta,
        )


def _check_fit(template: UriTemplate, parameters: Mapping[str, Parameter]) -> None:
    variables = template.variable_names
    lacking = [name for name in variables if name not in parameters]
    spare = [name for name in parameters if name not in variables]
    if lacking or spare:
        raise ValueError(
            f"The template {str(template)!r} does not fit its function: "
            + "; ".join(
                f"{what} {', '.join(map(repr, names))}"
                for what, names in (
                    ("the function has no parameter for", lacking),
                    ("the template has no variable for", spare),
                )
                if names
            )
        )
    optional = template.query_variable_names
    without = [
        name
        for name in variables
        if name in optional and parameters[name].default is Parameter.empty
    ]
    if without:
        raise ValueError(
            f"The template {str(template)!r}: clients may leave {', '.join(map(repr, without))} "
            "out of the query, so the function needs a default for each"
        )
