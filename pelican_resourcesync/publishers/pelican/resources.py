"""The resources among the outputs of a build: which there are, which set each belongs to, and its links to others.

By the category, tags and language of each: names are compared by their slugs, made by Pelican's own rules.
"""

import posixpath
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from errno import ENOSPC
from pathlib import Path
from typing import Any, NamedTuple

from pelican.contents import Article, Content, Page
from pelican.urlwrappers import Category, Tag, URLWrapper

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.protocol import Link
from pelican_resourcesync.publication import Change, Layout
from pelican_resourcesync.publishers.pelican.outputs import OutputFile, Run
from pelican_resourcesync.publishers.static_site import (
    ROBOTS,
    Exclusion,
    Facets,
    Selector,
    Slugify,
    as_is,
    require_plain_names,
    selection_warnings,
)
from pelican_resourcesync.settings import SetSettings, Settings
from pelican_resourcesync.system.media_types import media_type

_WRAPPERS: Mapping[str, type[URLWrapper]] = {"categories": Category, "tags": Tag}


def slugify_of(settings: Mapping[str, Any]) -> Slugify:
    """Return what makes slugs of the names of categories and tags, by Pelican's `settings`; they may be empty."""

    def slugify(criterion: str, name: str) -> str:
        wrapper = _WRAPPERS.get(criterion)
        return str(wrapper(name, settings).slug) if wrapper else as_is(criterion, name)

    return slugify


def facets_of(run: Run, written: Iterable[OutputFile]) -> dict[str, Facets]:
    """Return the facets of the outputs of a build, by URI, without outputs that have none.

    They are read from Pelican's objects, including what plug-ins changed there. Of a run within the run (a site's
    translation), articles, pages and listing pages are known, feeds are not.
    """
    feeds = _feeds(run)
    found = {
        file.uri: feeds.get(file.uri, Facets()) if file.about is None else _facets_of_content(file.about)
        for file in written
    }
    return {uri: facets for uri, facets in found.items() if facets != Facets()}


def links_of(written: Iterable[OutputFile], *, filed: bool) -> dict[str, tuple[Link, ...]]:
    """Return the links of outputs to others among `written`, by URI, without those that have none.

    If they are `filed`, an article links to the page of its category (`LN06`, `rel="collection"`), and articles and
    pages to the pages of their tags (`EA01`, `rel="tag"`), in the order of the URIs. A page links to its content in
    other media types, too, and these to the page.
    """
    written = list(written)
    found: dict[str, list[Link]] = {}
    if filed:
        pages = {_key(file.about): file.uri for file in written if _is_first_page(file)}
        found = {file.uri: [*_links_to_listings(file.content, pages)] for file in written if file.content is not None}
    for uri, link in _forms(written):
        found.setdefault(uri, []).append(link)
    return {uri: tuple(links) for uri, links in found.items() if links}


def _forms(written: Iterable[OutputFile]) -> Iterator[tuple[str, Link]]:
    """Yield links between a page and its content in other media types (`LN02`), each with the URI that it is from.

    These are copies of the source (`OUTPUT_SOURCES`), and what a plug-in lets Pelican write of the same content object.
    Translations are alternates in another media type, too, but in the same one they are pages of their own: a link does
    not say its language.
    """
    forms: dict[int, list[OutputFile]] = {}
    for file in written:
        if isinstance(file.about, Content):
            forms.setdefault(id(file.about), []).append(file)
    pages = {key: page for key, group in forms.items() if (page := next((one for one in group if one.title), None))}
    for key, page in pages.items():
        translations = (pages[id(translation)] for translation in page.about.translations if id(translation) in pages)
        for form in (*forms[key], *translations):
            if (type_ := media_type(form.path)) != media_type(page.path):
                yield page.uri, Link(href=form.uri, rel="alternate", type=type_)
                if form.about is page.about:
                    yield form.uri, Link(href=page.uri, rel="canonical")


def _links_to_listings(content: Any, pages: Mapping[tuple[type, str], str]) -> Iterator[Link]:
    category, tags = _names(content)
    if (Category, category) in pages:
        yield Link(href=pages[Category, category], rel="collection")
    for uri in sorted({pages[Tag, tag] for tag in tags if (Tag, tag) in pages}):
        yield Link(href=uri, rel="tag")


