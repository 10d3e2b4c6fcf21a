"""The predecessor: the publication that a build carries forward, which is the one last public."""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from pelican_resourcesync.errors import AbsentError, NoHostError, PublicationError, TransportError
from pelican_resourcesync.publication.fetch import Fetched, Missing, fetch_publication
from pelican_resourcesync.publication.guards import is_loopback
from pelican_resourcesync.publication.layout import Layout
from pelican_resourcesync.publication.lineage import Known, Lineage, Sealed, lineage
from pelican_resourcesync.publication.previous import Previous, read_previous, read_state
from pelican_resourcesync.publication.state import State
from pelican_resourcesync.settings import Settings
from pelican_resourcesync.site.keepsake import Keepsake
from pelican_resourcesync.transport.folder import sha256
from pelican_resourcesync.transport.http import Web

_OTHER = "name another `previous` in RESOURCESYNC (a folder, a URL, 'output', or 'none')"
#: The most of a state that is read to learn under which addresses not to begin anew, in bytes.
_STATE_SIZE = 20_000_000


@dataclass(frozen=True, slots=True)
class Predecessor:
    """What a build goes on from: the `previous` publication, or what it is to begin anew `over`; neither is the first.

    `line` says where it comes from, or why there is none, where the user may wonder.
    """

    previous: Previous | None = None
    over: Known | None = None
    line: str = ""


class Search:
    """Finds the predecessor. Holds a temporary folder, in which it may lie: use as a context manager."""

    def __init__(self, settings: Settings, layout: Layout, aside: Path | None, base: Path) -> None:
        """Take the plug-in's settings, what the output held, and the folder that the settings file lies in."""
        self._settings = settings
        self._layout = layout
        self._aside = aside
        self._base = base
        self._kept = Keepsake(base)
        self._stack = ExitStack()

    def close(self) -> None:
        """Let go of what was fetched."""
        self._stack.close()

    def find(self) -> Predecessor:
        """Find the predecessor by the setting `previous`.

        Raises `PublicationError` where it cannot be known what is public, or what is public cannot be carried
        forward, with what to do.
        """
        where = self._settings.previous
        local = is_loopback(self._layout.siteurl)
        if where == "output" or (where == "live" and local):
            return Predecessor(read_previous(self._aside, self._layout) if self._aside else None)
        if where == "live":
            return self._live()
        if where == "none":
            return self._anew(local=local)
        if where.startswith(("http://", "https://")):
            return self._at(where)
        return self._in(self._base / where)

    def _live(self) -> Predecessor:
        """Give what is public at `SITEURL`, or where the site was before; else what was last seen there."""
        found: Fetched | Missing | None = None
        for site in filter(None, (self._layout.siteurl, self._settings.moved_from)):
            found = found if isinstance(found, Fetched) else self._fetch(site)
        if isinstance(found, Fetched):
            return self._newest(found)
        why = f"{found.reason.value} at {found.url}" if found else ""
        if self._kept.folder is None:
            return Predecessor(line=f"{why}: this is the first publication")
        return Predecessor(self._read(self._kept.folder), line=f"{why}: what was last seen live is carried forward")

    def _fetch(self, site: str) -> Fetched | Missing:
        folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="resourcesync-")))
        return fetch_publication(Web(site), folder / "publication", self._kept.folder)

    def _newest(self, live: Fetched) -> Predecessor:
        """Give what is live, unless what was seen live before descends from it: a site may have been rolled back."""
        kept = read_state(self._kept.folder, self._layout) if self._kept.folder else None
        relation = Lineage.AHEAD if kept is None else lineage(live, kept)
        if relation is Lineage.APART and kept:
            message = (
                f"the live publication (generation {live.state.generation}) and the one last seen live (generation "
                f"{kept.state.generation}, in {self._kept.folder}) do not descend from each other, so one of them has "
                f"what the other has not: remove that folder to go on from the live one, or {_OTHER}"
            )
            raise PublicationError(message)
        if relation is Lineage.BEHIND and kept and self._kept.folder:
            line = (
                f"the live site is back at generation {live.state.generation}: generation {kept.state.generation}, "
                "last seen live, is carried forward, so that nobody who has followed it is lost"
            )
            return Predecessor(self._read(self._kept.folder), line=line)
        previous = self._read(live.folder)
        if relation is not Lineage.SAME:
            self._kept.keep(live.folder)
        return Predecessor(previous)

    def _at(self, url: str) -> Predecessor:
        found = self._fetch(url)
        if isinstance(found, Missing):
            message = f"{found.reason.value} at {found.url}: {_OTHER}"
            raise PublicationError(message)
        return Predecessor(self._read(found.folder))

    def _in(self, folder: Path) -> Predecessor:
        if not folder.is_dir():
            message = f"`previous` is {self._settings.previous!r}, but there is no folder {folder}: {_OTHER}"
            raise PublicationError(message)
        previous = self._read(folder)
        line = "" if previous else f"there is no publication in {folder}: this is the first publication"
        return Predecessor(previous, line=line)

    def _read(self, folder: Path) -> Previous | None:
        return read_previous(folder, self._layout, str(folder))

    def _anew(self, *, local: bool) -> Predecessor:
        """Give what to begin anew over: whatever is public must keep its addresses for itself."""
        folders = [self._aside] if local else [self._kept.folder]
        known: list[Known] = [] if local else [*self._public()]
        for folder in filter(None, folders):
            with suppress(PublicationError):  # a damaged one is why somebody begins anew
                known += filter(None, [read_state(folder, self._layout)])
        if not known:
            return Predecessor(line="nothing was public: this is the first publication")
        over = max(known, key=lambda each: (each.state.start, each.state.generation))
        return Predecessor(over=over, line=f"the publication begins anew, over generation {over.state.generation}")

    def _public(self) -> Iterator[Known]:
        """Give the state that is live; where it cannot be read, one that says which addresses are taken."""
        web = Web(self._layout.siteurl)
        try:
            received, data = web.read(self._layout.state, replace(web.bounds, size=_STATE_SIZE))
            if received.is_html:
                return
            try:
                yield Sealed.parse(data, web.url(self._layout.state))
            except PublicationError:
                yield Sealed(self._taken(web), sha256(data))
        except (AbsentError, NoHostError):
            return
        except TransportError as error:
            message = f"it cannot be known which addresses were public, so none can be chosen anew: {error}: try again"
            raise PublicationError(message) from error

    def _taken(self, web: Web) -> State:
        """Find out at how many starts there is something public, by asking for each one's Capability List."""
        layout = self._layout
        for start in count(1):
            layout = replace(layout, start=start)
            try:
                received, _ = web.read(layout.capability_list)
            except AbsentError:
                break
            if received.is_html:
                break
        return State(
            generation=0,
            siteurl=layout.siteurl,
            start=max(1, layout.start - 1),
            at=datetime.fromtimestamp(0, UTC),
            changes=0,
            documents={},
        )
