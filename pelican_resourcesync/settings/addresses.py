"""Addresses of sites, as settings name them."""

import re
from urllib.parse import urlsplit

from pelican_resourcesync.errors import SettingsError

_URI = re.compile(r"[!#-;=?-\[\]_a-z~]+")  # the characters that a URI may hold


def parse_siteurl(siteurl: object) -> str:
    """Check Pelican's `SITEURL` and give it without a slash at its end, `""` where there is none.

    `SettingsError` where it is no absolute http(s) URL, or has a user, a query or a fragment: these would be in
    every URI that is published.
    """
    return parse_address("SITEURL", siteurl, "would be in every published URI") if siteurl else ""


def parse_address(name: str, url: object, otherwise: str) -> str:
    """Check the address of a site; `otherwise` says why it can have nothing that a path cannot follow."""
    if not is_web_url(str(url)):
        message = f"{name} is {url!r}: make it an absolute http(s) URL in ASCII, such as 'https://example.org'"
        raise SettingsError(message)
    for part, there in (
        ("user", "@" in urlsplit(str(url)).netloc),
        ("query", "?" in str(url)),
        ("fragment", "#" in str(url)),
    ):
        if there:
            message = f"{name} has a {part}, which {otherwise}: leave it out"
            raise SettingsError(message)
    return str(url).rstrip("/")


def is_web_url(text: str) -> bool:
    """Tell whether this is an absolute http(s) URL."""
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        return False
    return bool(usable and _URI.fullmatch(text))
