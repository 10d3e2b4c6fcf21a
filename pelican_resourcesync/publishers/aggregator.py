"""A copy that is itself a Source: what the standard calls an aggregator (§14.8). Its documents are beside its files."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from pelican_resourcesync.destination import CopyState, Mirror, MirrorResult
from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.options import CopyOptions, MirrorOptions, by_keyword
from pelican_resourcesync.protocol import LONGEST_LOC, ChangeKind, Hash, Link, parse_links
from pelican_resourcesync.publication import (
    COPY,
    SHA_256,
    Calendar,
    ChangeHistory,
    FileResources,
    Layout,
    Options,
    PredecessorSearch,
    PublishRequest,
    Representation,
    Resource,
    build_time,
    publish_sets,
    read_state,
    recovered,
    well_known_hints,
)
from pelican_resourcesync.publishers.static_site import SiteUrls
from pelican_resourcesync.settings import OPTIONS, Setting, checks


class Aggregator(Mirror):
    """A copy of a Source in a folder, which is itself a Source at the URL where the folder is public."""

    def __init__(self, source: str, folder: Path, base_url: str, options: MirrorOptions | None = None) -> None:
        """Take what a `Mirror` takes, and that URL. Raises `SettingsError` if it cannot be used."""
        super().__init__(source, folder, replace(options or MirrorOptions(), described=True))
        self._layout = Layout(checks.site_url(Setting("publish", OPTIONS), base_url or None), "copy")
        self._documents = (f"{self._layout.home}/", *self._layout.entry_points)

    def _is_published(self, state: CopyState) -> bool:
        return state.get("published") == self._layout.siteurl and (state.folder / self._layout.state).is_file()

    def _publish(self, state: CopyState, result: MirrorResult) -> None:
        """Publish what the copy has, also after a run that was incomplete: then some of it is older."""
        if self._is_published(state):
            return
        home, *points = self._documents
        for (path,) in state.db.execute("SELECT path FROM resource WHERE digest <> ''"):
            if path.startswith(home) or path in points:  # of which nothing may be taken for a publication of ours
                what = f"the Source has a resource at {path}, where the copy writes its own documents"
                message = f"{what}: leave it out with --only, --type or --set"
                raise PublicationError(message)
        output, layout, now = state.folder, self._layout, build_time()
        with recovered(output, state.parts.parent):
            known = read_state(output, layout)
            before = known.siteurl if known else ""
            search = PredecessorSearch(layout, output, output, previous="output", moved_from=before)
            with closing(search):
                found = search.find()
                layout = found.layout(layout)
                # Deletions were confirmed for the copy. A change of where a resource comes from is one, too.
                options = Options(output=output, layout=layout, allow_deletions=True, publisher=COPY)
                request = PublishRequest(
                    resources=FileResources(self._resources(state, now, result.plan.notes)),
                    history=ChangeHistory(built=now, complete=found.previous is not None),
                    boundaries=Calendar("month"),
                    options=options,
                    previous=found.previous,
                    restarted_from=found.restarted_from,
                )
                [publication] = publish_sets([request])
        state.set("published", layout.siteurl)
        state.set("documents", self._documents)
        result.plan.notes += well_known_hints(layout.siteurl) if publication.first else []
        new = {kind.value: publication.new[kind] for kind in ChangeKind}
        result.published = {"resources": publication.resources, **new}

    def _resources(self, state: CopyState, now: datetime, notes: list[str]) -> Iterator[Resource]:
        """Yield what the copy has: verified files, with what the Source says of them."""
        state.db.execute(
            "DELETE FROM description WHERE uri NOT IN (SELECT uri FROM resource UNION SELECT uri FROM pending)"
        )
        rows = state.db.execute(
            """SELECT r.uri, r.path, r.digest, r.length, d.type, d.links, p.uri IS NOT NULL FROM resource r
            LEFT JOIN description d USING (uri) LEFT JOIN pending p USING (uri) WHERE r.digest <> ''"""
        ).fetchall()
        urls = {uri: SiteUrls(self._layout.siteurl).uri(path) for uri, path, *_ in rows}
        for uri, path, digest, length, type_, text, is_older in rows:
            if len(urls[uri]) >= LONGEST_LOC:
                notes.append(f"{path} is not published, because its URL would have {len(urls[uri]):,} characters")
                continue
            via, *others = parse_links(text or "") or [Link(href=uri, rel="via")]
            links = [Link(href=via.href, rel="via")] if is_older else [via, *(_within(other, urls) for other in others)]
            measured = Representation(Hash(algorithm=SHA_256, digest=digest), length, type_ or None)
            yield Resource(urls[uri], state.folder / path, now, measured, tuple(links))


def _within(link: Link, urls: dict[str, str]) -> Link:
    """Return a link that leads to the copy of what it leads to, if there is one."""
    url = urls.get(link.href)
    return Link(href=url, rel=link.rel, type=link.type, profile=link.profile) if url else link


@by_keyword(CopyOptions)
def mirror(source: str, given: CopyOptions) -> MirrorResult:
    """Update the copy of a Source in a folder, or make it; return what was done.

    `source` is the URL of a site, a page or a document, or the output folder of a site. The options are those of
    `MirrorOptions`. With `publish`, the URL at which the folder is public, the copy is itself a Source. Raises
    `SourceError` if no Source was found, `IncompleteError` if a run could do harm, `PublicationError` if the copy
    cannot be published, and `TransportError` or `DocumentError` for a list that cannot be fetched or read: the copy
    then stays as it is. Single resources that are not available are in the result.
    """
    folder, base = Path(given.folder), given.publish
    return (Mirror(source, folder, given) if base is None else Aggregator(source, folder, base, given)).run()
