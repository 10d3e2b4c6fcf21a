"""Restrict URLs from documents to public addresses, so that no document can cause requests to a private network."""

import ipaddress
import socket
from collections.abc import Callable

from pelican_resourcesync.errors import TransportError

#: IPv6 networks that map to IPv4 addresses; such an address is public only if its IPv4 address is.
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_COMPATIBLE = ipaddress.ip_network("::/96")
#: Private networks that not every version of Python knows.
_PRIVATE = [ipaddress.ip_network(network) for network in ("64:ff9b:1::/48", "fec0::/10")]


def connect_to_public(
    address: tuple[str, int], timeout: float, *_: object, wait: Callable[[], float] | None = None
) -> socket.socket:
    """Connect like `socket.create_connection`; raises `TransportError` if the name resolves to a non-public address.

    The connection uses the address that was checked, even if the name resolves to another one a moment later. `wait`
    returns how long each attempt may still take, in seconds; without it, each may take `timeout`.
    """
    host, port = address
    found = [str(each[4][0]) for each in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    for each in found:
        _require_public(host, each)
    failure: OSError | None = None
    for each in found:
        try:
            return socket.create_connection((each, port), wait() if wait else timeout)
        except OSError as error:
            failure = error
    raise failure or OSError


def check_literal(host: str) -> None:
    """Raise `TransportError` for a host that is written as a non-public address, or is a name of this machine.

    This is all that can be checked if a proxy connects, because only the proxy resolves other names.
    """
    name = host.rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        _require_public(host, name)
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return
    for each in found:
        _require_public(host, str(each[4][0]))


def _require_public(host: str, address: str) -> None:
    if not is_public(address):
        message = f"{host} is not requested: only a document names it, and its address {address} is not public"
        raise TransportError(message)


def is_public(address: str) -> bool:
    """Return whether an address is on the public internet, and does not map to one that is not."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour
        if ip in _NAT64 or ip in _COMPATIBLE:
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    return ip.is_global and not ip.is_multicast and not any(ip in network for network in _PRIVATE)
