"""Simple Archive Format: a folder of items, each a folder with its metadata, its files and a description of them.

The format says neither who may read an item nor when it changed, so all items are taken as public, and times are never
known. HiddenItem metadata, other bundles and files that not everybody may read are left out as usual.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from lxml import etree

from pelican_resourcesync.errors import failing_disk
from pelican_resourcesync.system.media_types import media_type
from repo_bridge import ArchiveError
from repo_bridge.access import AnonymousView, hidden
from repo_bridge.model import Bitstream, Collection, Field, Item, MetadataValue
from repo_bridge.schema import ANONYMOUS

_METADATA = "dublin_core.xml"
_LARGEST = 64 * 1024 * 1024
_SCHEMA = re.compile(r"metadata_([A-Za-z0-9_-]+)\.xml", re.ASCII)
_PERMISSION = re.compile(r"\s*+-r\s++'?+([^']*+)'?+\s*+")
_REGISTERED = re.compile(r"-r\s+-s\s+(\d{1,9})\s+-f\s+(.+)")
_LICENSE = "license.txt"

#: Files of the format itself, next to the files of an item.
_OWN = frozenset({_METADATA, "contents", "handle", "collections", "relationships"})


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of `contents`: a file, possibly registered in an assetstore, and its options."""

    name: str
    options: dict[str, str]
    store_number: int | None = None

    @property
    def bundle(self) -> str:
        return self.options.get("bundle", "LICENSE" if self.name == _LICENSE else "ORIGINAL")

    @property
    def is_public(self) -> bool:
        """Whether everybody may read the file: if permissions are given, only these count (rule 4)."""
        if "permissions" not in self.options:
            return True
        permission = _PERMISSION.fullmatch(self.options["permissions"])
        return permission is not None and permission[1] == ANONYMOUS


def read_archive(folder: Path, view: AnonymousView) -> Iterator[Item]:
    """Yield the items of a folder in Simple Archive Format, in the order of their folder names.

    Raises `ArchiveError` if there is no item, or if one cannot be read.
    """
    found = False
    with failing_disk(
        f"the items in {folder} cannot be read", "check its path, and make all files in it readable", ArchiveError
    ):
        for item in sorted(folder.iterdir(), key=lambda path: path.name):
            if (item / _METADATA).is_file():
                found = True
                yield _item(item, view)
            elif any((item / name).is_file() for name in _OWN):
                message = f"{item} is an item without {_METADATA}: export it again, or remove that folder"
                raise ArchiveError(message)
    if not found:
        message = f"{folder} contains no items in Simple Archive Format: none of its folders has a {_METADATA}"
        raise ArchiveError(message)


def read_withheld(folder: Path, view: AnonymousView) -> Iterator[tuple[str, tuple[MetadataValue, ...]]]:
    """Yield the ids of items with their hidden values, which may not be published."""
    for item in folder.iterdir():
        if (item / _METADATA).is_file():
            yield item.name, tuple(value for value in _values(item) if hidden(value.field, view.hidden))


def _item(folder: Path, view: AnonymousView) -> Item:
    handle = _text(folder / "handle").strip() or None
    visible = (value for value in _values(folder) if not hidden(value.field, view.hidden))
    collections = tuple(
        Collection(id=line.strip(), handle=line.strip(), name="")
        for line in _text(folder / "collections").split("\n")
        if line.strip()
    )
    return Item(
        id=folder.name,
        handle=handle,
        last_modified=None,
        owner=collections[0] if collections else None,
        collections=collections,
        metadata=tuple(sorted(visible, key=lambda value: value.field)),
        bitstreams=tuple(_bitstreams(folder, view)),
        embargo="" if any(line.bundle in view.bundles for line in _contents(folder / "contents")) else None,
    )


def _values(folder: Path) -> Iterator[MetadataValue]:
    for file in sorted(folder.glob("*.xml")):
        named = _SCHEMA.fullmatch(file.name)
        if file.name == _METADATA or named:
            root = _parse(file)
            schema = root.get("schema") or (named[1] if named else "dc")
            for value in root.iterchildren("dcvalue"):
                qualifier = value.get("qualifier") or ""
                field = Field(schema, value.get("element") or "", "" if qualifier == "none" else qualifier)
                yield MetadataValue(field, value.text or "", value.get("language") or "")


