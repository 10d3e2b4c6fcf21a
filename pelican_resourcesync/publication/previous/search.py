"""The search for the predecessor: live, in the output, in a folder, or in the copy last seen live."""

import os
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from pelican_resourcesync.errors import PublicationError, TransportError
from pelican_resourcesync.http import Bounds, Bucket, BucketPath, Web, is_bucket
from pelican_resourcesync.publication.disk.staging import Workspace
from pelican_resourcesync.publication.model.layout import Layout
from pelican_resourcesync.publication.model.sanity_checks import FIRST, START_OVER, is_loopback, require_same_site
from pelican_resourcesync.publication.model.state import MOST_ANCESTORS, PublicationState, parse_state
from pelican_resourcesync.publication.previous.fetch import (
    ADVICE,
    STANDARD_FETCH_LIMITS,
    Fetched,
    NoPublication,
    fetch_publication,
    fetch_state,
    why_described,
)
from pelican_resourcesync.publication.previous.previous import (
    PreviousPublication,
    layout_after,
    layouts_in,
    read_previous,
    read_state,
    require_signed,
    state_in,
)
from pelican_resourcesync.system.files import link_or_copy
from pelican_resourcesync.system.printable import get_logger
from pelican_resourcesync.system.signing import SigningKey

logger = get_logger(__name__)


class Predecessor(NamedTuple):
    """The result of the search: the `previous` publication to continue, or the one `restarted_from`, or neither.

    `line` says where it comes from, or why there is none, if the user may wonder. `not_live` is true if there is none
    although the output has a publication of the same site.
    """

    previous: PreviousPublication | None = None
    restarted_from: PublicationState | None = None
    line: str = ""
    not_live: bool = False

    @property
    def known(self) -> PublicationState | None:
        """The state of the latest publication that is known, whether it is continued or not."""
        return self.previous.state if self.previous else self.restarted_from

    def layout(self, layout: Layout) -> Layout:
        """Return the layout of the next publication of this set: see `layout_after`."""
        return layout_after(layout, self.known, restarts=not self.previous)


def predecessor_messages(predecessors: Mapping[str, Predecessor]) -> Iterator[str]:
    """Yield the messages about predecessors, with the name of the set; one that is the same for all comes once."""
    lines = {name: each.line for name, each in predecessors.items() if each.line}
    if len(set(lines.values())) == 1 and len(lines) == len(predecessors):
        yield next(iter(lines.values()))
        return
    yield from (f"{name}: {line}" for name, line in lines.items())


class LastPublishedCopy:
    """The saved copy of the publication last seen live, in `.resourcesync/live`, laid out like an output.

    It is not a cache: if the site is unavailable for a while, it is the only record of what was public. Its files may
    be links, so they are never modified in place.
    """

    def __init__(self, beside: Path, layout: Layout) -> None:
        """Create it from the folder of the settings file and the layout of the set."""
        self._state = layout.state
        self._workspace = Workspace(beside)
        self._place = self._workspace.last_published(layout.set_name)
        self._new, self._old = (self._place.with_name(f"{self._place.name}.{end}") for end in ("new", "old"))

    @property
    def folder(self) -> Path | None:
        """The folder of the saved copy, if there is one; after an interrupted replacement, that of the old copy."""
        return next((each for each in (self._place, self._old) if (each / self._state).is_file()), None)

    @contextmanager
    def fetch_folder(self) -> Iterator[Path]:
        """Yield a temporary folder to fetch into, next to the saved copy, so that saving it needs no copying.

        If no folder can be created there, the system's temporary folder is used. Raises `OSError` if that fails too.
        """
        prefix = f"{self._place.name}.fetch-"
        with ExitStack() as stack:
            folder = None
            with suppress(OSError):
                folder = stack.enter_context(self._workspace.temporary(prefix))
            yield folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=prefix)))

    def replace(self, publication: Path) -> None:
        """Save the publication in a folder in place of the previous copy; log a warning if that fails.

        Its files are linked if possible, so never modify them in place.
        """
        try:
            self._workspace.create()
            shutil.rmtree(self._new, ignore_errors=True)
            shutil.copytree(publication, self._new, copy_function=link_or_copy)
            if self._place.exists():
                shutil.rmtree(self._old, ignore_errors=True)
                self._place.rename(self._old)
            self._new.rename(self._place)
            shutil.rmtree(self._old, ignore_errors=True)
        except OSError as error:
            logger.warning("ResourceSync: the live publication cannot be saved in %s: %s", self._place, error)


