"""What the tests of publications share: a set of resources to publish, and lxml as the witness of what was written."""

import json
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from types import EllipsisType
from typing import Any, NamedTuple
from urllib.parse import quote

from pelican_resourcesync.protocol import ChangeKind, Limits
from pelican_resourcesync.publication.comparison.changes import ChangeListBuilder, dated_changes
from pelican_resourcesync.publication.comparison.parts import OPEN
from pelican_resourcesync.publication.model.history import Change, ChangeHistory
from pelican_resourcesync.publication.model.layout import RECORDS, Layout
from pelican_resourcesync.publication.model.options import Options
from pelican_resourcesync.publication.model.ranges import Body, Calendar, Range, RangeBoundaries
from pelican_resourcesync.publication.model.resource import FileResources, Representation, Resource
from pelican_resourcesync.publication.model.state import PublicationState
from pelican_resourcesync.publication.plan import PublishRequest
from pelican_resourcesync.publication.previous.previous import (
    PreviousPublication,
    layout_after,
    read_previous,
)
from pelican_resourcesync.publication.publish import Publication, plan_sets, publish_sets
from pelican_resourcesync.publication.takedown import TakedownResult, forget_uris
from pelican_resourcesync.settings import Archives, Dumps
from pelican_resourcesync.system.durable import TEMPORARY_PREFIX
from tests.kit.reader import XmlDocument, XmlEntry, parse_file

SITEURL = "https://example.org"
LAYOUT = Layout(SITEURL)
STATE = "resourcesync/publication.json"
MILLISECOND = timedelta(milliseconds=1)
CREATED, UPDATED, DELETED = ChangeKind.CREATED, ChangeKind.UPDATED, ChangeKind.DELETED

#: All dumps, and archives of everything.
EVERYTHING: dict[str, Any] = {
    "dumps": Dumps(resourcedump=True, changedump=True),
    "archives": Archives(resourcelist=None, resourcedump=None),
}

#: Where records are prepared to be published, in the output.
READY = Path(f"{TEMPORARY_PREFIX}ready", RECORDS)

Contents = Mapping[str, bytes]


def is_listed(path: str) -> bool:
    """Return whether a state lists a file below `resourcesync/`: of those for people, only pages about Change Lists."""
    return not path.endswith((".html", ".svg", ".atom")) or is_change_page(path)


def is_change_page(path: str) -> bool:
    """Return whether a file is the page about one Change List, or its JSON."""
    return re.fullmatch(r".*/changes/[0-9].*\.(?:html|json)", path) is not None


