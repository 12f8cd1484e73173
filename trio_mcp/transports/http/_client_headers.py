"""The headers of what a client posts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from trio_mcp._codec._headers import encode_header_value
from trio_mcp.types._methods import METHODS

if TYPE_CHECKING:
    from trio_mcp.types._base import JsonObject

    from ._client_call import HttpCall

POST_HEADERS: Final = {
    "content-type": "application/json",
    "accept": "application/json, text/event-stream",
    # A small compressed body may unpack to any size.
    "accept-encoding": "identity",
}


def modern_headers(call: HttpCall, params: JsonObject, version: str) -> dict[str, str]:
    """Give the headers of a modern request, which repeat what its body says."""
    headers = {**POST_HEADERS, "mcp-protocol-version": version, "mcp-method": call.method}
    mirrored = dict(call.options.headers or {})
    spec = METHODS.get(call.method)
    if spec is not None and spec.name_param is not None:
        name = params.get(spec.name_param)
        if isinstance(name, str):
            mirrored["mcp-name"] = name
    for header, text in mirrored.items():
        headers[header] = encode_header_value(text)
    return headers