def state_in_output(output: Path, base: Path, layout: Layout) -> PublicationState | None:
    """Return the state in an output, if nothing else of the set is known to have been live since.

    `base` is the folder of the settings file, where a copy of what was last seen live is. Raises `PublicationError` if
    one of the states is damaged.
    """
    found = _state_of(layout, output)
    seen = _state_of(layout, LastPublishedCopy(base, layout).folder)
    return found if found and (not seen or found.continues(seen)) else None


def _state_of(layout: Layout, folder: Path | None) -> PublicationState | None:
    """Return the state of a set in a folder, if it is for the address of the site."""
    found = read_state(folder, layout) if folder else None
    return found if found and found.siteurl == layout.siteurl else None


#: The limits for fetching what is public: for all of it, and for one file.
ALLOWANCE, BOUNDS = STANDARD_FETCH_LIMITS, Bounds(timeout=10.0)

_NEVER = datetime.fromtimestamp(0, UTC)


def _bare(siteurl: str) -> str:
    """Return an address without its scheme and `www`."""
    return siteurl.partition("://")[2].removeprefix("www.")


def is_published(layout: Layout) -> bool:
    """Return whether a set is known to be live at its address."""
    try:
        return fetch_state(Web(layout.siteurl, BOUNDS), layout.state, BOUNDS) is not None
    except TransportError:
        return False


