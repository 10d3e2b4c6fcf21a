"""The sets of other publishers in the same output, which stay in the Source Description (`SD03`)."""

import errno
import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from pathlib import Path, PurePosixPath
from urllib.parse import quote, unquote

from pelican_resourcesync.errors import DocumentError, PublicationError
from pelican_resourcesync.protocol import Capability, Document, Entry, Metadata, Root, read, write
from pelican_resourcesync.publication.model.layout import DESCRIPTION, FOLDER, WELL_KNOWN, Layout

#: Limits that our own Source Descriptions never exceed: bytes, and sets.
_LARGEST, _MOST = 1_000_000, 1_000

_CAPABILITY_LIST = "capabilitylist.xml"
_IS_CAPABILITY_LIST = Metadata(capability=Capability.CAPABILITYLIST)


@dataclass(frozen=True, slots=True)
class OtherSets:
    """The entries for other publishers' Capability Lists, and `notes` on those that could not be kept."""

    entries: tuple[Entry, ...] = ()
    notes: tuple[str, ...] = ()


def find_other_sets(output: Path, layouts: Sequence[Layout]) -> OtherSets:
    """Find the sets of other publishers that the Source Description in `output` names, or that are there unnamed.

    A set belongs to the output if its Capability List is there, at an address of this site. Everything else that the
    Source Description names is left over from another address or an earlier output. An invalid Source Description
    never stops a publication.

    Raises `PublicationError` if the output cannot be read, because that must not remove other publishers' sets.
    """
    try:
        return _find(output, layouts)
    except OSError as error:
        message = (
            f"the sets of other publishers in {output} cannot be read: {error}: make the folder {FOLDER} in it readable"
        )
        raise PublicationError(message) from error


def _find(output: Path, layouts: Sequence[Layout]) -> OtherSets:
    place = _Place(output, layouts[0], frozenset(each.set_name for each in layouts))
    found: dict[str, Entry] = {}
    notes: list[str] = []
    for path in (DESCRIPTION, WELL_KNOWN):
        try:
            entries = place.named(path)
        except DocumentError as error:
            notes.append(f"sets of other publishers that are listed only in {path} in the output are left out: {error}")
        else:
            found = {entry.loc: entry for entry in entries} | found
    named = {folder for loc in found if (folder := place.folder_of(loc))}
    found |= {entry.loc: entry for entry in place.unnamed(named)}
    return OtherSets(tuple(found[loc] for loc in sorted(found)), tuple(notes))


@dataclass(frozen=True, slots=True)
class _Place:
    """An output with sets in it; those with the names `own` are ours."""

    output: Path
    layout: Layout
    own: Collection[str]

    def named(self, path: str) -> list[Entry]:
        """Return the entries of other publishers in the Source Description at `path`; empty if there is none."""
        file = self.output / path
        if not file.is_file():
            return []
        if file.stat().st_size > _LARGEST:
            message = f"it has more than {_LARGEST:,} bytes"
            raise DocumentError(message)
        with file.open("rb") as stream:
            document = read(stream, name=path)
            if document.root is not Root.URLSET or not document.md or document.md.capability != Capability.DESCRIPTION:
                message = "it is not a Source Description (SD02)"
                raise DocumentError(message)
            return [entry for entry in islice(document.entries, _MOST) if self._stays(entry)]

    def unnamed(self, named: Collection[str]) -> Iterator[Entry]:
        """Yield entries for the sets that are in the output, but in none of the folders `named`."""
        for folder in _folders(self.output / FOLDER):
            starts = sorted(
                (each for each in _folders(folder) if each.name.isdecimal()), key=lambda each: int(each.name)
            )
            lists = [each / _CAPABILITY_LIST for each in (folder, *starts)]
            there = [each for each in lists if each.is_file()]
            if there and folder.name not in {*self.own, *named}:
                path = there[-1].relative_to(self.output).as_posix()
                entry = Entry(loc=self.layout.uri(quote(os.fsencode(path))), md=_IS_CAPABILITY_LIST)
                if _writable(entry):
                    yield entry

    def folder_of(self, loc: str) -> str:
        """Return the name of the folder below `resourcesync` that a URI of this site is in, `""` for any other URI."""
        path = self._path(loc)
        return path.parts[1] if path else ""

    def _stays(self, entry: Entry) -> bool:
        if entry.md is None or entry.md.capability != Capability.CAPABILITYLIST or not _writable(entry):
            return False
        path = self._path(entry.loc)
        return path is not None and path.parts[1] not in self.own and self._there(path)

    def _there(self, path: PurePosixPath) -> bool:
        try:
            return ".." not in path.parts and (self.output / path).is_file()
        except (OSError, ValueError) as error:
            if isinstance(error, ValueError) or error.errno in (errno.ENAMETOOLONG, errno.EINVAL):
                return False  # not a possible file name
            raise

    def _path(self, loc: str) -> PurePosixPath | None:
        """Return the path in the output of a document of any set of this site, `None` for any other URI."""
        path = PurePosixPath(unquote(loc.removeprefix(f"{self.layout.siteurl}/"), errors="surrogateescape"))
        ours = loc.startswith(f"{self.layout.siteurl}/{FOLDER}/") and len(path.parts) > len((FOLDER, "set"))
        return path if ours else None


def _folders(folder: Path) -> list[Path]:
    """Return the folders in one that may hold a set, sorted; unlike `glob`, fail if it cannot be read."""
    if not folder.is_dir():
        return []
    return sorted(each for each in folder.iterdir() if not each.name.startswith(".") and each.is_dir())


def _writable(entry: Entry) -> bool:
    """Return whether our Source Description can contain an entry of another publisher."""
    try:
        write(Document(root=Root.URLSET, md=Metadata(capability=Capability.DESCRIPTION), entries=[entry]), BytesIO())
    except DocumentError:
        return False
    return True
