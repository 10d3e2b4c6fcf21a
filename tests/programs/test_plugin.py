"""The plug-in inside Pelican: after every other, in every kind of run, and what it leaves in pages and logs."""

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from pelican import Pelican
from pelican.settings import read_settings

import pelican_resourcesync
from tests.kit.reader import parse
from tests.kit.sites import Site, file_of, our_command, public_files, run

LINK = (
    '<link rel="resourcesync" type="application/xml" href="https://example.org/resourcesync/site/capabilitylist.xml" />'
)

#: A plug-in that rewrites every page once Pelican has finished, as minifiers do.
REWRITER = """
    from pathlib import Path

    from pelican import signals


    def rewrite(pelican):
        for page in Path(pelican.output_path).rglob("*.html"):
            page.write_text(page.read_text() + "<!-- rewritten -->")


    def register():
        signals.finalized.connect(rewrite)
"""

#: Builds four times, each time with another copy of the plug-in: receivers run in the order of a set of addresses.
FOUR_RUNS = """
    import json, sys

    from pelican import Pelican
    from pelican.settings import read_settings

    first = sys.argv[1] == "ours first"
    for number in range(4):
        name = f"rewriter{number}"
        with open(f"plugins/{name}.py", "w") as copy:
            copy.write(open("plugins/rewriter.py").read())
        plugins = ["pelican_resourcesync", name] if first else [name, "pelican_resourcesync"]
        override = {"OUTPUT_PATH": f"output/{number}", "PLUGINS": plugins}
        Pelican(read_settings("pelicanconf.py", override=override)).run()
        del sys.modules[name]
"""

#: A plug-in that builds a sub-site within the build, as those for translated sites do.
SUBSITE = """
    from pathlib import Path

    from pelican import Pelican, signals
    from pelican.settings import read_settings

    building = []


    def build(pelican):
        if building:
            return
        building.append(True)
        override = {"OUTPUT_PATH": str(Path(pelican.output_path, "de")), "PATH": "inhalt"}
        override["SITEURL"] = pelican.settings["SITEURL"] + "/de"
        Pelican(read_settings("pelicanconf.py", override=override)).run()


    def register():
        signals.finalized.connect(build)
"""


def plugin(site: Site, name: str, source: str) -> None:
    """Write a plug-in of the site's own."""
    site.write(f"plugins/{name}.py", dedent(source))
    site.configure(PLUGIN_PATHS=["plugins"], PLUGINS=[name, "pelican_resourcesync"])


def line(text: str) -> str:
    """Return the one line that the plug-in says at the end, without the time that it took."""
    (found,) = re.findall(r"^ResourceSync: (?!uncommitted).*$", text, re.MULTILINE)
    return re.sub(r"in \d+\.\d\d seconds", "in N seconds", found)


def verbose(site: Site) -> str:
    """Build with the command `pelican`, and give all that it says, information too, in whole lines."""
    return run(site, "--verbose")[1]


def listed(output: Path) -> dict[str, str]:
    """Return the SHA-256 of each file of the Resource List, as listed."""
    entries = parse((output / "resourcesync/site/resourcelist.xml").read_bytes()).entries
    return {file_of(each.uri, "https://example.org"): each.md["hash"].removeprefix("sha-256:") for each in entries}


def digests(output: Path) -> dict[str, str]:
    """Return the SHA-256 of each public file."""
    return {path: hashlib.sha256(data).hexdigest() for path, data in public_files(output).items()}


