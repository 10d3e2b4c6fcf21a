"""Check a target: find out what it is, read it, and run the rules that involve several documents."""

import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

from pelican_resourcesync.check.deep import Deep
from pelican_resourcesync.check.document import Options
from pelican_resourcesync.check.errors import CheckError
from pelican_resourcesync.check.findings import Findings
from pelican_resourcesync.check.judging import ask_neighbours, ask_source
from pelican_resourcesync.check.limits import STANDARD_LIMITS, Limits
from pelican_resourcesync.check.package import Package, check_package
from pelican_resourcesync.check.pages import links_of_headers, links_of_page, looks_like_page, sitemaps
from pelican_resourcesync.check.places import Folder, Found, Internet, Place
from pelican_resourcesync.check.report import Report
from pelican_resourcesync.check.rules import RULES
from pelican_resourcesync.check.start import SOURCES, WELL_KNOWN, find_around, find_start, peek
from pelican_resourcesync.check.unseen import UNSEEN
from pelican_resourcesync.check.walk import Walk
from pelican_resourcesync.errors import TransportError

EDITIONS = (2014, 2017)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What to check and how; `docs/check.md` describes the options."""

    target: str
    deep: bool = False
    follow: bool = False
    edition: int | None = None
    ignore: tuple[str, ...] = ()
    max_documents: int = 10_000
    jobs: int = 4
    limits: Limits = STANDARD_LIMITS
    progress: Callable[[str], None] = lambda _: None


def check(request: Request) -> Report:
    """Check a target and return the report; raises `CheckError` if there is nothing to check."""
    _refuse(request)
    checker = _Checker(request)
    with checker.stack:
        if urlsplit(request.target).scheme in ("http", "https"):
            checker.url(request.target)
        else:
            checker.path(Path(request.target))
        return checker.report()


def _refuse(request: Request) -> None:
    known = {rule.identifier for rule in RULES}
    for identifier in request.ignore:
        if identifier not in known:
            why = f": {UNSEEN[identifier]}" if identifier in UNSEEN else "; --rules lists them"
            message = f"there is no rule {identifier[:20]!a} to ignore{why}"
            raise CheckError(message)
    if request.edition not in (None, *EDITIONS):
        message = f"there is no edition {request.edition}: choose 2014 or 2017, or leave it out"
        raise CheckError(message)
    if request.max_documents < 1 or request.jobs < 1:
        message = "--max-documents and --jobs are at least 1"
        raise CheckError(message)


class _Checker:
    def __init__(self, request: Request) -> None:
        self.request = request
        self.findings = Findings(places=request.limits.places, ignored=frozenset(request.ignore))
        self.options = Options(rules=RULES, edition=request.edition, limits=request.limits)
        self.stack = ExitStack()
        self.walk = self._walk(Internet())
        self.documents = 0
        self.notes: list[str] = []

    def path(self, path: Path) -> None:
        """Check a folder or a file."""
        try:
            if path.is_dir():
                self._folder(path)
                return
            with path.open("rb") as stream:
                self._file(stream, path)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "no such path can be"
            message = f"{str(path)!a} cannot be read: {reason}; give a folder, a document, a ZIP package or a URL"
            raise CheckError(message) from error

    def url(self, url: str) -> None:
        """Check a URL: the Source of a host, a document, a package, an HTML page or robots.txt."""
        place = Internet(url)
        parts = urlsplit(url)
        root = f"{parts.scheme}://{parts.netloc}/"
        asked = f"{root}{WELL_KNOWN}" if parts.path in ("", "/") and not parts.query else url
        try:
            with place.open(asked, size=self.request.limits.package_size) as found:
                self._answer(found, asked, root, place)
        except TransportError as error:
            if asked == url:
                message = f"{error}; nothing was checked"
                raise CheckError(message) from error
            self._page_instead(url, root, place, error)

    def report(self) -> Report:
        """Return the report on everything that was checked."""
        return Report(
            target=self.request.target,
            documents=len([kept for kept in self.walk.documents.values() if kept]) + self.documents,
            findings=self.findings,
            packages=self.walk.packages,
            elsewhere=self.walk.elsewhere,
            complete=self.walk.complete,
            notes=self.notes + list(self._left_out()),
        )

    def _left_out(self) -> Iterator[str]:
        if not self.walk.complete:
            yield f"note: only the first {self.request.max_documents:,} documents were read (--max-documents)"
        if self.walk.elsewhere:
            yield f"note: {self.walk.elsewhere:,} links lead elsewhere and were not followed"

    def _walk(self, place: Place, *, root: str = "", hops: int | None = None) -> Walk:
        request = self.request
        walk = Walk(
            place=place,
            options=self.options,
            findings=self.findings,
            most=request.max_documents,
            progress=request.progress,
            root=root,
            hops=hops,
            jobs=request.jobs if isinstance(place, Internet) else 1,
        )
        walk.deep = Deep(
            place=place,
            options=self.options,
            findings=self.findings,
            whole=request.deep,
            jobs=request.jobs,
            progress=request.progress,
            linked=walk.take_links,
        )
        self.stack.callback(walk.close)
        return walk

    def _folder(self, folder: Path) -> None:
        place = Folder(folder)
        start = find_start(place, self.request.limits)
        if start is None:
            message = (
                f"{str(folder)!a} holds no Source Description and no Capability List; give the folder that is published"
            )
            raise CheckError(message)
        self._source(place, place.base or "", f"{place.base}{start}")

    def _file(self, stream: BinaryIO, path: Path) -> None:
        head = stream.read(self.request.limits.page)
        stream.seek(0)
        if zipfile.is_zipfile(stream) or head.startswith(b"PK"):
            self._package(stream, str(path))
        elif path.name == "robots.txt":
            self._beginning(path, lambda _: sitemaps(head), "Sitemap directive")
        elif looks_like_page(head, ""):
            self._beginning(path, lambda uri: links_of_page(head, uri), "link with rel=resourcesync")
        else:
            stream.seek(0)
            # The URLs in the document do not come from the user, so private addresses are not contacted.
            self.walk = self._walk(Internet(), hops=1 if self.request.follow else 0)
            self.walk.begin(str(path), stream)
            ask_neighbours(self.walk)

    def _beginning(self, path: Path, find: Callable[[str], list[str]], what: str) -> None:
        """Check the Source that a page or robots.txt file links to, in a folder around the file or on the web."""
        links = [link for link in self._need(find(""), str(path), what) if urlsplit(link).netloc]
        around = find_around(path, links, self.request.limits)
        if around is not None and around.base:
            links = find(around.base + path.resolve().relative_to(around.folder).as_posix())
            if any(map(around.has, links)):
                self._source(around, around.base, *links)
                return
        if not links:
            message = f"the links of {str(path)!a} lead to no file around it; give its URL"
            raise CheckError(message)
        parts = urlsplit(links[0])
        self._source(Internet(), f"{parts.scheme}://{parts.netloc}/", *links)

    def _answer(self, found: Found, uri: str, root: str, place: Internet) -> None:
        head = found.stream.read(self.request.limits.page)
        found.stream.seek(0)
        links = links_of_headers(found.headers, uri)
        if head.startswith(b"PK"):
            self._package(found.stream, uri)
        elif urlsplit(uri).path.endswith("/robots.txt"):
            self._source(place, root, *self._need(sitemaps(head), uri, "Sitemap directive"))
        elif looks_like_page(head, found.media_type):
            links += links_of_page(head, uri)
            self._source(place, root, *self._need(links, uri, "link with rel=resourcesync"))
        elif peek(found.stream, self.request.limits).capability in SOURCES:
            self._source(place, root, uri)
        else:
            found.stream.seek(0)
            self.walk = self._walk(place, root=root, hops=1 if self.request.follow else 0)
            self.walk.begin(uri, found.stream)
            ask_neighbours(self.walk)

    def _page_instead(self, url: str, root: str, place: Internet, error: TransportError) -> None:
        """Look for a link in the page itself if the host serves nothing at its well-known URI."""
        try:
            with place.open(url, size=self.request.limits.page) as found:
                data = found.stream.read()
                links = links_of_headers(found.headers, url) + links_of_page(data, url)
        except TransportError:
            links = []
        if not links:
            message = f"{error}, and its page has no link with rel=resourcesync; give the URL of a document"
            raise CheckError(message) from error
        self._source(place, root, *links)

    def _need(self, links: list[str], uri: str, what: str) -> list[str]:
        if not links:
            message = f"{uri!a} has no {what}; give the URL of a document"
            raise CheckError(message)
        return list(dict.fromkeys(links))

    def _source(self, place: Place, root: str, *starts: str) -> None:
        self.walk = self._walk(place, root=root)
        self.walk.run(*starts)
        if not any(self.walk.documents.get(start) for start in starts):
            message = f"{self.walk.why(starts[0])}; nothing was checked"
            raise CheckError(message)
        ask_neighbours(self.walk)
        ask_source(self.walk)

    def _package(self, stream: BinaryIO, name: str) -> None:
        stream.seek(0)
        package = Package(name)
        check_package(stream, package, self.options, self.findings)
        self.walk.packages += 1
        self.documents += int(package.manifest is not None)
