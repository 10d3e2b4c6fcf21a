"""The publication that a build continues, for each set of a site; former sets; and whether the site has moved."""

import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from pelican_resourcesync.errors import HistoryError, PublicationError, failing_disk
from pelican_resourcesync.publication import (
    Ancestry,
    Output,
    PlainOutput,
    Predecessor,
    PreviousPublication,
    compare_ancestry,
    is_loopback,
    is_published,
)
from pelican_resourcesync.publishers.git import UnreadableHistoryError, find_repository
from pelican_resourcesync.publishers.pelican.configuration import Configuration
from pelican_resourcesync.publishers.pelican.scope import find_scope, settings_folder_of
from pelican_resourcesync.publishers.static_site import find_predecessors, layouts_of, require_private_work_folder
from pelican_resourcesync.settings import Settings

#: An address assigned to `SITEURL` as a literal.
_SITEURL = re.compile(rb"""^[ \t]*+SITEURL\b[^=\n]*=\s*["'](https?://[!#-&(-~]+)["']""", re.MULTILINE)


@contextmanager
def predecessors(site: Configuration, output: Path) -> Iterator[Mapping[str, Predecessor]]:
    """Return the predecessor that a build into `output` would have, for each set. Fetched files exist in the context.

    As in a build, a copy of the live publication is saved next to the settings file. Raises `PublicationError` and
    `SettingsError` as a build does.
    """
    require_private_work_folder(site.folder, output)
    with ExitStack() as stack:
        with failing_disk(f"the publication that a build into {output} would continue cannot be read"):
            found = find_site_predecessors(site.pelican, site.settings, site.siteurl, PlainOutput(output), stack)
        yield found


def require_latest(site: Configuration, output: Path, sets: Mapping[str, PreviousPublication]) -> None:
    """Raise `PublicationError` if a build would continue another publication than those in the output."""
    with predecessors(site, output) as found:
        for name, latest in ((name, each.previous) for name, each in found.items()):
            here = sets.get(name)
            if latest and (not here or compare_ancestry(here, latest) not in {Ancestry.SAME, Ancestry.AHEAD}):
                message = (
                    f"{output} does not contain the latest publication, which is {latest.where}: build the site, "
                    "which continues that, and then forget"
                )
                raise PublicationError(message)


def find_site_predecessors(
    pelican: Mapping[str, Any], settings: Settings, siteurl: str, output: Output, stack: ExitStack
) -> Mapping[str, Predecessor]:
    """Return the predecessor of each set. Fetched files exist until `stack` is closed.

    Where none is found and the site seems to have moved, their messages say so. Raises `PublicationError` where it
    cannot be determined or continued.
    """
    base = settings_folder_of(pelican)
    found = find_predecessors(base, settings, siteurl, output, stack)
    is_first = not any(each.previous or each.restarted_from for each in found.values())
    if is_first and settings.previous == "live" and not settings.moved_from and not is_loopback(siteurl):
        layouts = layouts_of(settings, siteurl).values()
        for address in earlier_addresses(base, pelican, siteurl):
            if any(is_published(replace(each, siteurl=address)) for each in layouts):
                hint = (
                    f"SITEURL was {address} in an earlier commit, and a publication is there: if the site has moved, "
                    f"set RESOURCESYNC = {{'moved_from': {address!r}}} for its first publication here, so that old "
                    "URLs are listed as deleted"
                )
                return {name: replace(each, line=f"{each.line}. {hint}") for name, each in found.items()}
    return found


def earlier_addresses(base: Path, pelican: Mapping[str, Any], siteurl: str) -> list[str]:
    """Return other public addresses in the settings files' history, the latest first: literals assigned to `SITEURL`.

    `base` is the folder of the settings file.
    """
    try:
        repository = find_repository(base)
    except HistoryError:
        return []
    try:
        files = sorted(find_scope(repository.top, pelican).settings)
        commits = list(repository.log(paths=files)) if files else []
        names = dict.fromkeys(change.new for each in reversed(commits) for change in each.changes if change.new)
        repository.prefetch(list(names))
        texts = (repository.blob(name) for name in names)
        found = dict.fromkeys(url.decode().rstrip("/") for text in texts for url in _SITEURL.findall(text or b""))
    except UnreadableHistoryError:  # of which the build warns
        return []
    finally:
        repository.close()
    return [url for url in found if url != siteurl and not is_loopback(url)]
