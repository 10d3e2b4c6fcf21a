"""URLs, paths and addresses from outside: which may be requested or written, and how messages show them."""

import hashlib
import ipaddress
import re
import shlex
import socket
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from string import punctuation
from urllib.parse import quote, unquote, urljoin, urlsplit

from pelican_resourcesync.errors import PermanentError, PrivateError, SettingsError

_PORTS = {"http": 80, "https": 443}
_RESERVED = frozenset('\\:*?"<>|')
_INDEX = "index.html"
#: The characters that are not percent-encoded in the path of a URI (RFC 3986, pchar and "/").
_PATH_SAFE = "/:@!$&'()*+,;=~-._"
_PLAIN = re.compile(r"(?:[A-Za-z0-9_-][A-Za-z0-9_.-]*+/)*+[A-Za-z0-9_-][A-Za-z0-9_.-]*+")  # asked first: it is faster
#: IPv6 networks that map to IPv4 addresses; such an address is public only if its IPv4 address is.
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_COMPATIBLE = ipaddress.ip_network("::/96")
#: Private networks that not every version of Python knows.
_PRIVATE = [ipaddress.ip_network(network) for network in ("64:ff9b:1::/48", "fec0::/10")]
_USUAL = re.compile(r"(https?)://([a-z0-9.-]+)(?::([1-9][0-9]{0,3}|[1-5][0-9]{4}))?(?=/[!-~]*\Z)")

_AUTHORITY = re.compile("[^/?#]*")
_HOST = re.compile("[a-z0-9][a-z0-9.-]*|[0-9a-f:.]+")

#: Scheme, host and port.
Origin = tuple[str, str, int]


def uri_of_path(base: str, path: str) -> str:
    """Return the URI of a file at `path` (relative, `/`-separated, not encoded) below the URL `base`."""
    return f"{base.rstrip('/')}/{quote(path, safe=_PATH_SAFE, errors='surrogateescape')}"


def path_of_uri(base: str, uri: str) -> str | None:
    """Return the path below the URL `base` that a URI names: the inverse of `uri_of_path`.

    Query and fragment are ignored. Returns None for a URI elsewhere, and for a path that leaves its folder or that no
    file can have.
    """
    below = f"{base.rstrip('/')}/"
    if not uri.startswith(below):
        return None
    path = unquote(uri.removeprefix(below).partition("#")[0].partition("?")[0], errors="surrogateescape")
    return None if "\0" in path or ".." in path.split("/") or path.startswith("/") else path


def served_paths(path: str) -> tuple[str, ...]:
    """Return the paths of the files that a static host may return for a path, in this order."""
    if not path or path.endswith("/"):
        return (path + _INDEX,)
    return (path, f"{path}.html", f"{path}/{_INDEX}")


def is_plain(path: str) -> bool:
    """Return whether a relative path is safe on every system: no root, drive, `..` or unprintable character."""
    if _PLAIN.fullmatch(path):
        return True
    return all(name.strip(". ") and name.isprintable() and not _RESERVED.intersection(name) for name in path.split("/"))


def origin(url: str) -> Origin | None:
    """Return the origin of an http(s) URL; None for any other text, and for a URL with a user."""
    usual = _USUAL.match(url)
    if usual:
        return usual[1], usual[2], int(usual[3] or _PORTS[usual[1]])
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in _PORTS or not parts.hostname or "@" in parts.netloc or port == 0:
        return None
    return parts.scheme, parts.hostname, port or _PORTS[parts.scheme]


def normalized(url: str) -> str:
    """Return a URL whose origin is written in the one usual way (RFC 3986, 6.2.3); other texts as they are."""
    place = origin(url)
    if place is None:
        return url
    scheme, host, port = place
    rest = _AUTHORITY.sub("", url.partition("//")[2], count=1)
    authority = (f"[{host}]" if ":" in host else host) + ("" if port == _PORTS[scheme] else f":{port}")
    return f"{scheme}://{authority}{'' if rest.startswith('/') else '/'}{rest}"


def host_to_name(url: str) -> str:
    """Return the host of a URL if it is a name or an address that can be typed as it is, or an empty string."""
    place = origin(url)
    return place[1] if place and _HOST.fullmatch(place[1]) else ""


