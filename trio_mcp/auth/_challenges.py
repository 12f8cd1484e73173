"""Read and write ``WWW-Authenticate`` (RFC 9110, section 11.6.1).

One header holds several challenges, and there may be several headers; a comma parts both
challenges and their parameters. So it is read from left to right: what has ``=`` and a value is a
parameter, every other token begins a challenge. What fits nowhere is passed over, since a server
with a typo in one parameter still says what it wants in the others.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_TOKEN: Final = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # noqa: S105 - the grammar's word
# Servers leave URLs unquoted although `:` and `/` are not allowed then; their meaning is plain.
# A string that is not closed takes the rest, so that no header is looked through twice.
_PARAMETER: Final = re.compile(
    rf'({_TOKEN})[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*+)("?)|([^\s,"=][^\s,"]*))', re.DOTALL
)
_SCHEME: Final = re.compile(rf"({_TOKEN})(?=[ \t,]|$)")
_TOKEN68: Final = re.compile(r"([A-Za-z0-9._~+/-]+=*)(?=[ \t]*(?:,|$))")
_BETWEEN: Final = re.compile(r"[ \t,]*")
_GARBAGE: Final = re.compile(r'(?:[^,"]|"(?:[^"\\]|\\.)*+"?)[^,"]*+', re.DOTALL)
_WRITABLE: Final = re.compile(r"[\x20-\x7e]*")

OAUTH_SCHEMES: Final = ("bearer", "dpop")


@attrs.frozen
class Challenge:
    """What a server asks for.

    Attributes:
      scheme: As it was written; compared without regard to case.
      params: By their names in lower case; the first of two with one name counts.
      token68: What stands in place of parameters, as with ``Negotiate``.

    """

    scheme: str
    params: Mapping[str, str] = attrs.field(factory=dict[str, str])
    token68: str | None = None

    def is_scheme(self, *schemes: str) -> bool:
        return self.scheme.lower() in [scheme.lower() for scheme in schemes]


def parse_challenges(headers: Iterable[str]) -> list[Challenge]:
    """Read the values of all ``WWW-Authenticate`` headers of one answer, in their order."""
    return [challenge for header in headers for challenge in _parse(header)]


def _parse(text: str) -> Iterable[Challenge]:
    scheme, params, token68 = "", dict[str, str](), None
    at = 0
    while at < len(text):
        between = _BETWEEN.match(text, at)
        assert between is not None
        at = between.end()
        if (found := _PARAMETER.match(text, at)) is not None:
            if scheme and (value := _value(found)) is not None:
                params.setdefault(found[1].lower(), value)
        elif (found := _SCHEME.match(text, at)) is not None:
            begun_before = bool(scheme) and not params and token68 is None
            if begun_before and "," not in between[0] and _TOKEN68.match(text, at):
                token68 = found[1]
            else:
                if scheme:
                    yield Challenge(scheme, params, token68)
                scheme, params, token68 = found[1], {}, None
        elif (found := _TOKEN68.match(text, at)) is not None:
            token68 = found[1]
        elif (found := _GARBAGE.match(text, at)) is None:
            break
        at = found.end()
    if scheme:
        yield Challenge(scheme, params, token68)


def _value(found: re.Match[str]) -> str | None:
    _, quoted, closed, bare = found.groups()
    if quoted is None:
        return str(bare)
    return re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL) if closed else None


def oauth_params(challenges: Iterable[Challenge]) -> dict[str, str]:
    """Give what the challenges of OAuth say together; for each name the first one counts.

    A server that takes tokens of both kinds sends a ``Bearer`` and a ``DPoP`` challenge, and says
    only in one of them where its metadata is.
    """
    merged: dict[str, str] = {}
    for challenge in challenges:
        if challenge.is_scheme(*OAUTH_SCHEMES):
            for name, value in challenge.params.items():
                merged.setdefault(name, value)
    return merged


def write_challenge(scheme: str, /, **params: str | None) -> str:
    """Write one challenge, with each value as a quoted string.

    Args:
      scheme: Such as ``"Bearer"``.
      params: In their order; those that are None are left out.

    Raises:
      ValueError: if something has characters that no header may carry.

    """
    for name in (scheme, *params):
        if re.fullmatch(_TOKEN, name) is None:
            raise ValueError(f"{name!r} is no token of HTTP")
    written = [
        f'{name}="{_escaped(name, value)}"' for name, value in params.items() if value is not None
    ]
    return f"{scheme} {', '.join(written)}" if written else scheme


def _escaped(name: str, value: str) -> str:
    if _WRITABLE.fullmatch(value) is None:
        raise ValueError(f"{name} of a challenge must be visible ASCII, not {value!r:.80}")
    return value.replace("\\", "\\\\").replace('"', '\\"')
