"""Unpacks a Resource Dump and Change Dumps into what they say there was, with `zipfile` and the tests' own reader.

A witness written apart from the product, of which it imports nothing: every path, hash and length is checked.
"""

import hashlib
import io
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from tests.kit.reader import XmlDocument, XmlEntry, parse

_MANIFEST = "manifest.xml"

#: Gives the bytes at a URI.
Read = Callable[[str], bytes]


@dataclass(frozen=True)
class Bitstream(XmlEntry):
    """One entry of a manifest, with its bytes, `None` for a deletion."""

    data: bytes | None = None


@dataclass(frozen=True)
class Package:
    """A package: its URI, the attributes of the `rs:md` that leads to it and of its manifest's, and what is in it.

    `up` is where its manifest leads up to.
    """

    uri: str
    said: Mapping[str, str]
    md: Mapping[str, str]
    up: str
    bitstreams: Sequence[Bitstream]
    size: int


def time_in(md: Mapping[str, str], name: str) -> datetime:
    """Return a time that an `rs:md` has."""
    return datetime.fromisoformat(md[name])


def resource_dump(read: Read, uri: str, *, partly: bool = False) -> list[Package]:
    """Unpack a Resource Dump, or all parts of its index (RD01 to RD07); no resource is in it twice.

    Where less is known of bytes than their SHA-256 and type, `partly` lets that be: an MD5 or a length is enough.
    """
    packages = [
        _unpacked(read, entry, "resourcedump-manifest", partly)
        for document in _documents(read, uri, "resourcedump")
        for entry in document.entries
    ]
    for each in packages:
        assert each.said["at"] == each.md["at"]
        assert all("change" not in bitstream.md and bitstream.data is not None for bitstream in each.bitstreams)
    uris = [bitstream.uri for each in packages for bitstream in each.bitstreams]
    assert len(set(uris)) == len(uris), "a resource is in a Resource Dump twice"
    return packages


def change_dumps(read: Read, uri: str, *, partly: bool = False) -> list[Package]:
    """Unpack all Change Dumps that an index names, oldest first (CD01 to CD05); they and their packages touch."""
    index = parse(read(uri))
    assert index.root == "sitemapindex"
    assert index.md["capability"] == "changedump"
    intervals = [each.md for each in index.entries]
    assert index.md["from"] == intervals[0]["from"]
    assert [each.get("until") for each in intervals[:-1]] == [each["from"] for each in intervals[1:]]
    packages: list[Package] = []
    for pointer in index.entries:
        packages += _change_dump(read, pointer.uri, pointer.md, partly)
    times = [bitstream.time for each in packages for bitstream in each.bitstreams]
    assert times == sorted(times)
    return packages


def resources_in(packages: Iterable[Package]) -> dict[str, bytes]:
    """Return the resources of a Resource Dump by URI."""
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


def _change_dump(read: Read, uri: str, interval: Mapping[str, str], partly: bool) -> Iterator[Package]:
    document = parse(read(uri))
    md = document.md
    assert md == {"capability": "changedump", **interval}
    packages = [_unpacked(read, entry, "changedump-manifest", partly) for entry in document.entries]
    assert packages, "a Change Dump without packages"
    assert packages[0].said["from"] == md["from"]
    assert all(one.said["until"] == other.said["from"] for one, other in pairwise(packages))
    assert "until" not in md or time_in(packages[-1].said, "until") <= time_in(md, "until")
    for each in packages:
        begin, until = time_in(each.said, "from"), time_in(each.said, "until")
        assert (each.md["from"], each.md["until"]) == (each.said["from"], each.said["until"])
        assert begin < until
        assert all(begin < bitstream.time <= until for bitstream in each.bitstreams)
        assert all((bitstream.data is None) == (bitstream.md["change"] == "deleted") for bitstream in each.bitstreams)
        yield each


def _unpacked(read: Read, entry: XmlEntry, capability: str, partly: bool) -> Package:
    """Read a package that an entry leads to, and believe nothing."""
    uri, said = entry.uri, entry.md
    data = read(uri)
    assert said["type"] == "application/zip"
    assert said["length"] == str(len(data))
    assert said["hash"] == f"sha-256:{hashlib.sha256(data).hexdigest()}"
    (contents,) = [href for rel, href in entry.links if rel == "contents"]
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        names = archive.namelist()
        assert len({name.casefold() for name in names}) == len(names)
        members = {name: archive.read(name) for name in names}
    manifest = members.pop(_MANIFEST)
    assert read(contents) == manifest, "another manifest (RD02)"
    document = parse(manifest)
    assert document.md["capability"] == capability
    bitstreams = [_bitstream(each, members, partly) for each in document.entries]
    assert not members, f"in {uri}, but not in its manifest: {sorted(members)}"
    return Package(uri, said, document.md, document.links["up"], bitstreams, len(data))


def _bitstream(entry: XmlEntry, members: dict[str, bytes], partly: bool) -> Bitstream:
    """Take what an entry of a manifest names from the members, so that no two can name the same."""
    md = entry.md
    if md.get("change") == "deleted":
        assert not {"path", "hash", "length"} & md.keys()
        return Bitstream(**vars(entry))
    path = md["path"]
    assert path.startswith("/")
    assert not {"", ".", ".."} & set(path.removeprefix("/").split("/"))
    data = members.pop(path.removeprefix("/"))
    assert md["length"] == str(len(data))
    if partly:
        known = {f"sha-256:{hashlib.sha256(data).hexdigest()}", f"md5:{hashlib.md5(data).hexdigest()}"}
        assert "hash" not in md or md["hash"] in known
        return Bitstream(**vars(entry), data=data)
    assert md["hash"] == f"sha-256:{hashlib.sha256(data).hexdigest()}"
    assert md["type"]
    return Bitstream(**vars(entry), data=data)


def _documents(read: Read, uri: str, capability: str) -> list[XmlDocument]:
    """Return a document, or the parts that it is the index of."""
    top = parse(read(uri))
    assert top.md["capability"] == capability
    if top.root == "urlset":
        return [top]
    parts = [parse(read(each.uri)) for each in top.entries]
    assert all(each.md == top.md for each in parts)
    return parts
