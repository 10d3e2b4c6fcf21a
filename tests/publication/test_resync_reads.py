"""The client library `resync` reads every document and both manifests as they were written.

It cannot read a Change List Index or the index of an archive by `read()`: its sitemap parser reads these.
"""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from resync.resource_container import ResourceContainer
from resync.sitemap import Sitemap, SitemapParseError

from pelican_resourcesync.protocol import Limits, Link
from pelican_resourcesync.publication import Resource
from pelican_resourcesync.settings import VersionOptions
from tests.kit.publications import EVERYTHING, SITEURL, Source
from tests.kit.reader import XmlEntry, parse
from tests.kit.resync_client import READERS, uses_client
from tests.kit.watching import walk

pytestmark = uses_client


def published(output: Path, limits: Limits) -> Source:
    """Publish a set with all capabilities, several times."""
    source = Source(output)
    links = (Link(rel="collection", href=f"{SITEURL}/category/x.html"),)
    for month in range(1, 6):
        contents = {"a.html": b"%d" % month, f"{month}.txt": b"new", "p.png": b"p", "q.png": b"q", "r.png": b"r"}
        resources = [
            Resource(f"{SITEURL}/{path}", source.write(path, data), links=links if path == "a.html" else ())
            for path, data in contents.items()
        ]
        source.publish(resources, f"2024-0{month}-05T12:00", limits=limits, versions=VersionOptions(), **EVERYTHING)
    return source


def md_of(resource: Any) -> dict[str, str]:
    """Return what the client took from the `rs:md` of an entry, as attributes."""
    names = {
        "change": "change",
        "datetime": "datetime",
        "hash": "hash",
        "mime_type": "type",
        "path": "path",
        "capability": "capability",
    }
    found = {name: getattr(resource, field) for field, name in names.items()}
    found["length"] = None if resource.length is None else str(resource.length)
    return {name: value for name, value in found.items() if value}


def moment(text: str | None) -> datetime | None:
    """Return a time by its text: the client writes microseconds where there are milliseconds."""
    return None if text is None else datetime.fromisoformat(text)


def timed(md: Mapping[str, str]) -> dict[str, object]:
    """Return what is said in an `rs:md`, the time of a change as one."""
    return {name: moment(value) if name == "datetime" else value for name, value in md.items()}


def check_entry(resource: Any, item: XmlEntry) -> None:
    """Compare what the client read of an entry with what lxml sees, but for intervals: it reads those of documents."""
    assert resource.uri == item.uri
    expected = {name: value for name, value in item.md.items() if name not in {"at", "from", "until"}}
    assert timed(md_of(resource)) == timed(expected)
    assert {link["rel"]: link["href"] for link in resource.ln or ()} == dict(item.links)


@pytest.mark.parametrize("entries", [50_000, 2], ids=["whole", "in parts"])
def test_every_document_is_read(tmp_path: Path, entries: int) -> None:
    """Kinds, times, entries, hashes, paths and links are those that were written."""
    source = published(tmp_path / "output", Limits(entries=entries))
    kinds = set()
    for uri, data in walk(source).items():
        if uri.endswith(".zip"):
            continue
        seen = parse(data)
        kind = seen.md["capability"]
        kinds.add((kind, seen.root))
        file = source.output / uri.removeprefix(f"{SITEURL}/")
        read: Any = ResourceContainer() if seen.root == "sitemapindex" else READERS[kind]()
        with file.open("rb") as stream:
            if seen.root == "sitemapindex":
                Sitemap().parse_xml(fh=stream, resources=read, capability=kind, sitemapindex=True)
            else:
                read.parse(fh=stream)
        assert {name.removeprefix("md_"): value for name, value in read.md.items()} == dict(seen.md)
        assert {link["rel"]: link["href"] for link in read.ln} == dict(seen.links)
        found = {(each.uri, moment(each.lastmod)): each for each in read.resources}
        assert len(found) == len(seen.entries)
        for item in seen.entries:
            check_entry(found[item.uri, moment(item.lastmod)], item)
    assert {kind for kind, root in kinds if root == "urlset"} == READERS.keys()
    indexes = {kind for kind, root in kinds if root == "sitemapindex"}
    never = {"description", "capabilitylist", "resourcedump-manifest", "changedump-manifest"}
    assert indexes == ({"changelist", "changedump"} if entries > 2 else READERS.keys() - never)


def test_the_client_notices(tmp_path: Path) -> None:
    """The witness can say no: a document of another kind is refused."""
    source = published(tmp_path / "output", Limits())
    read, file = READERS["changedump"](), source.output / "resourcesync/site/resourcedump.xml"
    with file.open("rb") as stream, pytest.raises(SitemapParseError, match="read a changedump document, got resourced"):
        read.parse(fh=stream)
