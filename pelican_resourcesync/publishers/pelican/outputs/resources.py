"""The resources of a build: which files are resources, and of which sets."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from errno import ENOSPC
from pathlib import Path

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.publication import Change, Layout
from pelican_resourcesync.publishers.pelican.outputs.run import OutputFile, Run
from pelican_resourcesync.publishers.pelican.outputs.sets import facets_of, slugify_of
from pelican_resourcesync.publishers.static_site import (
    ROBOTS,
    UNFILED,
    Exclusion,
    Selector,
    require_plain_names,
    selection_warnings,
)
from pelican_resourcesync.settings import SetSettings, Settings

#: How many links that lead out of the output a warning names.
_SHOWN = 5
_CHUNK = 1 << 20

_HIDDEN_FRONT_PAGE = (
    "the front page (index.html) is in no list, because its source is hidden or a draft: a copy of the site has none"
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


@dataclass(frozen=True, slots=True)
class ResourceSet:
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
        within = {each.uri for each in self.written}
        if not self.selector.by_facets:
            gone = {each.uri for each in changes}.difference(built)
            within.update(filter(self.selector.may_match_uri, gone))
        return [each for each in changes if each.uri in within]


@dataclass(frozen=True, slots=True)
class SiteResources:
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
        return {each.path: found.layout for found in reversed(self.sets) for each in found.written}

    @property
    def listed(self) -> Sequence[OutputFile]:
        """The outputs that are in at least one set."""
        within = {each.uri for found in self.sets for each in found.written}
        return [each for each in self.written if each.uri in within]


class IncompleteCopyError(PublicationError):
    """Raised where Pelican copied a file only in part, of which it only warns; most often, the disk was full."""

    errno = ENOSPC


def require_complete_copies(output: Path, written: Iterable[OutputFile]) -> None:
    """Raise `IncompleteCopyError` where a file is shorter than the one it is a copy of, and has nothing else in it.

    A plug-in may have changed the copy, for example to make a picture smaller, and that is no error.
    """
    for each in written:
        file, source = output / each.path, each.copy_of
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
    require_plain_names(run.output, {each.path: each.uri for each in written})
    require_complete_copies(run.output, written)
    slugify = slugify_of(run.settings)
    selectors = [Selector(each.selection, run.urls.siteurl, slugify) for each in settings.sets]
    facets = facets_of(run, written) if any(each.by_facets for each in selectors) else {}
    sets: list[ResourceSet] = []
    warnings = list(_link_warnings([path for path in run.links_outside if not exclusion.excludes(path)]))
    for each, selector in zip(settings.sets, selectors, strict=True):
        within = [every for every in written if selector.matches(every.path, facets.get(every.uri, UNFILED))]
        sets.append(ResourceSet(each, selector, layouts[each.name], within))
        if settings.names_sets:
            resources = {every.path: facets.get(every.uri, UNFILED) for every in written}
            warnings += selection_warnings(each, settings.setting(f"sets.{each.name}"), resources, slugify)
    front = outputs.get("index.html")
    return SiteResources(written, sets, warnings, [] if front is None or front.public else [_HIDDEN_FRONT_PAGE])


def _link_warnings(paths: Sequence[str]) -> Iterator[str]:
    """Yield one warning about links that lead out of the output; nothing where there are none."""
    if paths:
        which = "a symbolic link that leads" if len(paths) == 1 else f"{len(paths):,} symbolic links that lead"
        names = ", ".join(paths[:_SHOWN]) + (", …" if paths[_SHOWN:] else "")
        verb, them = ("is", "it") if len(paths) == 1 else ("are", "them")
        yield f"the output has {which} out of it and {verb} not published ({names}): replace {them} with copies"


def _outputs(run: Run, settings: Settings) -> Mapping[str, OutputFile]:
    """Return every file of this build, by path; with the setting `robots`, also the `robots.txt` just written."""
    outputs = {each.path: each for each in run.outputs()}
    if settings.robots:
        outputs.setdefault(ROBOTS, OutputFile(ROBOTS, run.urls.uri(ROBOTS)))
    return outputs