def _parse(file: Path) -> etree._Element:
    """Parse an XML file; one with a DOCTYPE is rejected, because it may refer to other files."""
    data = _bytes(file)
    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        message = f"{file} is not valid XML: {error}: export the item again"
        raise ArchiveError(message) from error
    if root.getroottree().docinfo.internalDTD is not None:
        message = f"{file} has a document type declaration: remove it"
        raise ArchiveError(message)
    return root


def _bitstreams(folder: Path, view: AnonymousView) -> Iterator[Bitstream]:
    files = (file.name for file in folder.iterdir() if file.name not in _OWN and not _SCHEMA.fullmatch(file.name))
    if not (folder / "contents").is_file() and (name := next(files, None)):
        message = f"{folder} has files, such as {name!a}, but no file named contents that lists them: export it again"
        raise ArchiveError(message)
    lines = [line for line in _contents(folder / "contents") if line.is_public and line.bundle in view.bundles]
    places = {bundle: place for place, bundle in enumerate(view.bundles)}
    for line in sorted(lines, key=lambda line: places[line.bundle]):
        file = None if line.store_number is not None else _file(folder, line.name)
        length, md5 = _measure(file) if file and view.fingerprints else (None, None)
        yield Bitstream(
            id=f"{folder.name}/{line.name}",
            name=line.name.rpartition("/")[2],
            bundle=line.bundle,
            sequence_id=None,
            length=length,
            md5=md5,
            type=media_type(line.name),
            store_number=line.store_number,
            internal_id=f"-R{line.name}" if line.store_number is not None else None,
            file=file,
        )


def _contents(file: Path) -> Iterator[_Line]:
    for line in _text(file).split("\n"):
        name, *options = line.strip("\r").split("\t")
        parsed = _parse_options(options)
        registered = _REGISTERED.fullmatch(name.strip())
        if registered:
            yield _Line(registered[2].strip(), parsed, int(registered[1]))
        elif name.strip():
            yield _Line(name.strip(), parsed)


def _parse_options(options: Iterable[str]) -> dict[str, str]:
    """Return a file's options by name; one given twice is empty, so that contradictory permissions deny access."""
    parsed: dict[str, str] = {}
    for key, _, value in (option.partition(":") for option in options):
        name = key.strip().casefold()
        parsed[name] = "" if name in parsed else value.strip()
    return parsed


def _file(folder: Path, name: str) -> Path:
    """Return a file in the folder of its item; `ArchiveError` if it is elsewhere or part of the format itself."""
    file = folder / name
    if name in _OWN or _SCHEMA.fullmatch(name):
        message = (
            f"{folder / 'contents'} lists {name!a}, which is a file of the format, not of the item: remove that line"
        )
        raise ArchiveError(message)
    if "\0" in name or not file.resolve().is_relative_to(folder.resolve()):
        message = f"{folder / 'contents'} lists {name!a}, which is outside the folder of the item: remove that line"
        raise ArchiveError(message)
    if not file.is_file():
        message = (
            f"{folder / 'contents'} lists {name!a}, which does not exist: export the item again, or remove that line"
        )
        raise ArchiveError(message)
    return file


def _measure(file: Path) -> tuple[int, str]:
    with file.open("rb") as stream:
        digest = hashlib.file_digest(stream, lambda: hashlib.md5(usedforsecurity=False))
        return stream.tell(), digest.hexdigest()


def _text(file: Path) -> str:
    """Return the text of a small file; empty if there is none."""
    try:
        return _bytes(file).decode("utf-8-sig") if file.is_file() else ""
    except UnicodeDecodeError as error:
        message = f"{file} is not in UTF-8: convert it"
        raise ArchiveError(message) from error


def _bytes(file: Path) -> bytes:
    if file.stat().st_size > _LARGEST:
        message = f"{file} is larger than {_LARGEST:,} bytes: make it smaller, or remove the item"
        raise ArchiveError(message)
    return file.read_bytes()
