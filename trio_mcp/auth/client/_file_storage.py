"""Tokens in a file that only its owner can read, and that is never there half."""

from __future__ import annotations

import logging
import os
import tempfile
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

import trio

from trio_mcp._checks import check_kind
from trio_mcp._codec._json import JsonError, dumps, loads
from trio_mcp.types._base import is_object

from ._storage import Member, TokenStore

if TYPE_CHECKING:
    from collections.abc import Generator

    from trio_mcp.types._base import JsonObject

logger: Final = logging.getLogger("trio_mcp.auth")

LOCK_SECONDS: Final = 2.0
"""How long another process may be at work on the file. It takes a few milliseconds."""

_PAUSE: Final = 0.01
_VERSION: Final = 1
_writing: Final = threading.Lock()
"""Between the threads of this process, which a lock on a file does not part everywhere."""


@final
class FileTokenStorage(TokenStore):
    """Keeps the tokens of all servers in one JSON file.

    The file is made with the permissions 0600 and its folder, if there is none, with 0700. It is
    replaced as a whole: a crash, a full disk or a cancellation leaves the one before. Several
    processes may use it at the same time. What is in it is not encrypted; `KeyringTokenStorage`
    leaves that to the system.

    Args:
      path: Of the file. It need not exist.

    Cancellation:
      What is read or written takes place in a thread, and is waited for.

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
        await trio.to_thread.run_sync(self._change, server_url, member, document)

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
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _writing, _among_processes(self._path.with_name(f"{self._path.name}.lock")):
            servers = self._read()
            kept = servers.get(server_url)
            of_server = dict(kept) if is_object(kept) else {}
            of_server[member] = document
            everything = {"version": _VERSION, "servers": {**servers, server_url: of_server}}
            _replace(self._path, dumps(everything))


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


@contextmanager
def _among_processes(path: Path) -> Generator[None, None, None]:
    try:
        import fcntl  # noqa: PLC0415 - not on Windows
    except ImportError:
        yield
        return
    number = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        deadline = time.monotonic() + LOCK_SECONDS
        while True:
            try:
                fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() > deadline:
                    # Better what another process writes at the same time is lost than this.
                    logger.warning("%s is locked for long, and written all the same", path)
                    break
                time.sleep(_PAUSE)
        yield
    finally:
        os.close(number)
