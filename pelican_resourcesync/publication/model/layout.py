"""The paths of the documents of a publication, in the output and on the web."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from urllib.parse import urlsplit

#: The folder of all documents except the well-known one.
FOLDER = "resourcesync"
#: Where a Destination (a client that keeps a copy) looks first (`DI01`).
WELL_KNOWN = ".well-known/resourcesync"
DESCRIPTION = f"{FOLDER}/description.xml"
HTML_PAGE = f"{FOLDER}/index.html"
STATE = f"{FOLDER}/publication.json"
#: The documents that all sets of an output share: each publication rewrites them, so no state records their hashes.
SHARED = (HTML_PAGE, DESCRIPTION, WELL_KNOWN)

#: The folder, below that of a set, of resources that are published with it; these are not documents.
RECORDS = "records"

#: Likewise, of the versions of resources, and of the TimeMaps that list them.
VERSIONS, TIMEMAPS = "versions", "timemaps"

_SITE = "site"

#: What a set can be called.
SET_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,99}")
_CAPABILITY_LIST = re.compile(rf"(?:(.*)/)?{FOLDER}/([^/]+)/(?:[0-9]+/)?capabilitylist\.xml")


@dataclass(frozen=True, slots=True)
class Layout:
    """The paths of one set's documents, relative to the output, and their URIs below `siteurl` (without a final slash).

    `restart_number` counts, from 1, how often the set was started over under new addresses. Each time it gets a folder
    of its own, so that no URI that was ever public gets different bytes.
    """

    siteurl: str
    set_name: str = _SITE
    restart_number: int = 1

    @property
    def home(self) -> str:
        """The folder of the set, the same for all restarts."""
        return f"{FOLDER}/{self.set_name}"

    @property
    def folder(self) -> str:
        """The folder of the documents since this restart."""
        return self.home if self.restart_number == 1 else f"{self.home}/{self.restart_number}"

    @property
    def records(self) -> str:
        """The folder of the set's records, the same for all restarts."""
        return f"{self.home}/{RECORDS}"

    @property
    def versions(self) -> str:
        """The folder of the versions of resources, the same for all restarts."""
        return f"{self.home}/{VERSIONS}"

    @property
    def timemaps(self) -> str:
        """The folder of the TimeMaps of resources, the same for all restarts."""
        return f"{self.home}/{TIMEMAPS}"

    @property
    def version_index(self) -> str:
        """The list of all versions, which the next publication continues."""
        return f"{self.folder}/versions.jsonl"

    def timemap(self, uri: str) -> str:
        """Return the path of the TimeMap of a resource, the same for all restarts."""
        return f"{self.timemaps}/{sha256(uri.encode()).hexdigest()[:32]}.link"

    @property
    def state(self) -> str:
        """The state (`publication.json`), which the next publication of the set reads first."""
        return STATE if self.set_name == _SITE else f"{self.home}/publication.json"

    @property
    def entry_points(self) -> tuple[str, ...]:
        """The documents outside the folder of the set, in the order in which to replace them."""
        own = () if self.state.startswith(f"{self.home}/") else (self.state,)
        return HTML_PAGE, DESCRIPTION, *own, WELL_KNOWN

    @property
    def html_page(self) -> str:
        """The page about the set for people, the same for all starts."""
        return f"{self.home}/index.html"

    @property
    def badge(self) -> str:
        """The badge of the set, the same for all starts."""
        return f"{self.home}/badge.svg"

    @property
    def feed(self) -> str:
        """The Atom feed of the latest changes, the same for all starts."""
        return f"{self.home}/changes.atom"

    @property
    def change_pages(self) -> str:
        """The page that links to all pages about changes, the same for all starts."""
        return f"{self.home}/changes/index.html"

    def change_page(self, start: datetime) -> str:
        """Return the path of the page for people about the Change List of the range that begins at `start`."""
        return f"{self.folder}/changes/{stamp(start)}.html"

    def change_data(self, start: datetime) -> str:
        """Return the path of what that page shows as JSON, which the next publication reads."""
        return f"{self.folder}/changes/{stamp(start)}.json"

    @property
    def capability_list(self) -> str:
        """The Capability List."""
        return f"{self.folder}/capabilitylist.xml"

    @property
    def resource_list(self) -> str:
        """The Resource List, or the index of its parts."""
        return f"{self.folder}/resourcelist.xml"

    @property
    def resource_dump(self) -> str:
        """The Resource Dump, or the index of its parts."""
        return f"{self.folder}/resourcedump.xml"

    @property
    def change_list_index(self) -> str:
        """The Change List Index of all kept Change Lists."""
        return f"{self.folder}/changelist.xml"

    @property
    def change_dump_index(self) -> str:
        """The Change Dump Index of all kept Change Dumps."""
        return f"{self.folder}/changedump.xml"

    @property
    def notification(self) -> str:
        """The topic of the set's change notifications: the last one (CN03)."""
        return f"{self.folder}/notification.xml"

    def earlier_notification(self, start: datetime) -> str:
        """Return the path of the part of a notification that begins at `start`, if it needs several documents."""
        return f"{self.folder}/notification-{stamp(start)}.xml"

    def notifications(self, paths: Collection[str]) -> list[str]:
        """Return the paths among these of the last notification, in the order of time."""
        parts = [path for path in paths if path.startswith(f"{self.folder}/notification-")]
        return [*sorted(parts, key=lambda path: path.removesuffix("Z.xml")), *{self.notification}.intersection(paths)]

    def archive(self, of: str) -> str:
        """Return the path of the archive of documents with the capability `of`, or of the index of its parts."""
        return f"{self.folder}/{of}-archive.xml"

    def archived(self, of: str, at: datetime) -> str:
        """Return the path of an archived Resource List or Resource Dump (`of`), or of the index of its parts."""
        return f"{self.folder}/archive/{of}-{stamp(at)}.xml"

    def archived_part(self, of: str, at: datetime, number: int) -> str:
        """Return the path of part `number` of an archived Resource List or Resource Dump."""
        return part_path(f"{self.folder}/archive/{of}.xml", at, number)

    def change_list(self, start: datetime) -> str:
        """Return the path of the Change List of the range that begins at `start`; it never changes."""
        return f"{self.folder}/changelist-{stamp(start)}.xml"

    def change_dump(self, start: datetime) -> str:
        """Return the path of the Change Dump that begins at `start`; it never changes."""
        return f"{self.folder}/changedump-{stamp(start)}.xml"

    def change_dump_package(self, until: datetime) -> str:
        """Return the path of the package of the changes up to `until`, a time that no other package has."""
        return f"{self.folder}/changedump-{stamp(until)}.zip"

    def resource_dump_package(self, at: datetime, number: int) -> str:
        """Return the path of package `number` of a Resource Dump."""
        return f"{self.folder}/resourcedump-{stamp(at)}-{number:05}.zip"

    @property
    def patches(self) -> str:
        """How the paths of all patches begin."""
        return f"{self.folder}/patches/"

    def patch(self, old: str, new: str) -> str:
        """Return the path of the patch between bytes with these SHA-256 hashes; it never changes."""
        return f"{self.patches}{old}-{new}.dcz"

    def manifest(self, package: str) -> str:
        """Return the path of the copy of a package's manifest (`RD02`)."""
        return f"{package.removesuffix('.zip')}-manifest.xml"

    def uri(self, path: str) -> str:
        """Return the URI of a document."""
        return f"{self.siteurl}/{path}"


