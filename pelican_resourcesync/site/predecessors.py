"""The publication that a build continues, for each set of a site; former sets; and whether the site has moved."""

import ast
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from pelican import signals

from pelican_resourcesync.errors import HistoryError, PublicationError, SettingsError, TransportError
from pelican_resourcesync.git import find_repository
from pelican_resourcesync.publication import (
    Layout,
    Output,
    PlainOutput,
    Predecessor,
    PreviousPublication,
    are_few,
    is_loopback,
    is_published,
)
from pelican_resourcesync.settings import Settings, parse_siteurl
from pelican_resourcesync.site.configuration import ON_DELETIONS, Configuration, options_of
from pelican_resourcesync.site.scope import find_scope, settings_folder_of
from pelican_resourcesync.static_site import find_predecessors, layouts_of, require_private_work_folder

#: The most feeds of a site without articles: of everything and of each language, as Atom and RSS.
_FEEDS = 8


@contextmanager
def predecessors(site: Configuration, output: Path) -> Iterator[Mapping[str, Predecessor]]:
    """Return the predecessor that a build into `output` would have, for each set. Fetched files exist in the context.

    As in a build, a copy of the live publication is saved next to the settings file. Raises `PublicationError` and
    `SettingsError` as a build does.
    """
    require_private_work_folder(settings_folder_of(site.pelican), output)
    with ExitStack() as stack:
        try:
            found = find_site_predecessors(site.pelican, site.settings, site.siteurl, PlainOutput(output), stack)
        except OSError as error:
            raise _unreadable(output, error) from error
        yield found


def find_site_predecessors(
    pelican: Mapping[str, Any], settings: Settings, siteurl: str, output: Output, stack: ExitStack
) -> Mapping[str, Predecessor]:
    """Return the predecessor of each set. Fetched files exist until `stack` is closed.

    Raises `PublicationError` where it cannot be determined or continued, or where none is found and the site seems to
    have moved.
    """
    base = settings_folder_of(pelican)
    found = find_predecessors(base, settings, siteurl, output, stack)
    is_first = not any(each.previous or each.restarted_from for each in found.values())
    if is_first and settings.previous == "live" and not settings.moved_from and not is_loopback(siteurl):
        _require_not_moved(earlier_addresses(base, pelican, siteurl), layouts_of(settings, siteurl).values())
    return found


def _require_not_moved(addresses: Iterable[str], layouts: Collection[Layout]) -> None:
    """Raise `PublicationError` if there is, or may be, a publication at an earlier address of the site."""
    for address in addresses:
        try:
            there = any(is_published(replace(each, siteurl=address)) for each in layouts)
            why = f"there is a publication at {address}"
        except TransportError as error:
            there, why = True, f"whether there is a publication at {address} is not known ({error})"
        if there:
            message = (
                f"SITEURL was {address} in an earlier commit, {why}, and there is none at the new address. If the site "
                f"has moved, set RESOURCESYNC = {{'moved_from': {address!r}}}, so that old URLs are listed as deleted; "
                "otherwise set 'previous' to 'none' for the first build"
            )
            raise PublicationError(message)


def require_sources(pelican: Mapping[str, Any], settings: Settings, found: Mapping[str, Predecessor]) -> None:
    """Raise `PublicationError` if Pelican has nothing to read, so that most resources would be listed as deleted.

    Without any source Pelican writes only listings, feeds and the theme. Other mistakes are known only when it has
    written everything, because plug-ins may write any page.
    """
    published = max((each.previous for each in found.values() if each.previous), key=_number, default=None)
    if published is None or published.state.siteurl != published.layout.siteurl or signals.get_generators.receivers:
        return
    options = options_of(pelican, settings, published.layout, settings.sets[0])
    path = Path(pelican["PATH"])
    if options.allow_deletions or any(each.is_file() for each in path.rglob("*")):
        return
    listed = sum(not uri.startswith(options.uncounted_below) for uri in published.resources)
    written = len(pelican["DIRECT_TEMPLATES"]) + len(pelican["TEMPLATE_PAGES"]) + _FEEDS
    if not are_few(listed - written, listed):
        message = (
            f"{path} has no file, so nearly all of the {listed} published resources would be listed as deleted: is a "
            f"submodule or a folder of sources missing? {ON_DELETIONS}"
        )
        raise PublicationError(message)


def _number(previous: PreviousPublication) -> int:
    return len(previous.resources)


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
        found = dict.fromkeys(url for text in texts if text for url in _literals(text))
    finally:
        repository.close()
    return [url for url in found if url != siteurl and not is_loopback(url)]


def _literals(source: bytes) -> Iterator[str]:
    """Yield the addresses that a settings file assigns to `SITEURL` as literals; it is parsed, not run."""
    if b"SITEURL" not in source:
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about past code, such as an invalid escape sequence
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = getattr(node, "value", None)
        if isinstance(value, ast.Constant) and any(isinstance(e, ast.Name) and e.id == "SITEURL" for e in targets):
            with suppress(SettingsError):
                yield from filter(None, [parse_siteurl(value.value)])


def _unreadable(output: Path, error: OSError) -> PublicationError:
    return PublicationError(
        f"the publication that a build into {output} would continue cannot be read: {error}: make it readable"
    )
