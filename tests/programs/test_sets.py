"""Several sets of resources over one site, in real builds: what is in each over time, and which sets there are."""

import shutil
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.publication import Layout, PublicationState
from pelican_resourcesync.publication.model.state import render_state
from pelican_resourcesync.publishers.static_site.publishing import removed_layouts
from tests.kit.faults import installing
from tests.kit.live import served
from tests.kit.museum import tree
from tests.kit.reader import parse
from tests.kit.sites import Row, Site, file_of, run
from tests.kit.walker import Walker
from tests.programs.test_neighbours import CAPABILITY_LIST

SITEURL = "https://example.org"
NEWS = {"categories": ["News"]}
WOOD = {"tags": ["wood"]}
IMAGES = {"types": ["image/*"]}


@pytest.fixture
def blog(site: Site) -> Site:
    """Return a site with news and notes, some of which are about wood, and an image."""
    site.configure(
        THEME="simple",
        DIRECT_TEMPLATES=["index"],
        AUTHOR_SAVE_AS="",
        STATIC_PATHS=["images"],
        TAG_SAVE_AS="tag/{slug}.html",
    )
    site.article("a.md", "A", Category="News", Tags="wood")
    site.article("b.md", "B", Category="News")
    site.article("c.md", "C", Category="Notes", Tags="wood, iron")
    site.article("d.md", "D", Category="Notes")
    site.write("content/images/e.svg", "<svg/>")
    site.commit("2024-01-01T10:00:00Z")
    return site


def publish(site: Site, time: str = "", /, **sets: Any) -> None:
    """Commit, where a time is given, and build with these sets."""
    if time:
        site.commit(time)
    site.build(RESOURCESYNC={**site.settings["RESOURCESYNC"], "sets": sets})


def described(site: Site) -> list[str]:
    """Name the sets of the Source Description, both copies of which are the same."""
    data = (site.output / "resourcesync/description.xml").read_bytes()
    assert data == (site.output / ".well-known/resourcesync").read_bytes()
    return [entry.uri.split("/")[-2] for entry in parse(data).entries]


def listed(site: Site, name: str) -> set[str]:
    """Return the files of the resources of a set."""
    entries = parse((site.output / f"resourcesync/{name}/resourcelist.xml").read_bytes()).entries
    return {file_of(entry.uri, SITEURL) for entry in entries}


def rows(site: Site, name: str) -> list[Row]:
    """Return the changes of a set."""
    home = site.output / "resourcesync" / name
    pointers = parse((home / "changelist.xml").read_bytes()).entries
    documents = [parse((home / pointer.uri.rpartition("/")[2]).read_bytes()) for pointer in pointers]
    changes = [change for document in documents for change in document.entries]
    return [(str(each.lastmod), each.md["change"], file_of(each.uri, SITEURL)) for each in changes]


def linked(site: Site) -> dict[str, str]:
    """Return the set whose Capability List each page names, `""` for none, `"several"` for more than one."""
    found = {}
    for file in (each for each in site.output.rglob("*.html") if "resourcesync" not in each.parts):
        links = [line for line in file.read_text("utf-8").splitlines() if 'rel="resourcesync"' in line]
        sets = [line.split("/resourcesync/")[1].split("/")[0] for line in links]
        found[file.relative_to(site.output).as_posix()] = sets[0] if len(sets) == 1 else "several" if sets else ""
    return found


def faults(site: Site) -> Sequence[str]:
    """Walk through what is published."""
    with served(site.output) as address:
        return Walker(address, SITEURL).walk().faults


# --- what is in a set --------------------------------------------------------


def test_a_page_names_the_capability_list_of_its_first_set(blog: Site) -> None:
    """In the order of the settings; a page that is in no set names none (DI02)."""
    publish(blog, wood=WOOD, news=NEWS)
    by_name = {"a.html": "wood", "b.html": "news", "c.html": "wood", "d.html": "", "index.html": ""}
    by_name |= {"category/news.html": "news", "category/notes.html": "", "tag/wood.html": "wood", "tag/iron.html": ""}
    assert linked(blog) == by_name
    publish(blog, news=NEWS, wood=WOOD)
    assert linked(blog) == {**by_name, "a.html": "news"}
    assert faults(blog) == []


