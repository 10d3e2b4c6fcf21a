"""Unpacking: a Resource Dump and Change Dumps turned into what they say there was, by `zipfile` and lxml alone.

A witness written apart from the product, of which it imports nothing: every path, hash and length is checked.
"""

import hashlib
import io
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

from lxml import etree

_SITEMAP = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
_RS = "{http://www.openarchives.org/rs/terms/}"
_MANIFEST = "manifest.xml"

#: Gives the bytes at a URI.
Read = Callable[[str], bytes]


@dataclass(frozen=True)
class Bitstream:
    """One entry of a manifest: the attributes of its `rs:md`, and its bytes, `None` for a deletion."""

    uri: str
    lastmod: str | None
    md: Mapping[str, str]
    data: bytes | None

    @property
    def time(self) -> datetime:
        """The time of a change (V1104)."""
        return datetime.fromisoformat(self.md.get("datetime") or self.lastmod or "")


@dataclass(frozen=True)
class Package:
    """A package: its URI, the attributes of the `rs:md` that leads to it and of its manifest's, and what is in it."""

    uri: str
    said: Mapping[str, str]
    md: Mapping[str, str]
    bitstreams: Sequence[Bitstream]
    size: int


def time_in(md: Mapping[str, str], name: str) -> datetime:
    """Give a time that an `rs:md` has."""
    return datetime.fromisoformat(md[name])


def resource_dump(read: Read, uri: str, *, partly: bool = False) -> list[Package]:
    """Unpack a Resource Dump, or all parts of its index (RD01 to RD07); no resource is in it twice.

    Where less is known of bytes than their SHA-256 and type, `partly` lets that be: an MD5 or a length is enough.
    """
    packages = [
        _unpacked(read, entry, "resourcedump-manifest", partly)
        for document in _documents(read, uri, "resourcedump")
        for entry in document.findall(f"{_SITEMAP}url")
    ]
    for each in packages:
        assert each.said["at"] == each.md["at"]
        assert all("change" not in bitstream.md and bitstream.data is not None for bitstream in each.bitstreams)
    uris = [bitstream.uri for each in packages for bitstream in each.bitstreams]
    assert len(set(uris)) == len(uris), "a resource is in a Resource Dump twice"
    return packages


def change_dumps(read: Read, uri: str, *, partly: bool = False) -> list[Package]:
    """Unpack all Change Dumps that an index names, oldest first (CD01 to CD05); they and their packages touch."""
    index = etree.fromstring(read(uri))
    assert index.tag == f"{_SITEMAP}sitemapindex"
    assert _md(index)["capability"] == "changedump"
    pointers = index.findall(f"{_SITEMAP}sitemap")
    intervals = [_md(each) for each in pointers]
    assert _md(index)["from"] == intervals[0]["from"]
    assert [each.get("until") for each in intervals[:-1]] == [each["from"] for each in intervals[1:]]
    packages: list[Package] = []
    for pointer, interval in zip(pointers, intervals, strict=True):
        packages += _change_dump(read, _loc(pointer), interval, partly)
    times = [bitstream.time for each in packages for bitstream in each.bitstreams]
    assert times == sorted(times)
    return packages


def resources_in(packages: Iterable[Package]) -> dict[str, bytes]:
    """Give the resources of a Resource Dump by URI."""
    return {each.uri: each.data or b"" for package in packages for each in package.bitstreams}


def rebuilt(resources: Mapping[str, bytes], changes: Iterable[Package]) -> dict[str, bytes]:
    """Do what packages of changes say to a copy of resources; each change must be possible."""
    copy = dict(resources)
    for each in (bitstream for package in changes for bitstream in package.bitstreams):
        assert (each.uri in copy) == (each.md["change"] != "created"), each
        if each.data is None:
            del copy[each.uri]
        else:
            copy[each.uri] = each.data
    return copy


def lay_out(resources: Mapping[str, bytes], siteurl: str, folder: Path) -> None:
    """Write resources to files below a folder, as their URIs lie below the site's."""
    for uri, data in resources.items():
        assert uri.startswith(f"{siteurl}/")
        file = folder / unquote(uri.removeprefix(f"{siteurl}/"))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)


