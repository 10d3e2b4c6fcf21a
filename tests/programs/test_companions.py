"""The most used companion plug-ins of Pelican: the sites conform, and a build without changes has none."""

import re
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest

from tests.kit.sites import ROOT, Site, file_of, our_command, with_stork

NOTHING = "nothing changed since the last publication"
ARTICLE = "<html><head><title>{{ article.title }}</title></head><body>%s{{ article.content }}</body></html>"
NEIGHBORS = '{% if article.prev_article %}<a href="{{ article.prev_article.url }}">before</a>{% endif %}'
ASSETS = """{% assets output="css/all.css", "css/one.css", "css/two.css" %}{{ ASSET_URL }} {% endassets %}"""
#: A plug-in that sets the clock of the plug-in `sitemap`.
CLOCK = """import datetime, os
from pelican.plugins.sitemap.sitemap import generator

def register():
    generator.now = datetime.datetime.fromisoformat(os.environ["NOW"])
"""
INDEX = "<html><head><title>{{ SITENAME }}</title></head><body></body></html>"


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """Make a site with an image, and with an article that has a translation."""
    site = Site.create(
        tmp_path / "site",
        THEME="theme",
        DIRECT_TEMPLATES=["index"],
        CATEGORY_SAVE_AS="",
        AUTHOR_SAVE_AS="",
        STATIC_PATHS=["images"],
    )
    site.write("theme/templates/article.html", ARTICLE % "")
    site.write("theme/templates/index.html", INDEX)
    site.write("content/images/dot.png", png(4, 4))
    picture = '<img class="image-process-half" alt="A dot" src="{static}/images/dot.png">'
    site.article("first.md", "First", picture, Lang="en", Category="Notes")
    site.article("second.md", "Second", Date="2024-01-02", Lang="en", Category="Notes")
    site.article("second-de.md", "Zweiter", Date="2024-01-02", Lang="de", Slug="second", Category="Notes")
    return site


def png(width: int, height: int) -> bytes:
    """Return a black picture."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pixels = zlib.compress((b"\0" + b"\0\0\0" * width) * height)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def publish(site: Site, **settings: Any) -> tuple[set[str], str]:
    """Build and check twice, and return the paths of the resources and the news of the second build."""
    site.configure(**settings)
    site.commit("2024-02-01T10:00:00Z")
    news = []
    for day in (1, 2):
        now = {"NOW": f"2024-03-0{day}T12:00:00"}
        done = site.command("--fatal", "errors", environment=with_stork(site) | now)
        news += re.findall(r"^ResourceSync: .*; (.*)\.$", done.stdout, re.MULTILINE)
        checked = our_command(site.folder, "check", "--deep", "--strict", "output").stdout
        assert "output: conforming: 0 errors, 0 warnings" in checked
    assert news[0] == "first publication"
    assert len(news) == 2
    return {file_of(path, "") for path in site.resources()}, news[1]


PATHS = {"index.html", "first.html", "second.html", "second-de.html", "images/dot.png"}


def test_together(site: Site) -> None:
    """What each writes is a resource; only the file that one dates with the time of the build changes on every build.

    `neighbors` links to the article before, `image_process` makes smaller pictures, `webassets` joins style sheets and
    has its cache in a folder that begins with a dot, and a stand-in for Stork writes the index of `search`.
    """
    site.write("theme/templates/article.html", ARTICLE % (NEIGHBORS + ASSETS))
    site.write("theme/static/css/one.css", "a { color: red }\n")
    site.write("theme/static/css/two.css", "b { color: blue }\n")
    site.write("plugins/clock.py", CLOCK)
    plugins = ["neighbors", "image_process", "webassets", "search", "clock", "sitemap", "pelican_resourcesync"]
    smaller = {"half": ["scale_in 2 2 True"]}
    paths, news = publish(site, PLUGIN_PATHS=["plugins"], PLUGINS=plugins, IMAGE_PROCESS=smaller)
    styles = {"theme/css/one.css", "theme/css/two.css", "theme/css/all.css"}
    indexes = {"search.toml", "search-index.st", "sitemap.xml"}
    assert paths == PATHS | styles | indexes | {"images/derivatives/half/dot.png"}
    assert news == "1 updated (/sitemap.xml) since the last publication"
    assert '<a href="first.html">before</a>' in (site.output / "second.html").read_text()


#: Stands for programs that the plug-in in `docs/hosts.md` runs: one that minifies pages, and one that adds an index.
NPX = """#!/bin/sh
case $1 in
html-minifier-terser) sed -i 's/<html><head>//; s/<\\/head><body>//; s/<\\/body><\\/html>//' "$6"/*.html;;
pagefind) mkdir -p "$3/pagefind"; rm -f "$3"/pagefind/*; for i in 1 2 3 4 5; do date >"$3/pagefind/$i-$NOW.pf"; done;;
esac
"""


def test_programs_that_run_after_the_build(site: Site) -> None:
    """What Pelican lets them do is published, with the link in pages without a head; `check` names what comes later."""
    docs = (ROOT / "docs/hosts.md").read_text("utf-8")
    site.write("plugins/after_build.py", docs.partition("```python\n")[2].partition("```")[0])
    site.write("bin/npx", NPX).chmod(0o755)
    paths, news = publish(site, PLUGIN_PATHS=["plugins"], PLUGINS=["after_build", "pelican_resourcesync"])
    assert paths == PATHS | {f"pagefind/{number}-2024-03-02T12:00:00.pf" for number in range(1, 6)}
    assert news.startswith("5 created")
    assert (site.output / "first.html").read_text().startswith("<title>First</title><link rel=")
    site.write("output/added.css", "b{}")
    site.write("output/0123456789abcdef.txt", "0123456789abcdef")  # a key of IndexNow
    assert "note: 1 file is not listed: added.css; drafts" in our_command(site.folder, "check", "output").stdout


def test_i18n_subsites(site: Site) -> None:
    """The site of each language is built within the build, and published once with it; what it hides is not listed.

    Nor are pictures of drafts, which Pelican copies into each of these sites.
    """
    site.write("content/secret/linked.png", png(1, 1))
    site.write("content/secret/attached.png", png(1, 2))
    pictures = "![]({static}/secret/linked.png) ![]({attach}secret/attached.png)"
    site.article("secret.md", "Secret", pictures, Status="draft", Lang="de", Category="Notes")
    paths, news = publish(site, PLUGINS=["i18n_subsites", "pelican_resourcesync"], I18N_SUBSITES={"de": {}})
    assert paths == PATHS - {"second-de.html"} | {"de/index.html", "de/second.html"}
    copied = {"de/drafts/secret.html", "de/drafts/secret/attached.png", "de/secret/linked.png"}
    assert {path for path in copied if (site.output / path).is_file()} == copied
    assert news == NOTHING


def test_sitemap_with_true_dates(site: Site) -> None:
    """With `correct`, its dates are right and the file is no resource."""
    paths, news = publish(site, PLUGINS=["sitemap", "pelican_resourcesync"], RESOURCESYNC={"sitemap": "correct"})
    assert paths == PATHS
    assert news == NOTHING
    dates = re.findall(r"<loc>(.*)</loc>\s*(?:<lastmod>(.*)</lastmod>)?", (site.output / "sitemap.xml").read_text())
    assert sorted(dates) == [
        (f"https://example.org/{path}", "2024-02-01T10:00:00Z")
        for path in ("", "first.html", "second-de.html", "second.html")
    ]
