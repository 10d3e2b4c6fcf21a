"""Hostile previous publications whose hashes are right: the next one is sound, or one message says what to do."""

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from pelican_resourcesync.errors import DocumentError, PublicationError
from pelican_resourcesync.protocol import RS_NS, SITEMAP_NS, Limits, Link
from pelican_resourcesync.publication import (
    Archives,
    Calendar,
    ChangeHistory,
    Dumps,
    FileResources,
    Layout,
    Options,
    PlainOutput,
    PredecessorSearch,
    Request,
    Resource,
    forget_uris,
    local_status,
    publications_in,
    publish_sets,
)
from tests.publication.previous.forging import KINDS, STATE_KINDS, forge
from tests.publication.support import SITEURL, tree, utc
from tests.support.reader import XmlDocument, XmlEntry, parse
from tests.support.servers import served
from tests.support.walker import Walker

#: Cases of each kind: in the normal run, and in the long one.
FEW, MANY = 4, 150

#: What every message advises: one of these.
REMEDIES = ("upload it again", "`previous`", "moved_from", "update the tool", "set the ", "did you mean")

#: No document may have a later time: neither a host's clock nor this machine's says that it has come.
LATEST = (datetime.now(UTC) + timedelta(days=2)).isoformat()

Contents = Mapping[str, bytes]


@dataclass(frozen=True)
class Site:
    """How a site is published: its sets, each with its resources by path at each time, and the options."""

    options: Mapping[str, Any]
    sets: tuple[str, ...] = ("site",)

    def publish(self, output: Path, time: str, contents: Contents, previous: str) -> None:
        """Publish resources after the publication in a folder or at a URL, or first."""
        for path, data in contents.items():
            (output / path).parent.mkdir(parents=True, exist_ok=True)
            (output / path).write_bytes(data)
        base = output.parent / "base"
        searches = {
            name: PredecessorSearch(Layout(SITEURL, name), PlainOutput(output), base, previous=previous)
            for name in self.sets
        }
        try:
            publish_sets([self._request(name, each, output, time, contents) for name, each in searches.items()])
        finally:
            for each in searches.values():
                each.close()

    def _request(self, name: str, search: PredecessorSearch, output: Path, time: str, contents: Contents) -> Request:
        """Take all resources but `b.html` for the site, which is for the other set where there is one."""
        several = len(self.sets) > 1
        link = (Link(rel="collection", href=f"{SITEURL}/a.html"),) if several else ()
        own = [path for path in contents if (name == "site") != (several and path == "b.html")]
        found = search.find()
        layout = found.layout(Layout(SITEURL, name))
        return Request(
            resources=FileResources(Resource(f"{SITEURL}/{path}", output / path, links=link) for path in own),
            history=ChangeHistory(built=utc(time)),
            boundaries=Calendar("month"),
            options=Options(output=output, layout=layout, allow_deletions=True, **self.options),
            previous=found.previous,
            restarted_from=found.restarted_from,
        )


EVERYTHING = {
    "dumps": Dumps(resourcedump=True, changedump=True),
    "archives": Archives(resourcelist=2, resourcedump=2),
}
SITES = {
    "plain": Site({}),
    "everything": Site(EVERYTHING),
    "parts": Site({**EVERYTHING, "limits": Limits(entries=2)}),
    "two sets": Site({"dumps": Dumps(changedump=True)}, ("site", "books")),
}

#: The resources of the publications that are altered, and of the next one.
PAST = {
    "2024-01-05T12:00": {"a.html": b"a", "b.html": b"b", "d/c.html": b"c"},
    "2024-02-05T12:00": {"a.html": b"aa", "b.html": b"b", "d/c.html": b"c"},
    "2024-02-06T12:00": {"a.html": b"aa", "b.html": b"b", "e.html": b"e"},
    "2024-03-05T12:00": {"a.html": b"aaa", "b.html": b"bb", "e.html": b"e"},
}
UNCHANGED = PAST["2024-03-05T12:00"]
NEXT = {"a.html": b"aaaa", "b.html": b"bb", "f.html": b"f"}
PLANS = ((NEXT, "2024-03-07T12:00"), (NEXT, "2024-04-02T12:00"), (UNCHANGED, "2024-03-07T12:00"))