def _is_first_page(written: OutputFile) -> bool:
    """Return whether this is the page at the URL of a category or tag: the first page of its listing."""
    about = written.about
    return isinstance(about, Category | Tag) and posixpath.normpath(str(about.save_as)) == written.path


def _key(wrapper: Category | Tag) -> tuple[type, str]:
    return (Category if isinstance(wrapper, Category) else Tag, _slug(wrapper))


def _facets_of_content(about: Any) -> Facets:
    """Return the facets of one of Pelican's objects; those of a category or tag are that category or tag."""
    if isinstance(about, Category):
        return Facets(category=_slug(about))
    if isinstance(about, Tag):
        return Facets(tags=tuple(filter(None, [_slug(about)])))
    if isinstance(about, Article | Page):
        category, tags = _names(about)
        return Facets(category, tuple(dict.fromkeys(filter(None, tags))), str(about.lang or "").lower())
    return Facets()


def _names(content: Any) -> tuple[str, tuple[str, ...]]:
    """Return the slugs of the category (of an article only) and of the tags of an article or page."""
    if not isinstance(content, Article | Page):
        return "", ()
    category = _slug(getattr(content, "category", None)) if isinstance(content, Article) else ""
    return category, tuple(map(_slug, getattr(content, "tags", None) or ()))


def _slug(wrapper: object) -> str:
    return str(getattr(wrapper, "slug", ""))


def _feeds(run: Run) -> dict[str, Facets]:
    """Return the facets of category, tag and translation feeds, by URI, without feeds that several of them share."""
    found: dict[str, set[Facets]] = {}
    for article in run.generated("articles"):
        for content in (article, *article.translations):
            facets = Facets(language=str(content.lang or "").lower())
            _add_feeds(found, run, "TRANSLATION_FEED", facets, lang=content.lang)
        category, tags = _names(article)
        _add_feeds(found, run, "CATEGORY_FEED", Facets(category=category), slug=category)
        for tag in tags:
            _add_feeds(found, run, "TAG_FEED", Facets(tags=(tag,)), slug=tag)
    return {uri: facets.pop() for uri, facets in found.items() if len(facets) == 1}


def _add_feeds(found: dict[str, set[Facets]], run: Run, setting: str, facets: Facets, **names: str) -> None:
    for form in ("ATOM", "RSS"):
        save_as = run.settings.get(f"{setting}_{form}")
        if save_as:
            path = posixpath.normpath(str(save_as).format(**names)).lstrip("/")
            found.setdefault(run.urls.uri(path), set()).add(facets)


#: How many links that lead out of the output a warning names.
_SHOWN = 5
_CHUNK = 1 << 20

_HIDDEN_FRONT_PAGE = (
    "the front page (index.html) is not listed, because its source is hidden or a draft: copies of the site have none"
)


def select_resources(outputs: Iterable[OutputFile], exclusion: Exclusion) -> list[OutputFile]:
    """Return the outputs that are resources, in the order of their URIs.

    Raises `PublicationError` where two files have the same URI.
    """
    found: dict[str, OutputFile] = {}
    for output in outputs:
        if not output.public or exclusion.excludes(output.path):
            continue
        other = found.setdefault(output.uri, output)
        if other is not output:
            message = (
                f"{_named(other)} and {_named(output)} both have the URI {output.uri}: "
                "change the URL of one of them, or exclude it (RESOURCESYNC['exclude'])"
            )
            raise PublicationError(message)
    return [found[uri] for uri in sorted(found)]


def _named(output: OutputFile) -> str:
    return f"{output.path} (of {output.source})" if output.source else output.path


class ResourceSet(NamedTuple):
    """A set: its settings, the selector of its resources, the layout of its documents, and the outputs in it."""

    settings: SetSettings
    selector: Selector
    layout: Layout
    written: Sequence[OutputFile]

    def changes_within(self, changes: Sequence[Change], built: Collection[str]) -> Sequence[Change]:
        """Return the changes that belong to this set, from those of the whole site before its first publication.

        A URI that was `built` belongs to the set if it is in the set now. A URI that is gone belongs to it if a
        selection by path or type matches; its category, tags and language are unknown.
        """
        if self.settings.selection.everything:
            return changes
        within = {file.uri for file in self.written}
        if not self.selector.by_facets:
            gone = {change.uri for change in changes}.difference(built)
            within.update(filter(self.selector.may_match_uri, gone))
        return [change for change in changes if change.uri in within]


