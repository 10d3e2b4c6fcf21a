"""The documents that the next publication keeps as they are: altered with hashes that add up, each is found out."""

import gc
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.protocol import Limits
from pelican_resourcesync.publication.model.options import Archives, Dumps
from tests.publication.previous.forging import Forgery, members_of, packed
from tests.publication.support import SITEURL, Source

HOME = "resourcesync/site"
CLOSED, CHANGES = f"{HOME}/changelist-20240101T000000Z.xml", f"{HOME}/changelist.xml"
DUMP, PACKAGE = f"{HOME}/changedump-20240105T120000.001Z.xml", f"{HOME}/changedump-20240205T120000Z"
ARCHIVED = f"{HOME}/archive/resourcelist-20240105T120000.001Z.xml"

Alter = Callable[[dict[str, bytes]], object]


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Return the documents of a site with changes in three months, dumps, archives, and lists in parts."""
    source = Source(tmp_path_factory.mktemp("published"))
    for month in (1, 2, 3):
        source.publish(
            {"a.html": b"a%d" % month, "b.html": b"b", "c.html": b"c"},
            f"2024-0{month}-05T12:00",
            dumps=Dumps(changedump=True, resourcedump=True),
            archives=Archives(resourcelist=2),
            limits=Limits(entries=2),
        )
    return source.documents()


def replaced(path: str, old: str, new: str) -> Alter:
    """Replace text in a document, wherever it stands."""

    def alter(files: dict[str, bytes]) -> None:
        assert old.encode() in files[path]
        files[path] = files[path].replace(old.encode(), new.encode())

    return alter


def other_address(files: dict[str, bytes]) -> None:
    """Let a closed Change List lie at an address that is not made of its time."""
    files[f"{HOME}/own.xml"] = files.pop(CLOSED)
    for path in (CHANGES, f"{HOME}/changelist-archive.xml"):
        files[path] = files[path].replace(CLOSED.encode(), f"{HOME}/own.xml".encode())
    files[CLOSED] = files[f"{HOME}/own.xml"]


def repacked(**how: Any) -> Alter:
    """Let a package have the same members, but contain something else too."""

    def alter(files: dict[str, bytes]) -> None:
        files[f"{PACKAGE}.zip"] = packed(members_of(files[f"{PACKAGE}.zip"]), **how)

    return alter


def part_twice(files: dict[str, bytes]) -> None:
    """Let an archived list have a part twice."""
    files[ARCHIVED] = re.sub(rb"-00002\.xml", b"-00001.xml", files[ARCHIVED])


@pytest.mark.parametrize(
    ("alter", "what"),
    [
        (replaced(CLOSED, f"{SITEURL}/a.html", "javascript:alert(1)"), r"javascript:alert\(1\) is not below"),
        (replaced(CLOSED, f"{HOME}/capabilitylist.xml", "x"), f"{CLOSED} has the link 'up' to x"),
        (replaced(CLOSED, f"{SITEURL}/{CHANGES}", "file:///x"), f"{CLOSED} has the link 'index' to file:///x"),
        (replaced(CLOSED, 'change="created"', 'change="deleted"'), "contradicts the last change of"),
        (replaced(CLOSED, 'datetime="2024', 'datetime="1024'), "has the datetime 1024-01-05"),
        (other_address, f"leads to {HOME}/own.xml instead of {CLOSED}"),
        (lambda files: files.update({f"{HOME}/own.xml": b"<x/>"}), "own.xml, to which no document leads"),
        (part_twice, f"{ARCHIVED} leads to .*-00001.xml, which is not one of its parts"),
        (replaced(f"{ARCHIVED[:-4]}-00001.xml", "/b.html", "/a.html"), "a.html is listed twice"),
        (
            replaced(DUMP, f"{PACKAGE}.zip", f"{HOME}/x.zip"),
            f"x.zip is not the package {PACKAGE}.zip with the manifest",
        ),
        (replaced(DUMP, 'until="2024-02-05', 'until="2024-01-05'), "is not in order between"),
        (replaced(DUMP, 'from="2024-01-05T12:00:00.001Z" until="2024-02-05', 'until="2024-02-05'), "without its from"),
        (replaced(CHANGES, 'from="2024-02-01T00:00:00Z" until', "until"), "without its from"),
        (replaced(f"{PACKAGE}-manifest.xml", ' path="', ' type="'), "line .*type"),
        (replaced(f"{PACKAGE}-manifest.xml", ' path="/', ' path="'), "-manifest.xml: .*does not begin with /"),
        (lambda files: files.update({f"{PACKAGE}.zip": b"PK"}), f"{PACKAGE}.zip cannot be read: File is not a zip"),
        (lambda files: files.update({f"{PACKAGE}.zip": packed({})}), "other members than its manifest lists"),
        (repacked(comment=b"more"), "other members than its manifest lists"),
        (repacked(extra=b"\xff\xff\x04\x00more"), "other members than its manifest lists"),
        (repacked(mode=0o120777), "other members than its manifest lists"),
    ],
)
def test_each_is_read(published: dict[str, bytes], tmp_path: Path, alter: Alter, what: str) -> None:
    """The message names the document, and what is wrong there."""
    forgery = Forgery(dict(published), random.Random(1))
    alter(forgery.files)
    own = forgery.files.keys() - published.keys()
    forgery.alter_state(lambda content: content["documents"].update(dict.fromkeys(own, "")))
    forgery.seal()
    source = Source(tmp_path)
    for path, data in forgery.files.items():
        source.write(path, data)
    with pytest.raises(PublicationError, match=what):
        source.previous()


def test_a_length_that_is_wrong(published: dict[str, bytes], tmp_path: Path) -> None:
    """What a dump says of a package is compared with it."""
    source = Source(tmp_path)
    for path, data in published.items():
        source.write(path, re.sub(rb'length="\d+" type="application/zip"', b'length="1" type="application/zip"', data))
    source.reseal()
    with pytest.raises(PublicationError, match="has 1 bytes, but it has"):
        source.previous()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="this system does not say which files are open")
def test_files_of_a_damaged_publication_are_closed(published: dict[str, bytes], tmp_path: Path) -> None:
    """They do not wait for the garbage collector, which may come too late for who renames or removes them."""
    gc.disable()
    try:
        test_a_length_that_is_wrong(published, tmp_path)
        opened = [str(each.resolve()) for each in Path("/proc/self/fd").iterdir()]
    finally:
        gc.enable()
    assert not [each for each in opened if each.startswith(str(tmp_path.resolve()))]
