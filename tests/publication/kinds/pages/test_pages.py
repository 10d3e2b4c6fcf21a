"""The pages for people: what they say, in which language, whose they are, and that nothing can break them."""

import json
import re
import shutil
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from zoneinfo import ZoneInfo

import pytest
from jinja2 import Environment
from lxml import html

from pelican_resourcesync.publication.kinds.pages.rendering import Language, _CompiledTemplates
from pelican_resourcesync.publication.model.history import ChangeHistory
from pelican_resourcesync.publication.model.options import PageOptions
from tests.kit.publications import SITEURL, Source, utc
from tests.publication.kinds.pages.sites import HOSTILE, everything, publish

FRONT, SET = "resourcesync/index.html", "resourcesync/site/index.html"
TRANSLATED = ("de", "fr", "ja")


def page_of(source: Source, path: str = FRONT) -> Any:
    """Parse one of the pages."""
    return html.fromstring((source.output / path).read_bytes().decode())


def text_of(element: Any) -> str:
    """Return all text of an element, without the style sheet."""
    return " ".join(" ".join(element.find("body").itertext()).split())


def test_what_the_page_of_a_set_says(tmp_path: Path) -> None:
    """Numbers, the latest changes, media types, documents with their sizes, and the command to copy."""
    source = publish(tmp_path, 3, **everything(page=PageOptions(license="CC BY", contact="mailto:me@example.org")))
    page = page_of(source)
    said = text_of(page)
    assert page.findtext(".//title") == "What's new at A site"
    assert page.findtext(".//h1/a") == "A site"
    tiles = [each.text_content().strip() for each in page.xpath("//dl[@class='tiles']//dt | //dl[@class='tiles']//dd")]
    # 4 + 5 + 6 pages created, the last at the first publication, 0 + 1 + 2 updates, one deletion; the 14 left
    # have the bytes "0/page-0.html"
    assert tiles == ["Pages", "14", "New in February 2020", "5", "Last change", "4 March 2020"]
    (commands,) = page.xpath("//section[@aria-labelledby='copy']//code")
    assert commands.text == (
        "python -m pip install pelican-resourcesync\npelican-resourcesync mirror https://example.org/ example.org"
    )
    assert page.xpath("//h1/a/@href") == ["https://example.org/"]
    assert "text/html 14 182 bytes" in said
    assert "more media types" not in said
    bars = [
        [(part.get("class"), part.get("style")) for part in each.iter("i")]
        for each in page.xpath("//ol[@class='year']//span")
    ]
    assert bars == [
        [("c", "flex-grow:4")],
        [("c", "flex-grow:5"), ("u-kind", "flex-grow:1")],
        [("c", "flex-grow:6"), ("u-kind", "flex-grow:2"), ("d", "flex-grow:1")],
    ]
    assert "Licence CC BY" in said
    assert page.xpath("//dd/a/@href")[-1] == "mailto:me@example.org"  # and a licence that is no address is no link
    names = [each.text for each in page.xpath("//section[@aria-labelledby='copy']//td/a")]
    assert names == [
        "Source Description",
        "Capability List",
        "Resource List",
        "Resource Dump",
        "Change List Index",
        "Open Change List",
        "Change List Archive",
    ]
    assert f"Packages: 1, {sum(each.stat().st_size for each in tmp_path.rglob('*.zip')) / 1000:.1f} kB" in said


@pytest.mark.parametrize("path", [FRONT, SET])
def test_links_work_from_a_file(tmp_path: Path, path: str) -> None:
    """Every link to a document is relative and leads to a file; those to resources are absolute."""
    source = publish(tmp_path, 3, **everything())
    page = page_of(source, path)
    links = {str(link) for link in page.xpath("//@href | //@src")} - {"data:,"}
    within = {link for link in links if link.startswith("#")}
    assert within <= {f"#{name}" for name in page.xpath("//@id")}
    links -= within
    here = [each for each in links if "://" not in each]
    assert len(here) > 9
    assert all((tmp_path / path).parent.joinpath(each.partition("#")[0]).is_file() for each in here)
    assert all(each.startswith(f"{SITEURL}/") for each in links.difference(here))
    latest = page_of(source, path).xpath("//ul[@class='changes']//a[bdi]/@href")
    assert {str(each) for each in latest} <= {each.uri for each in source.changes()}
    assert len(latest) > 3


