"""What the lists of an output tell, read with the tests' own reader."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from urllib.parse import unquote

from tests.support.reader import XmlEntry, parse_file

CHANGE_LIST = "resourcesync/site/changelist.xml"
RESOURCE_LIST = "resourcesync/site/resourcelist.xml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One entry of a Change List; `digest` is the SHA-256 of the bytes, where it says so."""

    uri: str
    kind: str
    time: datetime
    digest: str | None = None


def read(output: Path, siteurl: str) -> Iterator[Told]:
    """Return the entries of the Change List, or of all that its index names, in their order."""
    for entry in _entries(output, siteurl, CHANGE_LIST):
        yield Told(uri=entry.uri, kind=entry.md.get("change", ""), time=entry.time, digest=entry.digest or None)


def listed(output: Path, siteurl: str) -> dict[str, str | None]:
    """Return what the Resource List says exists: the SHA-256 by URI, none where it says none."""
    return {entry.uri: entry.digest or None for entry in _entries(output, siteurl, RESOURCE_LIST)}


def _entries(output: Path, siteurl: str, path: str) -> Iterator[XmlEntry]:
    document = parse_file(output / path)
    if document.root == "urlset":
        yield from document.entries
        return
    for uri in document.uris():
        yield from _entries(output, siteurl, unquote(uri.removeprefix(f"{siteurl}/")))


def path_of(uri: str, siteurl: str, *known: Collection[str]) -> str | None:
    """Return the output path that a URI means, as static hosts find it; none if it is in none of the `known` ones.

    The first collection that knows one decides.
    """
    if uri != siteurl and not uri.startswith(f"{siteurl}/"):
        return None
    path = unquote(uri.removeprefix(siteurl).removeprefix("/"), errors="surrogateescape")
    if not path or path.endswith("/"):
        candidates = [f"{path}index.html", f"{path.rstrip('/')}.html"]
    else:
        candidates = [path, f"{path}.html", f"{path}/index.html"]
    for paths in known:
        for candidate in candidates:
            if candidate in paths:
                return candidate
    return None
