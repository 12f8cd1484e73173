"""Options of what is served over a network: as they are given, and as the environment says."""

from __future__ import annotations

import difflib
import logging
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from trio_mcp._variables import from_environment, options_of
from trio_mcp.transports.http._options import TransportSecuritySettings
from trio_mcp.transports.http._serve_options import UNIX

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping

    from trio_mcp._variables import Option

logger: Final = logging.getLogger("trio_mcp.http")

SECURITY: Final = "transport_security"

_is_told: Final[ContextVar[bool]] = ContextVar("trio_mcp_open_is_told", default=False)

_ADDRESSES: Final = frozenset({"host", "port", "binds", "unix_socket"})


class UnknownOption(TypeError):
    """There is no such option.

    Attributes:
      option: Its name.

    """

    def __init__(self, what: str, option: str, known: Iterable[str]) -> None:
        close = difflib.get_close_matches(option, [*known], 1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        super().__init__(f"{what} has no option {option!r}{hint}")
        self.option: Final = option


def settle_options(
    what: str, names: Iterable[str], declared: Mapping[str, Option], given: Mapping[str, Any]
) -> dict[str, Any]:
    """Put together what was given and what the environment says of the rest.

    Args:
      what: What takes the options, for errors.
      names: Those that it takes.
      declared: By their names, the options that the environment can say.
      given: Those that were given.

    Raises:
      UnknownOption: if one was given that it does not take.
      ValueError: if a variable has a value that its option cannot have.

    """
    known = tuple(names)
    for name in given:
        if name not in known:
            raise UnknownOption(what, name, known)
    decided = {*given}
    if decided & _ADDRESSES:
        # Who says where to listen means there, and not elsewhere as well.
        decided.update(("binds", "unix_socket"))
    options = [declared[name] for name in known if name in declared]
    settled = {**from_environment(options, decided), **given}
    if settled.get(SECURITY) is None and SECURITY in known:
        told = from_environment(options_of(TransportSecuritySettings).values())
        if told:
            settled[SECURITY] = TransportSecuritySettings(**told)
    return settled


def settle_security(settled: dict[str, Any], host: str) -> None:
    """Decide from where a server may be called that nobody has told it, by where it listens."""
    if settled.get(SECURITY) is None:
        settled[SECURITY] = TransportSecuritySettings.for_host(host)


def warn_if_open(
    security: TransportSecuritySettings | None, host: str, *, told_by: logging.Logger = logger
) -> None:
    """Warn of a server that anybody may call, who reaches it; it is for others to be careful.

    Args:
      security: What `settle_security` has decided.
      host: By which it has.
      told_by: The logger of what is served.

    """
    # What reaches a unix socket is a proxy, which has checks of its own.
    if security is None and host != UNIX and not _is_told.get():
        told_by.warning(
            "%s can be reached from elsewhere: every Host is accepted, and no web page. Say what "
            "you expect: transport_security=TransportSecuritySettings(allowed_hosts=[…], "
            "allowed_origins=[…]), or MCP_ALLOWED_HOSTS and MCP_ALLOWED_ORIGINS",
            host,
        )


@contextmanager
def warned_if_open(security: TransportSecuritySettings | None, host: str) -> Generator[None]:
    """Warn as `warn_if_open` does, for all that is served within the block, forks included.

    Args:
      security: What `settle_security` has decided.
      host: By which it has.

    """
    warn_if_open(security, host)
    before = _is_told.set(True)
    try:
        yield
    finally:
        _is_told.reset(before)
