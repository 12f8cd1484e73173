"""Options of what is served over a network: as they are given, and as the environment says."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any, Final

from trio_mcp._variables import from_environment, options_of
from trio_mcp.transports.http._options import TransportSecuritySettings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from trio_mcp._variables import Option

SECURITY: Final = "transport_security"

_ADDRESSES: Final = frozenset({"host", "port", "binds", "unix_socket"})


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
      TypeError: if one was given that it does not take.
      ValueError: if a variable has a value that its option cannot have.

    """
    known = tuple(names)
    for name in given:
        if name not in known:
            close = difflib.get_close_matches(name, known, 1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise TypeError(f"{what} has no option {name!r}{hint}")
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
