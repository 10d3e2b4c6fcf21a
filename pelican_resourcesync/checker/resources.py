"""Fetch resources by URI, all or just a few pages for their links, and packages with their members; and check them.

They are read from the output folder of a site or over HTTP. Of the resources that entries link to, those are read, too,
that have the same content in some form (LN).
"""

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, Self, TypeAlias, cast

from pelican_resourcesync.checker.document import (
    CheckedDocument,
    DocumentState,
    Hashes,
    RuleOptions,
    Sink,
    check_document,
)
from pelican_resourcesync.checker.rule import Findings
from pelican_resourcesync.checker.scan import Attributes, RawEntry
from pelican_resourcesync.checker.values import Measurement, digests, known_hash, measure, number, quoted
from pelican_resourcesync.errors import AbsentError, TooLargeError, TransportError
from pelican_resourcesync.http import (
    Bounds,
    DamagedZipError,
    Headers,
    Web,
    ZipLimitError,
    ZipReader,
    links_of_headers,
    links_of_page,
    looks_like_page,
    origin,
    shown,
)
from pelican_resourcesync.protocol import PATCH
from pelican_resourcesync.source import SiteFolder
from pelican_resourcesync.system.dcz import LARGEST, MEDIA_TYPE, PatchError, apply_patch, base_of, has_patches
from pelican_resourcesync.system.files import is_key_file

_IN_MEMORY = 1_048_576


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedContent:
    """What is at a URI, for a `with` statement: its bytes, and the headers that came with them, if any."""

    stream: BinaryIO
    length: int
    headers: Headers

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stream.close()


class FolderFetcher(SiteFolder):
    """The output folder of a site."""

    def __init__(self, folder: Path) -> None:
        """Take the folder."""
        super().__init__(folder)
        self._opened: Hashes = set()

    def unopened(self) -> Iterator[str]:
        """Yield the paths of the files that were not opened, but documents, hidden files and those for hosts."""
        for folder, names, files in os.walk(self.folder):
            names[:] = sorted(name for name in names if name[0] != "." and Path(folder, name) not in self._roots)
            for name in sorted(files):
                file = Path(folder, name)
                is_known = name[0] == "." or _FOR_HOSTS.match(name) or hash(str(file)) in self._opened
                if not is_known and not is_key_file(file):
                    yield file.relative_to(self.folder).as_posix()

    def open(self, uri: str, *, size: int, md: Attributes | None = None) -> FetchedContent:  # noqa: ARG002 - of the web
        """Return the file that a static host would serve. Raises `TransportError` if it is larger, or unreadable."""
        file = self.file(uri)
        if file is None:
            message = f"{shown(uri)} is not in the folder"
            raise AbsentError(message)
        try:
            length = file.stat().st_size
            if length > size:
                message = f"{shown(uri)} is larger than {size:,} bytes"
                raise TooLargeError(message)
            self._opened.add(hash(str(file)))
            return FetchedContent(stream=file.open("rb"), length=length, headers=Headers())
        except OSError as error:
            message = f"{file} cannot be read: {error.strerror}"
            raise TransportError(message) from error


class WebFetcher:
    """The web. Hosts named by the user may have private addresses; hosts named only by documents may not."""

    def __init__(self, *named: str) -> None:
        self._named = {origin(url) for url in named} - {None}
        self._web: Web | None = None

    def holds(self, uri: str) -> bool:
        """Return whether a URI is an http(s) URL."""
        return origin(uri) is not None

    def open(self, uri: str, *, size: int, md: Attributes | None = None) -> FetchedContent:
        """Request a URI; large content is stored on disk. Raises `TransportError` if that fails, or it is larger.

        What `md` states decides which bytes are meant if they come encoded.
        """
        place = origin(uri)
        if place is None:
            message = f"{shown(uri)!a} is not an http(s) URL"
            raise TransportError(message)
        url = uri.partition("#")[0]
        if self._web is None:  # it serves any host; created once, because loading the machine's certificates is slow
            self._web = Web(f"{place[0]}://{place[1]}")
        stream = cast("BinaryIO", SpooledTemporaryFile(max_size=_IN_MEMORY))  # noqa: SIM115 - returned open
        try:
            bounds = Bounds(size=size)
            hash_, length, is_public = known_hash(md or {}), number((md or {}).get("length")), place not in self._named
            received, headers = self._web.visit(url, stream, public=is_public, bounds=bounds, hash=hash_, length=length)
        except BaseException:
            stream.close()
            raise
        stream.seek(0)
        return FetchedContent(stream=stream, length=received.length, headers=headers)


