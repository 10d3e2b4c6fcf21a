"""The sets of other publishers in the same output, which stay in the Source Description (`SD03`)."""

import errno
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from pathlib import Path, PurePosixPath
from urllib.parse import quote, unquote

from pelican_resourcesync.errors import DocumentError, PublicationError, failing_disk
from pelican_resourcesync.protocol import Capability, Document, Entry, Metadata, Root, read, write
from pelican_resourcesync.publication.model.layout import (
    DESCRIPTION,
    FOLDER,
    HTML_PAGE,
    RECORDS,
    STATE,
    WELL_KNOWN,
    Layout,
)
from pelican_resourcesync.publication.previous.previous import state_in

#: Limits that our own Source Descriptions never exceed: bytes, and sets.
_LARGEST, _MOST = 1_000_000, 1_000

_CAPABILITY_LIST = "capabilitylist.xml"
_IS_CAPABILITY_LIST = Metadata(capability=Capability.CAPABILITYLIST)


def find_other_sets(output: Path, layouts: Sequence[Layout]) -> tuple[Entry, ...]:
    """Return the entries of other publishers in the Source Description in `output`, and of their sets that lack one.

    Entries of this site below `resourcesync/` stay if their Capability List is there. So do all others, except those of
    an address at which this output was published before.

    Raises `PublicationError` for files that are neither ours nor of another publisher where the documents belong, and
    if the output or a Source Description cannot be read: that must not remove other publishers' sets.
    """
    advice = f"make its folder {FOLDER} readable"
    with failing_disk(f"the sets of other publishers in {output} cannot be read", advice):
        place = _Place(output, layouts[0], frozenset(each.set_name for each in layouts))
        place.require_no_others(each.home for each in layouts if not (output / each.state).is_file())
        return place.find()


@dataclass(frozen=True, slots=True)
class _Place:
    """An output with sets in it; those with the names `own` are ours."""

    output: Path
    layout: Layout
    own: Collection[str]

    def require_no_others(self, homes: Iterable[str]) -> None:
        """Raise `PublicationError` if files of another program are where the documents of our sets belong."""
        top = self.output / FOLDER
        has_sets = (self.output / STATE).is_file() or any(map(_capability_lists, _folders(top)))
        places = [each for home in homes if _is_foreign(each := self.output / home)]
        if not has_sets and top.is_dir():
            places += (each for each in top.iterdir() if not (each / RECORDS).is_dir())  # a copy of a repository's
        if places:
            message = (
                f"{min(places)} is where documents of the publication belong, but another program wrote it: move it "
                "away, here and in the sources of the site"
            )
            raise PublicationError(message)

    def find(self) -> tuple[Entry, ...]:
        """Return the entries of other publishers, in the order of their URIs."""
        found: dict[str, Entry] = {}
        for path in (DESCRIPTION, WELL_KNOWN):
            try:
                found = {entry.loc: entry for entry in self.named(path)} | found
            except DocumentError as error:
                message = (
                    f"{self.output / path}, which may list sets of other publishers, cannot be used ({error}): correct "
                    "it, or remove it"
                )
                raise PublicationError(message) from error
        named = {folder for loc in found if (folder := self.folder_of(loc))}
        found |= {entry.loc: entry for entry in self.unnamed(named)}
        return tuple(found[loc] for loc in sorted(found))

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
            entries = [*islice(document.entries, _MOST + 1)]
        if len(entries) > _MOST:
            message = f"it has more than {_MOST:,} entries"
            raise DocumentError(message)
        pages = [link.href for link in document.links if link.href.endswith(f"/{HTML_PAGE}")]  # of the one who wrote it
        former = {f"{site}/" for site in self._addresses()} | {page.removesuffix(HTML_PAGE) for page in pages}
        return [entry for entry in entries if self._stays(entry, former)]

    def _addresses(self) -> Iterator[str]:
        """Yield the addresses for which there are sets in the output, and those that these had before."""
        for folder in _folders(self.output / FOLDER):
            if state := state_in(self.output, Layout("", folder.name)):
                yield from (state.siteurl, *state.former)

    def unnamed(self, named: Collection[str]) -> Iterator[Entry]:
        """Yield entries for the sets that are in the output, but in none of the folders `named`."""
        for folder in _folders(self.output / FOLDER):
            there = _capability_lists(folder)
            if there and folder.name not in {*self.own, *named}:
                path = there[-1].relative_to(self.output).as_posix()
                yield Entry(loc=self.layout.uri(quote(os.fsencode(path))), md=_IS_CAPABILITY_LIST)

    def folder_of(self, loc: str) -> str:
        """Return the name of the folder below `resourcesync` that a URI of this site is in, `""` for any other URI."""
        path = self._path(loc)
        return path.parts[1] if path else ""

    def _stays(self, entry: Entry, former: Collection[str]) -> bool:
        """Return whether an entry stays: not ours, and not of an address where this output was published before."""
        path = self._path(entry.loc)
        if path is not None and (path.parts[1] in self.own or not self._there(path)):
            return False
        if path is None and any(entry.loc.startswith(f"{site}{FOLDER}/") for site in former):
            return False
        if entry.md is None or entry.md.capability != Capability.CAPABILITYLIST:
            message = f"the entry {entry.loc} is not of a Capability List (SD03)"
            raise DocumentError(message)
        write(Document(root=Root.URLSET, md=Metadata(capability=Capability.DESCRIPTION), entries=[entry]), BytesIO())
        return True

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


def _capability_lists(folder: Path) -> list[Path]:
    """Return the Capability Lists in the folder of a set, in the order of its restarts."""
    starts = sorted((each for each in _folders(folder) if each.name.isdecimal()), key=lambda each: int(each.name))
    return [file for each in (folder, *starts) if (file := each / _CAPABILITY_LIST).is_file()]


def _is_foreign(home: Path) -> bool:
    """Return whether another program has written what is in the folder of a set."""
    if home.is_symlink() or not home.is_dir():
        return os.path.lexists(home)
    return not _capability_lists(home) and any(home.iterdir())
