"""Write versions of resources to a WACZ file: a web archive with an index and a list of its pages, for a browser.

It has a response for each version at its time, and one with the status 404 where a resource was deleted. Programs show
the one that is closest to a time, before or after it, so each comes again in the last second before the next one. They
count in seconds: what was replaced within a second is left out. The same versions give the same bytes.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from hashlib import file_digest
from io import SEEK_END, BytesIO, TextIOWrapper
from itertools import zip_longest
from mimetypes import MimeTypes
from pathlib import Path, PurePosixPath
from shutil import copyfileobj
from typing import IO, Any, NamedTuple, cast
from uuid import NAMESPACE_URL, uuid5
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from pelican_resourcesync.content import read_title
from pelican_resourcesync.destination.state import NEVER, PastVersion, StoredResource
from pelican_resourcesync.system.extras import extra
from pelican_resourcesync.system.files import sha256
from pelican_resourcesync.system.titles import HTML, clean
from pelican_resourcesync.version import __version__

_PAGES = {"format": "json-pages-1.0", "id": "pages", "title": "Pages"}
_BUILT_IN = MimeTypes(filenames=())  # the same on every system
_ANY = "application/octet-stream"
_INFO = {
    "software": f"pelican-resourcesync {__version__}", "format": "WARC File Format 1.0",
    "description": "made from what a ResourceSync Source has published, without requesting its pages",
}  # fmt: skip


class Capture(NamedTuple):
    """What a URL was from a time until another, in whole seconds: bytes in a file, or deleted if that is empty."""

    uri: str
    time: str
    until: str
    type: str = HTML[0]
    digest: str = ""
    file: str = ""

    @property
    def times(self) -> list[str]:
        """When it was so: at first, and in the last second before it ended."""
        if self.until == NEVER:
            return [self.time]
        last = datetime.fromisoformat(self.until) - timedelta(seconds=1)
        return [*dict.fromkeys((self.time, last.isoformat()))]

    @property
    def is_page(self) -> bool:
        """Whether it is a page for people."""
        return bool(self.file) and self.type.partition(";")[0].strip().lower() in HTML


def require_wacz() -> None:
    """Raise `SettingsError` unless WACZ files can be written."""
    with extra("wacz", "WACZ files need an extra"):
        import cdxj_indexer  # noqa: F401 - whether it is there


def captures(versions: Mapping[str, PastVersion], stored: Mapping[str, StoredResource]) -> Iterator[Capture]:
    """Yield what each URL was of which a version is stored, in order of the URLs and times."""
    uris = {versions[key].resource.uri for key in stored}
    chosen = (version for version in versions.values() if version.resource.uri in uris)
    ordered = sorted(chosen, key=lambda version: (version.resource.uri, version.begin))
    reach = ""  # until when the resource was there, in any set
    for version, after in zip_longest(ordered, ordered[1:]):
        uri = version.resource.uri
        is_last = after is None or after.resource.uri != uri
        end = NEVER if is_last else after.begin
        reach = max(reach, version.until)
        found = stored.get(version.key)
        if found and version.begin[:19] < min(reach, end)[:19]:
            yield Capture(uri, version.begin[:19], min(reach, end)[:19], _type(version), found.digest, found.path)
        if reach[:19] < end[:19]:
            yield Capture(uri, reach[:19], end[:19])
        reach = "" if is_last else reach


def _type(version: PastVersion) -> str:
    """Return the listed media type, or the one of the name, if a header can have it."""
    path = version.resource.uri.partition("?")[0]
    ending = "html" if path[-1] == "/" else path.rpartition(".")[2]
    media_type = version.resource.type or _BUILT_IN.guess_type(f"name.{ending}")[0] or _ANY
    return media_type if media_type.isascii() and media_type.isprintable() else _ANY


def write_wacz(target: Path, captured: Sequence[Capture], folder: Path) -> None:
    """Write captures, whose files are in a folder."""
    from cdxj_indexer.main import CDXJIndexer

    warc = target.with_name("data.warc.gz")
    with warc.open("wb") as stream:
        pages = list(_write_records(stream, captured, folder))
    lines, index = BytesIO(), BytesIO()
    written = TextIOWrapper(index, "utf-8", write_through=True)
    CDXJIndexer(
        written, [str(warc)], compress=lines, data_out_name="index.cdx.gz", lines=1024, sort=True, digest_records=True,
        records="response,revisit", fields="referrer",  # with any field of requests it knows the digests
    ).process_all()  # fmt: skip
    with ZipFile(target, "w") as archive, warc.open("rb") as records:
        info = ZipInfo("archive/data.warc.gz")  # of 1980, always
        info.file_size = warc.stat().st_size
        with archive.open(info, "w") as member:
            copyfileobj(records, member)
        archive.writestr(ZipInfo("indexes/index.cdx.gz"), lines.getvalue())
        archive.writestr(ZipInfo("indexes/index.idx"), index.getvalue(), ZIP_DEFLATED)
        listed = "".join(f"{json.dumps(page)}\n" for page in (_PAGES, *pages))
        archive.writestr(ZipInfo("pages/pages.jsonl"), listed, ZIP_DEFLATED)
        described = {
            "profile": "data-package",
            "resources": [_member_of_package(archive, member) for member in archive.infolist()],
            "created": max(capture.time for capture in captured) + "Z", "wacz_version": "1.1.1",
            "software": _INFO["software"],
        }  # fmt: skip
        if pages:  # of the shortest URL, the last version
            front = min(reversed(pages), key=lambda page: (len(page["url"]), page["url"]))
            described |= {"title": front["title"], "mainPageURL": front["url"], "mainPageDate": front["ts"]}
        package = json.dumps(described, indent=2)
        archive.writestr(ZipInfo("datapackage.json"), package, ZIP_DEFLATED)
        digest = {"path": "datapackage.json", "hash": f"sha256:{sha256(package.encode())}"}
        archive.writestr(ZipInfo("datapackage-digest.json"), json.dumps(digest, indent=2), ZIP_DEFLATED)


def _member_of_package(archive: ZipFile, member: ZipInfo) -> dict[str, str | int]:
    """Return what the package says of a member."""
    with archive.open(member) as stream:
        digest = file_digest(cast("Any", stream), "sha256").hexdigest()
    name = PurePosixPath(member.filename).name
    return {"name": name, "path": member.filename, "hash": f"sha256:{digest}", "bytes": member.file_size}


def _write_records(stream: IO[bytes], captured: Iterable[Capture], folder: Path) -> Iterator[dict[str, str]]:
    """Write a WARC file; yield what the list of pages says of each page."""
    from warcio.warcwriter import WARCWriter

    writer = WARCWriter(stream)
    info = writer.create_warcinfo_record("", _INFO)
    for name, value in _headers("", "1980-01-01T00:00:00").items():
        info.rec_headers.replace_header(name, value)
    writer.write_record(info)
    first: dict[str, tuple[str, str]] = {}  # by digest
    for capture in captured:
        for time in capture.times:
            _write_record(writer, capture, time, first, folder)
        title = read_title(folder / capture.file, capture.uri) if capture.is_page else None
        if title is not None:
            record, time = _headers(capture.uri, capture.time).values()
            yield {"id": record, "url": capture.uri, "ts": time, "title": clean(title) or capture.uri}


def _write_record(writer: Any, capture: Capture, time: str, first: dict[str, tuple[str, str]], folder: Path) -> None:
    """Write a response, or refer to the first one with the same bytes."""
    from warcio.statusandheaders import StatusAndHeaders

    headers, digest = _headers(capture.uri, time), f"sha256:{capture.digest}"
    http = StatusAndHeaders("200 OK" if capture.file else "404 Not Found", [("Content-Type", capture.type)], "HTTP/1.1")
    original = first.setdefault(digest, (capture.uri, f"{time}Z")) if capture.file else (capture.uri, f"{time}Z")
    if original != (capture.uri, f"{time}Z"):
        writer.write_record(writer.create_revisit_record(capture.uri, digest, *original, http, headers))
        return
    with (folder / capture.file).open("rb") if capture.file else BytesIO() as body:
        size = body.seek(0, SEEK_END)
        body.seek(0)
        if capture.file:
            headers["WARC-Payload-Digest"] = digest
        writer.write_record(writer.create_warc_record(capture.uri, "response", body, size, "", headers, None, http))


def _headers(uri: str, time: str) -> dict[str, str]:
    return {"WARC-Record-ID": f"<urn:uuid:{uuid5(NAMESPACE_URL, f'{uri} {time}')}>", "WARC-Date": f"{time}Z"}
