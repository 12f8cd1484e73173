"""Tokens in the keyring of the system."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final, final

import trio

from trio_mcp._checks import check_text
from trio_mcp._codec._json import JsonError, dumps, loads
from trio_mcp.types._base import is_object

from ._storage import Member, TokenStore, claimed

if TYPE_CHECKING:
    from trio_mcp.types._base import JsonObject

_ONE_SERVER: Final = "server"


@final
class KeyringTokenStorage(TokenStore):
    """Keeps tokens in the keyring of the system, one entry a server; the extra ``keyring``.

    Args:
      service: The name under which the keyring shows them.

    Raises:
      ImportError: if ``keyring`` is not installed.

    Cancellation:
      The keyring works in a thread, and is waited for: it may ask the user for a password.

    """

    def __init__(self, service: str = "trio_mcp") -> None:
        check_text("service", service)
        try:
            import keyring  # type: ignore[import-not-found, unused-ignore]  # noqa: PLC0415
        except ImportError as exc:
            raise ImportError(
                "KeyringTokenStorage needs keyring: pip install 'trio-mcp[keyring]'",
                name="keyring",
            ) from exc
        self._keyring: Any = keyring
        self._service = service
        # What is changed is read before.
        self._changing = threading.Lock()

    async def read(self, server_url: str) -> JsonObject:
        """See `TokenStore.read`."""
        return await trio.to_thread.run_sync(self._read, server_url or _ONE_SERVER)

    async def write(self, server_url: str, member: Member, document: JsonObject) -> None:
        """See `TokenStore.write`."""
        name = server_url or _ONE_SERVER
        await trio.to_thread.run_sync(self._change, name, member, document)

    async def claim(self, server_url: str, member: Member) -> JsonObject | None:
        """See `TokenStore.claim`."""
        return await trio.to_thread.run_sync(self._claim, server_url, member)

    def _read(self, name: str) -> JsonObject:
        kept = self._keyring.get_password(self._service, name)
        try:
            found: Any = loads(kept) if kept else {}
        except JsonError:
            return {}
        return found if is_object(found) else {}

    def _change(self, name: str, member: Member, document: JsonObject) -> None:
        with self._changing:
            self._write(name, {**self._read(name), member: document})

    def _claim(self, server_url: str, member: Member) -> JsonObject | None:
        with self._changing:
            servers: JsonObject = {"": self._read(_ONE_SERVER), server_url: self._read(server_url)}
            before = dumps(servers)
            found = claimed(servers, server_url, member)
            if dumps(servers) != before:
                # In this order: what fails in between is lost, and not given to two servers.
                self._write(_ONE_SERVER, servers[""])
                self._write(server_url, servers[server_url])
            return found

    def _write(self, name: str, kept: JsonObject) -> None:
        self._keyring.set_password(self._service, name, dumps(kept).decode())
