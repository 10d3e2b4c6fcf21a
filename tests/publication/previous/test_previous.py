"""The previous publication, read back."""

import json
import re
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pelican_resourcesync.content import content_hash
from pelican_resourcesync.errors import DocumentError, PublicationError
from pelican_resourcesync.publication import Layout, Listed, Representation, read_previous, read_state
from pelican_resourcesync.publication.model.layout import SHARED
from pelican_resourcesync.publication.model.ranges import Body, Range
from pelican_resourcesync.settings import Dumps
from tests.kit.publications import LAYOUT, SITEURL, STATE, UPDATED, Source, change, is_listed, tree, utc

DAMAGED = r"the publication in the output is damaged \(.*\): upload it again, or publish once with RESOURCESYNC_FIRST=1"
RESOURCE_LIST = "resourcesync/site/resourcelist.xml"
OPEN_CHANGES = "resourcesync/site/changes/20240201T000000Z.json"
OPEN_LIST = "resourcesync/site/changelist-20240201T000000Z.xml"
CLOSED_LIST = "resourcesync/site/changelist-20240101T000000Z.xml"


def publish_twice(output: Path) -> Source:
    """Publish one resource in January and another state of it in February."""
    source = Source(output)
    source.publish({"a.html": b"a"}, "2024-01-05T12:00")
    source.publish({"a.html": b"bb"}, "2024-02-05T12:00")
    return source


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Source:
    """Return a publication with a closed and an open Change List, which no test alters for good."""
    return publish_twice(tmp_path_factory.mktemp("published"))


@pytest.fixture
def source(tmp_path: Path) -> Source:
    """Return a publication with a closed and an open Change List, to alter."""
    return publish_twice(tmp_path / "output")


def test_read_back(published: Source) -> None:
    """All that the next publication needs: the resources, the open range with its changes, the closed one without."""
    previous = published.previous()
    assert previous is not None
    shown = Representation.measured(sha256(b"bb").hexdigest(), 2, "text/html")
    assert previous.resources == {f"{SITEURL}/a.html": Listed(shown, utc("2024-02-05T12:00"))}
    bodies = [(Body(published.output / path, is_draft=False),) for path in (CLOSED_LIST, OPEN_LIST)]
    start, middle = utc("2024-01-01"), utc("2024-02-01")
    assert previous.closed == (Range(start=start, until=middle, counts=(1, 0, 0), bodies=bodies[0], unchanged=True),)
    assert previous.open == Range(start=middle, counts=(0, 1, 0), bodies=bodies[1], unchanged=True)
    content = f' c:hash="{content_hash(b"bb", f"{SITEURL}/a.html")}"'
    assert [*previous.open.changes] == [change("2024-02-05T12:00", "a.html", UPDATED, shown)._replace(content=content)]
    assert previous.last == previous.state.at == utc("2024-02-05T12:00")
    assert previous.state.digest == sha256((published.output / STATE).read_bytes()).hexdigest()
    assert [each.changes for each in previous.state.change_lists] == [1, 1]
    assert (previous.folder, previous.state.generation) == (published.output, 2)


@pytest.mark.parametrize("moved_to", ["", "2"])
def test_documents_without_their_state_are_damaged(source: Source, moved_to: str) -> None:
    """They are no first publication: its addresses would begin anew; of another set, they say nothing."""
    (source.output / STATE).unlink()
    home = source.output / "resourcesync/site"
    if moved_to:
        home.rename(home.with_name("before"))
        home.mkdir()
        home.with_name("before").rename(home / moved_to)
    lists = "/".join(filter(None, ["resourcesync/site", moved_to, "capabilitylist.xml"]))
    with pytest.raises(
        PublicationError, match=rf"{STATE} is missing, although {lists} exists\): upload it again, or publ"
    ):
        source.previous()
    assert replace(source, set_name="papers").previous() is None


def test_the_state_alone(source: Source) -> None:
    """What to start over from can be known where the documents are damaged."""
    previous = source.previous()
    assert previous is not None
    (source.output / RESOURCE_LIST).unlink()
    sealed = read_state(source.output, LAYOUT)
    assert sealed == previous.state
    assert sealed.digest == previous.state.digest
    assert read_state(source.output, Layout(SITEURL, "books")) is None


@pytest.mark.parametrize("path", SHARED)
def test_shared_documents_are_no_concern(source: Source, path: str) -> None:
    """Whoever publishes last writes them, and a folder without dot-folders is whole: neither is damage."""
    before = source.previous()
    (source.output / path).write_bytes(b"<html/>")
    assert source.previous() == before
    (source.output / path).unlink()
    assert source.previous() == before


