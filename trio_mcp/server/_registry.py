"""Which handler serves which method."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

import attrs

from trio_mcp import types
from trio_mcp._codec._reading import check_readable, read_as
from trio_mcp._protocol._refusals import invalid_params
from trio_mcp.types._base import JsonObject, WireModel
from trio_mcp.types._methods import METHODS

from ._context import ServerRequestContext

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trio_mcp.types._revisions import Revision

HandlerResult: TypeAlias = WireModel | JsonObject | None
"""What a handler returns; None for an empty result."""

RequestHandler: TypeAlias = Callable[
    [ServerRequestContext[Any, Any], Any], Awaitable[HandlerResult]
]
"""Answers a request: called with the context and the params."""

NotificationHandler: TypeAlias = Callable[[ServerRequestContext[Any, Any], Any], Awaitable[None]]
"""Takes a notification: called with the context and the params."""

CallNext: TypeAlias = Callable[[ServerRequestContext[Any, Any]], Awaitable[HandlerResult]]
"""The rest of the way to a handler, as middleware and interceptors go it."""


class ServerMiddleware(Protocol):
    """Something round every request: looks, refuses, changes, measures, answers.

    It sees ``initialize`` and ``server/discover``, too, requests that no handler is registered
    for, and notifications (``ctx.request_id`` is None, and what is returned goes nowhere).
    """

    async def __call__(
        self, ctx: ServerRequestContext[Any, Any], call_next: CallNext, /
    ) -> HandlerResult:
        """Handle a request, usually by awaiting ``call_next(ctx)``. Both come by position.

        Raise `MCPError` to answer that error instead.
        """
        ...


@attrs.frozen
class HandlerEntry:
    """A registered handler, the type of its params, and the revisions it is limited to.

    Attributes:
      params_type: What the params are read into.
      handler: Called with the context and the params.
      protocol_versions: The revisions it serves; those that have the method when None.
      name_param: The member of the params that HTTP requests repeat in ``Mcp-Name``; as the
        protocol has it when None.

    """

    params_type: Any
    handler: Any
    protocol_versions: frozenset[str] | None = None
    name_param: str | None = None

    def exists_in(self, method: str, revision: Revision) -> bool:
        """Whether the method may be used at a revision."""
        if self.protocol_versions is not None:
            # Decides alone: an extension may take up a name that the core gave up.
            return revision.version in self.protocol_versions
        spec = METHODS.get(method)
        return spec is None or spec.exists_in(revision)


def read_params(params_type: Any, params: Mapping[str, Any] | None, revision: Revision) -> Any:
    """Read a request's params into its handler's type.

    Wire types are decoded strictly; one may be given by its name, and is loaded now. ``dict``
    (or None) takes the JSON object as it is. A pydantic model is validated by itself.

    Raises:
      MCPError: -32602, with the path of what is wrong.

    """
    given: Mapping[str, Any] = {} if params is None else params
    if params_type is None:
        return given
    if params_type.__class__ is str:
        params_type = getattr(types, params_type)
    try:
        return read_as(params_type, given, revision, where="params")
    except ValueError as exc:
        raise invalid_params(f"Invalid params: {exc}") from exc


def check_params_type(params_type: Any) -> None:
    """Check that params can be read into it.

    Raises:
      TypeError: if it is something else than `read_params` says.

    """
    if params_type is None or (isinstance(params_type, str) and params_type in types.__all__):
        return
    check_readable("params_type", params_type)


def needs_input(result: WireModel | JsonObject) -> bool:
    """Tell whether a result is an `InputRequiredResult`, as an object or as JSON."""
    # By its mark: the class would be loaded for it.
    mark: object = (
        result.get("resultType")
        if isinstance(result, dict)
        else getattr(result, "result_type", None)
    )
    return mark == "input_required"


def without_rounds(params: Mapping[str, Any] | None) -> JsonObject:
    """Return params without what a client adds to them when it comes back with answers."""
    return {key: value for key, value in (params or {}).items() if key not in _OF_A_ROUND}


def is_of_rounds(params: Mapping[str, Any]) -> bool:
    """Tell whether there is anything in params that `without_rounds` takes out."""
    return any(key in params for key in _OF_A_ROUND)


_OF_A_ROUND: Final = ("inputResponses", "requestState")