#: A place where URIs are looked up.
Fetcher: TypeAlias = FolderFetcher | WebFetcher


@dataclass(slots=True, kw_only=True)
class Prefetcher:
    """Fetches up to `jobs` documents at once, each of at most `size` bytes; with one job, nothing is fetched early."""

    fetcher: Fetcher
    size: int
    jobs: int = 1
    _pool: ThreadPoolExecutor | None = None
    _asked: dict[str, Future[FetchedContent]] = field(default_factory=dict)

    def prefetch(self, uris: Iterable[str]) -> None:
        """Start to fetch these URIs, in this order, while there is room."""
        if self.jobs == 1:
            return
        self._pool = self._pool or ThreadPoolExecutor(max_workers=self.jobs)
        for uri in uris:
            if len(self._asked) >= self.jobs:
                return
            if uri not in self._asked:
                self._asked[uri] = self._pool.submit(self.fetcher.open, uri, size=self.size)

    def open(self, uri: str) -> FetchedContent:
        """Return what is at a URI, fetched early or not; raises `TransportError` if it cannot be fetched."""
        asked = self._asked.pop(uri, None)
        return asked.result() if asked else self.fetcher.open(uri, size=self.size)

    def close(self) -> None:
        """Cancel pending requests, and close what was fetched but not used."""
        if self._pool is None:
            return
        self._pool.shutdown(wait=True, cancel_futures=True)
        for asked in self._asked.values():
            if not asked.cancelled() and not isinstance(asked.exception(), TransportError):
                asked.result().stream.close()
        self._asked.clear()


#: Possessive quantifiers, so that matching takes linear time whatever a host sends.
_SITEMAP = re.compile(r"^[ \t]*+sitemap[ \t]*+:[ \t]*+(\S++)", re.IGNORECASE | re.MULTILINE)


def sitemaps(data: bytes) -> list[str]:
    """Return the URIs of the `Sitemap` directives in a robots.txt file (DI04)."""
    return _SITEMAP.findall(data.decode("utf-8", "replace"))


#: Files in a folder that are no resources.
_FOR_HOSTS = re.compile(r"(?:_headers|_redirects|CNAME|404\.html|robots\.txt|.*sitemap.*\.xml(?:\.gz)?)$")
_BATCH = 64
#: How many pages of a set are examined if not all resources are.
_PAGES = 10
#: After a page, the next one is at least this many times as far down the list.
_STEP = 10
#: The links whose targets are compared with what is stated about them.
_COMPARED = frozenset(("alternate", "canonical", "duplicate", "memento", "timemap", "via"))


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedResource:
    """A listed resource: why it could not be fetched, or the measurements of its bytes and its headers.

    `page_links` and `header_links` are the targets of its own `rel=resourcesync` links. For what an entry links to,
    `link` is that link, and `md` states what its bytes are. `wrong` is what is wrong with a patch.
    """

    item: RawEntry
    md: Attributes
    link: Attributes | None = None
    absence: str = ""
    measured: Measurement | None = None
    media_type: str = ""
    page_links: tuple[str, ...] = ()
    header_links: tuple[str, ...] = ()
    wrong: str = ""

    @property
    def uri(self) -> str:
        """Where it is."""
        return self.link["href"] if self.link else self.item.loc


Linked = Callable[[CheckedResource, str, str], None]
"""Receives a resource that has links, the document that lists it and the Capability List of its set."""