def test_superseded_documents(source: Source) -> None:
    """One that is missing is no damage, one that was altered is."""
    path = "resourcesync/site/changelist-20230101T000000Z.xml"
    source.reseal(superseded={path: sha256(b"old").hexdigest()})
    assert source.previous() is not None
    source.write(path, b"old")
    assert source.previous() is not None
    source.write(path, b"new")
    with pytest.raises(PublicationError, match=f"{path} does not match {STATE}"):
        source.previous()


@given(st.data())
def test_one_byte_altered(published: Source, data: st.DataObject) -> None:
    """Any byte of any document that is not what it was is found, and the document is named."""
    documents = published.documents()
    path = data.draw(st.sampled_from(sorted(filter(is_listed, documents.keys() - {STATE, *SHARED}))))
    at = data.draw(st.integers(0, len(documents[path]) - 1))
    altered = bytearray(documents[path])
    altered[at] ^= data.draw(st.integers(1, 255))
    (published.output / path).write_bytes(altered)
    try:
        with pytest.raises(PublicationError, match=DAMAGED) as error:
            published.previous()
        assert f"{path} does not match {STATE}" in str(error.value)
    finally:
        (published.output / path).write_bytes(documents[path])


def test_packages_have_their_length(tmp_path: Path) -> None:
    """A package in the output that is shorter, longer or missing is found; it is not read, so other bytes are not."""
    source = Source(tmp_path / "output")
    source.publish({"a.html": b"a"}, "2024-01-05T12:00", dumps=Dumps(resourcedump=True))
    source.publish({"a.html": b"bb"}, "2024-02-05T12:00", dumps=Dumps(resourcedump=True))
    assert source.state()["packages"] == {
        f"resourcesync/site/{name}": len(source.documents()[f"resourcesync/site/{name}"])
        for name in ("resourcedump-20240205T120000Z-00001.zip", "resourcedump-20240105T120000Z-00001.zip")
    }
    for path in source.state()["packages"]:
        data = source.documents()[path]
        source.write(path, b"x" * len(data))
        assert source.previous() is not None
        for other in (data[:-1], data + b"x"):
            source.write(path, other)
            with pytest.raises(PublicationError, match=f"{path} does not match"):
                source.previous()
            assert read_previous(source.output, LAYOUT, packages=False) is not None
        source.write(path, data)
    source.reseal(packages={})
    with pytest.raises(PublicationError, match=r"\.zip does not match"):
        source.previous()


def test_any_document_missing(published: Source) -> None:
    """A document that is gone, or a folder now, is found, and named."""
    for path, data in published.documents().items():
        if is_listed(path) and path not in (STATE, *SHARED):
            (published.output / path).unlink()
            with pytest.raises(PublicationError, match=DAMAGED):
                published.previous()
            (published.output / path).mkdir()
            with pytest.raises(PublicationError, match=f"{path} does not match"):
                published.previous()
            (published.output / path).rmdir()
            (published.output / path).write_bytes(data)
    assert published.previous() is not None


@pytest.mark.promise("Nothing from outside")
@pytest.mark.parametrize(
    "path", ["../secret", "resourcesync/../../secret", "{absolute}", "resourcesync/\0", "x" * 5000]
)
def test_no_file_elsewhere_is_read(source: Source, tmp_path: Path, path: str) -> None:
    """A state that names a file outside its folder is refused, even where it knows that file's hash."""
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret")
    name = path.format(absolute=secret)
    documents = source.state()["documents"]
    source.reseal(documents={**documents, name: sha256(b"secret").hexdigest()})
    with pytest.raises(PublicationError, match="is listed, but is not a document of a publication"):
        source.previous()


@pytest.mark.promise("Nothing from outside")
@pytest.mark.parametrize("kind", ["documents", "superseded"])
def test_no_link_elsewhere_is_followed(source: Source, tmp_path: Path, kind: str) -> None:
    """A document lies in the folder of all documents, whatever link leads to it; that folder may be elsewhere."""
    (tmp_path / "secret").write_bytes(b"secret")
    (source.output / "resourcesync/site/notification.xml").symlink_to(tmp_path / "secret")
    name = {"resourcesync/site/notification.xml": sha256(b"secret").hexdigest()}
    source.reseal(**{kind: {**source.state()[kind], **name}})
    with pytest.raises(PublicationError, match=r"site/notification\.xml does not match"):
        source.previous()
    source.reseal(**{kind: {path: digest for path, digest in source.state()[kind].items() if path not in name}})
    (source.output / "resourcesync").rename(tmp_path / "elsewhere")
    (source.output / "resourcesync").symlink_to(tmp_path / "elsewhere")
    assert source.previous() is not None


