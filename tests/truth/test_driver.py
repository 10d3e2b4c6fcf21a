"""What the driver sees of a build."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.sites import Site, strip
from tests.truth.builds import Build, Builder, Command


@pytest.fixture
def builder(tmp_path: Path) -> Iterator[Builder]:
    """Return a builder for a site with plain settings."""
    builder = Builder(Command(), tmp_path / "job", python=sys.executable, timeout=60)
    yield builder
    builder.close()


def _sorts(build: Build) -> dict[str, tuple[str, bool]]:
    return {path: (output.sort, output.hidden) for path, output in build.outputs.items()}


def test_every_sort_of_output_is_known(site: Site, builder: Builder) -> None:
    """And what is hidden: drafts, copies of their sources, and what they alone attach."""
    site.configure(
        OUTPUT_SOURCES=True,
        STATIC_PATHS=["images"],
        FEED_ALL_ATOM="feeds/all.atom.xml",
        TEMPLATE_PAGES={"map.html": "map.html"},
        THEME="theme",
        DIRECT_TEMPLATES=["index"],
    )
    site.write("theme/static/css/main.css", "body {}")
    site.write("content/map.html", "<html>{{ articles | length }}</html>")
    site.write("content/images/open.svg", "<svg/>")
    site.write("content/images/closed.svg", "<svg/>")
    site.write("content/extra.txt", "extra")
    site.article("a.md", "A", "![open]({static}images/open.svg)")
    site.article("b.md", "B", "![closed]({attach}images/closed.svg) [extra]({static}extra.txt)", Status="draft")
    site.write("content/pages/home.md", "Title: Home\nSave_as: index.html\nURL:\n\nWelcome.\n")
    assert _sorts(builder.run(site.folder)) == {
        "a.html": ("article", False),
        "a.text": ("other", False),
        "category/misc.html": ("listing", False),
        "drafts/b.html": ("article", True),
        "drafts/images/closed.svg": ("static", True),
        "extra.txt": ("static", True),
        "feeds/all.atom.xml": ("feed", False),
        "images/open.svg": ("static", False),
        "index.html": ("page", False),
        "index.text": ("other", False),
        "map.html": ("other", False),
        "theme/css/main.css": ("theme", False),
    }


def test_our_plug_in_is_left_out_of_a_plain_build(site: Site, builder: Builder) -> None:
    """Even where the site's own settings name it; others stay."""
    site.write(
        "plugins/shout.py", "from pathlib import Path\n\ndef register():\n    Path('shout.txt').write_text('')\n"
    )
    site.configure(PLUGINS=["pelican_resourcesync", "shout"], PLUGIN_PATHS=["plugins"])
    build = builder.run(site.folder)
    assert build.reason is None
    assert not [path for path in build.outputs if path.startswith("resourcesync/")]
    assert (site.folder / "shout.txt").exists()


def test_a_plug_in_may_have_a_generator_of_its_own(site: Site, builder: Builder) -> None:
    """One that has nothing of Pelican's generators but what Pelican asks of it."""
    generator = "class Search:\n    def __init__(self, context, settings, *_, **__): pass\n"
    register = "def register():\n    signals.get_generators.connect(lambda _: Search, weak=False)\n"
    site.write("plugins/search.py", f"from pelican import signals\n\n{generator}\n{register}")
    site.configure(PLUGINS=["search"], PLUGIN_PATHS=["plugins"])
    site.article("a.md")
    build = builder.run(site.folder)
    assert build.reason is None
    assert "a-title.html" in build.outputs


def test_the_clock_stands_still_where_it_is_told_to(site: Site, builder: Builder) -> None:
    """For all that shows the time, in settings, templates and Pelican itself, whatever it imported when."""
    clocks = [
        *("datetime.now().timestamp()", "datetime.now(UTC).timestamp()", "datetime.today().timestamp()"),
        *("datetime.utcnow().replace(tzinfo=UTC).timestamp()", "SafeDatetime.now().timestamp()", "time.time()"),
        *("time.time_ns() / 10**9", "calendar.timegm(time.gmtime())", "calendar.timegm(time.localtime())"),
        "calendar.timegm(time.strptime(time.ctime()))",
        *("calendar.timegm(time.strptime(time.asctime()))", "float(time.strftime('%s'))"),
        "float(os.environ['SOURCE_DATE_EPOCH'])",
        "datetime.combine(date.today(), datetime.min.time()).timestamp() + 3600",
    ]
    strip(site)
    lines = [
        (site.folder / "pelicanconf.py").read_text(),
        *("import calendar, os, time", "from datetime import UTC, date, datetime"),
        *("from pelican.utils import SafeDatetime", f"JINJA_GLOBALS = {{'clocks': [{', '.join(clocks)}]}}\n"),
    ]
    site.write("pelicanconf.py", "\n".join(lines))
    site.write("theme/templates/page.html", "{{ clocks|join(' ') }}")
    site.write("content/pages/a.md", "Title: A\n\nText.\n")
    build = builder.run(site.folder, 86400 * 365 + 3600)
    assert build.reason is None
    shown = (builder.output / "pages" / "a.html").read_text().split()
    assert {float(each) for each in shown} == {86400 * 365 + 3600}
    assert len(shown) == len(clocks)


def test_errors_that_do_not_end_a_build_are_counted(site: Site, builder: Builder) -> None:
    """Pelican logs them and leaves the source out."""
    site.write("content/a.md", "No title.")
    build = builder.run(site.folder)
    assert (build.reason, build.errors) == (None, 1)


def test_a_build_that_takes_too_long_is_ended(site: Site, tmp_path: Path) -> None:
    """And said to be that; so is one that kills itself, and the next one is built."""
    builder = Builder(Command(), tmp_path / "job", python=sys.executable, timeout=1)
    settings = (site.folder / "pelicanconf.py").read_text()
    site.write("pelicanconf.py", f"{settings}import time\ntime.sleep(9)\n")
    assert builder.run(site.folder).reason == "took more than 1 seconds"
    site.write("pelicanconf.py", f"{settings}import os\nos.kill(os.getpid(), 9)\n")
    assert builder.run(site.folder).reason == "ended by signal 9"
    site.write("pelicanconf.py", f"{settings}import os\nos._exit(3)\n")
    assert builder.run(site.folder).reason == "exit status 3"
    builder.close()


def test_an_interpreter_without_pelican_is_refused(site: Site, tmp_path: Path) -> None:
    """There is nothing that it could tell."""
    builder = Builder(Command(), tmp_path / "job", python="/bin/false", timeout=1)
    with pytest.raises(SystemExit, match="has died"):
        builder.run(site.folder)
    builder.close()
