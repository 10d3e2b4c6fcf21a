"""A folder of files that any program built, published: what is in it, at which time it changed, and the documents."""

import os
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from pelican_resourcesync.content import FrontPage, content_dates, read_dates, read_front_page, read_title
from pelican_resourcesync.errors import HistoryError, PublicationError, SettingsError, failing_disk
from pelican_resourcesync.http import path_of_uri
from pelican_resourcesync.protocol import Link
from pelican_resourcesync.publication import (
    FOLDER,
    PELICAN,
    Calendar,
    ChangeHistory,
    ExpectedSet,
    PageOptions,
    PublishRequest,
    Resource,
    Workspace,
    build_time,
    language_hints,
    plan_sets,
    predecessor_messages,
    recovered,
    require_plausible,
    state_in,
    well_known_hints,
)
from pelican_resourcesync.publishers.git import TOLERANCE, committer_time, find_repository
from pelican_resourcesync.publishers.should_publish import DISABLED, why_preview
from pelican_resourcesync.publishers.static_site import (
    ALLOW_DELETIONS,
    ROBOTS,
    Exclusion,
    Facets,
    PublishResult,
    Selector,
    SitePublisher,
    add_robots_lines,
    alternates_of,
    is_html,
    options_of,
    own_sitemaps,
    require_plain_names,
    require_private_work_folder,
    scan,
    selection_warnings,
)
from pelican_resourcesync.settings import (
    OPTIONS,
    FolderSettings,
    SetSettings,
    in_file,
    parse_folder_settings,
    read_toml,
)
from pelican_resourcesync.system.media_types import media_type
from pelican_resourcesync.terminal import Progress, expectations

