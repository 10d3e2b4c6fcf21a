"""The table of the kinds of files in an output."""

from collections.abc import Iterator

import pytest

from pelican_resourcesync.publication.model.kinds import (
    KINDS,
    RESOURCE_LIST_PART,
    VERSION,
    VERSION_INDEX,
    headers_of,
    kind_of,
)
from pelican_resourcesync.publication.model.layout import SHARED, Layout, part_path
from tests.kit.publications import utc

_AT = utc("2024-03-01T12:00:00.001")
_LISTS = ("resourcelist", "resourcedump", "changelist", "changedump")
_LAYOUTS = [
    Layout("", name, restart) for name in ("site", "books-2_a", "a" * 60) for restart in (1, 2, 20_240_301_120_000)
]


def _documents(layout: Layout) -> Iterator[str]:
    """Yield the paths of the documents of a set that `publication.json` lists."""
    package = layout.resource_dump_package(_AT, 123_456)
    yield from (layout.version_index, layout.html_page, layout.badge, layout.feed, layout.change_pages)
    yield from (layout.capability_list, layout.resource_list, layout.resource_dump, layout.notification)
    yield from (layout.change_list_index, layout.change_dump_index, part_path(layout.resource_list, _AT, 1))
    yield from (layout.change_page(_AT), layout.change_data(_AT), layout.earlier_notification(_AT))
    yield from (layout.change_list(_AT), layout.change_dump(_AT))
    yield from (layout.archive(name) for name in _LISTS)
    yield from (part_path(layout.archive(name), _AT, 1) for name in _LISTS)
    yield from (layout.archived(name, _AT) for name in _LISTS[:2])
    yield from (layout.archived_part(name, _AT, 123_456) for name in _LISTS[:2])
    yield from (package, layout.manifest(package), layout.change_dump_package(_AT), layout.patch("a" * 64, "b" * 64))


@pytest.mark.parametrize("layout", _LAYOUTS)
def test_listed(layout: Layout) -> None:
    """Every document of a set can be listed in its state; nothing else beside it can."""
    assert [path for path in _documents(layout) if not kind_of(path).listed] == []
    others = [layout.state, f"{layout.home}/publication.json", layout.home, f"{layout.records}/a", layout.timemap("a")]
    others += [f"{layout.versions}/{'a' * 64}", *SHARED, f"{layout.folder}/a/b.xml", f"{layout.folder}/.a.xml"]
    others += [f"{layout.folder}/../site/resourcelist.xml", f"{layout.resource_list}\n", f"/{layout.resource_list}"]
    others += [
        f"{layout.folder}/index.htm",
        f"{layout.folder}/resourcelist.xml.gz",
        "index.html",
        "a/capabilitylist.xml",
    ]
    assert [path for path in others if kind_of(path).listed] == []


def test_parts_of_a_resource_list_alone() -> None:
    """Neither its index nor an archive is a part, and so is no archived list, nor a part of one or of the archive."""
    for layout in (Layout("", "books"), Layout("", "books", 12)):
        parts = {part_path(layout.resource_list, _AT, 1), part_path(layout.resource_list, utc("2024-03-01"), 123_456)}
        assert {kind_of(path) for path in parts} == {RESOURCE_LIST_PART}
        assert [path for path in _documents(layout) if kind_of(path) is RESOURCE_LIST_PART and path not in parts] == []


def test_versions() -> None:
    """A version is in the folder of the set or of the documents since a restart, whatever the ending of its name."""
    for layout in _LAYOUTS:
        assert kind_of(layout.version_index) is VERSION_INDEX
        names = ("0" * 64, f"{'0' * 64}.html", f"{'0' * 64}.xml")
        assert {kind_of(f"{folder}/versions/{name}") for name in names for folder in (layout.home, layout.folder)} == {
            VERSION
        }