@pytest.mark.parametrize(
    "where", ["../../../secret.zip", "resourcesync/site/other.zip", "resourcesync/site/resourcelist.xml"]
)
def test_packages_that_lead_elsewhere(source: Source, where: str) -> None:
    """The packages of a Resource Dump are documents of this publication, and so are their manifests."""
    source.publish({"a.html": b"1"}, "2024-03-01T12:00", dumps=Dumps(resourcedump=True, changedump=False))
    dump = source.output / "resourcesync/site/resourcedump.xml"
    dump.write_text(re.sub(r"resourcesync/site/resourcedump-[^<\"]*zip", where, dump.read_text()))
    source.reseal()
    before = source.documents()
    with pytest.raises(PublicationError, match="is not listed in"):
        source.publish({"a.html": b"2"}, "2024-03-02T12:00", dumps=Dumps(resourcedump=True, changedump=False))
    assert source.documents() == before


def test_a_change_list_without_a_hash(source: Source) -> None:
    """No Change List is read that the state does not list among the documents."""
    [closed, opened] = source.state()["change_lists"]
    other = "resourcesync/site/changelist-20240102T000000Z.xml"
    source.reseal(change_lists=[{**closed, "path": other}, opened])
    with pytest.raises(PublicationError, match=f"{other} is not listed in {STATE}"):
        source.previous()


@pytest.mark.parametrize(
    ("path", "old", "new", "what"),
    [
        (RESOURCE_LIST, b"<loc>", b"<lok>", "not in the form that this program writes"),
        (RESOURCE_LIST, b"</urlset>", b"</urlsot>", "was not written by this program"),
        (OPEN_CHANGES, b'"time": "2024-02-05', b'"time": "2024-02-31', "is not a valid date or time"),
        (OPEN_CHANGES, b'"kind"', b'"sort"', f"{OPEN_CHANGES} was not written by this program: 'kind' is missing"),
        (OPEN_CHANGES, b'"uri": "', b'"uri": 1, "x": "', f"{OPEN_CHANGES} was not written by this program: not all of"),
        (OPEN_CHANGES, b'"more": 0', b'"more": null', f"{OPEN_CHANGES} was not written by this program"),
        (OPEN_CHANGES, b"{", b"", f"{OPEN_CHANGES} was not written by this program"),
    ],
)
def test_documents_that_are_not_ours(source: Source, path: str, old: bytes, new: bytes, what: str) -> None:
    """Documents that cannot be read are refused with a message, even if `publication.json` has their hashes."""
    data = (source.output / path).read_bytes()
    assert old in data
    (source.output / path).write_bytes(data.replace(old, new))
    source.reseal()
    before = tree(source.output)
    with pytest.raises((PublicationError, DocumentError), match=re.escape(what)):
        source.publish({"a.html": b"bb"}, "2024-02-07T12:00")
    assert tree(source.output) == before


@pytest.mark.parametrize("old", [b' change="updated"', b"    <lastmod>2024-02-05T12:00:00Z</lastmod>\n"])
def test_changes_that_are_not_ours(source: Source, old: bytes) -> None:
    """A change without its kind or its time is refused with a message when it is read."""
    data = (source.output / OPEN_LIST).read_bytes()
    assert data.count(old) == 1
    (source.output / OPEN_LIST).write_bytes(data.replace(old, b""))
    source.reseal()
    previous = source.previous()
    assert previous
    assert previous.open
    with pytest.raises((PublicationError, DocumentError), match=r"the change of \S+/a.html has no kind or no time"):
        list(previous.open.changes)


@pytest.mark.parametrize("path", [RESOURCE_LIST, OPEN_LIST, CLOSED_LIST])
def test_documents_that_the_state_does_not_name(source: Source, path: str) -> None:
    """What no hash stands for is not believed."""
    content = source.state()
    del content["documents"][path]
    (source.output / STATE).write_text(json.dumps(content))
    with pytest.raises(
        PublicationError,
        match=rf"{path} is not listed in {STATE}\): upload it again, or publish once with RESOURCESYNC_FIRST=1",
    ):
        source.previous()


@pytest.mark.parametrize("path", ["resourcesync/site/notification.xml", "resourcesync/site/2/resourcelist.xml"])
def test_parts_that_lead_elsewhere(source: Source, path: str) -> None:
    """The parts of a Resource List are documents of this publication."""
    [part] = source.state()["parts"]
    source.reseal(parts=[part | {"path": path}])
    with pytest.raises(
        PublicationError, match=r"is not listed in .*: upload it again, or publish once with RESOURCESYNC_FIRST=1"
    ):
        source.previous()
