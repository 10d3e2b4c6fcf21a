"""Packs files that are made while they are read, and prints what that took: run by `test_scale`.

`python -m tests.tools.large.packages FOLDER PACKAGE_SIZE COUNT:LENGTH:TYPE…` prints, as JSON,
the packages, their members, the bytes read, and the most memory that the process has ever had, in MB
(Linux: VmHWM, all of Python in it).
"""

import json
import re
import sys
from collections.abc import Iterator
from functools import cache, partial
from hashlib import sha256
from io import BufferedReader, RawIOBase
from pathlib import Path
from typing import Any

from pelican_resourcesync.protocol import Entry, Hash, Metadata
from pelican_resourcesync.publication.kinds.packages import PackageMember, PackageSize, write_package
from tests.kit.publications import SITEURL
from tests.publication.kinds.dumps.support import NOON, RESOURCES, portions

_BLOCK = bytes(range(251)) * 4096


class Made(RawIOBase):
    """A file of so many bytes, none of which is kept."""

    def __init__(self, length: int) -> None:
        """Begin at the first."""
        self._left = length

    def readable(self) -> bool:
        """Say that it can."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Return the next bytes."""
        size = min(self._left, len(buffer), len(_BLOCK))
        memoryview(buffer)[:size] = _BLOCK[:size]
        self._left -= size
        return size


def made(length: int) -> BufferedReader:
    """Open such a file."""
    return BufferedReader(Made(length), 1_000_000)


@cache
def digest(length: int) -> str:
    """Return the SHA-256 of such a file, as `BufferedReader` and `package` read it."""
    whole = sha256()
    with made(length) as stream:
        while chunk := stream.read(524_288):
            whole.update(chunk)
    return whole.hexdigest()


def bitstreams(kinds: list[str]) -> Iterator[PackageMember]:
    """Make the bitstreams asked for."""
    for number, kind in enumerate(kinds):
        count, length, media_type = kind.split(":")
        md = Metadata(
            hash=(Hash(algorithm="sha-256", digest=digest(int(length))),), length=int(length), type=media_type
        )
        for each in range(int(count)):
            uri = f"{SITEURL}/{number}/{each // 100}/a-resource-with-some-name-{each}.{media_type[-4:]}"
            yield PackageMember.of(Entry(loc=uri, lastmod=NOON, md=md), partial(made, int(length)))


def main(folder: str, size: str, *kinds: str) -> None:
    """Pack and print."""
    packages: list[int] = []
    sizes: list[int] = [0]

    def on_packed(count: int) -> None:
        sizes[0] += count

    limits = PackageSize(size=int(size))
    for number, portion in enumerate(portions(bitstreams(list(kinds)), limits)):
        path = Path(folder, f"{number:03}.zip")
        with path.open("wb") as package, path.with_suffix(".xml").open("wb+") as manifest:
            packages.append(write_package(package, manifest, RESOURCES, portion, base=SITEURL, on_packed=on_packed))
    status = Path("/proc/self/status").read_text("ascii")
    memory = int((re.search(r"VmHWM:\s+(\d+)", status) or [0, 0])[1]) // 1024
    print(json.dumps({"packages": len(packages), "members": sum(packages), "bytes": sizes[0], "memory": memory}))


if __name__ == "__main__":
    main(*sys.argv[1:])