@dataclass
class PredecessorSearch:
    """Finds the predecessor of the set with this layout. It may be in a temporary folder, which `close` removes.

    `base` is the folder of the settings file. `previous` is `"live"`, `"output"`, an http(s) URL, a folder (a relative
    path starts at `base`), or `"none"`, which is what it counts as with `FIRST` in the environment: no publication is
    continued. `moved_from` is the former address of the site, without a final slash; messages call it `moved_setting`.
    The publication seen live is saved in `base`. `elsewhere` and `bucket` are as in `read_previous`; a site lists
    nothing elsewhere. Only a publication that `key` signed is continued, or an unsigned one without a key.
    """

    layout: Layout
    output: Path
    base: Path
    _: KW_ONLY
    previous: str
    moved_from: str = ""
    moved_setting: str = "moved_from"
    elsewhere: Collection[str] | None = ()
    key: SigningKey | None = None
    bucket: BucketPath | None = None
    _stack: ExitStack = field(default_factory=ExitStack, init=False)

    def __post_init__(self) -> None:
        self._saved = LastPublishedCopy(self.base, self.layout)

    def close(self) -> None:
        """Remove everything that was fetched."""
        self._stack.close()

    def find(self) -> Predecessor:
        """Find the predecessor by the setting `previous`.

        Raises `PublicationError`, which says what to do, if it cannot be determined what is public, or if that cannot
        be continued: one of another address would make every URI change, unless the site has moved from there. Raises
        `OSError` if the disk fails.
        """
        found = self._find_any()
        if found.previous:
            require_signed(found.previous, self.key)
            before = found.previous.state.siteurl
            require_same_site(before, self.layout.siteurl, self.moved_from, self.moved_setting)
        return found

    def _find_any(self) -> Predecessor:
        where = "none" if os.environ.get(FIRST) == "1" else self.previous
        local = is_loopback(self.layout.siteurl)
        if where == "none":
            return self._restart(local=local)
        if where == "live" and local:
            return self._on_this_machine()
        if where == "output":
            return self._in_output()
        if where == "live":
            return self._live()
        if "://" in where:
            return self._at(where)
        folder = self.base / where
        return self._in_output() if folder.resolve() == self.output.resolve() else self._in(folder)

    def _in_output(self) -> Predecessor:
        return Predecessor(self._read(self.output, "the output"))

    def _on_this_machine(self) -> Predecessor:
        found, here = self._in_output(), self.layout.siteurl
        if found.previous:
            return found
        line = f"{here} is a loopback address, which is never asked for a publication, and the output has none for it: "
        line += f"this is the first publication. To continue what is published there, set previous to {here!r}"
        if is_loopback(self.moved_from):
            line += f". {self.moved_setting} is ignored, because {self.moved_from} is a loopback address, too"
        return Predecessor(line=line)

    def _live(self) -> Predecessor:
        """Return the publication at `SITEURL` or at the former address of the site, else the copy last seen live."""
        found, saved = self._fetch(self.layout.siteurl), self._saved.folder
        if isinstance(found, NoPublication) and found.unreachable:
            before = self._without_host(found)
            if before:
                return before
        if isinstance(found, NoPublication) and self.moved_from:
            former = self._fetch(self.moved_from)
            if isinstance(former, NoPublication) and former.unreachable and saved is None:
                raise _unknown(former)
            found = former if isinstance(former, Fetched) else found
        if isinstance(found, Fetched):
            if not is_loopback(found.state.siteurl):
                return self._newest(found)
            why = f"the live publication is for {found.state.siteurl}, an address of this machine"
        else:
            why = str(found)
        if saved is None:
            return self._first(self.layout.siteurl, why, is_absent=isinstance(found, NoPublication))
        line = f"{why}: the saved copy of the live publication is continued"
        return Predecessor(self._read(saved, str(saved)), line=line)

    def _first(self, url: str, why: str, *, is_absent: bool = True) -> Predecessor:
        """Return that nothing was public at a URL. Raises `PublicationError` if the Source Description there denies it.

        What an earlier build left in the output is not live yet.
        """
        state, siteurl = None, self.layout.siteurl
        with suppress(PublicationError):
            state = read_state(self.output, self.layout)
        if state and _bare(state.siteurl) == _bare(siteurl):  # a slip, such as http for https
            require_same_site(state.siteurl, siteurl, self.moved_from, self.moved_setting)
            return Predecessor(line=f"{why}: not live yet", not_live=True)
        named = why_described(_files_at(url), self.layout.state)
        if named and is_absent:
            message = f"{why}, {named}: upload the last output again, or {START_OVER}"
            raise PublicationError(message)
        return Predecessor(line=f"{why}: this is the first publication, assuming that nothing was public here before")

    def _without_host(self, found: NoPublication) -> Predecessor | None:
        """Return the publication in the output, if no host answers; `None` if nothing here was ever published.

        Raises `PublicationError` if something may be live of which this machine knows nothing, or not the latest.
        """
        if not os.environ.get("CI"):
            if state_in_output(self.output, self.base, self.layout):
                return self._in_output()._replace(
                    line=f"{found}: not live now, so the publication in the output is continued"
                )
            if not _state_of(self.layout, self._saved.folder):  # else what was published after it would be lost
                return None
        raise _unknown(found)

    def _fetch(self, site: str) -> Fetched | NoPublication:
        into, known = self._stack.enter_context(self._saved.fetch_folder()) / "publication", self._saved.folder
        parts = self.bucket is None
        return fetch_publication(
            _files_at(site), into, known, state=self.layout.state, allowance=ALLOWANCE, parts=parts
        )

    def _newest(self, live: Fetched) -> Predecessor:
        """Return the live publication, unless the saved copy descends from it because the site was rolled back."""
        folder, saved, line = self._saved.folder, None, ""
        try:
            saved = read_state(folder, self.layout) if folder else None
        except PublicationError as error:
            line = f"the saved copy of the live publication cannot be read ({error}), so it is replaced"
        if saved and folder and not live.state.continues(saved):
            if saved.continues(live.state):
                line = (
                    f"the live site was set back to generation {live.state.generation}: generation {saved.generation}, "
                    "which was live before, is continued, so that no follower misses a change"
                )
                return Predecessor(self._read(folder, str(folder), live.host_time), line=line)
            line = self._unrelated(live.state, saved)
        previous = self._read(live.folder, live.url, live.host_time)
        is_same = saved is not None and saved.digest == live.state.digest
        if live.received or not is_same:  # files that had to be fetched again were damaged in the copy
            self._saved.replace(live.folder)
        return Predecessor(previous, line=line)

    def _unrelated(self, live: PublicationState, saved: PublicationState) -> str:
        """Return a message if the live publication is too far ahead to be compared; otherwise raise an error."""
        ahead = live.generation - saved.generation
        if ahead > MOST_ANCESTORS:
            return (
                f"the live publication is {ahead} generations ahead of the saved copy, too many to compare them: it "
                "counts as its successor"
            )
        message = (
            f"the live publication (generation {live.generation}) and the saved copy of an earlier one (generation "
            f"{saved.generation}, in {self._saved.folder}) do not descend from each other, so each has changes "
            f"that the other lacks: remove that folder to continue the live one, or {START_OVER}"
        )
        raise PublicationError(message)

    def _at(self, url: str) -> Predecessor:
        found = self._fetch(url)
        if isinstance(found, Fetched):
            if previous := self._read(found.folder, url, found.host_time):
                return Predecessor(previous)
            why = f"there is no publication of a public site in {url}"
        else:
            why = str(found)
        if is_bucket(url):  # with credentials, nothing can be hidden
            return Predecessor(line=f"{why}: this is the first publication")
        is_lost = isinstance(found, NoPublication) and found.unreachable
        if is_lost or self._saved.folder or self._is_live_elsewhere(url):
            raise _wrong_place(why)
        return self._first(url, why, is_absent=isinstance(found, NoPublication))

    def _is_live_elsewhere(self, url: str) -> bool:
        """Return whether the set is known to be public at an address of the site that is not this URL.

        Raises `PublicationError` if that cannot be determined.
        """
        for other in sorted({self.layout.siteurl, self.moved_from} - {url.rstrip("/"), ""}):
            found = NoPublication(other) if is_loopback(other) else self._fetch(other)
            if isinstance(found, Fetched):
                if not is_loopback(found.state.siteurl):
                    return True
            elif found.unreachable and (other == self.moved_from or os.environ.get("CI")):
                raise _unknown(found)
            elif why_described(_files_at(other), self.layout.state):
                return True
        return False

    def _in(self, folder: Path) -> Predecessor:
        why = f"there is no {'publication of a public site in' if folder.is_dir() else 'folder'} {folder}"
        previous = self._read(folder, str(folder))
        states = (state_in(folder, layout) for layout in layouts_in(folder))
        if not previous and all(state is None or is_loopback(state.siteurl) for state in states):
            raise _wrong_place(why)
        return Predecessor(previous, line="" if previous else f"{why}: this is the first publication")

    def _read(self, folder: Path, where: str, host_time: datetime | None = None) -> PreviousPublication | None:
        return read_previous(
            folder, self.layout, where, elsewhere=self.elsewhere, host_time=host_time, bucket=self.bucket
        )

    def _restart(self, *, local: bool) -> Predecessor:
        """Return the publication to start over from, under addresses that were never public: the time names them.

        The next number might be taken: what is live or known here need not be the latest that was public, and a host
        that answers that nothing is there may have lost it.
        """
        layout, where = self.layout, self.previous
        known = [PublicationState(generation=0, siteurl=layout.siteurl, at=_NEVER, began=_NEVER, documents={})]
        bounds = BOUNDS._replace(size=ALLOWANCE.state_size)
        for url in [*([] if local else [layout.siteurl]), *([where] if "://" in where else [])]:
            with suppress(TransportError, PublicationError):
                found = fetch_state(_files_at(url), layout.state, bounds)
                known += [parse_state(found[1], url)] if found else []
        named = None if "://" in where else self.base / where
        folders = filter(None, (self._saved.folder, self.output, named))
        known += filter(None, (state_in(folder, layout) for folder in folders))
        latest = max(known, key=lambda each: (each.restart_number, each.generation))
        # The real time, because builds with one `SOURCE_DATE_EPOCH` would use the same addresses again.
        now = int(f"{datetime.now(UTC):%Y%m%d%H%M%S}")
        latest = replace(latest, restart_number=max(now - 1, latest.restart_number))
        folder = layout_after(layout, latest, restarts=True).folder
        line = f"the publication starts over in {folder}/: unset {FIRST} once it is public"
        return Predecessor(restarted_from=latest, line=line)


def _files_at(url: str) -> Web:
    return Bucket(url, BOUNDS) if is_bucket(url) else Web(url, BOUNDS)


def _wrong_place(why: str) -> PublicationError:
    advice = 'correct the setting `previous`, or set it to "live", which also works for a first publication'
    return PublicationError(f"{why}: {advice}")


def _unknown(found: NoPublication) -> PublicationError:
    return PublicationError(f"it cannot be determined what is published: {found}; {ADVICE}")
