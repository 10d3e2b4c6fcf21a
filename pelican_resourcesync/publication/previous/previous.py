"""The previous publication: the public documents, read back and used only if they are complete and verified.

Also the URLs at which the next is published.
"""

import os
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, cached_property
from pathlib import Path
from stat import S_ISREG

from pelican_resourcesync.errors import DocumentError, PublicationError, ResourceSyncError
from pelican_resourcesync.http import BucketPath
from pelican_resourcesync.protocol import Document, Entry, Root, parse_links, read
from pelican_resourcesync.publication.model.kinds import RESOURCE_LIST_PART, kind_of
from pelican_resourcesync.publication.model.layout import FOLDER, SET_NAME, Layout
from pelican_resourcesync.publication.model.options import SITE
from pelican_resourcesync.publication.model.ranges import Body, Range
from pelican_resourcesync.publication.model.resource import Listed, Row, parse_representation, parse_time
from pelican_resourcesync.publication.model.sanity_checks import START_OVER, is_loopback, known_hosts
from pelican_resourcesync.publication.model.state import Part, PublicationState, parse_state
from pelican_resourcesync.system.files import is_within, measure
from pelican_resourcesync.system.printable import printable
from pelican_resourcesync.system.signing import ADOPT, ENVIRONMENT, SignatureError, SigningKey, verify_state
from pelican_resourcesync.system.strict_json import parse_json

#: The number of parts whose resources are held in memory for looking them up.
_HELD = 4

_LONGEST = 600  # characters of a reason in a message
_SHOWN = 200  # characters of a URI in a message


class DamagedError(ResourceSyncError):
    """A publication is damaged."""


def shown(uri: str) -> str:
    """Return a URI or path as it is shown in a message."""
    return printable(uri[:_SHOWN]) + ("…" if len(uri) > _SHOWN else "")


@contextmanager
def explain_damage(where: str) -> Iterator[None]:
    """Turn errors into a `PublicationError` which says that the publication is damaged, and what to do."""
    try:
        yield
    except (DocumentError, OSError, DamagedError) as error:
        place = f"{'at' if '://' in where else 'in'} {where}"
        why = str(error)  # not the error, whose traceback would hold this frame in a cycle, and open files with it
        if isinstance(error, OSError):  # its path may be that of a temporary folder
            _, _, path = str(error.filename).replace("\\", "/").rpartition(f"/{FOLDER}/")
            why = f"{FOLDER}/{shown(path)}: {error.strerror or type(error).__name__}"
        reason = printable(why)
        if len(reason) > _LONGEST:  # because of a long URI in its middle
            reason = f"{reason[: _LONGEST // 2]}…{reason[-_LONGEST // 2 :]}"
        message = f"the publication {place} is damaged ({reason}): upload it again, or {START_OVER}"
        raise PublicationError(message) from error


def layout_after(layout: Layout, known: PublicationState | None, *, restarts: bool = False) -> Layout:
    """Return the layout of the next publication: in the folder of the one known, or if it `restarts`, in a new one."""
    return replace(layout, restart_number=known.restart_number + restarts) if known else layout


class ResourceList(Mapping[str, Listed]):
    """The resources in documents that were written here, by URI, sorted. The documents are read when needed."""

    def __init__(self, place: Callable[[str], Path | BucketPath], parts: Sequence[Part]) -> None:
        """Read these parts; `place` returns where the document at a path is."""
        self._place = place
        self._parts = parts
        self._firsts = [each.first for each in parts]
        self._held: dict[int, dict[str, Row]] = {}

    def rows(self) -> Iterator[Row]:
        """Yield the resources as rows."""
        for each in self._parts:
            yield from self._read(each)

    def row(self, uri: str) -> Row | None:
        """Return the row of a resource, or `None` if there is none. This is fast for URIs in order."""
        number = max(0, bisect_right(self._firsts, uri) - 1)
        if number not in self._held:
            for oldest in [*self._held][: len(self._held) + 1 - _HELD]:
                del self._held[oldest]
            self._held[number] = {row.uri: row for row in self._read(self._parts[number])} if self._parts else {}
        return self._held[number].get(uri)

    def __len__(self) -> int:
        return sum(each.counts.entries for each in self._parts)

    def __iter__(self) -> Iterator[str]:
        return (row.uri for row in self.rows())

    def __getitem__(self, uri: str) -> Listed:
        row = self.row(uri)
        if row is None:
            raise KeyError(uri)
        return Listed(parse_representation(row.representation), parse_time(row.lastmod), parse_links(row.links))

    def _read(self, part: Part) -> Iterator[Row]:
        return rows_in(Body(self._place(part.path), is_draft=False))


