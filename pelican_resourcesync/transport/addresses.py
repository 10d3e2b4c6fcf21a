"""Addresses that a document may send us to: public ones, so that none of a private network is asked for a stranger."""

import ipaddress
import socket
from collections.abc import Callable

from pelican_resourcesync.errors import TransportError

#: Networks by which an address of IPv4 is reached; what is not public there is not public here.
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_COMPATIBLE = ipaddress.ip_network("::/96")
#: Private ones that not every version of Python knows.
_PRIVATE = [ipaddress.ip_network(network) for network in ("64:ff9b:1::/48", "fec0::/10")]


def connect_to_public(
    address: tuple[str, int], timeout: float, *_: object, wait: Callable[[], float] | None = None
) -> socket.socket:
    """Connect as `socket.create_connection` does; `TransportError` where the name stands for an address not public.

    The address that was looked at is the one that is connected to, whatever the name stands for a moment later. `wait`
    gives how long each attempt may still take, in seconds, where not each may take `timeout`.
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
    """Refuse with `TransportError` a host that is written as an address not public, or is this machine by name.

    Where a proxy connects, this is all that can be known: what other names stand for, only the proxy knows.
    """
    bare = host.rpartition("@")[2]
    bare = bare[1:].partition("]")[0] if bare.startswith("[") else bare.partition(":")[0]
    name = bare.rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        _require_public(bare, name)
    try:
        found = socket.getaddrinfo(bare, None, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return
    for each in found:
        _require_public(bare, str(each[4][0]))


def _require_public(host: str, address: str) -> None:
    if not is_public(address):
        message = f"{host} is not asked: a document names it, and its address {address} is not public"
        raise TransportError(message)


def is_public(address: str) -> bool:
    """Whether an address is of the public internet, and stands for none that is not."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if ip in _NAT64 or ip in _COMPATIBLE:
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    return ip.is_global and not ip.is_multicast and not any(ip in network for network in _PRIVATE)
