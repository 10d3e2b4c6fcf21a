"""URLs of sites in settings."""

import re
from urllib.parse import urlsplit

from pelican_resourcesync.errors import SettingsError
from pelican_resourcesync.settings.setting import Setting, Words

_URI = re.compile(r"[!#-;=?-\[\]_a-z~]+")  # the characters allowed in a URI

#: Why the address of the published site cannot have a user, a query or a fragment.
IN_EVERY_URI = "would be in every published URI"

_SITEURL = Setting("SITEURL", Words(called=str))


def parse_siteurl(siteurl: object) -> str:
    """Check Pelican's `SITEURL` and return it without a trailing slash, `""` where it is not set.

    Raises `SettingsError` where it is not an absolute http(s) URL, or has a user, a query or a fragment: these would
    be in every published URI.
    """
    return parse_address(_SITEURL, siteurl, IN_EVERY_URI) if siteurl else ""


def parse_address(setting: Setting, url: object, otherwise: str) -> str:
    """Check the URL of a site and return it without a trailing slash.

    `otherwise` is the part of the error message that says why a user, a query or a fragment is not allowed.
    """
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
    """Return whether this is an absolute http(s) URL."""
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        return False
    return bool(usable and _URI.fullmatch(text))