class FolderWalker(Walker):
    """Walks through a folder instead of a host."""

    def _fetch(self, address: str) -> bytes:
        try:
            return Path(address).read_bytes()
        except (OSError, ValueError) as error:
            self.faults.append(f"{address.removeprefix(self._address)}: {error}")
            return b"<nothing/>"

    def _document(self, uri: str, capability: str) -> XmlDocument:
        """Read a document with its parts, if it has any."""
        document = super()._document(uri, capability)
        if document.root == "sitemapindex" and capability not in ("changelist", "changedump"):
            parts = [super(FolderWalker, self)._document(each.uri, capability) for each in document.entries]
            for each in parts:
                self._expect(each.links.get("index") == uri, document, f"has the part {each.uri}")
                self._expect(each.md == document.md, document, f"is of another time than {each.uri}")
            return replace(document, root="urlset", entries=[entry for each in parts for entry in each.entries])
        return document

    def _verify(self, document: XmlDocument, item: XmlEntry, data: bytes) -> None:
        """Compare bytes with a hash only where there is one: the standard requires neither it nor a media type."""
        if "hash" in item.md:
            super()._verify(document, replace(item, md={**item.md, "type": "*/*"}), data)


def faults_of(output: Path) -> list[str]:
    """Walk through what was published, and return what does not agree, or should not be there."""
    walker = FolderWalker(str(output), SITEURL)
    try:
        walker.walk()
    except Exception as error:  # noqa: BLE001 - whatever an independent reader stumbles over
        return [repr(error)[:300]]
    documents = [parse(data, uri) for uri, data in walker.read.items() if uri.endswith(".xml")]
    faults = [*walker.faults, *chain.from_iterable(map(_strange, documents))]
    faults += [fault for uri, data in walker.read.items() if uri.endswith(".xml") for fault in _foreign(uri, data)]
    for state in output.glob("resourcesync/**/publication.json"):
        content = json.loads(state.read_bytes())
        changes = 0
        for path, digest in content["documents"].items():
            data = (output / path).read_bytes()
            changes += data.count(b"<url>") if "/changelist-2" in path else 0
            if sha256(data).hexdigest() != digest:
                faults.append(f"{path} has another hash")
        if changes != content["changes"]:
            faults.append(f"{state} counts {content['changes']} changes instead of {changes}")
    return faults


def _strange(document: XmlDocument) -> Iterator[str]:
    """Yield the URIs and times of a document that no publication of this site has."""
    for uri in [*document.uris(), *document.links.values()]:
        if not uri.startswith(f"{SITEURL}/") or not uri.isprintable() or len(uri) > 2_000:
            yield f"{document.uri} names {uri[:100]!a}"
    for md in [document.md, *(each.md for each in document.entries)]:
        for name in {"from", "until", "datetime"} & md.keys():
            if not "2023" < md[name] < LATEST:
                yield f"{document.uri} has the time {md[name]}"


#: What the documents of these sites are made of, written by hand.
ELEMENTS = {
    *(
        f"{{{SITEMAP_NS}}}{name}"
        for name in ("urlset", "sitemapindex", "url", "sitemap", "loc", "lastmod", "changefreq")
    ),
    *(f"{{{RS_NS}}}{name}" for name in ("md", "ln")),
}
ATTRIBUTES = {
    "capability",
    "at",
    "from",
    "until",
    "change",
    "datetime",
    "hash",
    "length",
    "type",
    "path",
    "rel",
    "href",
}


def _foreign(uri: str, data: bytes) -> Iterator[str]:
    """Yield what a document contains that no publication of these sites does: what readers ignore."""
    document = etree.fromstring(data)
    for each in [*document.itersiblings(preceding=True), *document.itersiblings(), *document.iter()]:
        text = "" if str(each.tag).endswith(("}loc", "}lastmod", "}changefreq")) else (each.text or "").strip()
        if each.tag not in ELEMENTS or {*each.attrib} - ATTRIBUTES or text or (each.tail or "").strip():
            yield f"{uri} contains {etree.tostring(each)[:100]!a}"