def _change_dump(read: Read, uri: str, interval: Mapping[str, str], partly: bool) -> Iterator[Package]:
    document = etree.fromstring(read(uri))
    md = _md(document)
    assert md == {"capability": "changedump", **interval}
    packages = [_unpacked(read, entry, "changedump-manifest", partly) for entry in document.findall(f"{_SITEMAP}url")]
    assert packages, "a Change Dump without packages"
    assert packages[0].said["from"] == md["from"]
    assert all(one.said["until"] == other.said["from"] for one, other in pairwise(packages))
    assert "until" not in md or time_in(packages[-1].said, "until") <= time_in(md, "until")
    for each in packages:
        begin, until = time_in(each.said, "from"), time_in(each.said, "until")
        assert (each.md["from"], each.md["until"]) == (each.said["from"], each.said["until"])
        assert begin < until
        assert each.bitstreams
        assert all(begin < bitstream.time <= until for bitstream in each.bitstreams)
        assert all((bitstream.data is None) == (bitstream.md["change"] == "deleted") for bitstream in each.bitstreams)
        yield each


def _unpacked(read: Read, entry: etree._Element, capability: str, partly: bool) -> Package:
    """Read a package that an entry leads to, and believe nothing."""
    uri, said = _loc(entry), _md(entry)
    data = read(uri)
    assert said["type"] == "application/zip"
    assert said["length"] == str(len(data))
    assert said["hash"] == f"sha-256:{hashlib.sha256(data).hexdigest()}"
    (contents,) = [each.attrib["href"] for each in entry.findall(f"{_RS}ln") if each.attrib["rel"] == "contents"]
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        names = archive.namelist()
        assert len({name.casefold() for name in names}) == len(names)
        members = {name: archive.read(name) for name in names}
    manifest = members.pop(_MANIFEST)
    assert read(str(contents)) == manifest
    root = etree.fromstring(manifest)
    md = _md(root)
    assert md["capability"] == capability
    bitstreams = [_bitstream(each, members, partly) for each in root.findall(f"{_SITEMAP}url")]
    assert not members, f"in {uri}, but not in its manifest: {sorted(members)}"
    return Package(uri, said, md, bitstreams, len(data))


def _bitstream(entry: etree._Element, members: dict[str, bytes], partly: bool) -> Bitstream:
    """Take what an entry of a manifest names from the members, so that no two can name the same."""
    uri, md, lastmod = _loc(entry), _md(entry), entry.findtext(f"{_SITEMAP}lastmod")
    if md.get("change") == "deleted":
        assert not {"path", "hash", "length"} & md.keys()
        return Bitstream(uri, lastmod, md, None)
    path = md["path"]
    assert path.startswith("/")
    assert not {"", ".", ".."} & set(path.removeprefix("/").split("/"))
    data = members.pop(path.removeprefix("/"))
    assert md["length"] == str(len(data))
    if partly:
        known = {f"sha-256:{hashlib.sha256(data).hexdigest()}", f"md5:{hashlib.md5(data).hexdigest()}"}
        assert "hash" not in md or md["hash"] in known
        return Bitstream(uri, lastmod, md, data)
    assert md["hash"] == f"sha-256:{hashlib.sha256(data).hexdigest()}"
    assert md["type"]
    return Bitstream(uri, lastmod, md, data)


def _documents(read: Read, uri: str, capability: str) -> list[etree._Element]:
    """Give a document, or the parts that it is the index of."""
    top = etree.fromstring(read(uri))
    assert _md(top)["capability"] == capability
    if top.tag == f"{_SITEMAP}urlset":
        return [top]
    parts = [etree.fromstring(read(_loc(each))) for each in top.findall(f"{_SITEMAP}sitemap")]
    assert all(_md(each) == _md(top) for each in parts)
    return parts


def _loc(entry: etree._Element) -> str:
    return entry.findtext(f"{_SITEMAP}loc") or ""


def _md(element: etree._Element) -> dict[str, str]:
    md = element.find(f"{_RS}md")
    return {} if md is None else {str(name): str(value) for name, value in md.attrib.items()}
