"""Find the first document of the Source in a folder, and the URL of the folder."""

from collections.abc import Iterator
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

from pelican_resourcesync.check.limits import Limits
from pelican_resourcesync.check.places import Folder
from pelican_resourcesync.check.scan import Head, Scan, UnreadableError

WELL_KNOWN = ".well-known/resourcesync"
SOURCES = ("description", "capabilitylist")


def peek(stream: BinaryIO, limits: Limits) -> Head:
    """Return the head of a document, reading at most one entry."""
    stream.seek(0)
    scan = Scan(stream, limits)
    with suppress(UnreadableError):
        next(scan.items(), None)
    stream.seek(0)
    return scan.head


def find_start(place: Folder, limits: Limits) -> str | None:
    """Return the path of the first document of the Source in a folder, and learn the folder's URL, or return None."""
    found: dict[str, str] = {}
    for file in _candidates(place.folder, limits):
        with file.open("rb") as stream:
            capability = peek(stream, limits).capability
            path = file.relative_to(place.folder).as_posix()
            if capability in SOURCES and capability not in found:
                found[capability] = path
                _learn(place, stream, limits)
        if "description" in found:
            break
    start = found.get("description") or found.get("capabilitylist")
    return start if place.base else None


def find_around(file: Path, links: list[str], limits: Limits) -> Folder | None:
    """Return the site folder that contains a file, found by its well-known URI or by the links of the file."""
    folders = [Folder(folder) for folder in file.resolve().parents]
    for place in folders:
        if (place.folder / WELL_KNOWN).is_file() and find_start(place, limits) is not None:
            return place
    for place, link in product(folders, links):
        parts = urlsplit(link)
        place.base = f"{parts.scheme}://{parts.netloc}/"
        if parts.scheme in ("http", "https") and place.has(link):
            return place
    return None


def _candidates(folder: Path, limits: Limits) -> Iterator[Path]:
    known = folder / WELL_KNOWN
    if known.is_file():
        yield known
    for count, file in enumerate(folder.rglob("*.xml")):
        if count >= limits.search:
            return
        if file.is_file():
            yield file


def _learn(place: Folder, stream: BinaryIO, limits: Limits) -> None:
    """Learn a folder's URL from what one of its documents lists, or else assume that it is the root of a host."""
    scan = Scan(stream, limits)
    uris = []
    with suppress(UnreadableError):
        for item in scan.items():
            uris.append(item.loc)
            place.learn(item.loc)
            if place.base is not None:
                return
    for link, _ in scan.head.links:
        uris.append(link.get("href", ""))
        place.learn(uris[-1])
    if place.base is None:
        parts = [urlsplit(uri) for uri in uris if uri.startswith(("http://", "https://"))]
        place.base = f"{parts[0].scheme}://{parts[0].netloc}/" if parts else None