def parse_host(text: str) -> str:
    """Return the host that a user names, in lower case. Raises `SettingsError` for anything else, as with a port."""
    host = text.lower()
    if not host or host_to_name(f"http://[{host}]/" if ":" in host else f"http://{host}/") != host:
        message = f"--allow-host {text!a} must be the name of a host without a port: all its ports are allowed"
        raise SettingsError(message)
    return host


def allowing(hosts: Iterable[str]) -> str:
    """Return the options that allow some hosts, as they are typed."""
    return " ".join(f"--allow-host {shlex.quote(host)}" for host in hosts)


def check_url(url: str) -> Origin:
    """Return the origin of an http(s) URL without user; raises `PermanentError` for anything else."""
    found = origin(url)
    if found is None:
        message = f"{shown(url)!a} cannot be requested: it must be an http(s) URL without a user name"
        raise PermanentError(message)
    return found


def target_of(url: str) -> str:
    """Return the path and query of a URL as a request names them."""
    parts = urlsplit(url)
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def redirected(url: str, location: str | None, hosts: AbstractSet[str] | None = None, *, anywhere: bool = False) -> str:
    """Return the URL that a redirect leads to; raises `PermanentError` if it leaves the origin, except to https.

    It may lead to some `hosts`, for which the message names the option, or `anywhere`, but not from https to http.
    """
    target = hint = ""
    if location and is_url(location.strip()):
        target = quote(urljoin(url, location.strip()), safe=punctuation, encoding="iso-8859-1", errors="replace")
        old, new = origin(url), origin(target)
        if old and new and (new == old or (old[0], new[0], old[1]) == ("http", "https", new[1])):
            return target
        if old and new and new[0] in (old[0], "https"):
            if anywhere or new[1] in (hosts or ()):
                return target
            name = host_to_name(target) if hosts is not None else ""
            hint = f": add {allowing([name])} to follow it there" if name else ""
    where = shown(target) if is_url(target) else "something that is not a URL"
    message = f"{shown(url)} redirects elsewhere, to {where}{hint}"
    raise PermanentError(message)


def is_url(text: str) -> bool:
    """Return whether a text has the form of a URL, of whatever scheme."""
    try:
        return bool(text) and urlsplit(text).port != 0
    except ValueError:
        return False


def shown(url: str) -> str:
    """Return a URL for a message, without its user, query and fragment, which may be secret."""
    before, slashes, rest = url.partition("//")
    authority, slash, path = rest.partition("/")
    return f"{before}{slashes}{authority.rpartition('@')[2]}{slash}{path}".partition("?")[0].partition("#")[0]


def without_query(url: str) -> str:
    """Return a URL to remember: a query, which may be secret, is replaced by a hash of it."""
    _, mark, query = url.partition("?")
    return f"{shown(url)}?{hashlib.sha256(query.encode()).hexdigest()[:16]}" if mark else url


def check_literal(host: str) -> None:
    """Raise `PermanentError` for a host that is written as a non-public address, or is a name of this machine.

    This is all that can be checked if a proxy connects, because only the proxy resolves other names.
    """
    name = host.rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        require_public(host, name)
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return
    for address in found:
        require_public(host, str(address[4][0]))


def require_public(host: str, address: str) -> None:
    """Raise `PermanentError` for an address of a host that is not public.

    No document can cause requests to a private network. Every connection is checked at the address it connects to, even
    if the name resolves to another one a moment later.
    """
    if not is_public_address(address):
        message = (
            f"{host} is not requested: only URLs that you enter may have private addresses, and its address {address} "
            "is not public"
        )
        raise PrivateError(message)


def is_private(place: Origin) -> bool | None:
    """Return whether the first address of a host is not public; None if it has no address now."""
    try:
        address = socket.getaddrinfo(place[1], place[2], type=socket.SOCK_STREAM)[0][4][0]
    except (OSError, UnicodeError):
        return None
    return not is_public_address(str(address))


def is_public_address(address: str) -> bool:
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
            return is_public_address(str(inner))
    return ip.is_global and not ip.is_multicast and not any(ip in network for network in _PRIVATE)
