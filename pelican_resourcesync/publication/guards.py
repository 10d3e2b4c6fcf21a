"""Guards: what a publication is not to say unless its user meant it, because followers would do it at once."""

from collections.abc import Iterable
from ipaddress import ip_address
from urllib.parse import urlsplit

from pelican_resourcesync.errors import PublicationError

#: More than one in so many resources deleted at once is taken for a mistake.
_FEW = 5


def require_few_deletions(before: Iterable[str], now: Iterable[str], *, allowed: bool) -> None:
    """Raise `PublicationError` where more than a fifth of the URIs `before` are not there `now`, unless `allowed`."""
    listed = set(before)
    gone = sorted(listed.difference(now))
    if allowed or len(gone) * _FEW <= len(listed):
        return
    examples = " and ".join(gone[:2])
    message = (
        f"{len(gone)} of {len(listed)} resources would be listed as deleted, such as {examples}: find out whether a"
        " plug-in or a folder is missing, or set allow_deletions to True for one build where they are meant to go"
    )
    raise PublicationError(message)


def require_same_site(before: str, siteurl: str, moved_from: str) -> bool:
    """Tell whether the site has moved here from `before`, the `siteurl` of the previous publication.

    Raises `PublicationError` where it is another one and not that of `moved_from`: every URI would change.
    """
    if before == siteurl:
        return False
    if before == moved_from:
        return True
    message = (
        f"the previous publication is of {before}, this one would be of {siteurl}, and every URI would change: set"
        f" SITEURL back, or moved_from to {before!r} where the site has moved"
    )
    raise PublicationError(message)


def is_loopback(siteurl: str) -> bool:
    """Tell whether `siteurl` is on this machine alone: `localhost`, 127.0.0.0/8 or `[::1]`."""
    try:
        host = urlsplit(siteurl).hostname or ""
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