def rows_in(body: Body) -> Iterator[Row]:
    """Yield the resources among entries."""
    return (Row(each.loc, each.md, each.links, each.lastmod) for each in body.entries())


@dataclass(frozen=True, kw_only=True)
class PreviousPublication:
    """An earlier publication in `folder` (laid out like an output), for the address that `state` contains.

    Only documents that the state lists are read. Messages call its place `where`. `host_time` is the time by the clock
    of the host that it was just fetched from. `elsewhere` are the addresses of other servers whose resources the
    Resource List may name (`None`: any). The parts of this list are in `bucket` instead, if that is not `None`. If it
    is a copy that was never public, of the publication in the folder `original`, the versions are there.
    """

    folder: Path
    layout: Layout
    state: PublicationState
    where: str
    host_time: datetime | None = None
    elsewhere: Collection[str] | None = None
    bucket: BucketPath | None = None
    original: Path | None = None

    @property
    def last(self) -> datetime:
        """The latest time in it: that of its Resource List."""
        return self.state.at

    @property
    def last_change(self) -> datetime:
        """The time of the last change that it lists, or else that of the first publication."""
        return max((each.time for last in self.ranges[-1:] for each in last.changes), default=self.state.began)

    @property
    def has_former_states(self) -> bool:
        """Whether it may have bytes of former states of resources: in versions and patches, or in packages."""
        return bool(self.state.packages) or self.layout.version_index in self.state.documents

    @cached_property
    def resources(self) -> ResourceList:
        """Its resources."""
        return ResourceList(self.file, self.state.parts)

    def file(self, path: str) -> Path | BucketPath:
        """Return where the document at a path is."""
        if self.bucket is None or kind_of(path) is not RESOURCE_LIST_PART:
            return self.folder / path
        return replace(self.bucket / path, digest=self.state.documents.get(path, ""))

    @cached_property
    def ranges(self) -> tuple[Range, ...]:
        """The ranges of its Change Lists, oldest first."""
        return tuple(
            Range(
                start=each.start,
                until=each.until,
                counts=(each.created, each.updated, each.deleted),
                bodies=(Body(self.folder / each.path, is_draft=False),),
                unchanged=True,
            )
            for each in self.state.change_lists
        )

    @property
    def closed(self) -> tuple[Range, ...]:
        """The ranges that have ended."""
        return tuple(each for each in self.ranges if each.closed)

    @property
    def open(self) -> Range | None:
        """The range that has not ended, if there is one."""
        return next((each for each in self.ranges if not each.closed), None)

    def entries(self, path: str) -> tuple[Entry, ...]:
        """Read the entries of a document or of its parts; empty if there is no such document."""
        if path not in self.state.documents:
            return ()
        with explain_damage(self.where):
            found: list[Entry] = []
            for part in self._parts(path):
                with self.read(part) as document:
                    found += document.entries
            return tuple(found)

    def archived(self, of: str) -> list[datetime]:
        """Return the times of the Resource Lists or Resource Dumps (`of`) that are archived, oldest first (AR)."""
        return [entry.md.at for entry in self.entries(self.layout.archive(of)) if entry.md and entry.md.at]

    def parts(self, path: str) -> list[list[Body]]:
        """Return where the entries of each part of a document are."""
        with explain_damage(self.where):
            parts = self._parts(path)
            for part in parts:
                self.require(part)
            return [[Body(self.file(part), is_draft=False)] for part in parts]

    def _parts(self, path: str) -> list[str]:
        with self.read(path) as document:
            if document.root is Root.URLSET:
                return [path]
            return [self.path(pointer.loc) for pointer in document.entries]

    def path(self, uri: str) -> str:
        """Return the path of a document by its URI. Raises `DamagedError` if the state does not list it."""
        path = uri.removeprefix(f"{self.layout.siteurl}/")
        self.require(path)
        return path

    @contextmanager
    def read(self, path: str) -> Iterator[Document]:
        """Open the document at a path for reading. Raises `DamagedError` if the state does not list it."""
        self.require(path)
        with self.file(path).open("rb") as stream:
            yield read(stream, name=path)

    def require(self, path: str) -> None:
        """Raise `DamagedError` if the state does not list the document at a path."""
        if path not in self.state.documents:
            what = f"{shown(path)} is not listed in {self.layout.state}"
            raise DamagedError(what)

    def verify(self, *, packages: bool) -> None:
        """Compare every document of the set with its hash, and `packages`, if requested, with their lengths.

        Superseded ones may be missing. Packages may be large, and were hashed if they came over the network.
        """
        is_inside = cache(lambda folder: is_within(self.folder / folder, self.folder / FOLDER))  # one of many documents
        for path, digest in {**self.state.superseded, **self.state.documents}.items():
            kind = kind_of(path)
            if (kind is RESOURCE_LIST_PART and self.bucket) or (kind.is_package and not packages):
                continue
            if not (is_inside(path.rpartition("/")[0]) and self._is_intact(path, digest)):
                what = f"{shown(path)} does not match {self.layout.state}"
                raise DamagedError(what)
        listed = [*(each.path for each in self.state.parts), *(each.path for each in self.state.change_lists)]
        for path in (self.layout.resource_list, *listed):
            self.require(path)

    def _is_intact(self, path: str, digest: str) -> bool:
        file = f"{self.folder}/{path}"
        try:
            found = os.lstat(file)
        except (FileNotFoundError, NotADirectoryError):
            return path not in self.state.documents
        if not S_ISREG(found.st_mode):
            return False
        if kind_of(path).is_package:
            return found.st_size == self.state.packages.get(path)
        return measure(file)[0] == digest

    def require_known_hosts(self, uris: Iterable[str]) -> None:
        """Raise `PublicationError` for a URI on a host that is not the site's and that the settings do not name.

        A publication on a host that somebody else controls must not make us list as deleted what is elsewhere.
        """
        is_known = known_hosts(self.state.siteurl, self.elsewhere)
        for uri in uris:
            if not is_known(uri):
                what = f"{shown(uri)} is not below the address of the site, {self.state.siteurl}"
                message = f"{self.layout.resource_list}: {what}"
                if self.elsewhere:
                    message += (
                        f" or {' or '.join(self.elsewhere)} (if these addresses were changed in the settings, publish"
                        " once with `allow-deletions`)"
                    )
                with explain_damage(self.where):
                    raise DamagedError(message)


