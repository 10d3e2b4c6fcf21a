"""The search for the predecessor: live, in the output, in a folder, or in the copy last seen live."""

from contextlib import ExitStack
from pathlib import Path

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.publication.model.guards import is_loopback
from pelican_resourcesync.publication.model.layout import Layout
from pelican_resourcesync.publication.model.state import MOST_ANCESTORS
from pelican_resourcesync.publication.previous.fetch import STANDARD_ALLOWANCE, Fetched, Missing, fetch_publication
from pelican_resourcesync.publication.previous.last_published import Keepsake
from pelican_resourcesync.publication.previous.lineage import Known, Lineage, lineage
from pelican_resourcesync.publication.previous.output import Output
from pelican_resourcesync.publication.previous.predecessor import Predecessor
from pelican_resourcesync.publication.previous.previous import (
    FindListing,
    Previous,
    find_none,
    read_previous,
    read_state,
)
from pelican_resourcesync.publication.previous.restart import OTHER, known_in, known_live
from pelican_resourcesync.transport import STANDARD_BOUNDS, Web

#: The limits for fetching what is public: for all of it, and for one file.
ALLOWANCE, BOUNDS = STANDARD_ALLOWANCE, STANDARD_BOUNDS


class Search:
    """Finds the predecessor. It may be in a temporary folder, which `close` removes."""

    def __init__(  # noqa: PLR0913 - keyword-only options
        self,
        layout: Layout,
        output: Output,
        base: Path,
        *,
        previous: str,
        moved_from: str = "",
        find: FindListing = find_none,
    ) -> None:
        """Create a search for the predecessor of the set with this layout.

        `output` is what the output held before, and `base` the folder of the settings file. `previous` is `"live"`,
        `"output"`, `"none"`, an http(s) URL, or a folder (a relative path starts at `base`). `moved_from` is the former
        address of the site, without a final slash. The publication seen live is saved in `base`. `find` is as in
        `read_previous`.
        """
        self._layout = layout
        self._output = output
        self._base = base
        self._previous = previous
        self._moved_from = moved_from
        self._find = find
        self._kept = Keepsake(base, layout)
        self._stack = ExitStack()

    def close(self) -> None:
        """Remove everything that was fetched."""
        self._stack.close()

    def find(self) -> Predecessor:
        """Find the predecessor by the setting `previous`.

        Raises `PublicationError`, which says what to do, if it cannot be determined what is public, or if that cannot
        be continued. Raises `OSError` if the disk fails.
        """
        where = self._previous
        local = is_loopback(self._layout.siteurl)
        if where == "output" or (where == "live" and local):
            return self._in_output()
        if where == "live":
            return self._live()
        if where == "none":
            return self._anew(local=local)
        if "://" in where:
            return self._at(where)
        folder = self._base / where
        return self._in_output() if self._output.holds(folder) else self._in(folder)

    def _in_output(self) -> Predecessor:
        folder = self._output.folder
        return Predecessor(read_previous(folder, self._layout, find=self._find) if folder else None)

    def _live(self) -> Predecessor:
        """Return the publication at `SITEURL` or at the former address of the site, else the copy last seen live."""
        found: Fetched | Missing | None = None
        for site in filter(None, (self._layout.siteurl, self._moved_from)):
            found = found if isinstance(found, Fetched) else self._fetch(site)
        if isinstance(found, Fetched):
            if not is_loopback(found.state.siteurl):
                return self._newest(found)
            why = f"what is live is of {found.state.siteurl}, which is nobody's site"
        else:
            why = f"{found.reason.value} at {found.url}" if found else ""
        if self._kept.folder is None:
            return Predecessor(line=f"{why}: this is the first publication")
        return Predecessor(self._read(self._kept.folder), line=f"{why}: what was last seen live is carried forward")

    def _fetch(self, site: str) -> Fetched | Missing:
        into, known = self._stack.enter_context(self._kept.room()) / "publication", self._kept.folder
        return fetch_publication(Web(site, BOUNDS), into, known, state=self._layout.state, allowance=ALLOWANCE)

    def _newest(self, live: Fetched) -> Predecessor:
        """Return the live publication, unless the saved copy descends from it because the site was rolled back."""
        folder, kept, line = self._kept.folder, None, ""
        try:
            kept = read_state(folder, self._layout) if folder else None
        except PublicationError as error:
            line = f"what was last seen live cannot be read, and what is live now takes its place: {error}"
        relation = lineage(live, kept) if kept else Lineage.AHEAD
        if relation is Lineage.APART and kept:
            line = self._far_ahead(live, kept)
        if relation is Lineage.BEHIND and kept and folder:
            line = (
                f"the live site is back at generation {live.state.generation}: generation {kept.state.generation}, "
                "last seen live, is carried forward, so that nobody who has followed it is lost"
            )
            return Predecessor(self._read(folder), line=line)
        previous = self._read(live.folder)
        if relation is not Lineage.SAME or live.received:  # files that had to be fetched again were damaged in the copy
            self._kept.keep(live.folder)
        return Predecessor(previous, line=line)

    def _far_ahead(self, live: Known, kept: Known) -> str:
        """Return a message if the live publication is too far ahead to be compared; otherwise raise an error."""
        ahead = live.state.generation - kept.state.generation
        if ahead > MOST_ANCESTORS:
            return (
                f"the live publication is {ahead} generations past the one last seen live: it counts as its successor"
            )
        message = (
            f"the live publication (generation {live.state.generation}) and the one last seen live (generation "
            f"{kept.state.generation}, in {self._kept.folder}) do not descend from each other, so one of them has "
            f"what the other has not: remove that folder to go on from the live one, or {OTHER}"
        )
        raise PublicationError(message)

    def _at(self, url: str) -> Predecessor:
        found = self._fetch(url)
        if isinstance(found, Missing):
            message = f"{found.reason.value} at {found.url}: {OTHER}"
            raise PublicationError(message)
        return self._found(found.folder, url)

    def _in(self, folder: Path) -> Predecessor:
        if not folder.is_dir():
            message = f"`previous` is {self._previous!r}, but there is no folder {folder}: {OTHER}"
            raise PublicationError(message)
        return self._found(folder, str(folder))

    def _found(self, folder: Path, where: str) -> Predecessor:
        previous = self._read(folder)
        line = "" if previous else f"there is no publication of a public site in {where}: this is the first publication"
        return Predecessor(previous, line=line)

    def _read(self, folder: Path) -> Previous | None:
        return read_previous(folder, self._layout, str(folder), find=self._find)

    def _anew(self, *, local: bool) -> Predecessor:
        """Return the publication to start over under new addresses, because public ones are never reused."""
        known = [*known_in(self._output.folder if local else self._kept.folder, self._layout)]
        known += [] if local else known_live(Web(self._layout.siteurl, BOUNDS), self._layout, ALLOWANCE.state_size)
        if not known:
            return Predecessor(line="nothing was public: this is the first publication")
        over = max(known, key=lambda each: (each.state.start, each.state.generation))
        line = f"the publication begins anew, in {self._layout.folder}/{over.state.start + 1}/: set `previous` back"
        return Predecessor(over=over, line=f"{line} when it is public")
