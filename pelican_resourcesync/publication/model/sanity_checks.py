"""Checks against publishing a mistake, such as mass deletions, that every follower would copy at once."""

from collections.abc import Iterable
from ipaddress import ip_address
from urllib.parse import urlsplit

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.publication.model.resource import paired

#: If more than one in this many resources is deleted at once, it counts as a mistake.
_FEW = 5
_EXAMPLES = 2


def require_few_deletions(before: Iterable[str], now: Iterable[str]) -> None:
    """Raise `PublicationError` if more than a fifth of the URIs `before` are missing `now`; both are sorted."""
    listed, gone = 0, 0
    examples: list[str] = []
    for old, new in paired(zip(before), zip(now)):
        listed += old is not None
        if old is not None and new is None:
            gone += 1
            examples += old[: max(0, _EXAMPLES - len(examples))]
    if gone * _FEW <= listed:
        return
    message = (
        f"{gone} of {listed} resources would be listed as deleted, such as {' and '.join(examples)}: find out what is"
        " missing (a plug-in, a folder, a table), or set allow_deletions for one publication where they are meant to go"
    )
    raise PublicationError(message)


def require_same_site(before: str, siteurl: str, moved_from: str) -> bool:
    """Return whether the site has moved here from `before`, the `siteurl` of the previous publication.

    Raises `PublicationError` if `before` is a different address and not `moved_from`: every URI would change.
    """
    if before == siteurl:
        return False
    if before == moved_from:
        return True
    message = (
        f"the previous publication is of {before}, this one would be of {siteurl}, and every URI would change: set"
        f" the address (SITEURL, base-url) back, or moved_from to {before!r} where the site has moved"
    )
    raise PublicationError(message)


def is_loopback(siteurl: str) -> bool:
    """Return whether `siteurl` is on this machine: `localhost`, 127.0.0.0/8 or `[::1]`."""
    try:
        host = urlsplit(siteurl).hostname or ""
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
