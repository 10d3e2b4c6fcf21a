"""How fast packages are written beside plain `zipfile`: `python -m tests.publication.dumps.speed`.

The same files are packed, in turns, by `write_package` (with paths, weights, manifest and the check of every SHA-256),
and by `ZipFile.write` with the same names and compression, the manifest ready-made. The ratio of the fastest turns of
one run is printed: 1 is as fast as `zipfile`. Files are in the page cache, the ZIP file goes to the same disk.
"""

import random
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

from pelican_resourcesync.protocol import Entry, Hash, Metadata
from pelican_resourcesync.publication.dumps.package import Bitstream, write_package
from pelican_resourcesync.publication.dumps.packing import portions
from tests.publication.dumps.support import NOON, RESOURCES
from tests.publication.support import SITEURL

TURNS = 7
_SENTENCE = "Coins weigh little; ledgers weigh more, and nobody counts what a bridge has carried since it was built."
_WORDS = tuple(_SENTENCE.split())

#: Files by what they are: how many, of how many bytes, and of which kind.
SITES: Mapping[str, Sequence[tuple[int, int, str]]] = MappingProxyType(
    {
        "pages and pictures": ((300, 25_000, "html"), (60, 200_000, "jpg")),
        "pictures of 20 kB": ((1_000, 20_000, "jpg"),),
        "pictures of 200 kB": ((200, 200_000, "jpg"),),
        "films of 10 MB": ((6, 10_000_000, "mp4"),),
    }
)
_TYPES = {"html": "text/html", "jpg": "image/jpeg", "mp4": "video/mp4"}


def make_files(folder: Path, kinds: Sequence[tuple[int, int, str]]) -> list[Path]:
    """Make files of words, or of what no compression makes smaller."""
    chance = random.Random(3)
    files: list[Path] = []
    for count, size, end in kinds:
        for _ in range(count):
            file = folder / f"{len(files)}.{end}"
            text = " ".join(chance.choices(_WORDS, k=size // 6)).encode()[:size] if end == "html" else b""
            file.write_bytes(text or chance.randbytes(size))
            files.append(file)
    return files


def bitstream(file: Path) -> Bitstream:
    """Make the bitstream of a file."""
    data = file.read_bytes()
    digest = Hash(algorithm="sha-256", digest=sha256(data).hexdigest())
    md = Metadata(hash=(digest,), length=len(data), type=_TYPES[file.suffix[1:]])
    return Bitstream(Entry(loc=f"{SITEURL}/{file.name}", lastmod=NOON, md=md), partial(_open, file))


def _open(file: Path) -> BinaryIO:
    return file.open("rb")


def ours(folder: Path, bitstreams: Sequence[Bitstream]) -> None:
    """Write the package and its manifest."""
    with (folder / "ours.zip").open("wb") as package, (folder / "manifest.xml").open("wb") as manifest:
        for portion in portions(bitstreams):
            write_package(package, manifest, RESOURCES, portion, base=SITEURL)


def plain(folder: Path, files: Sequence[Path]) -> None:
    """Write the same members with `zipfile`."""
    with ZipFile(folder / "plain.zip", "w") as archive:
        for file in files:
            method = ZIP_DEFLATED if file.suffix == ".html" else ZIP_STORED
            archive.write(file, f"resources/{file.name}", compress_type=method)
        archive.write(folder / "manifest.xml", "manifest.xml", compress_type=ZIP_DEFLATED)


def ratio(folder: Path, kinds: Sequence[tuple[int, int, str]]) -> float:
    """Give the speed of ours as a part of that of `zipfile`."""
    files = make_files(folder, kinds)
    bitstreams = [bitstream(file) for file in files]
    turns: dict[Callable[[], None], float] = {
        partial(ours, folder, bitstreams): float("inf"),
        partial(plain, folder, files): float("inf"),
    }
    for _ in range(TURNS):
        for turn, best in turns.items():
            start = time.perf_counter()
            turn()
            turns[turn] = min(best, time.perf_counter() - start)
    with ZipFile(folder / "ours.zip") as one, ZipFile(folder / "plain.zip") as other:
        seen = [
            [(each.filename, each.CRC, each.compress_size) for each in archive.infolist()] for archive in (one, other)
        ]
    if seen[0] != seen[1]:
        message = "the two did not pack the same"
        raise AssertionError(message)
    our_seconds, plain_seconds = turns.values()
    return plain_seconds / our_seconds


def main() -> None:
    """Measure and print a ratio a line."""
    for name, kinds in SITES.items():
        with tempfile.TemporaryDirectory() as folder:
            print(f"{ratio(Path(folder), kinds):.2f} {name}", flush=True)  # noqa: T201 - that is what it is for


if __name__ == "__main__":
    main()
