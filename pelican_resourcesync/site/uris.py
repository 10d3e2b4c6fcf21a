"""URIs of what Pelican writes: from its own URL where it has one, else from the path; percent-encoded (`X10`)."""

import re
from urllib.parse import quote, unquote, urlsplit

_INDEX = "index.html"
#: What may stand in a path as it is (RFC 3986, pchar and "/").
_PATH_SAFE = "/:@!$&'()*+,;=~-._"
_STRAY_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")


def uri_of_path(siteurl: str, path: str) -> str:
    """Give the URI of the output file at `path` (relative to the output, `/`-separated, not encoded)."""
    return f"{siteurl}/{quote(path, safe=_PATH_SAFE, errors='surrogateescape')}"


def uri_of_content(siteurl: str, url: str, save_as: str) -> str:
    """Give the URI of a content whose URL, by its own rules, is `url` and whose file is `save_as`.

    A URL may be raw, as a slug with spaces makes it, or encoded already, as a user writes it: it is raw where it leads
    to `save_as` as it stands, encoded where it does so when decoded. A URL on another host, or with a query or a
    fragment, is no address of that file: its path is taken.
    """
    parts = urlsplit(url)
    if parts.scheme or parts.netloc or parts.query or parts.fragment:
        return uri_of_path(siteurl, save_as)
    relative = url.lstrip("/")
    if leads_to(relative, save_as) or (not leads_to(unquote(relative), save_as) and "%" not in relative):
        return uri_of_path(siteurl, relative)
    return f"{siteurl}/{quote(_STRAY_PERCENT.sub('%25', relative), safe=_PATH_SAFE + '%')}"


def uri_of_listing(siteurl: str, url: str, save_as: str) -> str:
    """Give the URI of a listing: of `url` where that leads to `save_as`, else of the path.

    Pelican's URL settings of listings are often left at their default when `…_SAVE_AS` is changed.
    """
    if leads_to(url.lstrip("/"), save_as) and url:
        return uri_of_content(siteurl, url, save_as)
    return uri_of_path(siteurl, save_as)


def leads_to(url: str, save_as: str) -> bool:
    """Tell whether a static host answers a request for `url` (decoded, relative) with the file `save_as`."""
    folder = url if not url or url.endswith("/") else f"{url}/"
    return save_as in (url, f"{folder}{_INDEX}", f"{url}.html")
