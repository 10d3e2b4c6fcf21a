"""Addresses that a document may send us to: public ones, so that none of a private network is asked for a stranger."""

import ipaddress
import socket

from pelican_resourcesync.errors import TransportError

_NAT64 = ipaddress.ip_network("64:ff9b::/96")


def connect_to_public(address: tuple[str, int], timeout: float, *_: object) -> socket.socket:
    """Connect as `socket.create_connection` does; `TransportError` where the name stands for an address not public.

    The address that was looked at is the one that is connected to, whatever the name stands for a moment later.
    """
    host, port = address
    found = [str(each[4][0]) for each in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    for each in found:
        if not is_public(each):
            message = f"{host} is not asked: a document names it, and its address {each} is not public"
            raise TransportError(message)
    failure: OSError | None = None
    for each in found:
        try:
            return socket.create_connection((each, port), timeout)
        except OSError as error:
            failure = error
    raise failure or OSError


def is_public(address: str) -> bool:
    """Whether an address is of the public internet, and stands for none that is not."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if ip in _NAT64:
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    return ip.is_global and not ip.is_multicast
