"""Which addresses may be asked on somebody else's word (server-side request forgery).

A server names its authorization server, a client its metadata, a token its keys. Whoever fetches
these from inside a network must not be made to ask what only that network can reach. A name is
looked up once, all its addresses are checked, and the connection goes to one of these: a second
look-up could be answered otherwise.
"""

from __future__ import annotations

import socket
from ipaddress import IPv4Address, ip_address, ip_network
from typing import Final, cast

import trio

from trio_mcp.errors import ConnectionLost, OAuthFlowError
from trio_mcp.transports._hosts import Address, literal

# They tell whoever asks from the machine itself its credentials: of AWS, Google, Azure and others
# (link-local), of AWS over IPv6, of Alibaba, of Oracle, and another one of Azure.
_OF_CLOUDS: Final = frozenset(
    ip_address(each)
    for each in ("fd00:ec2::254", "100.100.100.200", "192.0.0.192", "168.63.129.16")
)
_THIS_NETWORK: Final = ip_network("0.0.0.0/8")
_LOCAL_NAT64: Final = ip_network("64:ff9b:1::/48")
# What holds an address of version 4 in its last 32 bits: translated by networks (RFC 6052, 8215
# and 2765), or taken for it by old systems (RFC 4291, section 2.5.5.1).
_HOLDS_IPV4: Final = tuple(
    ip_network(each) for each in ("64:ff9b::/96", "::ffff:0:0:0/96", "::/96")
)
# Of one network alone, or of none, whatever the tables say that Python has of them.
_NOT_GLOBAL: Final = tuple(
    ip_network(each)
    for each in ("fec0::/10", "3fff::/20", "5f00::/16", "192.88.99.0/24", str(_LOCAL_NAT64))
)
_HERE: Final = frozenset(ip_address(each) for each in ("::", "::1"))


class AddressRefused(OAuthFlowError):
    """A URL leads into a private network, or to this machine, and may not."""


def refusal_of(address: Address, *, allow_private: bool) -> str | None:
    """Say why an address may not be asked; None if it may."""
    inner = _inside(address)
    if inner is not None:
        return refusal_of(inner, allow_private=allow_private)
    if address in _LOCAL_NAT64:
        # Which of these forms a network uses, it alone knows (RFC 6052, section 2.2).
        number = int(address)
        whole = (number >> 48 & 0xFFFF_0000) | (number >> 40 & 0xFFFF)
        for each in (number & 0xFFFF_FFFF, whole):
            refusal = refusal_of(IPv4Address(each), allow_private=True)
            if refusal is not None and each:
                return refusal
    if address.is_link_local or address in _OF_CLOUDS:
        return "which is link-local or tells the secrets of a machine"
    if address.is_multicast or address.is_unspecified or _is_reserved(address):
        return "which is no address of a server"
    if not allow_private and not _is_global(address):
        return "which is private: allow_private_addresses=True permits that"
    return None


def _is_global(address: Address) -> bool:
    return address.is_global and not any(address in each for each in _NOT_GLOBAL)


def _is_reserved(address: Address) -> bool:
    # 240.0.0.0/4 with the broadcast address, and 0.0.0.0/8, which some systems take for this one.
    if isinstance(address, IPv4Address):
        return address.is_reserved or address in _THIS_NETWORK
    return False


def _inside(address: Address) -> Address | None:
    """Give the address of version 4 that one of version 6 leads to, if it is of that kind."""
    if isinstance(address, IPv4Address):
        return None
    if address not in _HERE and any(address in each for each in _HOLDS_IPV4):
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    teredo = address.teredo
    return address.ipv4_mapped or address.sixtofour or (None if teredo is None else teredo[1])


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
        # The types say that there may be numbers: in builds of Python without IPv6.
        texts = [cast("str", each[4][0]).partition("%")[0] for each in found]
        return [ip_address(each) for each in dict.fromkeys(texts)]
    except (OSError, ValueError, OverflowError) as exc:
        # What no name can be (labels that are empty or too long) is a `UnicodeError`.
        raise ConnectionLost(f"{what}: the host {host!r:.200} has no address ({exc})") from exc


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
    """Tell whether a host is of this machine or of a private network, with all its addresses.

    Who has a private address beside a public one would be let into networks of others by it.

    Raises:
      ConnectionLost: if it has no address.

    """
    addresses = await addresses_of(host, port, what)
    return bool(addresses) and not any(_is_global(_inside(each) or each) for each in addresses)