def test_robots_names_the_resource_lists_of_all_sets(blog: Site) -> None:
    """Each once, however often it is built (DI04)."""
    blog.configure(RESOURCESYNC={"robots": True})
    for delete in (True, False):
        blog.configure(DELETE_OUTPUT_DIRECTORY=delete)
        publish(blog, news=NEWS, images=IMAGES)
        assert sorted((blog.output / "robots.txt").read_text().splitlines()) == [
            f"Sitemap: {SITEURL}/resourcesync/images/resourcelist.xml",
            f"Sitemap: {SITEURL}/resourcesync/news/resourcelist.xml",
        ]


def test_headers_need_a_set_of_everything(blog: Site) -> None:
    """They are of every answer: without such a set the build stops, with one they name its Capability List (DI03)."""
    blog.configure(RESOURCESYNC={"link_headers": ["_headers"], "sets": {"news": NEWS}})
    status, said = run(blog)
    assert status == 1
    assert "RESOURCESYNC['link_headers'] sends the same header with every response, so it needs" in said
    publish(blog, news=NEWS, whole={})
    text = (blog.output / "_headers").read_text()
    assert [line for line in text.splitlines() if "Link:" in line] == [
        f'  Link: <{SITEURL}/resourcesync/whole/capabilitylist.xml>; rel="resourcesync"; type="application/xml"'
    ]


@pytest.mark.promise("In sets")
def test_what_leaves_a_set_is_deleted_there_alone(blog: Site) -> None:
    """And what enters another is created there; for all else it is updated."""
    sets = {"site": {}, "news": NEWS, "wood": WOOD}
    publish(blog, **sets)
    assert listed(blog, "news") == {"a.html", "b.html", "category/news.html"}
    blog.article("a.md", "A", Category="Notes", Tags="wood")
    publish(blog, "2024-02-01T10:00:00Z", **sets)
    at = "2024-02-01T10:00:00Z"
    assert [row for row in rows(blog, "news") if row[0] == at] == [
        (at, "deleted", "a.html"),
        (at, "updated", "category/news.html"),
    ]
    assert (at, "updated", "a.html") in rows(blog, "wood")
    assert (at, "updated", "a.html") in rows(blog, "site")
    assert listed(blog, "news") == {"b.html", "category/news.html"}
    assert faults(blog) == []


def test_a_past_is_of_the_sets_that_it_fits(blog: Site) -> None:
    """What is gone before the first publication is a change of the whole site and of the set of its type, alone."""
    blog.write("content/images/f.svg", "<svg/>")
    blog.remove("content/images/e.svg")
    blog.remove("content/d.md")
    publish(blog, "2024-02-01T10:00:00Z", site={}, images=IMAGES)
    gone = {name: {path for _, kind, path in rows(blog, name) if kind == "deleted"} for name in ("site", "images")}
    assert gone == {"site": {"d.html", "images/e.svg"}, "images": {"images/e.svg"}}


# --- which sets there are ----------------------------------------------------


def test_build_warns_of_what_fits_nothing(blog: Site) -> None:
    """A name that may be misspelt, with the one that it is like."""
    blog.configure(RESOURCESYNC={"sets": {"site": {}, "news": {"categories": ["News", "Nots"]}}})
    status, said = run(blog, "--fatal", "warnings")
    assert status == 1
    warning = (
        "'Nots' in RESOURCESYNC['sets']['news']['categories'] matches no resource of this build (did you mean 'notes'?)"
    )
    assert warning in " ".join(said.split())


@pytest.fixture(params=["exchange", "renames"])
def _either_way(request: pytest.FixtureRequest) -> Iterator[None]:
    with installing(request.param):
        yield


@pytest.mark.promise("In sets")
@pytest.mark.usefixtures("_either_way")
@pytest.mark.parametrize("delete", [True, False], ids=["cleaned", "kept"])
def test_set_that_is_no_longer_named_goes(blog: Site, delete: bool) -> None:
    """With all its documents; somebody else's set stays, and so do all documents of the others."""
    blog.configure(DELETE_OUTPUT_DIRECTORY=delete, RESOURCESYNC={"dumps": True})
    blog.write("output/resourcesync/theirs/capabilitylist.xml", CAPABILITY_LIST)
    publish(blog, site={}, news=NEWS, images=IMAGES)
    theirs, site = (tree(blog.output / "resourcesync" / name) for name in ("theirs", "site"))
    assert described(blog) == ["images", "news", "site", "theirs"]
    for _ in range(2):
        publish(blog, site={}, images=IMAGES)
        assert described(blog) == ["images", "site", "theirs"]
        assert not (blog.output / "resourcesync/news").exists()
        assert tree(blog.output / "resourcesync/theirs") == theirs
        assert tree(blog.output / "resourcesync/site") == site
    blog.build(RESOURCESYNC={"previous": "output"})  # and now without sets
    assert described(blog) == ["site", "theirs"]
    (blog.output / "resourcesync/theirs/capabilitylist.xml").unlink()
    blog.build(RESOURCESYNC={"previous": "output"})
    assert described(blog) == ["site"]
    assert faults(blog) == []


