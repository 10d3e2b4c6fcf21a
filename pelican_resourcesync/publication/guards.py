"""Guards: what a publication is not to say unless its user meant it, because followers would do it at once."""

from collections.abc import Iterable
from ipaddress import ip_address
from urllib.parse import urlsplit

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.publication.rows import paired

#: More than one in so many resources deleted at once is taken for a mistake.
_FEW = 5
_EXAMPLES = 2


def require_few_deletions(before: Iterable[str], now: Iterable[str]) -> None:
    """Raise `PublicationError` where more than a fifth of the URIs `before` are not there `now`; both are in order."""
    listed, gone = 0, 0
    examples: list[str] = []
    for was, stands in paired(zip(before), zip(now)):
        listed += was is not None
        if was is not None and stands is None:
            gone += 1
            examples += was[: max(0, _EXAMPLES - len(examples))]
    if gone * _FEW <= listed:
        return
    message = (
        f"{gone} of {listed} resources would be listed as deleted, such as {' and '.join(examples)}: find out what is"
        " missing (a plug-in, a folder, a table), or set allow_deletions for one publication where they are meant to go"
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
        f" the address (SITEURL, base-url) back, or moved_from to {before!r} where the site has moved"
    )
    raise PublicationError(message)


def is_loopback(siteurl: str) -> bool:
    """Tell whether `siteurl` is on this machine alone: `localhost`, 127.0.0.0/8 or `[::1]`."""
    try:
        host = urlsplit(siteurl).hostname or ""
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
