"""What is shared by way of Redis: the address of one, and a connection to it.

coredis speaks the protocol; the connection below is run in a nursery of ours, in place of its
pool, so that its end is known at once and its owner is the block that opened it. Nothing here
tells a password: neither an error, nor a log, nor the repr of an object.
"""

from __future__ import annotations

import logging
import re
import ssl
from contextlib import aclosing, asynccontextmanager, suppress
from contextvars import ContextVar
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

import attrs
import trio

from trio_mcp._checks import check_kind, check_text
from trio_mcp._codec import checked_copy
from trio_mcp._rpc._nursery import open_background_nursery
from trio_mcp.transports._foreground import NotThere

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from coredis.connection import BaseConnection

CONNECT_TIMEOUT: Final = 5.0
"""Seconds until a connection is there, TLS and passwords included."""

ANSWER_TIMEOUT: Final = 5.0
"""Seconds until Redis has answered. It takes a millisecond; but this process may have been busy
itself. A connection that is silent for longer is taken for dead, and made anew."""

DEFAULT_PORT: Final = 6379
DEFAULT_PREFIX: Final = "trio-mcp"

_EXPECTED: Final = "redis://host:port/db, rediss://… for TLS, or unix:///path?db=0"


_UNSEEN: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


class RedisLost(NotThere):
    """There is no connection (any more), or there was no answer."""


class RedisRefused(NotThere):
    """Redis answered with an error.

    Args:
      message: For people.
      said: The class of the error.

    """

    def __init__(self, message: str, said: type[Exception] | None = None) -> None:
        super().__init__(message)
        self.is_unknown_script = said is not None and said.__name__ == "NoScriptError"


def _split(url: object) -> tuple[SplitResult, int | None, dict[str, list[str]]]:
    """Take a URL apart that says where; its text, which may have a password, is not repeated."""
    check_text("url", url)
    assert isinstance(url, str)
    if _UNSEEN.search(url) or url != url.strip():
        # Python drops some of these without a word, and others are in no name.
        raise ValueError(
            f"url: expected {_EXPECTED}, got one with a control character in it, or a space "
            "round it; what is special in a URL is percent-encoded"
        )
    try:
        parts = urlsplit(url)
        host, port, query = parts.hostname, parts.port, parse_qs(parts.query)
    except ValueError:
        # Its text may have a part of the password.
        raise ValueError(
            f"url: expected {_EXPECTED}, got one whose host or port cannot be read; what is "
            "special in a URL is percent-encoded in a password"
        ) from None
    if parts.scheme not in ("redis", "rediss", "unix"):
        raise ValueError(f"url: expected {_EXPECTED}, got the scheme {parts.scheme!r:.20}")
    is_unix = parts.scheme == "unix"
    if (is_unix and not parts.path) or (not is_unix and (host is None or " " in host)):
        raise ValueError(f"url: expected {_EXPECTED}, got one that does not say where")
    if is_unix and host is not None:
        raise ValueError(f"url: expected {_EXPECTED}, got the path of a unix socket on a host")
    return parts, port, query


