"""What an HTTP request means: its era, or the refusal to answer, in the specification's order.

Nothing here waits or looks at the server. The order is that of the reference server, which the
conformance suite expects: who calls and how (`_security`, `check_post`), whether the body is a
message (`check_frame`), whether it is whole in itself and its headers agree with it
(`check_modern`, `check_mirrored`). The method comes after that, and its params last; both are
for those who serve it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from trio_mcp._codec import Batch, Malformed
from trio_mcp._codec._headers import HeaderValueError, decode_header_value, header_text
from trio_mcp._protocol._ladder import modern_revision, read_envelope
from trio_mcp._protocol._mirrors import argument_at
from trio_mcp._protocol._refusals import header_mismatch, invalid_params, no_handshake
from trio_mcp.errors import MCPError
from trio_mcp.types import (
    HANDSHAKE_PROTOCOL_VERSIONS,
    PROTOCOL_VERSION_META_KEY,
    ErrorData,
    JSONRPCNotification,
    JSONRPCRequest,
)
from trio_mcp.types._base import is_object
from trio_mcp.types._methods import METHODS
from trio_mcp.types._revisions import revision_for

from ._refusal import Refusal, status_for

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trio_mcp._codec import Frame
    from trio_mcp._protocol._mirrors import Path
    from trio_mcp.types._base import JsonObject, JsonValue

    from ._headers import Headers

VERSION_HEADER: Final = "MCP-Protocol-Version"
METHOD_HEADER: Final = "Mcp-Method"
NAME_HEADER: Final = "Mcp-Name"
SESSION_HEADER: Final = "Mcp-Session-Id"
LAST_EVENT_HEADER: Final = "Last-Event-ID"

JSON: Final = "application/json"
EVENT_STREAM: Final = "text/event-stream"

CLOSE: Final = (("connection", "close"),)
"""The header of an answer after which the connection cannot be used."""

NO_ARGUMENTS: Final[JsonObject] = {}


# The request line and the headers


def check_method(method: str, allowed: tuple[str, ...]) -> Refusal | None:
    """Refuse a method of HTTP that the endpoint does not have."""
    if method in allowed:
        return None
    names = ", ".join(allowed)
    return Refusal.of(
        405, f"{method[:20]!a} is not served here; allowed: {names}", headers=(("allow", names),)
    )


def check_post(headers: Headers, max_body_size: int, *, json_only: bool = False) -> Refusal | None:
    """Refuse a POST for what its headers say of its body, and of the answer it wants.

    Args:
      headers: Of the request.
      max_body_size: In bytes.
      json_only: Whether the answer is never a stream of events.

    """
    refusal = check_media_type(headers)
    if refusal is not None:
        return refusal
    wanted = (JSON,) if json_only else (JSON, EVENT_STREAM)
    return check_accept(headers, wanted) or check_length(headers, max_body_size)


def check_media_type(headers: Headers) -> Refusal | None:
    """Refuse a body that is something else than JSON."""
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != JSON:
        return Refusal.of(415, f"Content-Type has to be {JSON}, not {media_type[:100]!a}")
    encoding = headers.get("content-encoding", "identity").lower()
    if encoding != "identity":
        return Refusal.of(415, f"Content-Encoding {encoding[:100]!a} is not read here")
    return None


def check_accept(headers: Headers, wanted: tuple[str, ...]) -> Refusal | None:
    """Refuse a request that does not accept every kind of answer that it may get."""
    if all(accepts(headers.get("accept", ""), each) for each in wanted):
        return None
    return Refusal.of(406, f"Accept has to list {' and '.join(wanted)}")


@lru_cache(maxsize=64)
def accepts(header: str, media_type: str) -> bool:
    """Tell whether an ``Accept`` header takes a media type (RFC 9110, 12.5.1)."""
    kind = media_type.partition("/")[0]
    ranges = (media_type, f"{kind}/*", "*/*")
    found: dict[str, bool] = {}
    for entry in header.lower().split(","):
        name, *parameters = [part.strip() for part in entry.split(";")]
        found[name] = not any(_is_zero_weight(each) for each in parameters)
    # The most exact range that is there decides.
    return next((found[each] for each in ranges if each in found), False)


def _is_zero_weight(parameter: str) -> bool:
    name, _, value = parameter.partition("=")
    return name.strip() == "q" and value.strip().strip("0") in {"", "."}


def check_length(headers: Headers, limit: int) -> Refusal | None:
    """Refuse a body that is announced to be too large, before any of it is read."""
    announced = headers.get("content-length", "")
    digits = announced.lstrip("0")
    if not announced.isdecimal() or (len(digits) <= 18 and int(digits or 0) <= limit):
        return None
    return too_large(limit)


def too_large(limit: int) -> Refusal:
    """A body is larger than what is read."""
    # What is left of it is not read, so nothing can follow on this connection.
    return Refusal.of(413, f"The body is larger than {limit} bytes", headers=CLOSE)


# The body


def is_modern(headers: Headers, frame: Frame | None) -> bool:
    """Tell whether a request belongs to the modern era.

    A header that names no revision of the older era decides. So does a body that names its
    revision itself, so that it hears that the header is missing. ``initialize`` without a
    modern header opens the older era, whatever else it says.

    Args:
      headers: Of the request.
      frame: What its body holds; None if it has none (GET and DELETE).

    """
    versions = headers.all(VERSION_HEADER)
    if any(each not in HANDSHAKE_PROTOCOL_VERSIONS for each in versions):
        return True
    if not isinstance(frame, JSONRPCRequest) or frame.method == "initialize":
        return False
    meta = (frame.params or NO_ARGUMENTS).get("_meta")
    return is_object(meta) and PROTOCOL_VERSION_META_KEY in meta


def check_version(headers: Headers) -> Refusal | None:
    """Refuse a request without a body that names no revision that there is."""
    for each in headers.all(VERSION_HEADER):
        if revision_for(each) is None:
            return Refusal.of(400, f"{VERSION_HEADER} {each[:100]!a} is no revision")
    return None


def check_frame(frame: Frame) -> Refusal | None:
    """Refuse a body that is no request and no notification, in the modern era."""
    if isinstance(frame, (JSONRPCRequest, JSONRPCNotification)):
        return None
    if isinstance(frame, Malformed):
        return refuse_malformed(frame)
    what = "a batch" if isinstance(frame, Batch) else "an answer"
    return Refusal.of(400, f"Invalid Request: the body is one request or notification, not {what}")


def refuse_malformed(frame: Malformed) -> Refusal:
    """Answer what is no message."""
    error = ErrorData(code=frame.code, message=frame.message)
    return Refusal(status_for(frame.code), error, None if frame.is_response else frame.id)


def check_notification(headers: Headers) -> Refusal | None:
    """Refuse a modern notification whose headers name no revision that is served."""
    try:
        _check_single(headers)
        modern_revision(headers.get(VERSION_HEADER, ""))
    except MCPError as exc:
        return Refusal.for_error(exc)
    return None


def check_modern(
    headers: Headers, request: JSONRPCRequest, name_param: str | None = None
) -> Refusal | None:
    """Refuse a modern request that is not whole, or whose headers say something else.

    Args:
      headers: Of the request.
      request: The request.
      name_param: The member of its params that ``Mcp-Name`` repeats; as the protocol has it
        when None.

    """
    params = NO_ARGUMENTS if request.params is None else request.params
    try:
        _check_single(headers)
        if request.method == "initialize" and names_modern_revision(headers):
            raise no_handshake(params.get("protocolVersion"))
        meta = params.get("_meta", NO_ARGUMENTS)
        if not is_object(meta):
            raise invalid_params("params._meta: expected an object")
        version, _ = read_envelope(meta)
        _check_equal(headers, VERSION_HEADER, version)
        _check_equal(headers, METHOD_HEADER, request.method)
        _check_name(headers, name_param or _name_param(request.method), params)
        modern_revision(version)
    except MCPError as exc:
        return Refusal.for_error(exc, request.id)
    return None


def names_modern_revision(headers: Headers) -> bool:
    """Tell whether a header names a revision of the modern era that there is."""
    revision = revision_for(headers.get(VERSION_HEADER, ""))
    return revision is not None and revision.is_modern


def _check_single(headers: Headers) -> None:
    for name in (VERSION_HEADER, METHOD_HEADER, NAME_HEADER):
        if len(headers.all(name)) > 1:
            raise header_mismatch(f"{name} is given {len(headers.all(name))} times")


def _check_equal(headers: Headers, name: str, expected: str) -> None:
    given = headers.get(name)
    if given is None:
        raise header_mismatch(f"{name} is missing; the body says {expected[:100]!a}")
    if given != expected:
        raise header_mismatch(f"{name} is {given[:100]!a}, and the body says {expected[:100]!a}")


def _name_param(method: str) -> str | None:
    spec = METHODS.get(method)
    return None if spec is None else spec.name_param


def _check_name(headers: Headers, name_param: str | None, params: JsonObject) -> None:
    if name_param is None:
        return
    expected: JsonValue = params.get(name_param)
    if not isinstance(expected, str):
        return  # which the check of the params will tell
    given = headers.get(NAME_HEADER)
    if given is None or _decoded(NAME_HEADER, given) != expected:
        said = "missing" if given is None else f"{given[:100]!a}"
        where = f"params.{name_param}"
        raise header_mismatch(f"{NAME_HEADER} is {said}, and {where} is {expected[:100]!a}")


# Arguments that are repeated in headers


def check_mirrored(
    headers: Headers, request: JSONRPCRequest, mirrored: Mapping[str, Path]
) -> Refusal | None:
    """Refuse a call of a tool whose headers do not repeat its arguments.

    Args:
      headers: Of the request. Those that the tool does not know are not looked at.
      request: ``tools/call``.
      mirrored: For each header that the tool knows, where its argument is.

    """
    given = (request.params or NO_ARGUMENTS).get("arguments")
    arguments = given if is_object(given) else NO_ARGUMENTS
    try:
        for name, path in mirrored.items():
            _check_argument(name, headers.all(name), ".".join(path), argument_at(arguments, path))
    except MCPError as exc:
        return Refusal.for_error(exc, request.id)
    return None


def _check_argument(name: str, values: tuple[str, ...], where: str, argument: JsonValue) -> None:
    if len(values) > 1:
        raise header_mismatch(f"{name} is given {len(values)} times")
    if argument is None:
        if values:
            raise header_mismatch(f"{name} is there, and the argument {where!a} is not")
        return
    if not values:
        raise header_mismatch(f"{name} is missing: it repeats the argument {where!a}")
    if not _says(_decoded(name, values[0]), argument):
        raise header_mismatch(f"{name} does not repeat the argument {where!a}")
    if isinstance(argument, int) and abs(argument) > _LARGEST:
        # What stands between may read it as another number, which would still be equal here.
        raise header_mismatch(f"{name}: the argument {where!a} lies beyond ±(2^53 - 1)")


def _says(text: str, argument: JsonValue) -> bool:
    if isinstance(argument, (int, float)) and not isinstance(argument, bool):
        # As numbers: 42.0 is 42. What is no integer is a fault of the arguments.
        whole, _, fraction = text.partition(".")
        digits = whole.removeprefix("-")
        is_integer = digits.isascii() and digits.isdigit() and not fraction.strip("0")
        return is_integer and len(digits) <= _MOST_DIGITS and int(whole) == argument
    expected = header_text(argument)
    return expected is None or text == expected


_LARGEST: Final = 2**53 - 1
_MOST_DIGITS: Final = 1_000
# Of an integer in a header: Python refuses to read many more.


def _decoded(name: str, value: str) -> str:
    if not (value.isascii() and value.replace("\t", " ").isprintable()):
        raise header_mismatch(f"{name} holds characters that no header may hold")
    try:
        return decode_header_value(value)
    except HeaderValueError as exc:
        raise header_mismatch(f"{name}: {exc}") from None