def test_contents() -> None:
    """What has bytes or words of resources: what goes when one of these is withdrawn."""
    layout = Layout("", "books", 3)
    package, dumped = layout.resource_dump_package(_AT, 1), layout.change_dump_package(_AT)
    assert {path for path in _documents(layout) if kind_of(path).has_contents} == {
        *(
            layout.html_page,
            layout.change_pages,
            layout.feed,
            layout.change_page(_AT),
            layout.change_data(_AT),
            layout.patch("a" * 64, "b" * 64),
        ),
        *(
            layout.resource_dump_package(_AT, 123_456),
            layout.manifest(layout.resource_dump_package(_AT, 123_456)),
            dumped,
        ),
    }
    assert [kind_of(path).is_package for path in (package, dumped, layout.manifest(package), "a.zip")] == [
        True,
        True,
        False,
        False,
    ]


def test_headers() -> None:
    """Caches keep for a year what never changes, and check everything else."""
    forever = "public, max-age=31536000, immutable"
    kept = {
        "resourcesync/site/resourcedump-20240301T120000Z-00001.zip",
        "resourcesync/site/resourcedump-20240301T120000Z-00001-manifest.xml",
        "resourcesync/site/resourcelist-20240301T120000.123Z-00001.xml",
        "resourcesync/site/20240301120000/changedump-20240301T120000Z.zip",
        "resourcesync/site/archive/resourcelist-20240301T120000Z.xml",
        f"resourcesync/site/patches/{'0a' * 32}-{'0b' * 32}.dcz",
        f"resourcesync/site/versions/{'0a' * 32}.html",
    }
    not_kept = {
        "resourcesync/site/changelist-20240301T120000Z.xml",
        "resourcesync/site/changedump-20240301T120000Z.xml",
        "resourcesync/site/resourcelist.xml",
        "resourcesync/site/resourcelist-archive.xml",
        "resourcesync/site/changes/20240301T000000Z.json",
        "resourcesync/site/records/archive/1.xml",
        "archive/1.zip",
        f"resourcesync/.replaced/{'0a' * 32}",
    }
    assert {path for path in kept | not_kept if headers_of(path)["Cache-Control"] == forever} == kept
    types = {path: headers_of(path)["Content-Type"] for path in (Layout("").timemap("a"), *SHARED, "a.css", *kept)}
    assert types[Layout("").timemap("a")] == "application/link-format"
    assert types[".well-known/resourcesync"] == types["resourcesync/description.xml"] == "application/xml"
    assert types["a.css"] == "text/css"
    assert headers_of("resourcesync/site/changes/20240301T000000Z.json")["Content-Type"] == "application/json"


def test_steps() -> None:
    """Each step of an upload has what the ones after it mention."""
    steps = {
        1: f"""a.html archive/changelist.xml resourcesync/site/records/1/publication.json resourcesync/site/badge.svg
            resourcesync/site/resourcedump-20240301T120000Z-00001.zip
            resourcesync/site/resourcedump-20240301T120000Z-00001-manifest.xml
            resourcesync/site/versions/{"0a" * 32}.html resourcesync/site/20240301120000/versions/{"0a" * 32}.xml
            resourcesync/site/versions/{"0a" * 32}.atom resourcesync/other/logo.svg robots.txt _headers""",
        2: """resourcesync/site/changelist-20240301T120000Z.xml
            resourcesync/site/2024/resourcelist-20240301T120000Z-00001.xml resourcesync/other/list-1.xml
            resourcesync/site/timemaps/0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a.link resourcesync/site/versions.jsonl""",
        3: "resourcesync/site/resourcelist.xml resourcesync/site/changedump-archive.xml resourcesync/other/list.xml",
        4: "resourcesync/site/capabilitylist.xml resourcesync/other/way/capabilitylist.xml",
        5: """resourcesync/index.html resourcesync/site/changes/index.html resourcesync/site/changes.atom
            resourcesync/site/2/changes/20240301T000000Z.json resourcesync/other/a.html""",
        6: ".well-known/resourcesync resourcesync/description.xml",
        7: "resourcesync/zoo/publication.json resourcesync/publication.json",
    }
    wrong = [path for step, paths in steps.items() for path in paths.split() if kind_of(path).step != step]
    assert wrong == []


def test_every_path_has_a_kind() -> None:
    """The table ends with a row for everything else, so a name with a line break has a kind, too."""
    assert kind_of("a\nb.html") is KINDS[0]
    assert kind_of("resourcesync/a\nb") is KINDS[-1]