@attrs.frozen
class RedisAddress:
    """Where a Redis is, and how to get in.

    Attributes:
      host: Its name; None for a unix socket.
      path: Of the unix socket.
      ssl_context: For TLS; None for none.

    """

    host: str | None
    port: int
    path: str
    db: int
    username: str | None = attrs.field(repr=False)
    password: str | None = attrs.field(repr=False)
    ssl_context: ssl.SSLContext | None = attrs.field(repr=False)

    @classmethod
    def parse(cls, url: object, ssl_context: ssl.SSLContext | None = None) -> RedisAddress:
        """Read a URL.

        Args:
          url: ``redis://user:password@host:port/db``; ``rediss://`` for TLS; or
            ``unix://user:password@/path?db=0``. What is special in a URL is percent-encoded in
            a name or a password.
          ssl_context: What is trusted, where it is not what the system trusts.

        Raises:
          TypeError, ValueError: if it is something else; the URL is not repeated, since it may
              hold a password.

        """
        if ssl_context is not None:
            check_kind("ssl_context", ssl_context, ssl.SSLContext)
        parts, port, query = _split(url)
        host, is_unix = parts.hostname, parts.scheme == "unix"
        if set(query) - {"db"} or parts.fragment:
            raise ValueError(
                "url: the one option that it may have is db, and ssl_context is given"
            )
        if ssl_context is not None and parts.scheme != "rediss":
            raise ValueError("ssl_context: it needs a url with rediss://")
        db = query.get("db", [""])[0] or ("" if is_unix else parts.path.strip("/")) or "0"
        if not (db.isascii() and db.isdigit() and len(db) < 6):
            raise ValueError("url: expected the number of a database at its end")
        if parts.scheme == "rediss" and ssl_context is None:
            ssl_context = ssl.create_default_context()
        return cls(
            None if is_unix else host,
            DEFAULT_PORT if port is None else port,
            unquote(parts.path) if is_unix else "",
            int(db),
            unquote(parts.username) if parts.username else None,
            unquote(parts.password) if parts.password else None,
            ssl_context,
        )

    def __str__(self) -> str:
        """Write it without the password."""
        if self.host is None:
            return f"unix://{self.path}?db={self.db}"
        scheme = "redis" if self.ssl_context is None else "rediss"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{scheme}://{host}:{self.port}/{self.db}"

    def _make_connection(self) -> BaseConnection:
        from coredis.connection import (  # noqa: PLC0415 - an extra, and 0.1 s to load
            TCPConnection,
            TCPLocation,
            UnixDomainSocketConnection,
            UnixDomainSocketLocation,
        )

        # Whoever may do everything needs no name, but Redis wants one where it has users.
        if self.host is None:
            return UnixDomainSocketConnection(
                UnixDomainSocketLocation(self.path),
                connect_timeout=CONNECT_TIMEOUT,
                stream_timeout=ANSWER_TIMEOUT,
                username=self.username,
                password=self.password,
                db=self.db,
            )
        return TCPConnection(
            TCPLocation(self.host, self.port),
            connect_timeout=CONNECT_TIMEOUT,
            stream_timeout=ANSWER_TIMEOUT,
            username=self.username,
            password=self.password,
            db=self.db,
            ssl_context=self.ssl_context,
            socket_keepalive=True,
        )

    def _say(self, exc: BaseException) -> str:
        """Tell an error of coredis without the password, which Redis may have sent back."""
        cause = exc
        while isinstance(cause.__cause__, Exception):
            cause = cause.__cause__
        said = str(cause) or type(cause).__name__
        if self.password:
            said = said.replace(self.password, "***")
        return f"{said:.300}"


def check_prefix(prefix: object) -> None:
    """Check what the names of our keys begin with.

    Raises:
      TypeError, ValueError: if it is no text, an empty one, or one that has no UTF-8.

    """
    check_text("prefix", prefix)
    checked_copy(prefix, "prefix")
    if not prefix:
        raise ValueError("prefix: expected a text that is not empty")


def require_coredis(user: str) -> None:
    """Check that the extra is installed, when something that needs it is made.

    Raises:
      ModuleNotFoundError: if it is not.

    """
    if find_spec("coredis") is None:
        raise ModuleNotFoundError(
            f"{user} needs coredis: pip install 'trio-mcp[redis]'", name="coredis"
        )