@pytest.mark.usefixtures("_either_way")
def test_sets_that_all_get_other_names(blog: Site) -> None:
    """None of today's was ever published: what lies there and came from git is the site's own, all else stays."""
    blog.write("output/resourcesync/theirs/capabilitylist.xml", CAPABILITY_LIST)
    state = (
        b'{"format": 1, "generation": 1, "predecessor": null, "siteurl": "https://example.org", "changes": 0, '
        b'"at": "2024-01-01T10:00:00Z", "commit": null, "landed": null, "held": {}, "documents": {}}'
    )
    blog.write("output/resourcesync/theirs/publication.json", state)
    publish(blog, news=NEWS)
    publish(blog, wood=WOOD)
    assert described(blog) == ["theirs", "wood"]
    publish(blog, images=IMAGES, news=NEWS)
    assert described(blog) == ["images", "news", "theirs"]
    assert {each.name for each in (blog.output / "resourcesync").iterdir() if each.is_dir()} == {*described(blog)}


def test_one_warning_names_what_is_gone(blog: Site) -> None:
    """And says what to do; a strict build stops for it once, after all is published."""
    publish(blog, site={}, news=NEWS, wood=WOOD, images=IMAGES)
    both = (
        "RESOURCESYNC['sets'] no longer contains 'news' and 'wood', so the documents are removed, and copies are no "
        "longer updated. Delete resourcesync/news/ and resourcesync/wood/ from the host as well, or restore the setting"
    )
    one = (
        "RESOURCESYNC['sets'] no longer contains 'site', so the documents are removed, and copies are no longer "
        "updated. Delete resourcesync/site/ from the host as well, or restore the setting"
    )
    for sets, warning in (({"site": {}, "images": IMAGES}, both), ({"images": IMAGES}, one)):
        blog.configure(RESOURCESYNC={"sets": sets})
        status, said = run(blog, "--fatal", "warnings")
        assert status == 1
        assert warning in " ".join(said.split())
        assert said.count("no longer contains") == 1
        assert run(blog, "--fatal", "warnings")[0] == 0
        assert described(blog) == sorted(sets)


def test_set_that_somebody_else_took_over_stays(blog: Site) -> None:
    """The name alone is no proof: what another publisher has there since is none of ours to take out."""
    publish(blog, site={}, news=NEWS)
    home = blog.output / "resourcesync/news"
    shutil.rmtree(home)
    home.mkdir()
    (home / "capabilitylist.xml").write_text(CAPABILITY_LIST)
    publish(blog, site={})
    assert described(blog) == ["news", "site"]
    assert (home / "capabilitylist.xml").read_text() == CAPABILITY_LIST


def test_hostile_state_stops_the_build(blog: Site) -> None:
    """Nothing outside the folder of the documents is touched."""
    publish(blog, site={}, news=NEWS, images=IMAGES)
    file = blog.output / "resourcesync/publication.json"
    file.write_bytes(file.read_bytes().replace(b'"news"', b'"../../content"'))
    before = tree(blog.folder / "content"), tree(blog.output / "resourcesync")
    with pytest.raises(PublicationError, match="is not a valid set name"):
        publish(blog, site={})
    assert (tree(blog.folder / "content"), tree(blog.output / "resourcesync")) == before


def test_sets_that_this_site_published(tmp_path: Path) -> None:
    """Their states say so; of a state that cannot be read, nothing is known."""

    def state(publisher: str) -> bytes:
        at = datetime(2024, 1, 1, tzinfo=UTC)
        found = PublicationState(generation=1, siteurl=SITEURL, at=at, began=at, documents={}, publisher=publisher)
        return render_state(found, "a tool")

    states = {"news": state("site"), "papers": state("repository"), "site": state("site")}
    for name, data in {**states, "damaged": b"{"}.items():
        file = tmp_path / Layout(SITEURL, name).state
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    layouts = removed_layouts(tmp_path, SITEURL, [*states, "damaged", "absent"])
    assert [each.set_name for each in layouts] == ["news", "site"]
