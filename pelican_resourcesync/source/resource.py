"""A resource as a list, a Change List or the manifest of a package describes it."""

import datetime as dt
import hashlib
import re
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from string import punctuation
from typing import NamedTuple
from urllib.parse import quote, urljoin

from pelican_resourcesync.errors import DocumentError
from pelican_resourcesync.http import normalized, origin, shown
from pelican_resourcesync.protocol import CONTENT_MODIFIED, Entry, Hash, Link, Metadata, parse_datetime

#: The hash algorithms that are verified, with Python's names for them, the strongest last.
ALGORITHMS = {"md5": "md5", "sha-1": "sha1", "sha-256": "sha256", "sha-384": "sha384", "sha-512": "sha512"}
#: Those that nobody can make other bytes for.
STRONG = ("sha-256", "sha-384", "sha-512")
_NAMES = {name.replace("-", ""): name for name in ALGORITHMS}
_STRENGTH = {name: strength for strength, name in enumerate(ALGORITHMS)}
_SIZES = {name: hashlib.new(python_name, usedforsecurity=False).digest_size for name, python_name in ALGORITHMS.items()}
_USUAL_DIGEST = re.compile("[0-9a-f]{64}")
_USUAL_URI = re.compile(r"https?://[a-z0-9.-]+(?::(?!80/|443/)[1-9][0-9]{0,3})?/[!-~]*")
_ASCII = re.compile(r"[!-~]*")
_NONE = Metadata()
#: How the `hash` of a resource begins whose kind of change cannot be read; the reason follows.
UNREADABLE = "unreadable:"
_LONGEST = 2**63 - 1  # what SQLite can hold


class ListedResource(NamedTuple):
    """A resource as it is listed.

    `change` is the kind of a change, empty in a list of resources. `time` is that of the change, else the `lastmod`.
    `hash` is the strongest, as `algorithm:hexadecimal`. `path` is the name of the member of a package that has the
    bytes as they are. Texts are empty, and `length` is None, where nothing is listed. `content_since` is when the
    content of a page became what it is, empty if that is not known; `None` if it may have changed with its bytes.

    Where the kind of a change cannot be read, `hash` says so (see `why_unreadable`), and no bytes are those that are
    meant.
    """

    uri: str
    change: str
    time: str
    hash: str
    length: int | None
    type: str
    links: tuple[Link, ...]
    path: str
    content_since: str | None = None


def listed_resource(entry: Entry, base: str) -> ListedResource:
    """Return what an entry says of its resource; `base` is the URI of the document."""
    md = entry.md or _NONE
    length, path = md.length, md.path
    if md.encoding or (length is not None and length < 0):  # of other bytes than those of the resource
        length = None
    elif length is not None:
        length = min(length, _LONGEST)
    return ListedResource(
        uri_of(entry.loc, base),
        md.change or "",
        text_of(md.datetime or entry.lastmod),
        strongest(md.hash),
        length,
        md.type or "",
        entry.links,
        path.removeprefix("/") if path and not md.encoding else "",
        _content_since(dict(md.attributes)) if md.attributes else None,
    )


def _content_since(said: Mapping[str, str]) -> str | None:
    """Return when content became what it is; `None` if it changed with the bytes, or what is said cannot be read."""
    if not (since := said.get(CONTENT_MODIFIED)):
        return since
    try:
        return text_of(parse_datetime(since))
    except DocumentError:
        return None


def listed_change(entry: Entry, base: str) -> ListedResource:
    """Return what an entry says of a change.

    Raises `DocumentError` if its resource or time cannot be read: nobody knows what comes before it, and what after.
    """
    change = listed_resource(entry, base)
    if entry.unreadable:
        unreadable = dict(entry.unreadable)
        if entry.md and entry.md.datetime:
            unreadable.pop("lastmod", None)
        for what in ("loc", "attribute datetime", "lastmod"):
            if what in unreadable:
                message = f"the change of {shown(change.uri)} cannot be put in order ({what}: {unreadable[what]})"
                raise DocumentError(message)
        if why := unreadable.get("attribute change"):
            return change._replace(hash=f"{UNREADABLE}attribute change: {why}")
    return change


def why_unreadable(hash_: str) -> str:
    """Return why the change of a resource with this `hash` cannot be read, or an empty text if it can."""
    if not hash_.startswith(UNREADABLE):
        return ""
    return f"its entry cannot be read ({hash_.removeprefix(UNREADABLE)}): the publisher must correct it"


def uri_of(loc: str, base: str) -> str:
    """Return the absolute URI of what an entry names, in ASCII; what is no URI, as it is."""
    if _USUAL_URI.fullmatch(loc):
        return loc
    uri = loc
    with suppress(ValueError):
        uri = normalized(loc if origin(loc) else urljoin(base, loc))
    return uri if _ASCII.fullmatch(uri) else quote(uri, safe=punctuation)


@lru_cache(maxsize=4096)  # many resources share a time
def text_of(time: dt.datetime | None) -> str:
    """Return a time as text that sorts like it."""
    return "" if time is None else f"{time.astimezone(dt.UTC).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


def strongest(hashes: tuple[Hash, ...]) -> str:
    """Return the strongest of an entry's hashes, as `algorithm:hexadecimal`, or an empty string."""
    if len(hashes) == 1 and hashes[0].algorithm == "sha-256" and _USUAL_DIGEST.fullmatch(hashes[0].digest):
        return f"sha-256:{hashes[0].digest}"
    best, strength = "", -1
    for stated in hashes:
        name = _NAMES.get(stated.algorithm.lower().replace("-", ""), "")
        digest = _hexadecimal(name, stated.digest) if name else ""
        if digest and _STRENGTH[name] >= strength:
            best, strength = f"{name}:{digest}", _STRENGTH[name]
    return best


def _hexadecimal(name: str, digest: str) -> str:
    """Return a digest in hexadecimal, also if its publisher wrote base64; an empty string if it is neither."""
    if len(digest) == 2 * _SIZES[name]:
        with suppress(ValueError):
            if len(bytes.fromhex(digest)) == _SIZES[name]:
                return digest.lower()
    with suppress(Base64Error, ValueError):
        if len(data := b64decode(digest, validate=True)) == _SIZES[name]:
            return data.hex()
    return ""