def test_hostile_names_are_text(tmp_path: Path) -> None:
    """Neither the site's name nor a URI can put markup into a page or the badge."""
    source = Source(tmp_path)
    contents = {"%22%3E%3Cscript%3E'&x.html": b"x", "%E2%80%AE.html": b"y"}
    resources = ChangeHistory(built=utc("2024-03-01T12:00"))
    source.publish(contents, resources, site_name=HOSTILE)
    source.publish(dict.fromkeys(contents, b"new"), "2024-03-02T12:00", site_name=HOSTILE)
    for path in (FRONT, SET):
        page = page_of(source, path)
        assert not list(page.iter("script"))
        assert page.findtext(".//h1/a") == HOSTILE
        assert {each.text for each in page.iter("bdi")} == {"/\"><script>'&x.html", "/\N{REPLACEMENT CHARACTER}.html"}


def test_a_large_publication_has_a_small_page(tmp_path: Path) -> None:
    """Long tables are cut, with the number and the list linked; the page of 3,000 resources stays below 60 kB."""
    source = publish(tmp_path, 250, 1_700, **everything())
    page = page_of(source)
    assert len(source.resource_list()) > 3_000
    assert (tmp_path / FRONT).stat().st_size < 60_000
    assert len(page.xpath("//*[@class='year']//a")) == 12
    assert page.xpath("//a[.='238 more']/@href") == ["site/changes/index.html"]
    assert len(page_of(source, "resourcesync/site/changes/index.html").xpath("//table//a")) == 250


def test_the_same_bytes_again(tmp_path: Path) -> None:
    """Two publications of the same resources have the same pages, byte for byte."""
    one, other = (publish(tmp_path / name, 4, **everything()).documents() for name in ("one", "other"))
    assert {path: data for path, data in one.items() if path.endswith((".html", ".svg"))} == {
        path: data for path, data in other.items() if path.endswith((".html", ".svg"))
    }


@pytest.mark.parametrize("left", ["whole", "damaged", "a file", "read-only"])
def test_templates_stay_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: str) -> None:
    """The next process takes them from the work folder, or compiles them again; the pages are the same."""
    folder, compiled = tmp_path / "work/templates", list[str]()
    folder.parent.mkdir()
    really, page = Environment.compile, PageOptions(compiled=folder)

    def counted(environment: Environment, source: str, *rest: Any) -> Any:
        compiled.append(source)
        return really(environment, source, *rest)

    monkeypatch.setattr(Environment, "compile", counted)
    monkeypatch.setattr(_CompiledTemplates, "_codes", {})
    first = publish(tmp_path / "first", 2, **everything(page=page)).documents()
    files = [*folder.iterdir()]
    assert len(files) == len(compiled) > 5
    if left == "damaged":
        for file in files:
            file.write_bytes(file.read_bytes()[:-10])
    elif left == "a file":
        shutil.rmtree(folder)
        folder.write_bytes(b"")
    elif left == "read-only":
        shutil.rmtree(folder)
        folder.mkdir(mode=0o500)
    compiled.clear()
    monkeypatch.setattr(_CompiledTemplates, "_codes", {})
    assert publish(tmp_path / "next", 2, **everything(page=page)).documents() == first
    assert len(compiled) == (0 if left == "whole" else len(files))


def test_every_text_is_translated() -> None:
    """Each catalog has every text of the templates and of the code, with the same values, and no other."""
    folder = files("pelican_resourcesync.publication.kinds.pages")
    templates = "".join(each.read_text("utf-8") for each in (folder / "templates/resourcesync").iterdir())
    code = "".join(
        (folder / name).read_text("utf-8") for name in ("pages.py", "overview.py", "rendering.py", "changes.py")
    )
    used = set(re.findall(r'_\("([^"]+)"', templates)) - {"name"}
    catalogs = {tag: json.loads((folder / f"languages/{tag}.json").read_text("utf-8")) for tag in TRANSLATED}
    for catalog in catalogs.values():
        assert used <= catalog.keys()
        assert catalog.keys() == catalogs["de"].keys()
        for english, text in catalog.items():
            assert re.findall(r"%\(\w+\)s", english) == re.findall(r"%\(\w+\)s", text), english
            assert english in used or english in code or english in _FACTS


