"""What the tests of packages share: bitstreams of bytes at hand, packages in memory, and how they are read."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from io import BytesIO
from typing import BinaryIO, cast
from zipfile import ZipFile, ZipInfo

from pelican_resourcesync.protocol import ChangeKind, Document, Entry, Hash, Link, Metadata, Root
from pelican_resourcesync.publication.kinds.packages import (
    STANDARD_LIMITS,
    PackageMember,
    PackageSize,
    divided,
    size_in_package,
    write_package,
)
from tests.kit.publications import SITEURL
from tests.kit.reader import XmlDocument, parse

NOON = datetime(2024, 2, 29, 12, 0, 7, tzinfo=UTC)
UP = Link(rel="up", href=f"{SITEURL}/resourcesync/site/capabilitylist.xml")
RESOURCES = Document(root=Root.URLSET, md=Metadata(capability="resourcedump-manifest", at=NOON), links=(UP,))
CHANGES = Document(
    root=Root.URLSET,
    md=Metadata(capability="changedump-manifest", from_=NOON.replace(day=1), until=NOON),
    links=(UP,),
)


def entry(
    path: str,
    data: bytes,
    media_type: str = "text/html",
    *,
    change: ChangeKind | None = None,
    lastmod: datetime | None = NOON,
) -> Entry:
    """Make the entry of these bytes at a path of the site."""
    digest = (Hash(algorithm="sha-256", digest=sha256(data).hexdigest()),)
    time = lastmod if change else None
    md = Metadata(hash=digest, length=len(data), type=media_type, change=change, datetime=time)
    return Entry(loc=f"{SITEURL}/{path}", lastmod=lastmod, md=md)


def bitstream(path: str, data: bytes, media_type: str = "text/html", **options: object) -> PackageMember:
    """Make a bitstream of these bytes at a path of the site."""
    return PackageMember.of(entry(path, data, media_type, **options), partial(BytesIO, data))  # type: ignore[arg-type]  # options


def deletion(path: str) -> PackageMember:
    """Make the deletion of what was at a path of the site."""
    md = Metadata(change=ChangeKind.DELETED, datetime=NOON)
    return PackageMember.of(Entry(loc=f"{SITEURL}/{path}", lastmod=NOON, md=md))


def packed(
    bitstreams: Iterable[PackageMember], document: Document = RESOURCES, **options: object
) -> tuple[bytes, bytes]:
    """Write a package; give its bytes, and those of the copy of its manifest."""
    package, manifest = BytesIO(), BytesIO()
    write_package(package, cast("BinaryIO", manifest), document, bitstreams, base=SITEURL, **options)  # type: ignore[arg-type]
    return package.getvalue(), manifest.getvalue()


def portions(
    bitstreams: Iterable[PackageMember], limits: PackageSize = STANDARD_LIMITS
) -> Iterator[Iterator[PackageMember]]:
    """Divide bitstreams into packages."""
    return divided(bitstreams, size_in_package, limits)


def members(package: bytes) -> dict[str, bytes]:
    """Read all members with `zipfile`, which checks their CRC-32."""
    with ZipFile(BytesIO(package)) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def infos(package: bytes) -> Sequence[ZipInfo]:
    """Return what `zipfile` knows of each member."""
    with ZipFile(BytesIO(package)) as archive:
        return archive.infolist()


def listed(package: bytes) -> XmlDocument:
    """Read the manifest of a package with lxml alone."""
    return parse(members(package)["manifest.xml"])