#: The settings file, in the working directory.
FILE = "resourcesync.toml"
_SHOWN = 5
#: The pages whose titles are compared, and what stands between the parts of a title.
_TITLES, _PARTS = 8, re.compile(r"\s+[-|\u2013\u2014\u00b7\u00bb:]\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderDryRun:
    """What would be published, by name of the set; `stopped` is the message that would stop it, or empty."""

    sets: Mapping[str, ExpectedSet]
    stopped: str = ""
    hints: tuple[str, ...] = ()

    def text(self) -> str:
        """Return what would be published, set by set, and what would stop it."""
        stopped = [f"A safety check would stop this publication: {self.stopped}"] if self.stopped else []
        hints = (f"{hint}." for hint in self.hints)
        return "\n".join([*hints, *expectations(self.sets), *stopped, "Nothing was published."])


def publish(
    folder: str | Path | None = None,
    *,
    base_url: str | None = None,
    config: str | Path | None = None,
    progress: Progress | None = None,
    allow_empty: bool = False,
) -> PublishResult:
    """Publish a folder that any program built; return what was published.

    `base_url` is the URL at which the folder is public. A folder without files is published only with `allow_empty`.
    What is not passed comes from the settings in `config`, by default `resourcesync.toml` in the working directory, if
    it exists. Nothing is published, and a hint says why, if the settings say so or this is a preview. Raises
    `SettingsError` for a setting that cannot be used, and `PublicationError` if it cannot be published; the previous
    publication is then kept.
    """
    settings, base, why_not = read_folder_settings(folder, base_url, config)
    if why_not:
        return PublishResult({}, [], [why_not], [])
    output, progress = _folder_of(settings, base), progress or Progress(sys.stderr)
    with failing_disk(f"{output} is not published"), recovered(output, base), ExitStack() as stack:
        site = _FolderPublisher(output, base, settings, stack, allow_empty=allow_empty)
        progress.say(f"publishing {output}")
        site.prepare()
        return site.publish_site(site.requests(output / ROBOTS), progress.packed, site.pages())


def read_folder_settings(
    folder: str | Path | None, base_url: str | None, config: str | Path | None
) -> tuple[FolderSettings, Path, str]:
    """Return the settings, the folder of their file, and why nothing is to be published, or an empty text."""
    file = Path(config or FILE)
    if not (folder or config or file.is_file()):
        message = f"there is no {FILE} in this folder: pass FOLDER and --base-url, or create the file"
        raise SettingsError(message)
    raw = read_toml(file) if config or file.is_file() else {}
    given = {"folder": folder and str(Path(folder).absolute()), "base_url": base_url}
    given = {key: value for key, value in given.items() if value is not None}
    parse_folder_settings(given, OPTIONS)  # what is wrong there is not in the file
    raw |= given
    settings = parse_folder_settings(raw, in_file(file))
    why = why_preview(os.environ) if settings.enabled else DISABLED
    return settings, file.absolute().parent, f"nothing is published, because {why}" if why else ""


def dry_run_folder(settings: FolderSettings, base: Path, *, allow_empty: bool = False) -> FolderDryRun:
    """Return what `publish` would publish and what would stop it, and change no file of the folder."""
    folder = _folder_of(settings, base)
    with failing_disk(f"{folder} is not published"), ExitStack() as stack:
        site = _FolderPublisher(folder, base, settings, stack, allow_empty=allow_empty)
        site.prepare(write=False)
        scratch = Path(stack.enter_context(TemporaryDirectory(prefix="resourcesync-"))) if settings.robots else folder
        if settings.robots:
            if (folder / ROBOTS).is_file():
                (scratch / ROBOTS).write_bytes((folder / ROBOTS).read_bytes())
            add_robots_lines(scratch, settings, site.layouts)
        stopped = ""
        with plan_sets(site.requests(scratch / ROBOTS, write=False)) as planned:
            try:
                require_plausible(planned)
            except PublicationError as error:
                stopped = str(error)
            sets = {request.options.layout.set_name: request.expected() for request in planned}
        return FolderDryRun(sets=sets, stopped=stopped, hints=(*filter(None, site.hints), *site.warnings))


def _folder_of(settings: FolderSettings, base: Path) -> Path:
    for key, value in (("folder", settings.folder), ("base_url", settings.base_url)):
        if not value:
            option = "FOLDER" if key == "folder" else "--base-url"
            message = f"{settings.setting(key)} is not set: pass {option}, or write it into that file"
            raise SettingsError(message)
    folder = settings.folder
    if folder is None or not folder.is_dir():
        message = (
            f"the folder {folder} does not exist: build the site first, or pass the folder that the generator writes"
        )
        raise PublicationError(message)
    require_private_work_folder(base, folder)
    return folder


class _FolderPublisher(SitePublisher):
    """The publisher of the resources of a folder, in the sets of its settings."""

    settings: FolderSettings

    def __init__(
        self, folder: Path, base: Path, settings: FolderSettings, stack: ExitStack, *, allow_empty: bool
    ) -> None:
        super().__init__(folder, base, settings.base_url, settings, stack)
        self._allow_empty = allow_empty
        self._built = build_time()
        self._commit = self._commit_of(base)
        self._require_not_built()
        self.hints += [*predecessor_messages(self.predecessors), *well_known_hints(self.siteurl)]
        self._uris = self._find_resources()
        self._sets = {own.name: self._paths_in(own) for own in settings.sets}
        self.warnings += selection_warnings(settings, dict.fromkeys(self._uris, Facets()))
        front = self._read_front_page()
        self._name = settings.site_name or front.name or self._common_title()
        self._language = settings.language or front.language or "en"
        self.hints += language_hints(settings.language)

    def _commit_of(self, base: Path) -> tuple[str, datetime] | None:
        """Return the commit that was built and its time; `None` without git, or if that time is in the future."""
        try:
            repository = find_repository(base)
        except HistoryError as error:
            if any((folder / ".git").exists() for folder in (base, *base.parents)):
                self.hints.append(f"changes get the time of this publication, not of the commit: {error}")
            return None
        try:
            commit = repository.head_commit()
        finally:
            repository.close()
        time_ = committer_time(commit)
        return None if time_ > self._built + TOLERANCE else (commit.sha, time_)

    def _require_not_built(self) -> None:
        """Raise `PublicationError` where Pelican's plug-in has published the folder, unless that is to be continued.

        It knows what only Pelican does: drafts, hidden pages, and which commit changed what.
        """
        states = [state_in(self.output, layout) for layout in self.layouts.values()]
        if self.settings.previous != "output" and any(state and state.publisher == PELICAN for state in states):
            message = (
                f"the Pelican plug-in has published {self.output}, without the drafts that this command would list. "
                'Let Pelican run the programs that change its files (docs/hosts.md), or set RESOURCESYNC = {"enabled": '
                f"False}} and remove {self.output / FOLDER}. To list every file anyway, set "
                f'{self.settings.setting("previous")} to "output"'
            )
            raise PublicationError(message)

    def _find_resources(self) -> dict[str, str]:
        """Return the URIs of the resources by path, in the order of the URIs."""
        settings, outside = self.settings, list[str]()
        never = (*settings.never_listed, *(file.name for file in own_sitemaps(self.output)))
        exclusion = Exclusion(never)
        found: dict[str, str] = {}
        for path, leads_out in scan(self.output, FOLDER):
            if exclusion.excludes(path):
                continue
            if leads_out:
                outside.append(path)
            uri = self.urls.uri(path)
            other = found.setdefault(uri, path)
            if other != path:
                message = f"{other} and {path} have the same URI, {uri}: exclude one ({settings.setting('exclude')})"
                raise PublicationError(message)
        require_plain_names(self.output, {path: uri for uri, path in found.items()})
        if not found and not self._allow_empty:
            message = f"{self.output} has no files to publish: build the site first, or use --allow-empty"
            raise PublicationError(message)
        if settings.robots and not exclusion.excludes(ROBOTS):  # which may be written only now
            found.setdefault(self.urls.uri(ROBOTS), ROBOTS)
        if outside:
            names = ", ".join(sorted(outside)[:_SHOWN]) + (", …" if outside[_SHOWN:] else "")
            message = (
                f"{self.output} has symbolic links to files outside it ({names}): replace them with copies, or exclude "
                f"them ({settings.setting('exclude')})"
            )
            raise PublicationError(message)
        return {found[uri]: uri for uri in sorted(found)}

    def _read_front_page(self) -> FrontPage:
        with suppress(OSError):
            return read_front_page(self.output / "index.html", f"{self.siteurl}/")
        return FrontPage()

    def _common_title(self) -> str:
        """Return the part of the title of the front page that the titles of the first other pages have, too."""
        pages = islice((path for path in self._uris if is_html(path)), _TITLES)
        titles = [title for path in ("index.html", *pages) if (title := self._title_of(path))]
        others = [_PARTS.split(title) for title in titles[1:]]
        return next((part for part in _PARTS.split("".join(titles[:1])) if all(part in parts for parts in others)), "")

    def _title_of(self, path: str) -> str:
        with suppress(OSError):
            return read_title(self.output / path, self._uris.get(path, "")) or ""
        return ""

    def _paths_in(self, own: SetSettings) -> list[str]:
        """Return the paths of the resources in a set."""
        selector = Selector(own.selection, self.siteurl)
        return [path for path in self._uris if selector.matches(path)]

    def requests(self, robots: Path, *, write: bool = True) -> list[PublishRequest]:
        """Add links to the pages, and return a request to publish each set, with `robots.txt` read from that file.

        Without `write`, no page is changed, and the request is as if it was.
        """
        layouts = self.layouts
        pages = {path: layouts[name] for name in reversed(self._sets) for path in self._sets[name]}
        measured = self.link_pages(pages, self._uris, write=write)
        links, dates = self._alternate_links(), self._content_dates()
        resources = {
            path: Resource(
                uri,
                file,
                measured=measured.get(path) or Resource(uri, file).represent(),
                links=links.get(path, ()),
                content_since=dates.get(path),
            )
            for path, uri in self._uris.items()
            for file in [robots if path == ROBOTS else self.output / path]
        }
        return [self._request(own, [resources[path] for path in self._sets[own.name]]) for own in self.settings.sets]

    def pages(self) -> set[str]:
        """Return the URIs of the HTML pages."""
        return {uri for path, uri in self._uris.items() if is_html(path)}

    def _content_dates(self) -> Mapping[str, datetime]:
        """Return when the content of pages was last modified by what they say, by path, for a first publication."""
        if self.previous:
            return {}
        pages = {path: read_dates((self.output / path).read_bytes()) for path in self._uris if is_html(path)}
        return content_dates(pages, min(self._built, self._commit[1]) if self._commit else self._built)

    def _alternate_links(self) -> dict[str, tuple[Link, ...]]:
        """Return the links between pages and what they name as their alternates in other media types (LN02), by path.

        What several pages name, such as the feed of a site, is not another form of each of them.
        """
        paths = {path_of_uri(self.siteurl, uri): path for path, uri in self._uris.items()}
        named: dict[str, set[str]] = {}
        for page, uri in self._uris.items():
            for link in alternates_of((self.output / page).read_bytes(), uri) if is_html(page) else ():
                other = paths.get(path_of_uri(self.siteurl, link), page)
                if media_type(other) != media_type(page):
                    named.setdefault(other, set()).add(page)
        found: dict[str, tuple[Link, ...]] = {}
        for other, pages in named.items():
            if len(pages) == 1:
                [page] = pages
                alternate = Link(rel="alternate", href=self._uris[other], type=media_type(other))
                found[page] = (*found.get(page, ()), alternate)
                found[other] = (Link(rel="canonical", href=self._uris[page]),)
        return found

    def _request(self, own: SetSettings, resources: Sequence[Resource]) -> PublishRequest:
        settings = self.settings
        commit, landed = self._commit or (None, None)
        options = options_of(
            self.output,
            self.layouts[own.name],
            settings,
            own,
            site_name=self._name,
            page=PageOptions(
                language=self._language, timezone=settings.timezone, compiled=Workspace(self.base).templates
            ),
            on_deletions=(
                "was the whole site built? If the deletions are intended, publish once with "
                f"{ALLOW_DELETIONS}=1 in the environment"
            ),
        )
        # Nothing but the bytes says what changed, so what is updated again and again may be unstable.
        complete = own.name in self.previous
        history = ChangeHistory(built=self._built, complete=complete, commit=commit, landed=landed)
        return self.request(own.name, resources, history, Calendar(str(settings.changes_by)), options)
