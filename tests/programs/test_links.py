"""The links of a real site between a page and its other forms, and to mirrors: written, checked, mirrored and read."""

from dataclasses import replace
from pathlib import Path

import pytest

from pelican_resourcesync.checker import check
from pelican_resourcesync.destination import Mirror
from tests.kit.live import Ask, live, static
from tests.kit.reader import parse_file
from tests.kit.resync_client import Mirror as Client
from tests.kit.sites import Site, public_files, strip
from tests.kit.sources import FAST, files_of


@pytest.fixture
def blog(site: Site) -> Site:
    """Return a site of two articles, the sources of which are published, too."""
    strip(site)
    site.configure(OUTPUT_SOURCES=True)
    for name in ("one", "two"):
        site.article(f"{name}.md", name.capitalize())
    site.commit("2024-01-01T12:00:00Z")
    return site


def links(site: Site) -> dict[str, list[tuple[str, str]]]:
    """Return the links of each entry of the Resource List, by the path of its URI."""
    siteurl = site.settings["SITEURL"]
    entries = parse_file(site.output / "resourcesync/site/resourcelist.xml").entries
    found = {each.uri: [(rel, href.removeprefix(siteurl)) for rel, href in each.links] for each in entries}
    return {uri.removeprefix(siteurl): each for uri, each in found.items() if each}


def test_life(blog: Site, tmp_path: Path) -> None:
    """Mirrors are added, lag behind, and go, while others follow; another client reads all of it."""
    with live(static(blog.output)) as site, live(static(blog.output)) as mirror:

        def answer(ask: Ask) -> None:  # what is below `copy/` is a mirror, too, which the checker may visit
            static(blog.output)(replace(ask, path=ask.path.removeprefix("copy/")))

        site.manner = answer
        there = mirror.url.replace("127.0.0.1", "localhost")
        blog.configure(SITEURL=site.url)
        blog.build()
        assert links(blog) == {
            f"/{name}.{own}": [(rel, f"/{name}.{other}")]
            for name in ("one", "two")
            for own, rel, other in (("html", "alternate", "text"), ("text", "canonical", "html"))
        }
        before = {path: (blog.output / path).read_bytes() for path in ("resourcesync/site/changelist.xml",)}
        urls = [{"url": f"{site.url}/copy", "pri": 2}, {"url": there, "pri": 1}]
        blog.configure(RESOURCESYNC={"previous": site.url, "mirrors": urls})
        blog.build()
        for path, own in links(blog).items():
            assert own[-2:] == [("duplicate", f"/copy{path}"), ("duplicate", f"{there}{path}")]
        assert {path: (blog.output / path).read_bytes() for path in before} == before, "it is no change"
        report = check(f"{site.url}/.well-known/resourcesync", deep=True)
        ((rule, _, group),) = report.findings.groups()
        assert (rule, group.count) == ("LN01", 4)
        assert all(there in each.message and "is not public" in each.message for each in group.first)

        copy, allowed = tmp_path / "copy", replace(FAST, allow_host=["localhost"], allow_private=True)
        mirror.asked()
        assert Mirror(site.url, copy, allowed).run().complete
        everything = public_files(blog.output)
        assert files_of(copy) == everything
        assert set(mirror.asked()) == set(everything)
        texts = tmp_path / "texts"
        assert Mirror(site.url, texts, replace(FAST, prefer=["text/plain"])).run().complete
        assert sorted(files_of(texts)) == sorted(set(everything) - {"one.html", "two.html"})

        client = Client(tmp_path / "client", site.url)
        client.folder.mkdir()
        client.run("--baseline")
        assert client.files().keys() >= {"one.html", "one.text"}
        assert client.audit().startswith("IN SYNC")

        mirror.manners["one.html"] = lambda ask: ask.send(200, b"before", Content_Type="text/html")
        blog.article("one.md", "One", "New words.", at="2024-02-01T12:00:00Z")
        blog.build()
        result = Mirror(site.url, copy, allowed).run()
        assert result.complete
        assert files_of(copy) == public_files(blog.output)
        assert [each.partition(" for ")[0] for each in result.plan.notes] == ["the mirror localhost served other bytes"]

        asked: list[str] = []

        def ask(host: str) -> bool:
            asked.append(host)
            return False

        both = {"site": {}, "pages": {"types": ["text/html"]}}
        blog.configure(RESOURCESYNC={"previous": site.url, "mirrors": urls, "sets": both})
        blog.build(first=True)
        assert Mirror(site.url, tmp_path / "asked", replace(FAST, ask=ask)).run().complete
        assert asked == ["localhost"], "once, although two sets link there"