def replaced_path(digest: str) -> str:
    """Return where a bucket keeps a document with a SHA-256 that is being replaced; no set has such a name."""
    return f"{FOLDER}/.replaced/{digest}"


def set_of(uri: str) -> tuple[str, str] | None:
    """Return the address of the site, and the name of the set, of a Capability List, as its URI spells them."""
    match = _CAPABILITY_LIST.fullmatch(uri)
    return (match[1] or "", match[2]) if match else None


def part_path(path: str, at: datetime, number: int) -> str:
    """Return the path of part `number` of the document at a path; the time of its publication makes it unique."""
    return f"{path.removesuffix('.xml')}-{stamp(at)}-{number:05}.xml"


def well_known_reachable(siteurl: str) -> bool:
    """Return whether the host's well-known URI is part of the site: only if `siteurl` has no path (SD01)."""
    return urlsplit(siteurl).path in ("", "/")


def well_known_hints(siteurl: str) -> list[str]:
    """Return what to know of a site whose URL has a path; nothing for others."""
    hint = (
        f"the site's URL has a path, so {siteurl}/{WELL_KNOWN} is not at the root of the host, where mirrors look "
        f"first: share {siteurl}/{DESCRIPTION}, to which the pages of a site link"
    )
    return [] if well_known_reachable(siteurl) else [hint]


@lru_cache(maxsize=4_096)
def stamp(time: datetime) -> str:
    """Return a time as in document names: `20240301T120000Z`, with milliseconds if there are any."""
    utc = time.astimezone(UTC)
    fraction = f".{utc.microsecond // 1000:03}" if utc.microsecond else ""
    return f"{utc:%Y%m%dT%H%M%S}{fraction}Z"