def read_state(folder: Path, layout: Layout) -> PublicationState | None:
    """Read only the state of the publication in `folder`; return `None` if there is none.

    Raises `PublicationError`, with the name of the file, if it is damaged.
    """
    file = folder / layout.state
    return parse_state(file.read_bytes(), str(file)) if file.is_file() else None


def state_in(folder: Path, layout: Layout) -> PublicationState | None:
    """Return the state of a set in a folder; `None` where there is none, or it is damaged."""
    with suppress(PublicationError):
        return read_state(folder, layout)
    return None


def sets_published_by(publisher: str, folder: Path, siteurls: Collection[str]) -> dict[str, PublicationState]:
    """Return the sets in a folder that a publisher has published there, for one of these addresses, by name."""
    homes = sorted((folder / FOLDER).iterdir()) if (folder / FOLDER).is_dir() else []
    states = {each.name: state_in(folder, Layout("", each.name)) for each in homes if each.is_dir()}
    ours = {
        name: each
        for name, each in states.items()
        if each and (each.publisher == publisher or (each.of_site and publisher == SITE))
    }
    return {name: each for name, each in ours.items() if each.siteurl in siteurls}


def read_previous(  # noqa: PLR0913 - keyword-only options
    folder: Path,
    layout: Layout,
    where: str = "the output",
    *,
    packages: bool = True,
    elsewhere: Collection[str] | None = None,
    host_time: datetime | None = None,
    bucket: BucketPath | None = None,
) -> PreviousPublication | None:
    """Read the publication in `folder`, whatever its address; return `None` if there is none. Messages call it `where`.

    A publication for an address of this machine was never public, so it is ignored unless the address is the same.
    Documents that sets share are not checked, because every publication rewrites them. Superseded ones may be missing.
    With `packages` false, packages are not checked: use this if only what the documents say about them is needed.
    `elsewhere`, `host_time` and `bucket` are those of a `PreviousPublication`.

    Raises `PublicationError` if the publication is damaged, that is, if a document of the set is missing or does not
    match the state.
    """
    with explain_damage(where):
        state, lists = read_state(folder, layout), Path(layout.capability_list)
        if state is None and (left := [*folder.glob(f"{lists}"), *folder.glob(f"{lists.parent}/*/{lists.name}")]):
            what = f"{layout.state} is missing, although {left[0].relative_to(folder).as_posix()} exists"
            raise DamagedError(what)
        if state is None or (state.siteurl != layout.siteurl and is_loopback(state.siteurl)):
            return None
        previous = PreviousPublication(
            folder=folder,
            layout=replace(layout, siteurl=state.siteurl, restart_number=state.restart_number),
            state=state,
            where=where,
            host_time=host_time,
            elsewhere=elsewhere,
            bucket=bucket,
        )
        previous.verify(packages=packages)
        return previous


