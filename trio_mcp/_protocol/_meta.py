"""``_meta``: what every modern request says of its sender, and the grammar of its keys."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, cast

from trio_mcp.types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    LOG_LEVEL_META_KEY,
    PROTOCOL_VERSION_META_KEY,
)

if TYPE_CHECKING:
    from trio_mcp.types._base import JsonObject

# Basic protocol, "_meta": dot-joined labels and a slash, then a name.
_LABEL: Final = r"[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_NAME: Final = r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?"
_KEY: Final = re.compile(rf"(?:(?P<prefix>{_LABEL}(?:\.{_LABEL})*)/)?{_NAME}")


def check_meta_keys(argument: str, meta: object) -> None:
    """Check the keys of a ``_meta`` that is to be sent (basic protocol, "_meta").

    Args:
      argument: What they were given as, with which the error begins.
      meta: The ``_meta``. What is no JSON object is for others to refuse.

    Raises:
      ValueError: if one does not follow the grammar.

    """
    if not isinstance(meta, Mapping):
        return
    for key in cast("Mapping[object, object]", meta):
        if isinstance(key, str) and _KEY.fullmatch(key) is None:
            raise ValueError(
                f"{argument}: expected keys like 'colour' or 'com.example/colour', of letters, "
                "digits and, between two of these, '-', '_' and '.', after a dotted prefix and a "
                f"slash if there is one; got {key!r:.100}"
            )


def is_valid_extension_id(identifier: str) -> bool:
    """Tell whether an extension's identifier follows the key grammar, prefix included."""
    match = _KEY.fullmatch(identifier)
    return match is not None and match["prefix"] is not None and not identifier.endswith("/")


def check_extension_id(identifier: object, owner: str) -> None:
    """Check the identifier of an extension (basic protocol, extension negotiation).

    Args:
      identifier: What is to be one.
      owner: Whose it is, as the error begins.

    Raises:
      ValueError: if it does not follow the grammar.

    """
    if not isinstance(identifier, str) or not is_valid_extension_id(identifier):
        raise ValueError(
            f"{owner}: {identifier!r} is no identifier of an extension; it is a dotted prefix, a "
            "slash and a name, as in 'com.example/feature'"
        )


def build_client_envelope(
    version: str, capabilities: JsonObject, client_info: JsonObject | None, log_level: str | None
) -> JsonObject:
    """Build the part of ``_meta`` that is the same on each modern request of a client."""
    envelope: JsonObject = {
        PROTOCOL_VERSION_META_KEY: version,
        CLIENT_CAPABILITIES_META_KEY: capabilities,
    }
    if client_info is not None:
        envelope[CLIENT_INFO_META_KEY] = client_info
    if log_level is not None:
        envelope[LOG_LEVEL_META_KEY] = log_level
    return envelope
