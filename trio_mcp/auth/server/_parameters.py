"""The parameters of a request to an authorization server: read once, and only if they are clear.

Two parsers that pick different ones of two values of the same name are how such servers are
fooled, so no name may come twice (RFC 6749, section 3.1). One without a value has not come.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl

import attrs

from trio_mcp.transports.http._asgi import read_body
from trio_mcp.transports.http._refusal import Refusal

from ._answers import ClientGone, RefusedRequest

if TYPE_CHECKING:
    from trio_mcp.transports.http._asgi import HttpRequest

MAX_BODY: Final = 64 * 1024
"""Bytes of a form, or of the JSON of a registration. Signed assertions take a few KiB."""

BODY_SECONDS: Final = 30.0
"""Seconds in which a body has to come."""

_FORM: Final = "application/x-www-form-urlencoded"
_MAX_PARAMETERS: Final = 100
_CONTROL: Final = frozenset(map(chr, (*range(0x20), 0x7F)))


@attrs.frozen
class Parameters:
    """Parameters by name.

    Attributes:
      values: Of those that came once.
      repeated: The names of the others.

    """

    values: dict[str, str] = attrs.field(repr=False)
    repeated: frozenset[str]

    def get(self, name: str) -> str | None:
        """Give a parameter; None if it has not come."""
        return self.values.get(name)

    def needed(self, name: str) -> str:
        """Give a parameter.

        Raises:
          RefusedRequest: if it has not come.

        """
        value = self.values.get(name)
        if value is None:
            raise RefusedRequest("invalid_request", f"The parameter {name} is missing")
        return value

    def check_single(self) -> None:
        """Check that none came twice.

        Raises:
          RefusedRequest: if one did.

        """
        if "resource" in self.repeated:
            # RFC 8707 has this for several, and this error for a server that takes one.
            raise RefusedRequest("invalid_target", "A token is for one resource, and not several")
        if self.repeated:
            name = min(self.repeated)
            raise RefusedRequest("invalid_request", f"The parameter {name:.40} came twice")


def parse_parameters(encoded: bytes) -> Parameters:
    """Read parameters from a query or a form.

    Raises:
      RefusedRequest: if they are not written as such.

    """
    try:
        pairs = parse_qsl(
            encoded.decode("ascii"),
            keep_blank_values=True,
            encoding="utf-8",
            errors="strict",
            max_num_fields=_MAX_PARAMETERS,
        )
    except ValueError:
        raise RefusedRequest(
            "invalid_request",
            f"The parameters are not encoded as {_FORM} in UTF-8, or more than {_MAX_PARAMETERS}",
        ) from None
    seen: set[str] = set()
    repeated: set[str] = set()
    for name, value in pairs:
        if not _CONTROL.isdisjoint(value):
            raise RefusedRequest("invalid_request", f"The parameter {name:.40} is no plain text")
        (repeated if name in seen else seen).add(name)
    values = {name: value for name, value in pairs if value and name not in repeated}
    return Parameters(values, frozenset(repeated))


async def read_form(request: HttpRequest) -> Parameters:
    """Read the parameters in the body of a request, none of which came twice.

    Raises:
      RefusedRequest: if the body is no form, or one did.
      ClientGone: if the client has gone.

    """
    parameters = parse_parameters(await read_text(request, _FORM))
    parameters.check_single()
    return parameters


async def read_text(request: HttpRequest, media_type: str) -> bytes:
    """Read the body of a request, which has to be of a type.

    Raises:
      RefusedRequest: if it is not, or too large, or does not come.
      ClientGone: if the client has gone.

    """
    came = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if came != media_type:
        raise RefusedRequest(
            "invalid_request",
            f"Expected a body of the type {media_type}, got {came or 'none':.80}",
        )
    body = await read_body(request, MAX_BODY, BODY_SECONDS)
    if body is None:
        raise ClientGone
    if isinstance(body, Refusal):
        raise RefusedRequest(
            "invalid_request", body.error.message, status=body.status, headers=body.headers
        )
    return body
