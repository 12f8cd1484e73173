"""The bases of params and results, and what things with a name have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal, NotRequired, TypedDict

from ._base import JsonObject, WireModel, wire_field, wire_model

if TYPE_CHECKING:
    from ._input import InputResponses
    from ._literals import ProgressToken, ResultType

__all__ = [
    "BaseMetadata",
    "CacheableResult",
    "EmptyResult",
    "InputResponseRequestParams",
    "NotificationParams",
    "PaginatedRequestParams",
    "PaginatedResult",
    "RequestParams",
    "RequestParamsMeta",
    "Result",
]


class RequestParamsMeta(TypedDict):
    """``_meta`` of a request: an open map.

    Other keys, such as those under ``io.modelcontextprotocol/``, stand beside this one by
    their name on the wire; see the ``*_META_KEY`` constants.
    """

    progress_token: NotRequired[ProgressToken]
    """Ask for progress notifications that carry this token; ``progressToken`` on the wire."""


@wire_model
class RequestParams(WireModel):
    """What every request may say.

    At 2026-07-28 the session puts the revision and the client's capabilities into `meta`.
    """

    meta: RequestParamsMeta | None = wire_field(default=None, wire="_meta")


@wire_model
class PaginatedRequestParams(RequestParams):
    cursor: str | None = None
    """Where to go on, as a result's `next_cursor` said. Opaque."""


@wire_model
class InputResponseRequestParams(RequestParams):
    """Params of a request that may come again with what the server asked for."""

    input_responses: InputResponses | None = wire_field(default=None, since="2026-07-28")
    """Answers, by the keys of the `InputRequiredResult` they belong to."""

    request_state: str | None = wire_field(default=None, since="2026-07-28")
    """Goes back to the server as it came."""


@wire_model
class NotificationParams(WireModel):
    """What every notification may say."""

    meta: JsonObject | None = wire_field(default=None, wire="_meta")


@wire_model
class Result(WireModel):
    """What every result may say."""

    is_input_response: ClassVar[bool] = False
    """Answers an input request. At 2026-07-28 every other result has a ``resultType``."""

    meta: JsonObject | None = wire_field(default=None, wire="_meta")


class _ListLayout(Result):
    # A place for the fields of both bases below, so that a class can be both.
    __slots__ = ("cache_scope", "next_cursor", "ttl_ms")


@wire_model
class PaginatedResult(_ListLayout):
    next_cursor: str | None = None
    """Where the next page begins, or None on the last one. Opaque."""


@wire_model
class CacheableResult(_ListLayout):
    """A result that says how long it may be kept.

    The defaults forbid: out of date at once, and for one user alone.
    """

    ttl_ms: int = wire_field(
        default=0, since="2026-07-28", always=True, bounds=(0, None), foreign="extra"
    )
    """For how many milliseconds the client may use it again."""

    cache_scope: Literal["public", "private"] = wire_field(
        default="private", since="2026-07-28", always=True, foreign="extra"
    )
    """Whether a shared cache may give it to others."""


@wire_model
class EmptyResult(Result):
    """It worked, and there is nothing to say."""

    result_type: ResultType | None = wire_field(default=None, since="2026-07-28", foreign="extra")
    """None is written as "complete" where the revision wants a word."""


@wire_model
class BaseMetadata(WireModel):
    """A thing with a name for programs and, perhaps, one for people."""

    name: str

    title: str | None = wire_field(default=None, since="2025-06-18")
    """For people. Without it the name is shown (of a tool: before that, the title in its
    annotations)."""