class SiteResources(NamedTuple):
    """All outputs of a build that are resources, in the order of their URIs, and the sets that they belong to.

    `warnings` are about selections that match nothing, and links that lead out of the output; `hints` may need action.
    """

    written: Sequence[OutputFile]
    sets: Sequence[ResourceSet]
    warnings: Sequence[str]
    hints: Sequence[str] = ()

    @property
    def pages(self) -> Mapping[str, Layout]:
        """For the path of each output, the layout of the first set that it is in."""
        return {file.path: found.layout for found in reversed(self.sets) for file in found.written}

    @property
    def listed(self) -> Sequence[OutputFile]:
        """The outputs that are in at least one set."""
        within = {file.uri for found in self.sets for file in found.written}
        return [file for file in self.written if file.uri in within]


class IncompleteCopyError(PublicationError):
    """Raised where Pelican copied a file only in part, of which it only warns; most often, the disk was full."""

    errno = ENOSPC


def require_complete_copies(output: Path, written: Iterable[OutputFile]) -> None:
    """Raise `IncompleteCopyError` where a file is shorter than the one it is a copy of, and has nothing else in it.

    A plug-in may have changed the copy, for example to make a picture smaller, and that is no error.
    """
    for output_file in written:
        file, source = output / output_file.path, output_file.copy_of
        if source is None or not source.is_file():
            continue
        length, whole = file.stat().st_size, source.stat().st_size
        if length < whole and _begins_with(source, file):
            message = (
                f"{file} is an incomplete copy of {source}, with {length:,} of {whole:,} bytes: see Pelican's "
                "warnings, free disk space, and build again"
            )
            raise IncompleteCopyError(message)


def _begins_with(source: Path, copy: Path) -> bool:
    with source.open("rb") as one, copy.open("rb") as other:
        while chunk := other.read(_CHUNK):
            if one.read(len(chunk)) != chunk:
                return False
    return True


def find_resources(run: Run, settings: Settings, layouts: Mapping[str, Layout]) -> SiteResources:
    """Return the resources of a finished build, and which sets they are in.

    Raises `PublicationError` where two files have the same URI, or Pelican copied a file only in part.
    """
    exclusion = Exclusion(settings.never_listed)
    outputs = _outputs(run, settings)
    written = select_resources(outputs.values(), exclusion)
    require_plain_names(run.output, {output_file.path: output_file.uri for output_file in written})
    require_complete_copies(run.output, written)
    slugify = slugify_of(run.settings)
    selectors = [Selector(set_settings.selection, run.urls.siteurl, slugify) for set_settings in settings.sets]
    facets = facets_of(run, written) if any(selector.by_facets for selector in selectors) else {}
    sets: list[ResourceSet] = []
    warnings = list(_link_warnings([path for path in run.links_outside if not exclusion.excludes(path)]))
    for set_settings, selector in zip(settings.sets, selectors, strict=True):
        within = [file for file in written if selector.matches(file.path, facets.get(file.uri, Facets()))]
        sets.append(ResourceSet(set_settings, selector, layouts[set_settings.name], within))
    warnings += selection_warnings(settings, {file.path: facets.get(file.uri, Facets()) for file in written}, slugify)
    front = outputs.get("index.html")
    return SiteResources(written, sets, warnings, [] if front is None or front.public else [_HIDDEN_FRONT_PAGE])


def _link_warnings(paths: Sequence[str]) -> Iterator[str]:
    """Yield one warning about links that lead out of the output; nothing where there are none."""
    if paths:
        names = ", ".join(paths[:_SHOWN]) + (", …" if paths[_SHOWN:] else "")
        yield f"symbolic links to files outside the output are not published ({names}): replace them with copies"


def _outputs(run: Run, settings: Settings) -> Mapping[str, OutputFile]:
    """Return every file of this build, by path; with the setting `robots`, also the `robots.txt` just written."""
    outputs = {file.path: file for file in run.outputs()}
    if settings.robots:
        outputs.setdefault(ROBOTS, OutputFile(ROBOTS, run.urls.uri(ROBOTS)))
    return outputs
