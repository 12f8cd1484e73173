"""Where a client keeps its tokens and registrations: the interface, and the one in memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import asynccontextmanager
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Literal,
    Protocol,
    TypeAlias,
    final,
    runtime_checkable,
)

import attrs
import trio

from trio_mcp._rpc._nursery import finish_within
from trio_mcp.auth._models import OAuthClientInformationFull, OAuthToken
from trio_mcp.types._base import is_object

from ._turns import turn

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from contextlib import AbstractAsyncContextManager

    from trio_mcp.types._base import JsonObject

Member: TypeAlias = Literal["tokens", "client"]

_CLAIM_SECONDS: Final = 5.0
"""How long a store may take to move something, once it has begun."""


@runtime_checkable
class TokenStorage(Protocol):
    """Keeps the tokens of one server and how this client is registered for them.

    They are secrets: whoever can read the store can act as the user. What one process has written
    others may read, so the store is read again before a token is refreshed.

    A store that fails costs nothing but that: what came is used all the same, and the failure is
    logged.

    Cancellation:
      A method that is cancelled has written all or nothing. One that writes may take five seconds.

    """

    async def get_tokens(self) -> OAuthToken | None:
        """Return the tokens, if there are any."""
        ...

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Keep tokens in place of those before, with all that is in their ``extra``."""
        ...

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return how this client is registered, if it is."""
        ...

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keep a registration in place of the one before."""
        ...


class TokenStore(ABC):
    """Keeps the tokens of any number of servers apart; base of the stores that are there.

    A client takes it as a `TokenStorage`, and uses the part that is for its own server: tokens of
    one never get to another. What an application puts there without saying for which server, by
    `set_client_info` of the store itself, is that of the first server whose client asks, and of no
    other one.

    `read` and `write` are all that a store has to have. One that several processes share says in
    `claim` and `alone` how they get along.
    """

    def for_server(self, server_url: str) -> TokenStorage:
        """Return what is kept for the server at a URL."""
        return _OfServer(self, server_url)

    @abstractmethod
    async def read(self, server_url: str) -> JsonObject:
        """Return what is kept for a server: ``tokens``, ``client``, both, or nothing."""

    @abstractmethod
    async def write(self, server_url: str, member: Member, document: JsonObject) -> None:
        """Keep ``tokens`` or ``client`` of a server; all of it or nothing."""

    async def claim(self, server_url: str, member: Member) -> JsonObject | None:
        """Give a server what is of none yet, if there is something: to one, and never to two.

        This one is at once for all who use the object. One that is so for all processes is made
        of what the store has for that.

        Returns:
          What the server has now.

        """
        async with turn((id(self), "claim")):
            own: JsonObject | None = (await self.read(server_url)).get(member)
            given: JsonObject | None = (await self.read("")).get(member)
            if own or not given:
                return own
            with finish_within(_CLAIM_SECONDS):
                # First from the old place: what goes wrong in between costs a login, and does not
                # give to two servers what is for one.
                await self.write("", member, {})
                await self.write(server_url, member, given)
        return given

    def alone(self, server_url: str) -> AbstractAsyncContextManager[None]:
        """Make a block in which no other process renews the tokens of a server.

        A refresh token is taken once, and some servers end a login with which that is tried
        twice. So who renews reads the store in this block, asks the server, and writes. It is
        waited for, for a time; then one goes on as if it were not there. In one process nobody
        needs it, so this one does nothing.
        """
        del server_url
        return _nothing()

    # What is of no server yet.

    async def get_tokens(self) -> OAuthToken | None:
        """See `TokenStorage.get_tokens`."""
        return await _OfServer(self, "").get_tokens()

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """See `TokenStorage.set_tokens`."""
        await _OfServer(self, "").set_tokens(tokens)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """See `TokenStorage.get_client_info`."""
        return await _OfServer(self, "").get_client_info()

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """See `TokenStorage.set_client_info`."""
        await _OfServer(self, "").set_client_info(client_info)


@asynccontextmanager
async def _nothing() -> AsyncGenerator[None, None]:
    yield


@final
@attrs.frozen
class _OfServer:
    """The part of a store that is for one server."""

    _store: TokenStore
    _server_url: str

    async def get_tokens(self) -> OAuthToken | None:
        kept = await self._read("tokens")
        return OAuthToken.from_json(kept) if kept else None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        await self._store.write(self._server_url, "tokens", tokens.to_json())

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        kept = await self._read("client")
        return OAuthClientInformationFull.from_json(kept) if kept else None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        await self._store.write(self._server_url, "client", client_info.to_json())

    async def _read(self, member: Member) -> JsonObject | None:
        kept: JsonObject | None = (await self._store.read(self._server_url)).get(member)
        if kept or not self._server_url:
            return kept
        return await self._store.claim(self._server_url, member)


def part_for(storage: Any, server_url: str) -> TokenStorage:
    """Give the part of a store of the user that is for one server.

    Args:
      storage: A `TokenStore`, or what has the methods of a `TokenStorage`.
      server_url: The URL of the server, as it is written in requests for tokens.

    Raises:
      TypeError: if it is no store.

    """
    if isinstance(storage, TokenStore):
        return storage.for_server(server_url)
    if isinstance(storage, type) or not isinstance(storage, TokenStorage):
        raise TypeError(
            "storage: expected a TokenStorage, with get_tokens, set_tokens, get_client_info and "
            f"set_client_info, got {storage!r:.80}"
        )
    return storage


def claimed(servers: JsonObject, server_url: str, member: Member) -> JsonObject | None:
    """Move what is of no server yet to one, in all that is kept, unless it has something."""
    own, free = (_as_object(servers.get(each)) for each in (server_url, ""))
    if not own.get(member) and free.get(member):
        own[member] = free.pop(member)
        servers[server_url], servers[""] = own, free
    found = own.get(member)
    return found if is_object(found) and found else None


def _as_object(value: Any) -> JsonObject:
    return value if is_object(value) else {}


@final
class InMemoryTokenStorage(TokenStore):
    """Keeps tokens for as long as this process runs. Several clients may share it."""

    def __init__(self) -> None:
        self._kept: dict[str, JsonObject] = {}

    async def read(self, server_url: str) -> JsonObject:
        """See `TokenStore.read`."""
        await trio.lowlevel.checkpoint()
        return dict(self._kept.get(server_url, {}))

    async def write(self, server_url: str, member: Member, document: JsonObject) -> None:
        """See `TokenStore.write`."""
        await trio.lowlevel.checkpoint()
        self._kept.setdefault(server_url, {})[member] = document

    async def claim(self, server_url: str, member: Member) -> JsonObject | None:
        """See `TokenStore.claim`."""
        await trio.lowlevel.checkpoint()
        return claimed(self._kept, server_url, member)