class Campaign:
    """Publishes after altered publications; `outcomes` counts what came of it, `defects` says what should not."""

    def __init__(self, folder: Path) -> None:
        """Publish what is to be altered."""
        self.folder = folder
        self.outcomes: Counter[tuple[str, str, str]] = Counter()
        self.defects: list[str] = []
        self.real: dict[str, dict[str, bytes]] = {}
        for name, site in SITES.items():
            output = folder / name
            for number, (time, contents) in enumerate(PAST.items()):
                site.publish(output, time, contents, "output" if number else "none")
            assert not (faults := faults_of(output)), faults
            self.real[name] = files_in(output)

    def run(self, kind: str, number: int) -> None:
        """Try one case: publish, and for some also show the status and forget a resource."""
        name = [*SITES][number % len(SITES)]
        files = forge(kind, number, self.real[name])
        case = f"{kind} {number} ({name})"
        hostile, output = self.folder / "hostile", self.folder / "output"
        write(hostile, files)
        contents, time = PLANS[number % len(PLANS)]
        write(output, {**self.real[name], **contents})
        with served(hostile) if number % 8 == 5 else nullcontext(str(hostile)) as place:
            self._attempt("publish", case, output, place, lambda: SITES[name].publish(output, time, contents, place))
        if number % 4 == 0:
            self._attempt("status", case, hostile, str(hostile), lambda: local_status(hostile))
            self._attempt("forget", case, hostile, str(hostile), lambda: forget_in(hostile))

    def _attempt(self, what: str, case: str, output: Path, where: str, do: Callable[[], object]) -> None:
        """Do something with an output, by the previous publication in a folder or at a URL."""
        before, hostile = tree(output), tree(self.folder / "hostile")
        outcome, defects = "message", list[str]()
        try:
            do()
        except (PublicationError, DocumentError) as error:
            defects += _faults_of_message(str(error), where)
            defects += ["files were altered"] if tree(output) != before else []
        except Exception as error:  # noqa: BLE001 - the defect looked for
            outcome = "crash"
            defects.append(f"{type(error).__name__}: {str(error)[:300]}")
        else:
            outcome = "publication"
            found = faults_of(output) if what != "status" else []
            if what == "forget":  # no more is known of a resource than was published
                found = [each for each in found if ": says {" not in each]
            defects += found
        if what == "publish" and tree(self.folder / "hostile") != hostile:
            defects.append("the previous publication was altered")
        self.outcomes[case.split(maxsplit=1)[0], what, outcome] += 1
        self.defects += [f"{what} after {case}: {each}" for each in defects[:3]]


def forget_in(folder: Path) -> None:
    """Forget a resource of the publication in a folder."""
    forget_uris(publications_in(folder), [f"{SITEURL}/a.html"], folder, built=utc("2024-03-08"))


def _faults_of_message(said: str, where: str) -> list[str]:
    """Return what a message lacks: a place, what to do, one printable line."""
    wrong = {
        "names no place": not any(each in said for each in (where, SITEURL, "resourcesync/")),
        "names no remedy": not any(each in said for each in REMEDIES),
        "is long": len(said) > 1_500,
        "is not printable": not said.isprintable(),
        "names a temporary folder": tempfile.gettempdir() in said.replace(where, ""),
    }
    return [f"the message {what}: {said[:400]!a}" for what, is_wrong in wrong.items() if is_wrong]


def files_in(folder: Path) -> dict[str, bytes]:
    """Return the bytes of all files in a folder by path."""
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def write(folder: Path, files: Mapping[str, bytes]) -> None:
    """Let a folder have these files and no others; only those that differ are written."""
    there = files_in(folder)
    for path in there.keys() - files.keys():
        (folder / path).unlink()
    for path, data in files.items():
        if there.get(path) != data:
            (folder / path).unlink(missing_ok=True)
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(data)


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    """Return a campaign."""
    return Campaign(tmp_path_factory.mktemp("campaign"))


@pytest.mark.parametrize("kind", [*KINDS, *STATE_KINDS])
def test_hostile_previous(campaign: Campaign, kind: str, pytestconfig: pytest.Config) -> None:
    """The next publication is verified by an independent reader, or one message names place and remedy."""
    campaign.defects.clear()
    for number in range(MANY if pytestconfig.getoption("--long") else FEW):
        campaign.run(kind, number)
    assert not campaign.defects