_FACTS = {"Items", "Records", "Files"}


@pytest.mark.parametrize(
    ("tag", "number", "size", "small", "date"),
    [
        ("en", "1,234,567", "1.2\u00a0MB", "999\u00a0bytes", "2 August 2024"),
        ("de-AT", "1.234.567", "1,2\u00a0MB", "999\u00a0Byte", "2. August 2024"),
        ("fr_CA", "1\u202f234\u202f567", "1,2\u00a0Mo", "999\u00a0octets", "2 août 2024"),
        ("ja", "1,234,567", "1.2\u00a0MB", "999\u00a0Byte", "2024年8月2日"),
        ("nl", "1,234,567", "1.2\u00a0MB", "999\u00a0bytes", "2 August 2024"),
    ],
)
def test_languages(tag: str, number: str, size: str, small: str, date: str) -> None:
    """Numbers, sizes and dates as each language writes them; English where there is no translation."""
    language = Language.of(tag)
    assert language.number(1_234_567) == number
    assert (language.size(1_234_567), language.size(999)) == (size, small)
    assert language.size(1_000).replace(",", ".").startswith("1.0\u00a0k")
    assert language.date(utc("2024-08-02T23:30")) == date
    assert (language.text("Resources") == "Resources") is (tag in {"en", "nl"})


@pytest.mark.parametrize(
    ("tag", "begin", "end", "shown"),
    [
        ("en", "2024-03-01T00:00", "2024-04-01T00:00", "March 2024"),
        ("en", "2024-12-01T00:00", "2025-01-01T00:00", "December 2024"),
        ("de", "2024-03-01T00:00", "2024-04-01T00:00", "März 2024"),
        ("ja", "2024-03-01T00:00", "2024-04-01T00:00", "2024年3月"),
        ("en", "2024-03-01T00:00", "2024-05-01T00:00", "1 March 2024 \N{EN DASH} 30 April 2024"),
        ("en", "2024-03-01T12:00", "2024-04-01T00:00", "1 March 2024 \N{EN DASH} 31 March 2024"),
        ("fr", "2024-03-02T00:00", "2024-04-01T00:00", "2 mars 2024 \N{EN DASH} 31 mars 2024"),
        ("en", "2024-03-01T12:00", "2024-03-01T13:00", "1 March 2024"),
    ],
)
def test_periods(tag: str, begin: str, end: str, shown: str) -> None:
    """A calendar month has its name."""
    assert Language.of(tag).period(utc(begin), utc(end)) == shown