def utc(text: str) -> datetime:
    """Return a time in UTC by its text without a zone: `2024-03-01T12:00`."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def change(time: str, path: str, kind: ChangeKind = CREATED, representation: Representation | None = None) -> Change:
    """Make a change of the resource at a path of the site."""
    return Change(utc(time), f"{SITEURL}/{path}", kind, representation)


def tree(folder: Path) -> dict[str, object]:
    """Return all there is in a folder, by path: the bytes of files, the targets of links, `None` for folders."""
    return {file.relative_to(folder).as_posix(): _what(file) for file in sorted(folder.rglob("*"))}


def _what(file: Path) -> object:
    if file.is_symlink():
        return file.readlink()
    return None if file.is_dir() else (file.read_bytes(), file.stat().st_mode)


#: Names that lead out of a folder on some system, or that no file can have.
HOSTILE_NAMES = (
    *("../x", "/x", "a/../../x", "a/./b", "a//b", "", ".", "..", "a\0b", "a\nb", "a\u202eb", "a" * 5_000),
    *("a\\..\\b", "\\\\host\\x", "C:/x", "C:x", "~/x", "a?b", "a b", "CON:"),
)


class Division(NamedTuple):
    """A range with its changes."""

    start: datetime
    until: datetime | None
    changes: tuple[Change, ...]


def divide(
    changes: Iterable[Change],
    boundaries: RangeBoundaries,
    *,
    limit: int = 50_000,
    opened: Division | None = None,
    begin: datetime | None = None,
    floor: datetime | None = None,
) -> list[Division]:
    """Divide changes into ranges, after the one that was left open."""
    with TemporaryDirectory() as name:
        before = None
        if opened:
            body = Body(Path(name, "open"), is_draft=True)
            entries = [each.entry.replace(OPEN, f"{each.time}Z") for each in dated_changes(opened.changes, 2017)]
            Path(name, "open").write_text("".join(entries), "utf-8")
            counts = (len(entries), 0, 0)
            before = Range(start=opened.start, counts=counts, bodies=(body,), unchanged=True)
        builder = ChangeListBuilder(boundaries, Limits(entries=limit), 1_000, utc("2030-01-01"), Path(name))
        dated = dated_changes(changes, 2017)
        new = builder.build(dated, floor=floor, begin=begin, opened=before, note_updates=False)
        return [Division(each.start, each.until, tuple(each.changes)) for each in new.ranges]


def first_publication(
    there: Iterable[str], history: Iterable[Change], landed: datetime, boundaries: RangeBoundaries
) -> list[Division]:
    """Return the ranges of a first publication of resources with this history."""
    shown = Representation.measured("0" * 64, 1, "text/html")
    request = PublishRequest(
        resources=FileResources([Resource(uri, None, None, shown) for uri in there]),
        history=ChangeHistory(built=landed, changes=[*history], commit="c1", landed=landed),
        boundaries=boundaries,
        options=Options(output=Path("nowhere"), layout=LAYOUT),
    )
    with plan_sets([request]) as [planned]:
        ranges = planned.news.listed
        return [Division(each.start, each.until, tuple(each.changes)) for each in ranges]


@dataclass
class Source:
    """A set of resources, published again and again into one output; only the output is carried along."""

    output: Path
    boundaries: RangeBoundaries = Calendar("month")  # noqa: RUF009 - frozen
    siteurl: str = SITEURL
    set_name: str = "site"

    @property
    def layout(self) -> Layout:
        """Where its documents lie."""
        return Layout(self.siteurl, self.set_name)

    def previous(self) -> PreviousPublication | None:
        """Read what was published last."""
        return read_previous(self.output, self.layout)

    def publish(
        self,
        resources: Contents | Iterable[Resource],
        history: ChangeHistory | str,
        previous: PreviousPublication | EllipsisType | None = ...,
        restarted_from: PreviousPublication | PublicationState | None = None,
        records: Contents | None = None,
        **options: Any,
    ) -> Publication:
        """Publish files of contents, or these resources, after what was published last.

        `history` may be just the time of the build. `records` are files that are published with the set, by their paths
        among its records.
        """
        try:
            request = self.request(resources, history, previous, restarted_from, records, **options)
            [publication] = publish_sets([request])
        finally:
            shutil.rmtree((self.output / READY).parent, ignore_errors=True)
        return publication

    def options(self, **options: Any) -> Options:
        """Return how to publish; of sets as small as these, a fifth is soon gone."""
        return replace(Options(output=self.output, layout=self.layout, allow_deletions=True), **options)

    def request(
        self,
        resources: Contents | Iterable[Resource],
        history: ChangeHistory | str,
        previous: PreviousPublication | EllipsisType | None = ...,
        restarted_from: PreviousPublication | PublicationState | None = None,
        records: Contents | None = None,
        **options: Any,
    ) -> PublishRequest:
        """Ask for a publication: see `publish`."""
        if isinstance(resources, Mapping):
            paths = resources.items()
            resources = [Resource(f"{self.siteurl}/{path}", self.write(path, data)) for path, data in paths]
        if previous is ...:
            previous = self.previous()
        request = PublishRequest(
            resources=FileResources([*resources, *(self._prepare(records) if records is not None else ())]),
            history=ChangeHistory(built=utc(history)) if isinstance(history, str) else history,
            boundaries=self.boundaries,
            options=self.options(**options),
            previous=previous,
            restarted_from=restarted_from,
            records=self.output / READY if records is not None else None,
        )
        layout = layout_after(self.layout, request.known, restarts=not previous)
        return replace(request, options=replace(request.options, layout=layout))

    def _prepare(self, records: Contents) -> Iterator[Resource]:
        """Write the records to be published; those that have the bytes of before are linked."""
        old, new = self.output / self.layout.records, self.output / READY
        new.mkdir(parents=True)
        for path, data in records.items():
            file = new / path
            file.parent.mkdir(parents=True, exist_ok=True)
            if (old / path).is_file() and (old / path).read_bytes() == data:
                file.hardlink_to(old / path)
            else:
                file.write_bytes(data)
            said = Representation.measured(sha256(data).hexdigest(), len(data), "application/xml")
            yield Resource(f"{self.siteurl}/{self.layout.records}/{quote(path)}", file, measured=said)

    def replace_patch(self, data: bytes, **changed: str) -> None:
        """Publish other bytes as the only patch, with their hash and length in the link, where these texts change."""
        [file] = (self.output / self.layout.patches).iterdir()
        [change_list] = (self.output / self.layout.folder).glob("changelist-2*.xml")
        was, text = file.read_bytes(), change_list.read_text()
        now = {
            sha256(was).hexdigest(): sha256(data).hexdigest(),
            f'length="{len(was)}" type="application/x-dcz"': f'length="{len(data)}" type="application/x-dcz"',
        }
        for before, after in [*now.items(), *changed.items()]:
            assert text.count(before) == 1
            text = text.replace(before, after)
        change_list.write_text(text)
        file.write_bytes(data)
        self.reseal()

    def forget(self, *uris: str, built: datetime, **options: Any) -> TakedownResult:
        """Forget resources of this set alone."""
        previous = self.previous()
        assert previous
        [done] = forget_uris([previous], uris, self.output, built=built, **options)
        return done

    def write(self, path: str, data: bytes) -> Path:
        """Write a file of the output."""
        file = self.output / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        return file

    def documents(self) -> dict[str, bytes]:
        """Return every file that was published, by its path."""
        files = [*(self.output / "resourcesync").rglob("*"), *(self.output / ".well-known").rglob("*")]
        return {file.relative_to(self.output).as_posix(): file.read_bytes() for file in files if file.is_file()}

    def document(self, uri: str) -> XmlDocument:
        """Return the document at a URI of the site."""
        assert uri.startswith(f"{self.siteurl}/")
        return parse_file(self.output / uri.removeprefix(f"{self.siteurl}/"))

    def capabilities(self) -> dict[str, str]:
        """Return the URIs of the documents of the set, found by following links from the well-known URI."""
        items = self.document(f"{self.siteurl}/.well-known/resourcesync").entries
        (item,) = [each for each in items if each.uri.startswith(f"{self.siteurl}/{self.layout.home}/")]
        return {each.md["capability"]: each.uri for each in self.document(item.uri).entries}

    def resource_list(self) -> dict[str, XmlEntry]:
        """Return the entries of the Resource List, or of its parts, by URI."""
        top = self.document(self.capabilities()["resourcelist"])
        parts = [top] if top.root == "urlset" else [self.document(each.uri) for each in top.entries]
        items = [item for part in parts for item in part.entries]
        assert len({item.uri for item in items}) == len(items)
        return {item.uri: item for item in items}

    def change_lists(self) -> list[tuple[XmlEntry, XmlDocument]]:
        """Return the Change Lists, each with the entry of the index that leads to it."""
        uri = self.capabilities().get("changelist")
        return [(item, self.document(item.uri)) for item in self.document(uri).entries] if uri else []

    def changes(self) -> Iterator[XmlEntry]:
        """Yield every change that is listed, in the order listed."""
        for _item, change_list in self.change_lists():
            yield from change_list.entries

    def rows(self) -> list[tuple[str | None, str, str]]:
        """Return every listed change as (time, kind, path)."""
        return [(each.lastmod, each.md["change"], each.uri.removeprefix(f"{self.siteurl}/")) for each in self.changes()]

    def at(self) -> datetime:
        """Return the time of the Resource List."""
        return datetime.fromisoformat(self.document(self.capabilities()["resourcelist"]).md["at"])

    def state(self) -> dict[str, Any]:
        """Return what `publication.json` holds."""
        content: dict[str, Any] = json.loads((self.output / self.layout.state).read_bytes())
        return content

    def reseal(self, **changed: Any) -> None:
        """Write `publication.json` again, with the hashes of the documents as they are, and these items changed."""
        content = self.state()
        content["documents"] = {
            path: sha256(data).hexdigest()
            for path, data in self.documents().items()
            if path != STATE and path in content["documents"]
        }
        (self.output / STATE).write_text(json.dumps(content | changed))
