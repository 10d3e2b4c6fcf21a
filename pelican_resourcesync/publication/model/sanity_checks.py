"""Checks against publishing a mistake, such as mass deletions, that every follower would copy at once."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit

from pelican_resourcesync.errors import PublicationError

#: The environment variable that lets one build publish without a previous publication, and what messages say of it.
FIRST = "RESOURCESYNC_FIRST"
START_OVER = f"publish once with {FIRST}=1 in the environment, which starts over at new addresses"
#: If more than one in this many resources is deleted at once, it counts as a mistake, unless there are so few.
_SHARE, _FEW = 5, 3
_EXAMPLES = 2
_PAGES = "pages"
_REPLACED = "new files of the same kind"
#: What to do about deletions, for a publisher that does not know better.
FIND_OUT = "find out what is missing, or allow deletions for one publication if this is right"


def require_few_deletions(  # noqa: PLR0913 - keyword-only: what is not counted, and what the message says
    before: Iterable[str],
    now: Iterable[str],
    *,
    uncounted: str = "",
    records: str = "",
    advice: str = FIND_OUT,
    explained: Callable[[str], str] = lambda _uri: "",
) -> None:
    """Raise `PublicationError` if not just a few of the URIs `before` are missing `now`; both are sorted.

    Those that `explained` returns an explanation of do not count, nor other files than pages where new ones of the same
    kind are in their folder, as programs that write hashes into names leave them. If more than half of all pages are
    missing, or of all resources of a repository, they are never few. URIs that begin with `uncounted`, if that is not
    empty, do not count. `advice` ends the message. The message counts pages and other files or, in a repository whose
    records begin with `records`, records and files.
    """
    listed: Counter[str] = Counter()
    gone: Counter[str] = Counter()
    examples: list[str] = []
    reasons: Counter[str] = Counter()
    created: Counter[str] = Counter()
    missing: Counter[str] = Counter()
    current = iter(now)
    new = next(current, None)
    for old in before:
        while new is not None and new < old:
            created[_place(new, records)] += 1
            new = next(current, None)
        stays = new == old
        new = next(current, None) if stays else new
        if uncounted and old.startswith(uncounted):
            continue
        kind = _kind(old, records)
        listed[kind] += 1
        if not stays:
            gone[kind] += 1
            reason = explained(old)
            reasons[reason] += 1
            missing[_place(old, records)] += not reason
            examples += [old] if len(examples) < _EXAMPLES else []
    created.update(_place(uri, records) for uri in (new, *current) if uri is not None)
    del missing[""]
    replaced = (missing & created).total()
    reasons.update({"": -replaced, _REPLACED: replaced})
    most, of = (gone.total(), listed.total()) if records else (gone[_PAGES], listed[_PAGES])
    if are_few(reasons[""], listed.total()) and most * 2 <= of:
        return
    shares = " and ".join(f"{gone[kind]} of {listed[kind]} {kind}" for kind in sorted(listed))
    known = f"; {explanation_of(reasons)}" if reasons.total() > reasons[""] else ""
    message = (
        f"{gone.total()} of {listed.total()} resources would be listed as deleted, such as {' and '.join(examples)}: "
        f"{advice} ({shares} are missing{known})"
    )
    raise PublicationError(message)


def explanation_of(reasons: Mapping[str, int]) -> str:
    """Return what explains how many deletions; the number of those that nothing explains has the key `""`."""
    known = [f"explained by {reason}: {number:,}" for reason, number in sorted(reasons.items()) if reason and number]
    return ", ".join([*known, *([f"unexplained: {reasons['']:,}"] if reasons.get("") else [])])


def are_few(gone: int, listed: int) -> bool:
    """Return whether so many of the listed resources may be deleted at once."""
    return gone * _SHARE <= listed or (gone <= _FEW and gone * 2 <= listed)


def _place(uri: str, records: str) -> str:
    """Return the folder and the ending of a file that others may replace; empty for any other resource."""
    return f"{uri.rpartition('/')[0]}/.{uri.rpartition('.')[2]}" if not records and _kind(uri, "") != _PAGES else ""


def _kind(uri: str, records: str) -> str:
    """Return whether a URI is that of a page or another file; in a repository, of a record or a file."""
    if records:
        return "records" if uri.startswith(records) else "files"
    if uri.endswith((".html", "/")) and "?" not in uri and "#" not in uri:  # nearly all
        return _PAGES
    path = uri.partition("?")[0].partition("#")[0]
    name = path.rpartition("/")[2].lower()
    has_extension = "." in name[1:-1] and path.count("/") > 2  # noqa: PLR2004 - after those of https://host/
    return "other files" if has_extension and not name.endswith((".html", ".htm")) else _PAGES


def require_same_site(before: str, siteurl: str, moved_from: str, setting: str = "moved_from") -> bool:
    """Return whether the site has moved here from `before`, the `siteurl` of the previous publication.

    Raises `PublicationError` if `before` is a different address and not `moved_from`: every URI would change.
    The message calls that setting `setting`.
    """
    if before == siteurl:
        return False
    if before == moved_from:
        return True
    message = (
        f"the previous publication is for {before}, but this one would be for {siteurl}, so every URI would change: "
        f"restore the address, or set {setting} to {before!r} if the site has moved"
    )
    raise PublicationError(message)


def is_loopback(siteurl: str) -> bool:
    """Return whether `siteurl` is on this machine: `localhost`, 127.0.0.0/8 or `[::1]`."""
    try:
        host = urlsplit(siteurl).hostname or ""
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def is_public(uri: str) -> bool:
    """Return whether this is an http(s) URI without a user and a password."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc


def known_hosts(siteurl: str, elsewhere: Collection[str] | None) -> Callable[[str], bool]:
    """Return a function that says whether a URI is below `siteurl` or one of the addresses `elsewhere` (`None`: any).

    A publication on a host that somebody else controls must not make us list, or list as deleted, what is elsewhere.
    """
    places = (siteurl, *(elsewhere or ()))
    folders = tuple(f"{each}/" for each in places)

    def is_known(uri: str) -> bool:
        return uri.startswith(folders) or uri in places or (elsewhere is None and is_public(uri))

    return is_known
