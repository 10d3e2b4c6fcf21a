"""Addresses of sites, as settings name them."""

import re
from urllib.parse import urlsplit

from pelican_resourcesync.errors import SettingsError
from pelican_resourcesync.settings.setting import Setting, Words

_URI = re.compile(r"[!#-;=?-\[\]_a-z~]+")  # the characters that a URI may hold

#: Why the address that a publication is of can have nothing that a path cannot follow.
IN_EVERY_URI = "would be in every published URI"

_SITEURL = Setting("SITEURL", Words(called=str))


def parse_siteurl(siteurl: object) -> str:
    """Check Pelican's `SITEURL` and give it without a slash at its end, `""` where there is none.

    `SettingsError` where it is no absolute http(s) URL, or has a user, a query or a fragment: these would be in
    every URI that is published.
    """
    return parse_address(_SITEURL, siteurl, IN_EVERY_URI) if siteurl else ""


def parse_address(setting: Setting, url: object, otherwise: str) -> str:
    """Check the address of a site; `otherwise` says why it can have nothing that a path cannot follow."""
    if not isinstance(url, str) or not is_web_url(url):
        shown = setting.words.shown(url)
        message = f"{setting} is {shown}: make it an absolute http(s) URL in ASCII, such as 'https://example.org'"
        raise SettingsError(message)
    for part, there in (
        ("user", "@" in urlsplit(url).netloc),
        ("query", "?" in url),
        ("fragment", "#" in url),
    ):
        if there:
            message = f"{setting} has a {part}, which {otherwise}: leave it out"
            raise SettingsError(message)
    return url.rstrip("/")


def is_web_url(text: str) -> bool:
    """Tell whether this is an absolute http(s) URL."""
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        return False
    return bool(usable and _URI.fullmatch(text))
