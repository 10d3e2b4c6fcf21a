"""Check a target: find out what it is, read it, and run the rules."""

import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

from pelican_resourcesync.checker.consistency import SnapshotComparison, pairs
from pelican_resourcesync.checker.crawler import Crawler
from pelican_resourcesync.checker.document import RuleOptions
from pelican_resourcesync.checker.resources import (
    CheckedPackage,
    FetchedContent,
    Fetcher,
    FolderFetcher,
    ResourceChecker,
    WebFetcher,
    check_package,
    sitemaps,
)
from pelican_resourcesync.checker.rule import UNCHECKED, CheckError, CheckReport, Findings
from pelican_resourcesync.checker.rules import RULES
from pelican_resourcesync.checker.scan import STANDARD_LIMITS, Head, Scan, UnreadableError
from pelican_resourcesync.errors import TooLargeError, TransportError
from pelican_resourcesync.http import links_of_headers, links_of_page, looks_like_page
from pelican_resourcesync.options import CheckOptions, by_keyword
from pelican_resourcesync.protocol import EDITIONS
from pelican_resourcesync.source import WELL_KNOWN

SOURCES = ("description", "capabilitylist")
_NAMED = 5  # files in a note


def peek(stream: BinaryIO) -> Head:
    """Return the head of a document, reading at most one entry."""
    stream.seek(0)
    scan = Scan(stream, STANDARD_LIMITS)
    with suppress(UnreadableError):
        next(scan.items(), None)
    stream.seek(0)
    return scan.head


def find_start(fetcher: FolderFetcher) -> str | None:
    """Return the path of the first document of the Source in a folder, and learn the folder's URL, or return None."""
    found: dict[str, str] = {}
    for file in _candidates(fetcher.folder):
        with file.open("rb") as stream:
            capability = peek(stream).capability
            path = file.relative_to(fetcher.folder).as_posix()
            if capability in SOURCES and capability not in found:
                found[capability] = path
                _learn(fetcher, stream)
        if "description" in found:
            break
    start = found.get("description") or found.get("capabilitylist")
    return start if fetcher.base else None


def _candidates(folder: Path) -> Iterator[Path]:
    known = folder / WELL_KNOWN
    if known.is_file():
        yield known
    for count, file in enumerate(folder.rglob("*.xml")):
        if count >= STANDARD_LIMITS.search:
            return
        if file.is_file():
            yield file


def _learn(fetcher: FolderFetcher, stream: BinaryIO) -> None:
    """Learn a folder's URL from what one of its documents lists, or else assume that it is the root of a host."""
    scan, uris = Scan(stream, STANDARD_LIMITS), list[str]()
    with suppress(UnreadableError):
        uris.extend(item.loc for item in scan.items())
    uris += [link.get("href", "") for link, _ in scan.head.links]
    for uri in uris:
        fetcher.learn(uri)  # does nothing once the URL is known
    if fetcher.base is None:
        parts = [urlsplit(uri) for uri in uris if uri.startswith(("http://", "https://"))]
        fetcher.base = f"{parts[0].scheme}://{parts[0].netloc}/" if parts else None


def _check_references(crawler: Crawler) -> None:
    """Run the rules about two documents of which one names the other."""
    for reference in crawler.references:
        parent, entry = reference.parent.uri, reference.item.loc
        crawler.options.run("reference", crawler.findings, parent, reference.line, reference, crawler, entry=entry)


def _check_source(crawler: Crawler) -> None:
    """Run the rules about all documents together, and those about snapshots and the changes between them."""
    for rule in crawler.options.by_scope["source"]:
        for document, line, message in rule.check(crawler):
            crawler.findings.add(rule.finding(document, line, message))
    comparison = SnapshotComparison(crawler.database)
    for pair in pairs(crawler):
        comparison.begin(pair)
        for rule in crawler.options.by_scope["pair"]:
            for number, line, message in rule.check(comparison):
                crawler.findings.add(rule.finding(crawler.name(number), line, message))


@by_keyword(CheckOptions)
def check(target: str, options: CheckOptions) -> CheckReport:
    """Check whether a target conforms to the standard; return the report.

    `target` is a folder, a document, a ZIP package or a URL. The options are those of `CheckOptions`. Raises
    `CheckError` if there is nothing to check.
    """
    _refuse(options)
    checker = _Checker(options)
    with checker.stack:
        if urlsplit(target).scheme in ("http", "https"):
            checker.url(target)
        else:
            checker.path(Path(target))
        return checker.report(target)


