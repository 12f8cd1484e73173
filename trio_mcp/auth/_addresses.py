"""Which addresses may be asked on somebody else's word (server-side request forgery).

A server names its authorization server, a client its metadata, a token its keys. Whoever fetches
these from inside a network must not be made to ask what only that network can reach. A name is
looked up once, all its addresses are checked, and the connection goes to one of these: a second
look-up could be answered otherwise.
"""

from __future__ import annotations

import socket
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final, TypeAlias, cast

import trio

from trio_mcp.errors import ConnectionLost, OAuthFlowError

Address: TypeAlias = IPv4Address | IPv6Address

# They tell whoever asks from the machine itself its credentials: of AWS, Google, Azure and others
# (link-local), of AWS over IPv6, of Alibaba and of Oracle.
_OF_CLOUDS: Final = frozenset(
    ip_address(each) for each in ("fd00:ec2::254", "100.100.100.200", "192.0.0.192")
)
_THIS_NETWORK: Final = ip_network("0.0.0.0/8")
_NAT64: Final = ip_network("64:ff9b::/96")


class AddressRefused(OAuthFlowError):
    """A URL leads into a private network, or to this machine, and may not."""


def refusal_of(address: Address, *, allow_private: bool) -> str | None:
    """Say why an address may not be asked; None if it may."""
    inner = _inside(address)
    if inner is not None:
        return refusal_of(inner, allow_private=allow_private)
    if address.is_link_local or address in _OF_CLOUDS:
        return "which is link-local or tells the secrets of a machine"
    if address.is_multicast or address.is_unspecified or _is_reserved(address):
        return "which is no address of a server"
    if not allow_private and not address.is_global:
        return "which is private: allow_private_addresses=True permits that"
    return None


def _is_reserved(address: Address) -> bool:
    # 240.0.0.0/4 with the broadcast address, and 0.0.0.0/8, which some systems take for this one.
    if isinstance(address, IPv4Address):
        return address.is_reserved or address in _THIS_NETWORK
    return False


def _inside(address: Address) -> Address | None:
    """Give the address of version 4 that one of version 6 leads to, if it is of that kind."""
    if isinstance(address, IPv4Address):
        return None
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    teredo = address.teredo
    return address.ipv4_mapped or address.sixtofour or (None if teredo is None else teredo[1])


def literal(host: str) -> Address | None:
    """Read a host that is an address; None for a name."""
    try:
        return ip_address(host.partition("%")[0])
    except ValueError:
        pass
    try:
        # What the C library takes for one too: `2130706433`, `0x7f.1`, `127.1`.
        return IPv4Address(socket.inet_aton(host)) if host[-1:].isalnum() else None
    except (OSError, UnicodeError):
        return None


async def addresses_of(host: str, port: int, what: str) -> list[Address]:
    """Look up a host.

    Raises:
      ConnectionLost: if it has no address.

    """
    written = literal(host)
    if written is not None:
        await trio.lowlevel.checkpoint()
        return [written]
    try:
        found = await trio.socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as exc:
        raise ConnectionLost(f"{what}: the host {host!r:.200} has no address ({exc})") from exc
    # The types say that there may be numbers: in builds of Python without IPv6.
    texts = [cast("str", each[4][0]).partition("%")[0] for each in found]
    return [ip_address(each) for each in dict.fromkeys(texts)]


def check_addresses(
    host: str, addresses: list[Address], what: str, *, allow_private: bool
) -> None:
    """Refuse a host if one of its addresses may not be asked.

    Raises:
      AddressRefused: names the address and why.

    """
    for address in addresses:
        refusal = refusal_of(address, allow_private=allow_private)
        if refusal is not None:
            name = "" if str(address) == host else f" has the address {address},"
            raise AddressRefused(f"{what}: the host {host!r:.200}{name} {refusal}")


async def is_private_host(host: str, port: int, what: str) -> bool:
    """Tell whether a host is of this machine or of a private network.

    Raises:
      ConnectionLost: if it has no address.

    """
    addresses = await addresses_of(host, port, what)
    return any(not (_inside(each) or each).is_global for each in addresses)
