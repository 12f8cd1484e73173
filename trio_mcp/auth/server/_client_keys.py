"""The public keys of clients that sign what they say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from trio_mcp.auth._identifiers import is_secure_url
from trio_mcp.auth._jwt import import_key_set
from trio_mcp.types._base import is_object

from ._clients import refused_client
from ._documents import Documents, Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    from trio_mcp.auth._jwt import Key
    from trio_mcp.auth._models import OAuthClientInformationFull

MAX_KEYS: Final = 20
"""How many a client may have: one in use, one to come, and some to spare."""

MAX_KEY_SET: Final = 64 * 1024
"""Bytes of the document that has them."""

_PRIVATE: Final = frozenset(("d", "p", "q", "dp", "dq", "qi", "oth", "k"))


def check_client_keys(
    method: str | None, jwks: Any, jwks_uri: str | None, refused: Callable[[str], Exception]
) -> None:
    """Check the keys that a client names, as far as that needs no look at them.

    Args:
      method: How it means to authenticate.
      jwks: Its keys.
      jwks_uri: Where they are.
      refused: Makes the error.

    Raises:
      Exception: the one made, if they are none of which anything could be believed.

    """
    if jwks is not None and jwks_uri is not None:
        raise refused("The keys are in jwks or at jwks_uri, and not both")
    if method == "private_key_jwt" and jwks is None and jwks_uri is None:
        raise refused("A client that signs names its keys, in jwks or by jwks_uri")
    if jwks_uri is not None and not is_secure_url(jwks_uri):
        raise refused("The jwks_uri has to be an https URL")
    if jwks is not None:
        _check_key_set(jwks, refused)


def _check_key_set(jwks: Any, refused: Callable[[str], Exception]) -> None:
    found: Any = jwks.get("keys") if is_object(jwks) else None
    if not isinstance(found, list):
        raise refused("The jwks is an object with an array of keys")
    keys = cast("list[object]", found)
    if not 0 < len(keys) <= MAX_KEYS:
        raise refused(f"The jwks has 1 to {MAX_KEYS} keys")
    for key in keys:
        if not is_object(key) or not _PRIVATE.isdisjoint(key):
            raise refused("The jwks has public keys alone")


class ClientKeys:
    """Finds the keys of clients: those that they have named, or have published.

    Args:
      allow_private: Whether they may be published in a private network.
      http_client: Fetches them, in place of a client made here.

    """

    def __init__(self, *, allow_private: bool = False, http_client: Any = None) -> None:
        self._documents = Documents(
            "key set", limit=MAX_KEY_SET, allow_private=allow_private, http_client=http_client
        )

    async def of(
        self, client: OAuthClientInformationFull, *, older_than: float | None = None
    ) -> list[Key]:
        """Give the keys of a client.

        Args:
          client: Which one.
          older_than: Seconds: those that were fetched that long ago are fetched again.

        Raises:
          RefusedRequest: if it has none, or they cannot be had.

        """
        document = client.jwks
        try:
            if document is None and client.jwks_uri is not None:
                document = await self._documents.get(client.jwks_uri, older_than=older_than)
            if not is_object(document):
                raise refused_client("The client has named no keys")
            return import_key_set(document, MAX_KEYS)
        except (Unavailable, ValueError) as exc:
            raise refused_client(f"The client's keys are of no use: {exc}") from None