@dataclass(slots=True, kw_only=True)
class ResourceChecker:
    """Examines resources in batches, so that few are in memory at a time, however many are listed.

    If `whole` is True, all resources are compared with what is stated about them. Otherwise, a few pages spread over
    the list are examined for links. `wanted` is the lowest number of an entry of the current document to take next.
    """

    fetcher: Fetcher
    options: RuleOptions
    findings: Findings
    whole: bool = False
    jobs: int = 1
    progress: Callable[[str], None] = lambda _: None
    linked: Linked = lambda _resource, _document, _owner: None
    wanted: int = 0
    _pages: dict[str, int] = field(default_factory=dict)
    _waiting: list[tuple[CheckedResource, str, str]] = field(default_factory=list)
    _compared: Hashes = field(default_factory=set)
    _versions: dict[str, str] = field(default_factory=dict)
    _patched: dict[str, list[tuple[RawEntry, str, str]]] = field(default_factory=dict)

    def take(self, item: RawEntry, document: str, owner: str) -> None:
        """Take an entry of a Resource List, whose number must be at least `wanted`."""
        if self.whole:
            self.take_links(item, document, owner)
        else:
            count = self._pages.get(owner, 0)
            if count >= _PAGES or not _is_page(item):
                return
            self._pages[owner] = count + 1
            self.wanted = item.number * _STEP
        self._wait(CheckedResource(item=item, md=item.md), document, owner)

    def take_change(self, item: RawEntry, document: str, owner: str) -> None:
        """Note the version that a change links to, and its patch, which goes when its resource is deleted."""
        if self.whole:
            if item.md.get("change") == "deleted":
                self._patched.pop(item.loc, None)
            for link in item.links:
                if link.get("rel") == "memento" and "href" in link:
                    self._versions[digests(link.get("hash")).get("sha-256", "")] = link["href"]
                elif link.get("rel") == PATCH:
                    self._patched.setdefault(item.loc, []).append((item, document, owner))

    def take_links(self, item: RawEntry, document: str, owner: str, compared: Collection[str] = _COMPARED) -> None:
        """Take what an entry links to; of links to one resource that state the same, only the first."""
        for link in item.links:
            rel, uri = link.get("rel"), link.get("href")
            if rel not in compared or uri is None:
                continue
            md = {**item.md, **link} if rel == "duplicate" else link  # for it, too, holds what the entry states (LN01)
            stated = hash((uri, md.get("hash"), md.get("length")))
            if stated not in self._compared:
                self._compared.add(stated)
                self._wait(CheckedResource(item=item, md=md, link=link), document, owner)

    def _wait(self, resource: CheckedResource, document: str, owner: str) -> None:
        self._waiting.append((resource, document, owner))
        if len(self._waiting) >= _BATCH:
            self._examine()

    def finish(self) -> None:
        """Examine what is left, and the patches of all changes."""
        for changes in self._patched.values():
            for change in changes:
                self.take_links(*change, (PATCH,))
        self._patched.clear()
        self._examine()

    def _examine(self) -> None:
        waiting, self._waiting = self._waiting, []
        with ThreadPoolExecutor(max_workers=self.jobs) as pool:
            for (asked, document, owner), resource in zip(waiting, pool.map(self._resource, waiting), strict=True):
                self.progress(asked.uri)
                if resource is None:
                    continue
                item, link = resource.item, resource.link
                if not link and (resource.page_links or resource.header_links):
                    self.linked(resource, document, owner)
                if self.whole:
                    scope = "target" if link else "resource"
                    self.options.run(scope, self.findings, document, item.line, resource, entry=item.loc)

    def _resource(self, waiting: tuple[CheckedResource, str, str]) -> CheckedResource | None:
        resource, limits = waiting[0], self.options.limits
        uri, md = resource.uri, resource.md
        if not self.fetcher.holds(uri):
            return None
        try:
            with self.fetcher.open(uri, size=limits.resource_size if self.whole else limits.page, md=md) as found:
                measured = measure(found.stream, md)
                found.stream.seek(0)
                wrong = self._wrong_patch(resource, found.stream)
                headers, media_type = found.headers, found.headers.media_type
        except TooLargeError as error:
            if self.whole:
                self.findings.unread(str(error))
            return None
        except TransportError as error:
            return None if self._is_withdrawn(resource) else replace(resource, absence=str(error))
        except OSError as error:
            return replace(resource, absence=f"it cannot be read: {error.strerror}")
        page = looks_like_page(measured.head, media_type or md.get("type", ""))
        return replace(
            resource,
            measured=measured,
            wrong=wrong,
            media_type=media_type,
            page_links=tuple(links_of_page(measured.head, uri)) if page else (),
            header_links=tuple(links_of_headers(headers, uri)),
        )

    def _is_withdrawn(self, resource: CheckedResource) -> bool:
        """Return whether this is a patch that went with the version that it leads to."""
        is_patch = (resource.link or {}).get("rel") == PATCH
        versions = [link["href"] for link in resource.item.links if link.get("rel") == "memento" and "href" in link]
        for uri in versions if is_patch else ():
            try:
                with self.fetcher.open(uri, size=self.options.limits.resource_size):
                    pass
            except TransportError:
                return True
        return False

    def _wrong_patch(self, resource: CheckedResource, stream: BinaryIO) -> str:
        """Return what is wrong with a patch, as far as a version is known with the bytes that it is for."""
        md, link = resource.item.md, resource.link or {}
        if (link.get("rel"), link.get("type")) != (PATCH, MEDIA_TYPE) or not has_patches():
            return ""
        try:
            patch = stream.read(LARGEST)
            with self.fetcher.open(self._versions[base_of(patch)], size=LARGEST) as found:
                new = apply_patch(patch, found.stream.read(), number(md.get("length")) or 0)
        except (KeyError, TransportError):
            return ""
        except PatchError as error:
            return str(error)
        return measure(BytesIO(new), md).wrong_digest(md) or ""


