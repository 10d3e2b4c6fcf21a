"""URLs: which may be requested, where a redirect may lead, and how messages show them."""

from string import punctuation
from urllib.parse import quote, urljoin, urlsplit

from pelican_resourcesync.errors import TransportError

_PORTS = {"http": 80, "https": 443}


def check_base(base: str) -> None:
    """Raise `TransportError` unless this is an http(s) URL without user, query and fragment."""
    try:
        parts = urlsplit(base)
        usable = parts.scheme in _PORTS and parts.hostname and parts.port != 0
    except ValueError:
        usable = False
    if not usable or "@" in parts.netloc or parts.query or parts.fragment:
        seen = shown(base.rpartition("@")[2])  # a password may contain slashes
        message = f"{seen!a} is no address to read from: make it an http(s) URL without user, query and fragment"
        raise TransportError(message)


def check_address(url: str) -> None:
    """Raise `TransportError` unless this is an http(s) URL without user."""
    if not _origin_of_any(url):
        message = f"{shown(url)!a} is no address to read from: make it an http(s) URL without user"
        raise TransportError(message)


def _origin_of_any(url: str) -> str:
    try:
        return _origin(url)[1] if urlsplit(url).port != 0 else ""
    except ValueError:
        return ""


def redirected(url: str, location: str | None) -> str:
    """Return the URL that a redirect leads to; raises `TransportError` if it leaves the origin, except to https."""
    target = ""
    if location:
        try:
            target = quote(urljoin(url, location.strip()), safe=punctuation, encoding="iso-8859-1", errors="replace")
            old, new = _origin(url), _origin(target)
            if new == old or (old[0], new[0], old[1]) == ("http", "https", new[1]):
                return target
        except ValueError:  # not a URL at all
            target = ""
    message = f"{shown(url)} is redirected elsewhere, to {shown(target) if target else 'no URL'}"
    raise TransportError(message)


def _origin(url: str) -> tuple[str, str, int]:
    parts = urlsplit(url)
    if parts.scheme not in _PORTS or not parts.hostname or "@" in parts.netloc:
        return "", "", 0
    return parts.scheme, parts.hostname, parts.port or _PORTS[parts.scheme]


def shown(url: str) -> str:
    """Return a URL for a message, without its user, query and fragment, which may be secret."""
    before, slashes, rest = url.partition("//")
    authority, slash, path = rest.partition("/")
    return f"{before}{slashes}{authority.rpartition('@')[2]}{slash}{path}".partition("?")[0].partition("#")[0]
