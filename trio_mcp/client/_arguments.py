"""What the arguments of a client's verbs have to be, and how they are written in a request.

A wrong one is told at once, before anything is sent: by a TypeError or ValueError that says
which argument, what was expected and what came.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, get_args

from trio_mcp import types
from trio_mcp._checks import (
    check_callable,
    check_flag,
    check_kind,
    check_mapping,
    check_number,
    check_text,
    check_word,
    wrong_kind,
)
from trio_mcp._codec import checked_copy, encode
from trio_mcp._protocol._ladder import LOG_LEVELS
from trio_mcp._protocol._meta import check_meta_keys
from trio_mcp.types._base import WireModel

from ._cache_store import CacheConfig, CacheMode

if TYPE_CHECKING:
    from collections.abc import Callable

    from trio_mcp.types import InputResponses, RequestParamsMeta
    from trio_mcp.types._base import JsonObject
    from trio_mcp.types._revisions import Revision

NOT_AGREED: Final = "Call discover() or initialize() first, or adopt() what is known"

CACHE_MODES: Final[tuple[str, ...]] = get_args(CacheMode)


def check_timeout(argument: str, value: object) -> None:
    """Check how long something may take, in seconds; None for no limit."""
    if value is not None:
        check_number(argument, value, least=0)


def check_function(argument: str, value: object) -> None:
    """Check a callback that may be left out."""
    if value is not None:
        check_callable(argument, value)


def check_log_level(argument: str, value: object) -> None:
    """Check a level of log messages."""
    check_word(argument, value, LOG_LEVELS)


def _check_interval(argument: str, value: object) -> None:
    check_number(argument, value, above=0)


def _kind(load: Callable[[], type]) -> Callable[[str, object], None]:
    def check(argument: str, value: object) -> None:
        check_kind(argument, value, load())

    return check


# What the constructors of `Client` and `ClientSession` take; every one may be left out.
_OPTIONS: Final[Mapping[str, Callable[[str, object], None]]] = {
    "read_timeout_seconds": check_timeout,
    "sampling_callback": check_function,
    "sampling_capabilities": _kind(lambda: types.SamplingCapability),
    "list_roots_callback": check_function,
    "logging_callback": check_function,
    "log_level": check_log_level,
    "message_handler": check_function,
    "client_info": _kind(lambda: types.Implementation),
    "prior_discover": _kind(lambda: types.DiscoverResult),
    "elicitation_callback": check_function,
    "cache": _kind(lambda: CacheConfig),
    "ping_interval": _check_interval,
    "open_link": check_function,
}


def check_options(options: Mapping[str, object]) -> None:
    """Check options of a client or session, by their names; None stands for the default.

    Raises:
      TypeError: if one is of the wrong kind.
      ValueError: if one is none of the values that it may have.

    """
    for name, value in options.items():
        if value is not None and name in _OPTIONS:
            _OPTIONS[name](name, value)


def check_cached(meta: object, cache_mode: object) -> None:
    """Check what says whether a result may come out of the cache."""
    if meta is not None:
        check_mapping("meta", meta)
        check_meta_keys("meta", meta)
    check_word("cache_mode", cache_mode, CACHE_MODES)


def meta_to_json(meta: RequestParamsMeta) -> JsonObject:
    """Write the further ``_meta`` of a request."""
    check_mapping("meta", meta)
    json: JsonObject = checked_copy(dict(meta), "meta")
    check_meta_keys("meta", json)
    if "progress_token" in json:
        json["progressToken"] = json.pop("progress_token")
    return json


def object_to_json(argument: str, value: Mapping[str, Any]) -> JsonObject:
    """Copy an argument that is a JSON object, whatever its members are."""
    json: JsonObject = checked_copy(value, argument)
    if json.__class__ is not dict:
        raise wrong_kind(argument, "a dict", value)
    return json


def texts_to_json(argument: str, value: Mapping[str, str]) -> JsonObject:
    """Copy an argument whose members are strings."""
    check_mapping(argument, value, str)
    return object_to_json(argument, value)


def progress_to_json(
    progress_token: str | int, progress: float, total: float | None, message: str | None
) -> JsonObject:
    """Write the params of a report of progress."""
    check_kind("progress_token", progress_token, (str, int))
    check_number("progress", progress)
    params: JsonObject = {
        "progressToken": progress_token,
        "progress": checked_copy(progress, "progress"),
    }
    if total is not None:
        check_number("total", total)
        params["total"] = checked_copy(total, "total")
    if message is not None:
        check_text("message", message)
        params["message"] = message
    return params


def add_input(
    params: JsonObject,
    input_responses: InputResponses | None,
    request_state: str | None,
    allow_input_required: bool,
    revision: Revision | None,
) -> None:
    """Add what a server asked for in an `InputRequiredResult` to the params of a request.

    Raises:
      TypeError: if an argument is of the wrong kind.
      ValueError: if the revision knows neither answers nor a state.

    """
    check_flag("allow_input_required", allow_input_required)
    if input_responses is not None:
        check_mapping(
            "input_responses",
            input_responses,
            (WireModel, Mapping),
            "a dict of answers",
            "an answer such as ElicitResult",
        )
        revision = _require_rounds("input_responses", revision)
        params["inputResponses"] = {
            key: encode(response, revision) for key, response in input_responses.items()
        }
    if request_state is not None:
        check_text("request_state", request_state)
        _require_rounds("request_state", revision)
        params["requestState"] = request_state


def check_rounds(params: object, revision: Revision) -> None:
    """Check that the params of any request have no answers or state where there are none.

    Raises:
      ValueError: if they do. Encoding would leave them out, and nobody would know.

    """
    if isinstance(params, types.InputResponseRequestParams):
        for name in ("input_responses", "request_state"):
            if getattr(params, name) is not None:
                _require_rounds(f"params.{name}", revision)


def _require_rounds(argument: str, revision: Revision | None) -> Revision:
    if revision is None:
        raise RuntimeError(NOT_AGREED)
    if revision.has_server_requests:
        raise ValueError(
            f"{argument}: expected None at protocol version {revision.version}, which has no "
            "such field: a server of the older era asks the callbacks while the request waits"
        )
    return revision