def _refuse(options: CheckOptions) -> None:
    known = {rule.identifier for rule in RULES}
    for identifier in options.ignore:
        if identifier not in known:
            why = f"rule that is checked: {UNCHECKED.get(identifier, '--rules lists them')}"
            message = f"{identifier[:20]!a} is not a {why}"
            raise CheckError(message)
    if options.edition not in (None, *EDITIONS):
        message = f"the edition must be 2014 or 2017, not {options.edition}"
        raise CheckError(message)
    if options.max_documents < 1 or options.jobs < 1:
        message = "--max-documents and --jobs must be at least 1"
        raise CheckError(message)


def _find_links(head: bytes, name: str, media_type: str, uri: str) -> tuple[list[str], str] | None:
    """Return the links of robots.txt or a page, and what these are called; None for anything else."""
    if name == "robots.txt":
        return sitemaps(head), "Sitemap directive"
    if looks_like_page(head, media_type):
        return links_of_page(head, uri), "link with rel=resourcesync"
    return None


def _require_links(links: list[str], uri: str, what: str) -> list[str]:
    if not links:
        message = f"{uri!a} has no {what}: pass the URL of a document"
        raise CheckError(message)
    return list(dict.fromkeys(links))


class _Checker:
    def __init__(self, options: CheckOptions) -> None:
        self.options = options
        self.findings = Findings(most=STANDARD_LIMITS.findings, ignored=frozenset(options.ignore))
        self.rule_options = RuleOptions(rules=RULES, edition=options.edition)
        self.stack = ExitStack()
        self.crawler = self._crawler(WebFetcher())
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
            reason = getattr(error, "strerror", None) or "not a valid path"
            message = f"{str(path)!a} cannot be read: {reason}: pass a folder, a document, a ZIP package or a URL"
            raise CheckError(message) from error

    def url(self, url: str) -> None:
        """Check a URL: the Source of a host, a document, a package, an HTML page or robots.txt."""
        fetcher = WebFetcher(url)
        parts = urlsplit(url)
        root = f"{parts.scheme}://{parts.netloc}/"
        asked = f"{root}{WELL_KNOWN}" if parts.path in ("", "/") and not parts.query else url
        try:
            with fetcher.open(asked, size=STANDARD_LIMITS.package_size) as found:
                self._response(found, asked, root, fetcher)
        except TransportError as error:
            if asked == url:
                message = f"{error}; nothing was checked"
                raise CheckError(message) from error
            self._home_page(url, root, fetcher, error)

    def report(self, target: str) -> CheckReport:
        """Return the report on everything that was checked."""
        return CheckReport(
            target=target,
            documents=sum(document is not None for document in self.crawler.documents.values()) + self.documents,
            findings=self.findings,
            packages=self.crawler.packages,
            elsewhere=self.crawler.elsewhere,
            complete=self.crawler.complete,
            notes=[*self.notes, *self.findings.notes, *self._left_out()],
        )

    def _left_out(self) -> Iterator[str]:
        if not self.crawler.complete:
            yield f"note: only the first {self.options.max_documents:,} documents were read (--max-documents)"
        if self.crawler.elsewhere:
            yield f"note: links to other sites that were not followed: {self.crawler.elsewhere:,}"

    def _crawler(self, fetcher: Fetcher, *, root: str = "", hops: int | None = None) -> Crawler:
        options = self.options
        crawler = Crawler(
            fetcher=fetcher,
            options=self.rule_options,
            findings=self.findings,
            most=options.max_documents,
            progress=options.progress,
            root=root,
            hops=hops,
            jobs=options.jobs if isinstance(fetcher, WebFetcher) else 1,
        )
        crawler.deep = ResourceChecker(
            fetcher=fetcher,
            options=self.rule_options,
            findings=self.findings,
            whole=isinstance(fetcher, FolderFetcher) if options.deep is None else options.deep,
            jobs=options.jobs,
            progress=options.progress,
            linked=crawler.take_links,
        )
        self.stack.callback(crawler.close)
        return crawler

    def _folder(self, folder: Path) -> None:
        fetcher = FolderFetcher(folder)
        start = find_start(fetcher)
        if start is None:
            message = (
                f"{str(folder)!a} contains no Source Description or Capability List: pass the folder that was published"
            )
            raise CheckError(message)
        self._source(fetcher, fetcher.base or "", f"{fetcher.base}{start}")
        if self.options.deep is not False and self.crawler.complete and (unlisted := [*fetcher.unopened()]):
            named = ", ".join(unlisted[:_NAMED]) + (", …" if unlisted[_NAMED:] else "")
            self.notes.append(
                f"note: {len(unlisted):,} {'file is' if len(unlisted) == 1 else 'files are'} not listed: {named}; "
                "drafts and excluded files need not be. If a program added them after the build, publish again"
            )

    def _file(self, stream: BinaryIO, path: Path) -> None:
        head = stream.read(STANDARD_LIMITS.page)
        stream.seek(0)
        if zipfile.is_zipfile(stream) or head.startswith(b"PK"):
            self._package(stream, str(path))
        elif found := _find_links(head, path.name, "", ""):
            self._source_around(path, *found)
        else:
            stream.seek(0)
            # The URLs in the document do not come from the user, so private addresses are not contacted.
            self._document(stream, str(path), WebFetcher())

    def _source_around(self, path: Path, links: list[str], what: str) -> None:
        """Check the Source of the output that a page or robots.txt is in, or the one on the web that it links to."""
        for folder in path.resolve().parents:
            if (folder / WELL_KNOWN).is_file():
                self._folder(folder)
                return
        links = _require_links([link for link in links if urlsplit(link).netloc], str(path), f"{what} to the web")
        parts = urlsplit(links[0])
        self._source(WebFetcher(), f"{parts.scheme}://{parts.netloc}/", *links)

    def _response(self, found: FetchedContent, uri: str, root: str, fetcher: WebFetcher) -> None:
        head = found.stream.read(STANDARD_LIMITS.page)
        found.stream.seek(0)
        if head.startswith(b"PK"):
            self._package(found.stream, uri)
        elif linked := _find_links(head, urlsplit(uri).path.rpartition("/")[2], found.headers.media_type, uri):
            links = links_of_headers(found.headers, uri) + linked[0]
            self._source(fetcher, root, *_require_links(links, uri, linked[1]))
        elif peek(found.stream).capability in SOURCES:
            self._source(fetcher, root, uri)
        else:
            found.stream.seek(0)
            self._document(found.stream, uri, fetcher, root)

    def _home_page(self, url: str, root: str, fetcher: WebFetcher, error: TransportError) -> None:
        """Look for a link in the page itself if the host serves nothing at its well-known URI."""
        try:
            with fetcher.open(url, size=STANDARD_LIMITS.page) as found:
                data = found.stream.read()
                links = links_of_headers(found.headers, url) + links_of_page(data, url)
        except TransportError as failure:
            raise CheckError(str(failure)) from failure
        if not links:
            message = f"{error}, and {url} has no link with rel=resourcesync: pass the URL of a document"
            raise CheckError(message) from error
        self._source(fetcher, root, *links)

    def _is_plain_sitemap(self, fetcher: Fetcher, uri: str) -> bool:
        """Return whether this is a sitemap without ResourceSync, which robots.txt may name, too."""
        try:
            with fetcher.open(uri, size=STANDARD_LIMITS.most_bytes) as found:
                head = peek(found.stream)
        except TransportError:
            return False
        return head.root in ("urlset", "sitemapindex") and not head.mds

    def _source(self, fetcher: Fetcher, root: str, *starts: str) -> None:
        if len(starts) > 1:
            starts = tuple(start for start in starts if not self._is_plain_sitemap(fetcher, start)) or starts
        self.crawler = self._crawler(fetcher, root=root)
        self.crawler.run(*starts)
        if not any(self.crawler.documents.get(start) for start in starts):
            message = f"{self.crawler.absence_of(starts[0])}; nothing was checked"
            raise CheckError(message)
        _check_references(self.crawler)
        _check_source(self.crawler)

    def _document(self, stream: BinaryIO, uri: str, fetcher: Fetcher, root: str = "") -> None:
        self.crawler = self._crawler(fetcher, root=root, hops=1 if self.options.follow else 0)
        self.crawler.begin(uri, stream)
        _check_references(self.crawler)

    def _package(self, stream: BinaryIO, name: str) -> None:
        stream.seek(0)
        package = CheckedPackage(name)
        try:
            check_package(stream, package, self.rule_options, self.findings)
        except TooLargeError as error:
            message = f"{error}; nothing was checked"
            raise CheckError(message) from error
        self.crawler.packages += 1
        self.documents += int(package.manifest is not None)
