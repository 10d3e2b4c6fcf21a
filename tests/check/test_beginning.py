"""Where the check of a Source begins: a page or robots.txt in a file, as well as at a URL."""

from pathlib import Path

import pytest

from pelican_resourcesync.check import CheckError, Request, check
from tests.check.between import Changed
from tests.check.documents import BASE, SOURCE, lay, names
from tests.check.hosts import hosted

DOCUMENTS = sum(name.endswith((".xml", "/resourcesync")) for name in SOURCE)
#: A Source Description is the same at its two addresses, and read once where only links lead to it.
ONE_LESS = DOCUMENTS - 1


def linked(link: str) -> str:
    """Make a page."""
    return f'<!doctype html><head><link rel="resourcesync" href="{link}"></head>'


@pytest.mark.parametrize("link", [f"{BASE}capabilitylist.xml", "/capabilitylist.xml", "../capabilitylist.xml"])
def test_page_in_a_folder(tmp_path: Path, link: str) -> None:
    """The page of a site that lies in a folder leads to the Source in that folder, whatever the form of its link."""
    folder = lay(tmp_path / "site", {"a/page.html": linked(link)})
    report = check(Request(target=str(folder / "a/page.html")))
    assert (names(report.findings), report.documents, report.elsewhere) == ([], ONE_LESS, 0)


@pytest.mark.parametrize("name", ["a/page.html", "robots.txt"])
def test_without_a_well_known_uri(tmp_path: Path, name: str) -> None:
    """The folder is found by what the links lead to, too."""
    changed: Changed = {".well-known/resourcesync": None, "a/page.html": linked(f"{BASE}capabilitylist.xml")}
    report = check(Request(target=str(lay(tmp_path / "site", changed) / name)))
    assert (names(report.findings), report.documents) == (["DI01 SHOULD"], ONE_LESS)


def test_robots_txt_in_a_folder(tmp_path: Path) -> None:
    """The Resource List that robots.txt names leads up to the whole Source."""
    report = check(Request(target=str(lay(tmp_path) / "robots.txt")))
    assert (names(report.findings), report.documents) == ([], ONE_LESS)


def test_description_that_no_link_leads_to(tmp_path: Path) -> None:
    """SD01: the Source Description at the well-known URI is one, even where no link was followed to it."""
    away = str(SOURCE["capabilitylist.xml"]).replace(f"{BASE}description.xml", "https://elsewhere.example/description")
    changed: Changed = {"page.html": linked("capabilitylist.xml"), "capabilitylist.xml": away}
    report = check(Request(target=str(lay(tmp_path, changed) / "page.html")))
    assert (names(report.findings), report.elsewhere) == ([], 1)


def test_page_that_leads_out_of_its_folder(tmp_path: Path) -> None:
    """A page among the files of one site that links to another leads to that, on the web."""
    folder = lay(tmp_path, {"page.html": linked("http://127.0.0.1:1/capabilitylist.xml")})
    with pytest.raises(CheckError, match=r"127\.0\.0\.1 is not public; nothing was checked"):
        check(Request(target=str(folder / "page.html")))


@pytest.mark.parametrize("name", ["page.html", "robots.txt"])
def test_file_from_elsewhere(tmp_path: Path, name: str) -> None:
    """What was saved from another site leads to the web, and there to no private address."""
    with hosted(tmp_path / "site") as address:
        saved = {
            "page.html": linked(f"{address}/capabilitylist.xml"),
            "robots.txt": f"Sitemap: {address}/resources.xml",
        }
        (tmp_path / name).write_text(saved[name], "utf-8")
        with pytest.raises(CheckError, match=r"127\.0\.0\.1 is not public; nothing was checked"):
            check(Request(target=str(tmp_path / name)))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.html", "<html>", "has no link with rel=resourcesync"),
        ("a.html", linked("/capabilitylist.xml"), "lead to no file around it; give its URL"),
        ("robots.txt", "User-agent: *\n", "has no Sitemap directive"),
        ("robots.txt", "Sitemap: /resources.xml\n", "lead to no file around it; give its URL"),
    ],
)
def test_nothing_to_begin_with(tmp_path: Path, name: str, text: str, message: str) -> None:
    """A file that leads nowhere is no target."""
    (tmp_path / name).write_text(text, "utf-8")
    with pytest.raises(CheckError, match=message):
        check(Request(target=str(tmp_path / name)))


def test_link_to_nothing(tmp_path: Path) -> None:
    """A page on the web whose link leads to nothing is no target either."""
    with (
        hosted(tmp_path, changed={"page.html": linked("none.xml")}) as address,
        pytest.raises(CheckError, match=r"none\.xml.*; nothing was checked"),
    ):
        check(Request(target=f"{address}/page.html"))
