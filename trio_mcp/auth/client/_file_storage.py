"""Tokens in a file that only its owner can read, and that is never there half."""

from __future__ import annotations

import hashlib
import logging
import os
import tempfile
import threading
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

import trio

from trio_mcp._checks import check_kind
from trio_mcp._codec._json import JsonError, dumps, loads
from trio_mcp.types._base import is_object

from ._storage import Member, TokenStore, claimed

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from trio_mcp.types._base import JsonObject

logger: Final = logging.getLogger("trio_mcp.auth")

LOCK_SECONDS: Final = 2.0
"""How long another process may be at work on the file. It takes a few milliseconds."""

RENEWAL_SECONDS: Final = 30.0
"""How long another process may take to renew the tokens of a server."""

_FIRST_PAUSE: Final = 0.01
_LONGEST_PAUSE: Final = 0.1
_VERSION: Final = 1
_writing: Final = threading.Lock()
"""Between the threads of this process, which a lock on a file does not part everywhere."""


@final
class FileTokenStorage(TokenStore):
    """Keeps the tokens of all servers in one JSON file.

    The file is made with the permissions 0600 and its folder, if there is none, with 0700. It is
    replaced as a whole: a crash, a full disk or a cancellation leaves the one before. Several
    processes may use it at the same time: locks on files beside it (``….lock``) have one of them
    change it, and one of them renew the tokens of a server. What is in it is not encrypted;
    `KeyringTokenStorage` leaves that to the system.

    Args:
      path: Of the file. It need not exist.

    Cancellation:
      What is read or written takes place in a thread, and is waited for; who waits for another
      process leaves at once.

    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        if not isinstance(path, str):
            check_kind("path", path, os.PathLike, "the path of a file")
        # Through links: it is the file that is replaced.
        self._path = Path(path).expanduser().resolve()

    async def read(self, server_url: str) -> JsonObject:
        """See `TokenStore.read`."""
        servers = await trio.to_thread.run_sync(self._read)
        kept = servers.get(server_url)
        return dict(kept) if is_object(kept) else {}

    async def write(self, server_url: str, member: Member, document: JsonObject) -> None:
        """See `TokenStore.write`."""
        async with _locked(self._beside("lock"), LOCK_SECONDS):
            await trio.to_thread.run_sync(self._change, server_url, member, document)

    async def claim(self, server_url: str, member: Member) -> JsonObject | None:
        """See `TokenStore.claim`."""
        servers = await trio.to_thread.run_sync(self._read)
        if not is_object(free := servers.get("")) or not free.get(member):
            return None
        async with _locked(self._beside("lock"), LOCK_SECONDS):
            return await trio.to_thread.run_sync(self._claim, server_url, member)

    @asynccontextmanager
    async def alone(self, server_url: str) -> AsyncGenerator[None, None]:
        """See `TokenStore.alone`."""
        # Another file for each server: one that is slow holds up none of the others.
        digest = hashlib.sha256(server_url.encode()).hexdigest()[:16]
        async with _locked(self._beside(f"{digest}.lock"), RENEWAL_SECONDS):
            yield

    def _beside(self, suffix: str) -> Path:
        return self._path.with_name(f"{self._path.name}.{suffix}")

    def _read(self) -> JsonObject:
        try:
            found: Any = loads(self._path.read_bytes())
        except FileNotFoundError:
            return {}
        except JsonError as exc:
            logger.warning("%s is no store of tokens, and taken for empty: %s", self._path, exc)
            return {}
        servers = found.get("servers") if is_object(found) else None
        return servers if is_object(servers) else {}

    def _change(self, server_url: str, member: Member, document: JsonObject) -> None:
        with _writing:
            servers = self._read()
            kept = servers.get(server_url)
            of_server = dict(kept) if is_object(kept) else {}
            of_server[member] = document
            self._replace({**servers, server_url: of_server})

    def _claim(self, server_url: str, member: Member) -> JsonObject | None:
        with _writing:
            servers = self._read()
            found = claimed(servers, server_url, member)
            if found is not None:
                self._replace(servers)
            return found

    def _replace(self, servers: JsonObject) -> None:
        _replace(self._path, dumps({"version": _VERSION, "servers": servers}))


def _replace(path: Path, content: bytes) -> None:
    # Such a file is made with 0600, whatever the umask.
    number, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(number, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    # So that the new name is on the disk, too; systems that know no such thing do without.
    with suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


@asynccontextmanager
async def _locked(path: Path, seconds: float) -> AsyncGenerator[None, None]:
    """Hold a lock that processes share, if it is to be had in time.

    The system takes it back when the process ends, however it does.
    """
    lock = _FileLock(path)
    deadline, pause = trio.current_time() + seconds, _FIRST_PAUSE
    try:
        while not await trio.to_thread.run_sync(lock.attempt):
            if trio.current_time() >= deadline:
                # Better that two do something at the same time than that nobody does.
                logger.warning("%s is locked for long, and passed over", path)
                break
            await trio.sleep(pause)
            pause = min(pause * 1.5, _LONGEST_PAUSE)
        yield
    finally:
        lock.release()


@final
class _FileLock:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._number: int | None = None

    def attempt(self) -> bool:
        """Try to get it; tells whether one need not try again."""
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            import fcntl  # noqa: PLC0415 - not on Windows
        except ImportError:
            return True
        if self._number is None:
            self._number = os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(self._number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as exc:
            # There are file systems that know no locks.
            logger.debug("%s cannot be locked: %s", self._path, exc)
        return True

    def release(self) -> None:
        if self._number is not None:
            os.close(self._number)
            self._number = None
