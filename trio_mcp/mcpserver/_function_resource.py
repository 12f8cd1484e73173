"""Resources whose contents a function makes."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import attrs
import trio

from trio_mcp import types
from trio_mcp.errors import ResourceError

from ._context import Context
from ._resource_contents import BINARY, JSON, TEXT, contents_of
from ._resources import Resource
from ._result_content import reads_files
from ._text_arguments import TextFunction, description_of, name_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from trio_mcp.types import Annotations, Icon
    from trio_mcp.types._base import JsonObject

    from ._resource_contents import ReadResourceContents


@attrs.define(kw_only=True, eq=False, slots=False)
class FunctionResource(Resource):
    """A resource that a function makes each time it is read.

    Attributes:
      fn: Takes nothing, or the `Context`. Sync functions run in threads.
      context_kwarg: The parameter that gets the context; found by its hint if not given.

    Raises:
      ValueError: if the function has parameters that nothing fills in.

    """

    fn: Callable[..., Any]
    context_kwarg: str | None = None
    _function: TextFunction = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self._function = TextFunction(self.fn, self.name or self.uri, self.context_kwarg)
        self.context_kwarg = self._function.context_kwarg
        if self._function.parameters:
            names = ", ".join(repr(name) for name in self._function.parameters)
            raise ValueError(
                f"The resource {self.uri!r} has no variables, but its function takes {names}; "
                "write them into the URI, like 'notes://{name}'"
            )

    @classmethod
    def from_function(
        cls,
        fn: Callable[..., Any],
        uri: str,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        mime_type: str | None = None,
        icons: list[Icon] | None = None,
        annotations: Annotations | None = None,
        meta: JsonObject | None = None,
        required_scopes: Sequence[str] = (),
    ) -> FunctionResource:
        """Make a resource of a function.

        Args:
          fn: The function.
          uri: The resource's URI.
          name: For programs; the function's name if it is not given.
          title: For people.
          description: For the model; the docstring if it is not given.
          mime_type: Of its contents; guessed if it is not given.
          icons: For user interfaces.
          annotations: Whom it is for, and how much it matters.
          meta: What ``_meta`` says.
          required_scopes: What a reader over a network has to be allowed.

        """
        return cls(
            fn=fn,
            uri=uri,
            name=name_of(fn, name),
            title=title,
            description=description_of(fn, description),
            mime_type=mime_type or "",
            icons=icons,
            annotations=annotations,
            meta=meta,
            required_scopes=required_scopes,
        )

    def complete(self) -> None:
        """Read the hints, if that has not been possible yet.

        Raises:
          InvalidSignature: if the function cannot be published.

        """
        self.context_kwarg = self._function.signature.context_kwarg

    def guess_mime_type(self) -> str:
        return guess_by_hint(self.fn)

    async def read(self) -> str | bytes:
        """Read it outside of a request; of several contents the first."""
        found = await self.read_contents(Context())
        return found[0].content

    async def read_contents(self, context: Context[Any, Any]) -> list[ReadResourceContents]:
        made = await self.create_resource(context)
        if isinstance(made, types.InputRequiredResult):
            raise TypeError(
                f"The resource {self.uri!r} cannot ask for input where it is read directly; "
                "read it by MCPServer.read_resource"
            )
        return await made.read_contents(context)

    async def create_resource(
        self, context: Context[Any, Any]
    ) -> Resource | types.InputRequiredResult:
        """Call the function.

        Args:
          context: The request that it is called for.

        Returns:
          The resource, ready to read; or the request for input that the function, or a resolver
          of it, came to.

        """
        value = await self._function.call({}, context, ResourceError)
        if isinstance(value, (Resource, types.InputRequiredResult)):
            return value
        return ValueResource(
            uri=self.uri,
            name=self.name,
            mime_type=self.declared_mime_type or "",
            meta=self.meta,
            value=value,
        )


@attrs.define(kw_only=True, eq=False, slots=False)
class ValueResource(Resource):
    """What a function returned for one URI."""

    value: Any

    def __attrs_post_init__(self) -> None:
        # Its URI is the one that a client asked for, and not one that is published: what fits a
        # template is served, also where a strict reader of RFC 3986 would not call it a URI.
        self._fill_in()

    async def read(self) -> str | bytes:
        found = await self.read_contents(Context())
        return found[0].content

    async def read_contents(self, context: Context[Any, Any]) -> list[ReadResourceContents]:
        if isinstance(self.value, Resource):
            return await self.value.read_contents(context)
        return await made_contents(self.value, self.declared_mime_type, self.meta, context)


async def made_contents(
    value: Any, declared: str | None, meta: JsonObject | None, context: Context[Any, Any]
) -> list[ReadResourceContents]:
    """Make contents of what a function returned; files are read in a thread."""
    make = functools.partial(contents_of, value, declared, meta)
    if reads_files(value):
        return await trio.to_thread.run_sync(
            make, abandon_on_cancel=True, limiter=context.workers.limiter
        )
    return make()


_BY_HINT = {
    "": TEXT,
    "str": TEXT,
    "bytes": BINARY,
    "bytearray": BINARY,
    "dict": JSON,
    "list": JSON,
    "tuple": JSON,
    "int": JSON,
    "float": JSON,
    "bool": JSON,
}


def guess_by_hint(fn: Callable[..., Any]) -> str:
    """Guess a MIME type by what a function says it returns; empty if that says nothing."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    hint = getattr(fn, "__annotations__", {}).get("return", "")
    written = hint if isinstance(hint, str) else getattr(hint, "__name__", "?")
    return _BY_HINT.get(written.partition("[")[0].strip(), "")
