"""Hosts as they are written: which are addresses, and which lead to this machine.

Browsers and the C library take more for an address than Python does, so it is read in one place.
"""

from __future__ import annotations

import socket
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TypeAlias

Address: TypeAlias = IPv4Address | IPv6Address


def literal(host: str) -> Address | None:
    """Read a host that is an address, without brackets; None for a name."""
    host = host.removesuffix(".")
    try:
        return ip_address(host.partition("%")[0])
    except ValueError:
        pass
    try:
        # What the C library takes for one too: `2130706433`, `0x7f.1`, `127.1`.
        return IPv4Address(socket.inet_aton(host)) if host[-1:].isalnum() else None
    except (OSError, ValueError):
        return None


def is_local_host(host: str) -> bool:
    """Whether a host, without brackets, leads to this machine, however it is written."""
    name = host.lower().removesuffix(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    address = literal(name)
    if isinstance(address, IPv6Address):
        address = address.ipv4_mapped or address
    # To connect to the address of nobody is to connect to oneself.
    return address is not None and (address.is_loopback or address.is_unspecified)


def is_plainly_local_host(host: str) -> bool:
    """Whether a host is ``localhost`` or a loopback address as everything writes and reads it.

    Secrets may go there unencrypted: what is written in another way, one program takes for an
    address, and another looks up as a name.
    """
    try:
        return host.lower() == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