def python(source: str, *arguments: str, folder: Path) -> str:
    """Run Python code in a process of its own and give what it prints."""
    process = subprocess.run(
        [sys.executable, "-W", "error", "-c", dedent(source), *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        check=True,
        capture_output=True,
        text=True,
    )
    return process.stdout


@pytest.mark.promise("True")
@pytest.mark.parametrize("order", ["ours first", "ours last"])
def test_published_are_the_bytes_that_every_plugin_left(site: Site, order: str) -> None:
    """Four runs in either order of PLUGINS: the hashes are those of pages rewritten in another's `finalized`."""
    plugin(site, "rewriter", REWRITER)
    site.article("a.md", at="2024-01-01T10:00:00Z")
    python(FOUR_RUNS, order, folder=site.folder)
    for number in range(4):
        output = site.output / str(number)
        assert (output / "a-title.html").read_text().endswith("<!-- rewritten -->")
        assert listed(output) == digests(output)


def test_one_instance_may_run_again_and_again(
    site: Site, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with `--autoreload`: each run publishes what stands then, and says it once, however often it registers."""
    pelican_resourcesync.register()
    pelican_resourcesync.register()
    monkeypatch.chdir(site.folder)
    site.article("a.md", "A", at="2024-01-01T10:00:00Z")
    pelican = Pelican(read_settings("pelicanconf.py"))
    said = []
    for edit in (lambda: None, lambda: site.article("b.md", "B"), lambda: site.remove("content/a.md")):
        edit()
        pelican.run()
        said.append(line(capsys.readouterr().out).rpartition("; ")[2])
        assert listed(site.output) == digests(site.output)
    assert said[0] == "first publication."
    updated = "4 updated (/, /archives.html and 2 more)"
    assert said[1] == f"1 created (/b.html), {updated} since the last publication."
    assert said[2] == f"{updated}, 1 deleted (/a.html) since the last publication."


def test_a_run_that_failed_does_not_hinder_the_next(
    site: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An exception within Pelican ends one run; the next one of the same process publishes."""
    monkeypatch.chdir(site.folder)
    site.article("a.md", "A")
    site.article("broken.md", "A", "The same URL.")
    site.commit("2024-01-01T10:00:00Z")
    pelican = Pelican(read_settings("pelicanconf.py"))
    with pytest.raises(RuntimeError, match="overwrit"):
        pelican.run()
    assert not (site.output / "resourcesync").exists()
    site.remove("content/broken.md")
    pelican.run()
    assert "first publication" in line(capsys.readouterr().out)


@pytest.fixture
def with_subsite(site: Site) -> Site:
    """Return a site with a sub-site that Pelican builds within Pelican."""
    plugin(site, "subsite", SUBSITE)
    site.article("a.md", "Hall")
    site.write("inhalt/a.md", "Title: Halle\nDate: 2024-01-01\n\nText.\n")
    site.write("inhalt/files/a.txt", "A file")
    site.write("inhalt/files/page.html", "<html><head></head></html>")
    site.configure(STATIC_PATHS=["files"])
    site.commit("2024-01-01T10:00:00Z")
    return site


def test_pelican_within_pelican_is_one_publication(with_subsite: Site) -> None:
    """The files of a sub-site are resources of the outer site, but for its drafts; there is no publication within."""
    output = with_subsite.output
    for status in ("draft", "hidden"):
        with_subsite.write(f"inhalt/pages/{status}.md", f"Title: My {status}\nStatus: {status}\n\nText.\n")
    said = with_subsite.command().stdout
    assert re.match(r"ResourceSync: \d+ resources, .* at https://example.org/resourcesync/", line(said))
    assert {"hall.html", "de/halle.html", "de/index.html", "de/files/a.txt"} <= listed(output).keys()
    private = {path for path in public_files(output) if path.startswith("de/") and "/my-" in path}
    assert len(private) == 2
    assert not any(LINK in (output / path).read_text() for path in private)
    assert listed(output) == {path: each for path, each in digests(output).items() if path not in private}
    assert not (output / "de" / "resourcesync").exists()
    assert not (output / "de" / ".well-known").exists()
    assert (output / "de" / "halle.html").read_text().count(LINK) == 1
    assert line(with_subsite.command().stdout).endswith("; nothing changed since the last publication.")


def test_a_site_that_publishes_nothing_has_no_publication_within(with_subsite: Site) -> None:
    """Where the outer site has no SITEURL, its sub-site has one, which could not be published."""
    with_subsite.configure(SITEURL="")
    with_subsite.command()
    assert (with_subsite.output / "de" / "halle.html").is_file()
    assert not [*with_subsite.output.rglob("resourcesync")]


def test_empty_siteurl_publishes_nothing_and_says_so(site: Site) -> None:
    """Without SITEURL there are no URIs: nothing is written, and one line says why; disabled, too."""
    site.article("a.md", at="2024-01-01T10:00:00Z")
    site.configure(SITEURL="")
    said = [each for each in verbose(site).splitlines() if "ResourceSync" in each]
    assert len(said) == 1
    why = "SITEURL is empty (pelican-quickstart sets it in publishconf.py, for make publish)"
    assert said[0] == f"ResourceSync: nothing is published, because {why}."
    assert not [file for file in site.output.rglob("*") if "resourcesync" in file.name or file.name == ".nojekyll"]
    assert "resourcesync" not in (site.output / "a-title.html").read_text()
    site.configure(SITEURL="https://example.org", RESOURCESYNC={"enabled": False})
    assert "ResourceSync: nothing is published, because the setting 'enabled' is false\n" in verbose(site)
    assert not [file for file in site.output.rglob("*") if "resourcesync" in file.name or file.name == ".nojekyll"]


def test_importing_the_package_imports_nothing_heavy(tmp_path: Path) -> None:
    """Pelican imports every plug-in of its namespace on every build: ours costs nothing until it is registered."""
    code = "import sys, pelican_resourcesync; print(sorted({n.partition('.')[0] for n in sys.modules}))"
    loaded = python(code, folder=tmp_path)
    assert "'pelican_resourcesync'" in loaded
    assert not {"'lxml'", "'git'", "'pelican'", "'blinker'"} & {*re.findall(r"'\w+'", loaded)}


@pytest.fixture
def pages(site: Site) -> Site:
    """Return a site with public, draft and hidden pages, one without a head, and one that is excluded."""
    site.article("a.md", "Public")
    site.article("b.md", "Draft", Status="draft")
    site.article("c.md", "Hidden", Status="hidden")
    site.write("content/pages/404.md", "Title: Lost\nSave_as: 404.html\n\nText.\n")
    site.write("content/extra/page.html", "<!DOCTYPE html><html><head><title>x</title></head><body></body></html>")
    site.write("content/extra/fragment.html", "<p>No head</p>")
    site.configure(
        STATIC_PATHS=["extra"], STATIC_EXCLUDE_SOURCES=False, PAGE_EXCLUDES=["extra"], ARTICLE_EXCLUDES=["extra"]
    )
    site.commit("2024-01-01T10:00:00Z")
    return site


def test_every_page_of_the_set_links_to_the_capability_list(pages: Site) -> None:
    """One link in the head of each page that is a resource, and none in any other (DI02)."""
    pages.build()
    links = {file.relative_to(pages.output).as_posix(): _heads(file) for file in pages.output.rglob("*.html")}
    people = {path for path in links if path.startswith("resourcesync/")}
    assert len(people) == 4
    without = {"404.html", "drafts/draft.html", "hidden.html", "extra/fragment.html", *people}
    assert {path for path, count in links.items() if count == 0} == without
    assert {path for path, count in links.items() if count == 1} == links.keys() - without
    assert {"public.html", "index.html", "extra/page.html", "archives.html"} <= links.keys() - without
    assert b"resourcesync" not in (pages.folder / "content/extra/page.html").read_bytes()


def _heads(page: Path) -> int:
    return page.read_text("utf-8").partition("</head>")[0].count(LINK)


def test_robots_names_the_resource_list(site: Site) -> None:
    """`robots` adds one line to what the site says itself, also when it is built again (DI04)."""
    site.write("content/extra/robots.txt", "User-agent: *\nDisallow: /private/")
    site.configure(
        STATIC_PATHS=["extra"],
        EXTRA_PATH_METADATA={"extra/robots.txt": {"path": "robots.txt"}},
        RESOURCESYNC={"robots": True},
    )
    site.commit("2024-01-01T10:00:00Z")
    for delete in (True, False, False):
        site.build(DELETE_OUTPUT_DIRECTORY=delete)
        assert (site.output / "robots.txt").read_text() == (
            "User-agent: *\nDisallow: /private/\nSitemap: https://example.org/resourcesync/site/resourcelist.xml\n"
        )
        assert listed(site.output)["robots.txt"] == digests(site.output)["robots.txt"]


def test_headers_link_to_the_capability_list(site: Site) -> None:
    """`link_headers` writes what Netlify and Apache read, beside what the site says itself, and once (DI03)."""
    site.write("content/extra/_headers", "/*\n  X-Frame-Options: DENY\n")
    site.configure(
        STATIC_PATHS=["extra"],
        EXTRA_PATH_METADATA={"extra/_headers": {"path": "_headers"}},
        RESOURCESYNC={"link_headers": ["_headers", ".htaccess"]},
        SITEURL="https://example.org/blog",
    )
    site.commit("2024-01-01T10:00:00Z")
    uri = "https://example.org/blog/resourcesync/site/capabilitylist.xml"
    for delete in (True, False):
        site.build(DELETE_OUTPUT_DIRECTORY=delete)
        headers = (site.output / "_headers").read_text()
        assert headers.startswith("/*\n  X-Frame-Options: DENY\n")
        assert headers.count(f'/blog/*\n  Link: <{uri}>; rel="resourcesync"; type="application/xml"\n') == 1
        apache = (site.output / ".htaccess").read_text()
        assert apache.count(f'Header add Link "<{uri}>; rel=\\"resourcesync\\"; type=\\"application/xml\\""') == 1
        entries = parse((site.output / "resourcesync/site/resourcelist.xml").read_bytes()).entries
        assert not [entry for entry in entries if entry.uri.endswith(("_headers", ".htaccess"))]


def test_files_of_ours_that_a_host_reads(site: Site) -> None:
    """There is an empty `.nojekyll`; the site's own stays. There is a `robots.txt` if it is asked for."""
    site.article("a.md", at="2024-01-01T10:00:00Z")
    site.build()
    assert (site.output / ".nojekyll").read_bytes() == b""
    assert not (site.output / "robots.txt").exists()
    (site.output / ".nojekyll").write_text("mine")
    for _ in range(2):
        site.build(DELETE_OUTPUT_DIRECTORY=False, RESOURCESYNC={"robots": True})
        assert (site.output / ".nojekyll").read_text() == "mine"
        assert (site.output / "robots.txt").read_text().count("Sitemap:") == 1
        assert "robots.txt" in listed(site.output), "ours is a resource, and stays one"


def test_key_file_of_indexnow(site: Site) -> None:
    """The key file is written and no resource; another build leaves it as it is."""
    site.article("a.md", at="2024-01-01T10:00:00Z")
    site.configure(RESOURCESYNC={"indexnow_key": "0123456789"})
    for _ in range(2):
        site.build()
        assert (site.output / "0123456789.txt").read_bytes() == b"0123456789"
        assert "0123456789.txt" not in listed(site.output)


def test_site_in_a_subpath(site: Site) -> None:
    """The host's well-known URI is not the site's where the site's URL has a path: a line says so (SD01)."""
    site.article("a.md", at="2024-01-01T10:00:00Z")
    site.configure(SITEURL="https://example.org/blog")
    said = [each for each in run(site)[1].splitlines() if "the site's URL has a path" in each]
    assert len(said) == 1
    assert "https://example.org/blog/.well-known/resourcesync is not at the root" in said[0]


def test_documents_are_never_read_as_sources(site: Site) -> None:
    """Where the output lies among the sources, the page for people does not become an article of the next build."""
    site.configure(PATH=".", DEFAULT_DATE="fs", ARTICLE_EXCLUDES=["theme"], PAGE_PATHS=[])
    site.write("a.md", "Title: A\nDate: 2024-01-01\n\nText.\n")
    site.commit("2024-01-01T10:00:00Z")
    for _ in range(2):
        status, said = run(site, "--fatal", "warnings")
        assert status == 0
        assert "1 article" in said
        assert "ResourceSync: " in said


def test_pelican_that_does_not_name_the_plugin_publishes_nothing(site: Site) -> None:
    """Signals are one for the whole process: another Pelican in it stays without."""
    site.article("a.md", "A", at="2024-01-01T10:00:00Z")
    site.build()
    site.build(PLUGINS=[], OUTPUT_PATH=str(site.folder / "other"))
    assert (site.folder / "other/a.html").is_file()
    assert not (site.folder / "other/resourcesync").exists()


@pytest.mark.promise("One URL a page")
@pytest.mark.parametrize(("index_urls", "end"), [("folder", ""), ("file", "index.html")])
def test_owner_may_publish_the_output_with_the_command(site: Site, index_urls: str, end: str) -> None:
    """The plug-in and `publish` give every file the same URL, so who switches from one to the other changes nothing."""
    for number in range(3):
        site.article(f"{number}.md", f"T{number}", Tags="ai")
    site.commit("2024-01-01T10:00:00Z")
    tags: dict[str, Any] = {"TAG_URL": "tag/{slug}/", "TAG_SAVE_AS": "tag/{slug}/index.html", "DEFAULT_PAGINATION": 2}
    site.build(**tags, RESOURCESYNC={"index_urls": index_urls})
    before = site.resources().keys()
    assert {f"/{end}", f"/tag/ai/{end}", "/tag/ai/index2.html", "/index2.html", "/t0.html"} <= before
    settings = f'previous = "output"\nsitemap = false\nindex_urls = "{index_urls}"\n'
    (site.folder / "resourcesync.toml").write_text(settings)
    done = our_command(site.folder, "publish", str(site.output), "--base-url", site.settings["SITEURL"])
    assert "nothing changed since the last publication" in done.stdout, done.stdout + done.stderr
    assert site.resources().keys() == before