def _is_page(item: RawEntry) -> bool:
    type_ = item.md.get("type", "")
    return looks_like_page(b"", type_.partition(";")[0].strip().lower()) or (
        not type_ and item.loc.endswith((".html", ".htm", "/"))
    )


MANIFEST = "manifest.xml"


@dataclass(slots=True)
class CheckedPackage:
    """What is known about a package: why it cannot be opened, its member names, its manifest and what lists it."""

    uri: str
    listed_as: str = ""
    md: Attributes = field(default_factory=dict)
    problem: str = ""
    length: int = 0
    names: list[str] = field(default_factory=list)
    manifest: CheckedDocument | None = None
    copy: CheckedDocument | None = None
    listed: Hashes = field(default_factory=set)

    @property
    def of_changes(self) -> bool:
        """Whether it is a package of changes, according to what lists it or else to its manifest."""
        known = self.listed_as or (self.manifest.capability if self.manifest else "")
        return known.startswith("change")


@dataclass(slots=True, kw_only=True)
class Member:
    """A manifest entry that has a path, and what is at that path."""

    item: RawEntry
    path: str
    problem: str = ""
    measured: Measurement | None = None


def check_package(
    stream: BinaryIO, package: CheckedPackage, options: RuleOptions, findings: Findings, sink: Sink | None = None
) -> None:
    """Check a package, its manifest and its members against the rules; each entry read is passed to `sink`.

    Raises `TooLargeError` if its list of members or its manifest is too large to be read.
    """
    uri = f"{package.uri}!/{MANIFEST}"

    def check_member(item: RawEntry, doc: DocumentState) -> None:
        if sink is not None:
            sink(item, doc)
        path = item.md.get("path")
        if path is not None:
            package.listed.add(hash(path.removeprefix("/")))
            excess = _excess(archive, path.removeprefix("/"))
            if excess:
                findings.unread(f"{uri}: the path {quoted(path)} {excess}")
            else:
                options.run("member", findings, uri, item.line, _member(archive, item, path), entry=item.loc)

    try:
        archive = ZipReader(stream, options.limits)
        package.names = archive.names
        if _excess(archive, MANIFEST):
            message = f"its {MANIFEST} is too large"
            raise ZipLimitError(message)  # noqa: TRY301 - as any other limit
        if not archive.problem(MANIFEST):
            with archive.open(MANIFEST) as manifest:
                package.manifest = check_document(manifest, uri, options, findings, check_member)
    except ZipLimitError as error:
        message = f"{package.uri}: {error}"
        raise TooLargeError(message) from error
    except DamagedZipError as error:
        package.problem = f"cannot be read as a ZIP file ({error})"
    options.run("package", findings, package.uri, None, package)


def _excess(archive: ZipReader, name: str) -> str:
    """Return why a member is not read, if that is because of the limits alone, or an empty string."""
    excess = archive.excess(name)
    return excess if archive.problem(name) == excess else ""


def _member(archive: ZipReader, item: RawEntry, path: str) -> Member:
    name = path.removeprefix("/")
    member = Member(item=item, path=path, problem=archive.problem(name))
    if not member.problem:
        try:
            with archive.open(name) as stream:
                member.measured = measure(stream, item.md, keep=0)
        except DamagedZipError as error:
            member.problem = f"names a member that cannot be read ({error})"
    return member
