"""What differs in the content of pages: from the live page, and from build to build although nobody edited them."""

import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from difflib import unified_diff
from itertools import takewhile
from pathlib import Path

from pelican_resourcesync.content import Page, changed_words, read_page
from pelican_resourcesync.errors import AbsentError, PublicationError, SettingsError, TransportError, failing_disk
from pelican_resourcesync.http import Web, path_of_uri, served_paths
from pelican_resourcesync.publication import PreviousPublication, Publication, local_status
from pelican_resourcesync.publishers.static_site.files import is_html
from pelican_resourcesync.settings import Settings
from pelican_resourcesync.system.titles import clean

#: So many pages that change with every publication, and one in so many of all pages, are worth a warning.
_MANY, _SHARE = 10, 5
_EXAMPLES = 3  # pages that are read before they are built again


def differences(folder: Path, uri: str) -> Iterator[str]:
    """Yield lines that say what differs in the content of a page, which is live at its URI.

    Raises `SettingsError` where the folder has no publication or no such page, and `TransportError` where the live page
    cannot be read.
    """
    status = local_status(folder) if folder.is_dir() else None
    if status is None:
        message = f"{folder} contains no publication: pass the folder that was published with --why"
        raise SettingsError(message)
    path, file = path_of_uri(status.siteurl, uri), _file_of(folder, status.siteurl, uri)
    if path is None or file is None:
        message = f"{folder} has no file for {uri}: pass the URL of a page below {status.siteurl}/"
        raise SettingsError(message)
    with failing_disk(f"{file} cannot be read", "try again", PublicationError):
        body = file.read_bytes()
    try:
        live = Web(status.siteurl).read(path)[1]
    except AbsentError:
        yield f"{uri} is not live yet: the whole page is new."
        return
    if body == live:
        yield f"The live page at {uri} has the same bytes."
        return
    now, before = read_page(body, uri), read_page(live, uri)
    for which, page in (("live page", before), ("page in the folder", now)):
        if not page.is_news:
            yield f"The {which} is not meant for readers: it is an error page, a redirect, a copy, or marked noindex."
    same = now.hash == before.hash
    yield "The content is the same; only the parts around it differ." if same else "The content differs."
    yield from (f"{sign}{words}" for sign, words in changed_words(before, now, sys.maxsize))
    yield from unified_diff(_others(before), _others(now), "live", str(file), lineterm="", n=0)


class UnstablePages:
    """Pages that change with every build, as they were before one: in the output, or with the previous publication."""

    def __init__(self, output: Path, siteurl: str, publications: Iterable[PreviousPublication]) -> None:
        """Read a few such pages before they are built again, or at least published."""
        self._output, self._siteurl = output, siteurl
        self._before: dict[str, bytes] = {}
        for previous in publications:
            for uri in sorted(previous.state.unstable)[:_EXAMPLES]:
                for file in filter(None, (_file_of(folder, siteurl, uri) for folder in (previous.folder, output))):
                    self._before[uri] = file.read_bytes()

    def warnings(
        self, publications: Collection[Publication], settings: Settings, pages: Collection[str] | None = None
    ) -> Iterator[str]:
        """Yield a warning about resources that change on every build: each Destination fetches them every time.

        It says where the content of an example first differs. Where bytes alone say what changed, feeds and lists of
        news change, too: with the URIs of all `pages`, there is a warning only if many of these change, or of all
        resources.
        """
        unstable = sorted({uri for publication in publications for uri in publication.unstable})
        total, least, kind = max(publication.resources for publication in publications), 1.0, "resources"
        if pages is not None:
            unstable_pages = [uri for uri in unstable if uri in pages]
            if len(unstable_pages) >= max(_MANY, len(pages) / _SHARE):
                unstable, total, kind = unstable_pages, len(pages), "pages"
            least = max(_MANY, total / _SHARE)
        if len(unstable) >= least:
            number = f"{len(unstable):,} of {total:,} {kind} change" if len(unstable) > 1 else "1 resource changes"
            why = " although no source changed" if pages is None else ""
            example = next((uri for uri in unstable if uri in self._before), unstable[0])
            yield (
                f"{number} on every build{why}, for example {example}. Every Destination downloads that each time. "
                f"{self._place(example)}Such pages often show the time of the build or a random number: remove that "
                f"from the templates, or exclude the pages ({settings.setting('exclude')})"
            )

    def _place(self, uri: str) -> str:
        """Return a sentence that says where a page first differs, or how to see it; nothing of what is no page."""
        path, file = path_of_uri(self._siteurl, uri), _file_of(self._output, self._siteurl, uri)
        if path is None or file is None or not is_html(file.name):
            return ""
        now, where = read_page(file.read_bytes(), uri), "before"
        words = _first_difference(read_page(self._before[uri], uri), now) if uri in self._before else None
        if words is None:
            with suppress(TransportError):
                live, where = Web(self._siteurl).read(path)[1], "on the live page"
                words = _first_difference(read_page(live, uri), now)
        if words is None:
            return (
                "Its earlier text is neither in the folder nor live; once it is live, show --why shows what differs. "
            )
        return f'It first differs at "{words[1]}", which was "{words[0]}" {where}. '


def _first_difference(before: Page, now: Page) -> tuple[str, str] | None:
    """Return the first words that differ, before and now, after a few that do not; `None` if none do."""
    before, now = (page._replace(blocks=(*page.blocks, *_others(page))) for page in (before, now))
    parts = changed_words(before, now)
    same = [text for sign, text in parts[:1] if sign == " "]
    first = dict(takewhile(lambda part: part[0] != " ", parts[len(same) :]))
    was, is_now = (clean(" ".join([*same, first.get(sign, "")])) for sign in "-+")
    return (was, is_now) if parts else None


def _others(page: Page) -> list[str]:
    """Return what counts of a page besides its title and text, line by line."""
    others = (("link", page.links), ("picture", page.pictures), ("data", page.data))
    return [f"{name}: {value}" for name, values in others for value in values]


def _file_of(folder: Path, siteurl: str, uri: str) -> Path | None:
    """Return the file of a URI in a folder, if there is one."""
    names = served_paths(path_of_uri(siteurl, uri) or "")
    return next((folder / name for name in names if (folder / name).is_file()), None)
