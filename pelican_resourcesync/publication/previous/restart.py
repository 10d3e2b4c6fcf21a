"""Starting over under new addresses: find out which addresses are already in use."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from pelican_resourcesync.errors import AbsentError, NoHostError, PublicationError, TransportError
from pelican_resourcesync.publication.model.layout import Layout
from pelican_resourcesync.publication.model.state import State
from pelican_resourcesync.publication.previous.lineage import Known, Sealed
from pelican_resourcesync.transport import Web, sha256

#: What to do if no publication can be continued.
OTHER = "name another with the setting `previous` (a folder, a URL, 'output', or 'none')"
#: More starts than any set has had: a site with a document at each of so many returns something for any path.
_MOST_STARTS = 100


def known_in(folder: Path | None, layout: Layout) -> Iterator[Known]:
    """Yield the state in a folder, if any; for an unreadable one, a substitute with the addresses in use."""
    file = folder / layout.state if folder else None
    if folder and file and file.is_file():
        yield _sealed(file.read_bytes(), layout, lambda path: (folder / path).is_file())


def known_live(web: Web, layout: Layout, size: int) -> Iterator[Known]:
    """Yield the live state, of at most `size` bytes; for a damaged one, a substitute with the used addresses."""

    def is_there(path: str) -> bool:
        with suppress(AbsentError):
            return not web.read(path)[0].is_html
        return False

    try:
        received, data = web.read(layout.state, replace(web.bounds, size=size))
        if not received.is_html or data.lstrip().startswith(b"{"):  # JSON may have any media type
            yield _sealed(data, layout, is_there)
    except (AbsentError, NoHostError):
        return
    except TransportError as error:
        message = f"it cannot be known which addresses were public, so none can be chosen anew: {error}: try again"
        raise PublicationError(message) from error


def _sealed(data: bytes, layout: Layout, is_there: Callable[[str], bool]) -> Sealed:
    """Parse a state; if it is unreadable, find out which starts have a Capability List."""
    try:
        return Sealed.parse(data, layout.state)
    except PublicationError:
        starts = range(1, _MOST_STARTS)
        free = next((each for each in starts if not is_there(replace(layout, start=each).capability_list)), None)
        if free is None:
            message = f"{layout.siteurl} answers to any path, so no addresses can be chosen anew: {OTHER}"
            raise PublicationError(message) from None
        begun = max(1, free - 1)
        past = datetime.fromtimestamp(0, UTC)
        state = State(generation=0, siteurl=layout.siteurl, start=begun, at=past, changes=0, documents={})
        return Sealed(state, sha256(data))