@pytest.mark.parametrize(
    ("head", "icon", "colors"),
    [
        ('<link rel="icon" href="a%20b.png"><meta name="theme-color" content="#0A5A8A">', "a%20b.png", "#0a5a8a, "),
        ("<link rel=icon sizes=32x32 href=i.png><link rel='apple-touch-icon' href='/big.png?v=1'>", "big.png", ", "),
        ('<link rel="icon" href="i.png"><link rel="SHORTCUT ICON" href="./i.svg#x">', "i.svg", ", "),
        ('<link rel="mask-icon" href="i.svg"><meta name="theme-color" content="#FFF">', "favicon.ico", ", #ffffff"),
        ('<link rel="icon" href="//other.example/i.png"><meta name="theme-color" content="#777">', "favicon.ico", ", "),
        ('<link rel="icon" href="data:image/svg+xml,x"><meta name="theme-color" content="red">', "favicon.ico", ", "),
        ('<link rel="icon" href="https://[x"><meta name="theme-color" content="#000;}*{">', "favicon.ico", ", "),
        (f'<link rel="icon" href="{"i" * 300}.png">', None, ", "),  # which is not there
    ],
)
def test_icon_and_color_of_the_front_page(tmp_path: Path, head: str, icon: str | None, colors: str) -> None:
    """Both are those of the front page if they are a file of the site, and a colour that can be read (WCAG 1.4.3)."""
    source = Source(tmp_path)
    contents = dict.fromkeys(("a%20b.png", "big.png", "i.png", "i.svg", "favicon.ico"), b"")
    contents["index.html"] = f"<html><head>{head}<title>A</title></head></html>".encode()
    for path, data in contents.items():
        source.write(unquote(path), data)
    source.publish(contents, "2024-03-01T12:00")
    page = page_of(source)
    assert page.xpath("//link[@rel='icon']/@href") == [f"../{icon}" if icon else "data:,"]
    assert page.xpath("//header//img/@src") == ([f"../{icon}"] if icon else [])
    found = {each.get("media"): each.get("content") for each in page.xpath("//meta[@name='theme-color']")}
    modes = (found.get(f"(prefers-color-scheme: {mode})", "") for mode in ("light", "dark"))
    assert ", ".join(modes) == colors
    source.publish(contents, "2024-03-02T12:00", icon="i.png", color="#123456")
    assert page_of(source).xpath("//link[@rel='icon']/@href") == ["../i.png"]
    assert "--site: #123456;" in page_of(source).findtext(".//style")


def test_what_other_programs_show_of_the_page(tmp_path: Path) -> None:
    """A title and a description from the numbers; what is new is counted since the month began, where the site is."""
    source, page = Source(tmp_path), PageOptions(language="de", timezone=ZoneInfo("Europe/Berlin"))
    contents = {"a.html": b"<title>A</title>"}
    for path, time in (("", "02-01T12:00"), ("b.html", "02-29T22:30"), ("c.html", "02-29T23:30"), ("d", "03-02T12:00")):
        contents |= {path: f"<title>{path}</title>".encode()} if path else {}
        source.publish(contents, f"2024-{time}", page=page, site_name='A "site"')
    said = {
        each.get("property") or each.get("name"): each.get("content") for each in page_of(source).iterfind(".//meta")
    }
    assert said["og:title"] == 'Neues bei A "site"'
    assert said["description"] == "Seiten: 3 · Neu im März 2024: 1 · Letzte Änderung: 2. März 2024"
    assert said["og:description"] == said["description"]
    assert said["og:url"] == f"{SITEURL}/resourcesync/index.html"


def test_a_theme_replaces_templates(tmp_path: Path) -> None:
    """A template of the theme takes the place of ours, extends it as `!resourcesync/…`, and sees the theme's values."""
    theme = tmp_path / "theme"
    (theme / "resourcesync").mkdir(parents=True)
    (theme / "resourcesync/set.html").write_text(
        '{% extends "!resourcesync/set.html" %}{% block heading %}{{ NAME|twice }} <&>{% endblock %}'
    )
    page = PageOptions(templates=(theme,), variables={"NAME": "<b>"}, filters={"twice": lambda text: text * 2})
    source = publish(tmp_path / "output", 1, **everything(page=page))
    assert page_of(source, SET).findtext(".//h1") == "<b><b> <&>"
    assert page_of(source).findtext(".//h1/a") == "A site"


def repository(output: Path, at: str) -> Source:
    """Publish a repository's set."""
    source = Source(output, set_name="repository")
    history = ChangeHistory(built=utc(at), read_as_of=utc(at), complete=False)
    page = PageOptions(facts=(("Items", 1),))
    source.publish({"item/1": b"1"}, history, site_name="Repository", page=page, publisher="repository")
    return source