@attrs.frozen(eq=False)
class RedisConnection:
    """A connection that is there. Its commands are sent in the order in which they are asked."""

    _address: RedisAddress
    _inner: BaseConnection

    @property
    def is_usable(self) -> bool:
        """Whether a command could be sent."""
        return self._inner.usable

    async def ask(self, command: bytes, *args: bytes | str | int) -> Any:
        """Send a command, and wait for its answer.

        Raises:
          RedisLost: if there is no answer.
          RedisRefused: if it is an error.

        Cancellation:
          The command may be carried out, and its answer is dropped.

        """
        from coredis.exceptions import (  # noqa: PLC0415 - it is loaded already
            ConnectionError as CoredisConnectionError,
        )
        from coredis.exceptions import RedisError  # noqa: PLC0415 - as above

        try:
            return await self._inner.create_request(command, *args, decode=False)
        except TimeoutError:
            self._inner.invalidate("Redis does not answer")
            raise RedisLost(
                f"Redis at {self._address} did not answer {command.decode()} in "
                f"{ANSWER_TIMEOUT:g} s"
            ) from None
        except CoredisConnectionError as exc:
            said = self._address._say(exc)  # noqa: SLF001 - of this module
            raise RedisLost(f"The connection to Redis at {self._address} broke: {said}") from None
        except RedisError as exc:
            said = self._address._say(exc)  # noqa: SLF001 - as above
            raise RedisRefused(
                f"Redis at {self._address} refused {command.decode()}: {said}", type(exc)
            ) from None
        except Exception as exc:  # noqa: BLE001 - a connection may end at any point of coredis
            said = self._address._say(exc)  # noqa: SLF001 - as above
            raise RedisLost(f"The connection to Redis at {self._address} broke: {said}") from None

    def tell(self, command: bytes, *args: bytes | str | int) -> None:
        """Send a command that has no answer of its own. It does not wait."""
        self._inner.send_command(command, *args)

    def drop(self, reason: str) -> None:
        """End it at once."""
        self._inner.invalidate(reason)

    async def take_pushes(self, take: Callable[[list[Any]], None]) -> None:
        """Hand over what Redis sends unasked, until the connection ends."""
        from coredis.exceptions import (  # noqa: PLC0415 - it is loaded already
            ConnectionError as CoredisConnectionError,
        )

        # Whoever opened the connection is told of its end.
        with suppress(CoredisConnectionError):
            async with aclosing(self._inner.push_messages) as pushed:
                async for each in pushed:
                    take(each)


@asynccontextmanager
async def connect_redis(address: RedisAddress) -> AsyncGenerator[RedisConnection, None]:
    """Connect, and cancel the block when the connection ends.

    Raises:
      RedisLost: if it cannot be reached, or if the connection ended.
      RedisRefused: if it does not let this in.

    """
    inner = address._make_connection()  # noqa: SLF001 - of this module
    alive = trio.CancelScope()

    async def run(task_status: trio.TaskStatus[None]) -> None:  # noqa: ASYNC114, ASYNC128 - coredis reports
        _keep_quiet()
        try:
            await inner.run(task_status=task_status)
        finally:
            alive.cancel(reason="the connection to Redis has ended")
            _close_buffers(inner)

    async with open_background_nursery() as nursery:
        failure = await _start(nursery, run, address)
        try:
            if failure is not None:
                raise failure
        finally:
            del failure  # its traceback refers to this frame
        with alive:
            yield RedisConnection(address, inner)
        if alive.cancelled_caught:
            raise RedisLost(f"The connection to Redis at {address} broke")


async def _start(
    nursery: trio.Nursery, run: Callable[..., Awaitable[None]], address: RedisAddress
) -> ConnectionError | None:
    with trio.move_on_after(CONNECT_TIMEOUT):
        try:
            await nursery.start(run, name="Redis connection")
        except Exception as exc:  # noqa: BLE001 - told by whoever gets it
            # coredis takes being cancelled amidst its first words for a failure.
            await trio.lowlevel.checkpoint_if_cancelled()
            return _explain(address, exc)
        return None
    return RedisLost(f"Redis at {address} did not answer in {CONNECT_TIMEOUT:g} s")


_is_ours: Final[ContextVar[bool]] = ContextVar("a connection of ours", default=False)


def _is_not_ours(_record: logging.LogRecord) -> bool:
    return not _is_ours.get()


def _keep_quiet() -> None:
    """Have coredis log nothing of what this task, and those that it starts, do.

    With each attempt to connect that fails it would log a traceback, for which we have one line.
    What else the program does with coredis is logged as before.
    """
    _is_ours.set(True)
    logging.getLogger("coredis").addFilter(_is_not_ours)


def _close_buffers(inner: BaseConnection) -> None:
    # coredis leaves them open where there was no connection, which Python warns of.
    for each in vars(inner).values():
        if type(each).__name__ in ("MemoryObjectSendStream", "MemoryObjectReceiveStream"):
            each.close()


def _explain(address: RedisAddress, exc: Exception) -> ConnectionError:
    from coredis.exceptions import (  # noqa: PLC0415 - it is loaded already
        ConnectionError as CoredisConnectionError,
    )
    from coredis.exceptions import RedisError  # noqa: PLC0415 - as above

    said = address._say(exc)  # noqa: SLF001 - of this module
    if isinstance(exc, RedisError) and not isinstance(exc, CoredisConnectionError):
        return RedisRefused(f"Redis at {address} refused the connection: {said}")
    return RedisLost(f"Redis at {address} cannot be reached: {said}")