def require_signed(previous: PreviousPublication, key: SigningKey | None) -> None:
    """Raise `PublicationError` if a publication is not signed by `key`, or is signed and there is no key.

    A user can allow this for one publication, by the environment: the first that is signed, or is no longer.
    """
    signed_by = previous.state.signed_by
    if os.environ.get(ADOPT) == "1" or not (key or signed_by):
        return
    why = f"is signed, and {ENVIRONMENT} is not set"
    if key:
        try:
            content = parse_json((previous.folder / previous.layout.state).read_bytes(), dict)
            verify_state(content, signed_by if signed_by in key.keys else key.public, previous.layout.state)
        except SignatureError as error:
            why = f"cannot be continued: {error}"
        else:
            return
    message = f"the publication in {previous.where} {why}: set {ADOPT}=1 once to continue it anyway, or {START_OVER}"
    raise PublicationError(message)


def publications_in(folder: Path, bucket: BucketPath | None = None) -> list[PreviousPublication]:
    """Read the publications of all sets in a folder, whatever their addresses, the site's own set first.

    Parts of Resource Lists that are not in the folder are in `bucket`, if there is one. Raises `PublicationError` if a
    publication is damaged.
    """
    return [found for layout in layouts_in(folder) if (found := publication_in(folder, layout, bucket))]


def layouts_in(folder: Path) -> list[Layout]:
    """Return the layouts of the sets that may be in a folder, the site's own set first, without their addresses."""
    top, own = folder / FOLDER, Layout("")
    names = sorted(each.name for each in top.iterdir() if SET_NAME.fullmatch(each.name)) if top.is_dir() else []
    return [own, *(Layout("", name) for name in names if name != own.set_name)]


def publication_in(folder: Path, layout: Layout, bucket: BucketPath | None = None) -> PreviousPublication | None:
    """Read the publication of one of these sets, as `publications_in` does."""
    state = read_state(folder, layout)
    if state is None:
        return None
    is_whole = all((folder / part.path).is_file() for part in state.parts[:1])
    own = replace(layout, siteurl=state.siteurl)
    return read_previous(folder, own, str(folder), bucket=None if is_whole else bucket)