def test_the_page_of_a_site_stays_its_own(tmp_path: Path) -> None:
    """Whoever publishes last: the repository is among its other sets, in the site's language, with its own page."""
    site = publish(tmp_path, 1, site_name="Mein Garten", page=PageOptions(language="de"))
    before = page_of(site)
    both = repository(tmp_path, "2024-03-01T12:00")
    for _ in range(2):
        page = page_of(site)
        assert page.findtext(".//h1/a") == before.findtext(".//h1/a") == "Mein Garten"
        assert [each.text for each in page.xpath("//h2[.='Hier auch veröffentlicht']")] == ["Hier auch veröffentlicht"]
        assert page.xpath("//ul[@class='cards']//a/@href") == ["repository/index.html"]
        assert "repository Ressourcen: 1 Stand: 1. März 2024." in text_of(page)
        assert "Items 1" in text_of(page_of(both, "resourcesync/repository/index.html"))
        site.publish({"a.html": b"a"}, "2024-03-02T12:00", site_name="Mein Garten", page=PageOptions(language="de"))
    repository(tmp_path, "2024-03-03T12:00")
    assert page_of(site).xpath("//ul[@class='cards']//a/@href") == ["repository/index.html"]


@pytest.mark.parametrize("text", ["", '<html lang="fr"><!-- other sets: end --><!-- other sets: begin -->\n'])
def test_the_page_of_a_site_with_a_theme(tmp_path: Path, text: str) -> None:
    """A repository leaves a page as it is on which it has no place, and learns nothing from it."""
    (tmp_path / "theme/resourcesync").mkdir(parents=True)
    (tmp_path / "theme/resourcesync/index.html").write_text(text)
    page = PageOptions(templates=(tmp_path / "theme",), language="de")
    site = Source(tmp_path / "output")
    site.publish({"a.html": b"a"}, "2024-03-01T12:00", page=page)
    repository(site.output, "2024-03-01T12:00")
    assert (site.output / "resourcesync/index.html").read_text() == text.rstrip("\n")
    text = '<html lang="fr"><!-- other sets: begin -->\n<!-- other sets: end -->'
    (tmp_path / "theme/resourcesync/index.html").write_text(text)
    site.publish({"a.html": b"b"}, "2024-03-02T12:00", page=page)
    repository(site.output, "2024-03-03T12:00")
    assert "Hier auch veröffentlicht" in text_of(page_of(site))


def test_a_site_takes_over_from_a_repository(tmp_path: Path) -> None:
    """The page of a repository becomes that of the site which publishes into the same folder."""
    repository(tmp_path, "2024-03-01T12:00")
    site = publish(tmp_path, 1, site_name="A garden")
    assert page_of(site).findtext(".//h1/a") == "A garden"
    assert page_of(site).xpath("//ul[@class='cards']//a/@href") == ["repository/index.html"]


def test_sets_without_a_page_are_linked(tmp_path: Path) -> None:
    """A set that another program published is shown with its Capability List, whatever its name."""
    source = publish(tmp_path, 1)
    source.write("resourcesync/'<x>&/capabilitylist.xml", b"")
    source.publish({"a.html": b"a"}, "2024-03-02T12:00")
    (link,) = page_of(source).xpath("//ul[@class='cards']//a/@href")
    assert unquote(link).endswith("'<x>&/capabilitylist.xml")


def test_a_set_with_a_capability_list_of_another_name(tmp_path: Path) -> None:
    """One that a Source Description names is shown by the URI of its Capability List, which is all that is known."""
    source, maps = publish(tmp_path, 1), f"{SITEURL}/resourcesync/maps/list.xml"
    source.write("resourcesync/maps/list.xml", b"")
    entry = f'<url><loc>{maps}</loc><rs:md capability="capabilitylist"/></url></urlset>'
    description = source.documents()["resourcesync/description.xml"].replace(b"</urlset>", entry.encode())
    source.write("resourcesync/description.xml", description)
    source.publish({"a.html": b"a"}, "2024-03-02T12:00")
    (link,) = page_of(source).xpath("//ul[@class='cards']//a")
    assert (link.get("href"), " ".join(link.itertext()).split()[0]) == (maps, maps)


def test_the_badge(tmp_path: Path) -> None:
    """It says how many resources there are, as text that programs read too."""
    source = publish(tmp_path, 2, 1_200)
    badge = html.fromstring((tmp_path / "resourcesync/site/badge.svg").read_bytes())
    assert badge.get("aria-label") == "ResourceSync: 1,209 resources"
    assert "resourcesync/site/badge.svg)](" in text_of(page_of(source, SET))
