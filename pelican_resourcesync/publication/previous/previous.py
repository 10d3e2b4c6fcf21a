"""The previous publication: the public documents, read back and used only if they are complete and verified."""

import json
import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path

from pelican_resourcesync.errors import DocumentError, PublicationError
from pelican_resourcesync.printable import printable
from pelican_resourcesync.protocol import Entry
from pelican_resourcesync.publication.model.layout import FOLDER, Layout
from pelican_resourcesync.publication.model.ranges import Body, Range
from pelican_resourcesync.publication.model.sanity_checks import is_loopback, known_hosts
from pelican_resourcesync.publication.model.state import PublicationState
from pelican_resourcesync.publication.previous.ancestry import HashedState
from pelican_resourcesync.publication.previous.resource_list import ResourceList
from pelican_resourcesync.publication.previous.verified import DamagedError, VerifiedDocuments, shown
from pelican_resourcesync.signing import ADOPT, ENVIRONMENT, SignatureError, SigningKey, verify_state

#: What to do if no publication can be continued.
OTHER = "name another with the setting `previous` (a folder, a URL, 'output', or 'none')"

_LONGEST = 600  # characters of a reason in a message


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
        message = (
            f"the publication {place} is damaged: {reason}: upload it again, or name another with the setting"
            " `previous` ('none' starts over under new addresses)"
        )
        raise PublicationError(message) from error


@dataclass(frozen=True, kw_only=True)
class PreviousPublication:
    """An earlier publication in `folder` (laid out like an output), for the address that `state` contains.

    `closed` are its closed ranges, and `open` is the open one. Messages call its place `where`. `host_time` is the time
    by the clock of the host that it was just fetched from. `elsewhere` are the addresses of other servers whose
    resources the Resource List may name (`None`: any).
    """

    folder: Path
    layout: Layout
    state: PublicationState
    digest: str
    closed: tuple[Range, ...]
    open: Range | None
    where: str
    host_time: datetime | None = None
    elsewhere: Collection[str] | None = None

    @property
    def last(self) -> datetime:
        """The latest time in it: that of its Resource List."""
        return self.state.at

    @cached_property
    def resources(self) -> ResourceList:
        """Its resources."""
        return ResourceList(self.folder, self.state.parts)

    @property
    def documents(self) -> VerifiedDocuments:
        """Its documents, which were verified."""
        return VerifiedDocuments(self.folder, self.layout, self.state)

    def entries(self, path: str) -> tuple[Entry, ...]:
        """Read the entries of a document or of its parts; empty if there is no such document."""
        if path not in self.state.documents:
            return ()
        with explain_damage(self.where):
            return tuple(self.documents.whole(path))

    def parts(self, path: str) -> list[list[Body]]:
        """Return where the entries of each part of a document are."""
        with explain_damage(self.where):
            return [[Body(file, is_draft=False)] for file in self.documents.files(path)]

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


def read_state(folder: Path, layout: Layout) -> HashedState | None:
    """Read only the state of the publication in `folder`; return `None` if there is none.

    Raises `PublicationError`, with the name of the file, if it is damaged.
    """
    file = folder / layout.state
    return HashedState.parse(file.read_bytes(), str(file)) if file.is_file() else None


def read_previous(  # noqa: PLR0913 - keyword-only options
    folder: Path,
    layout: Layout,
    where: str = "the output",
    *,
    packages: bool = True,
    elsewhere: Collection[str] | None = None,
    host_time: datetime | None = None,
) -> PreviousPublication | None:
    """Read the publication in `folder`, whatever its address; return `None` if there is none. Messages call it `where`.

    A publication for an address of this machine was never public, so it is ignored unless the address is the same.
    Documents that sets share are not checked, because every publication rewrites them. Superseded ones may be missing.
    With `packages` false, packages are not checked: use this if only what the documents say about them is needed.
    `elsewhere` and `host_time` are those of a `PreviousPublication`.

    Raises `PublicationError` if the publication is damaged, that is, if a document of the set is missing or does not
    match the state.
    """
    with explain_damage(where):
        sealed = read_state(folder, layout)
        if sealed is None or (sealed.state.siteurl != layout.siteurl and is_loopback(sealed.state.siteurl)):
            return None
        layout = replace(layout, siteurl=sealed.state.siteurl, restart_number=sealed.state.restart_number)
        documents = VerifiedDocuments(folder, layout, sealed.state)
        documents.verify(packages=packages)
        for path in (layout.resource_list, *(each.path for each in sealed.state.parts)):
            documents.require(path)
        ranges = [*documents.ranges()]
        return PreviousPublication(
            folder=folder,
            layout=layout,
            state=sealed.state,
            digest=sealed.digest,
            closed=tuple(each for each in ranges if each.closed),
            open=next((each for each in ranges if not each.closed), None),
            where=where,
            host_time=host_time,
            elsewhere=elsewhere,
        )


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
            content = json.loads((previous.folder / previous.layout.state).read_bytes())
            verify_state(content, signed_by if signed_by in key.keys else key.public, previous.layout.state)
        except SignatureError as error:
            why = f"cannot be continued: {error}"
        else:
            return
    message = f"the publication in {previous.where} {why}: set {ADOPT}=1 once to continue it nevertheless, or {OTHER}"
    raise PublicationError(message)


def publications_in(folder: Path) -> list[PreviousPublication]:
    """Read the publications of all sets in a folder, whatever their addresses, the site's own set first.

    Raises `PublicationError` if one is damaged.
    """
    names = (
        sorted(each.name for each in (folder / FOLDER).iterdir() if each.is_dir()) if (folder / FOLDER).is_dir() else []
    )
    found = []
    for layout in (Layout(""), *(Layout("", name) for name in names if name != Layout("").set_name)):
        sealed = read_state(folder, layout)
        if sealed:
            previous = read_previous(folder, replace(layout, siteurl=sealed.state.siteurl), str(folder))
            found += [previous] if previous else []
    return found
