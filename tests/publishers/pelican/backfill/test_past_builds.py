"""How a commit of the past is built: its clock, what overrides its settings, what is missing, and what is unstable."""

import io
import shutil
from pathlib import Path

import pytest

from pelican_resourcesync.system.signing import ENVIRONMENT, SigningKey
from tests.kit.backfills import TIMES, changes_now, documents, run
from tests.kit.sites import Site, our_command, strip

SITEURL = "https://example.org"
CLOCKS = """
import datetime, email.utils, time
from datetime import date, datetime as when
CLOCKS = "|".join(map(str, [
    when.now(), when.now(datetime.UTC), when.utcnow(), when.today(), date.today(), when.now().date(),
    int(time.time()), time.time_ns(), time.strftime("%F %T"), time.ctime(), time.asctime(), email.utils.formatdate(),
    time.gmtime()[:6], time.localtime()[:6], time.strftime("%Y", time.gmtime(0)), when.fromtimestamp(0, datetime.UTC),
    isinstance(when.now(), date), issubclass(when, date), isinstance(when(2024, 1, 1) - datetime.timedelta(1), when),
    isinstance(5, date), issubclass(int, when), date(2024, 1, 2) < date.today(), type(when.now()).__name__,
]))
"""
#: What these say at noon on 15 January 2024.
NOON = (
    "2024-01-15 12:00:00|2024-01-15 12:00:00+00:00|2024-01-15 12:00:00|2024-01-15 12:00:00|2024-01-15|2024-01-15|"
    "1705320000|1705320000000000000|2024-01-15 12:00:00|Mon Jan 15 12:00:00 2024|Mon Jan 15 12:00:00 2024|"
    "Mon, 15 Jan 2024 12:00:00 -0000|(2024, 1, 15, 12, 0, 0)|(2024, 1, 15, 12, 0, 0)|1970|1970-01-01 00:00:00+00:00|"
    "True|True|True|False|False|True|datetime"
)


def a_site(folder: Path, text: str = "{{ article.content }}", **settings: object) -> Site:
    """Make a site of articles whose template shows a text."""
    site = strip(Site.create(folder / "site", **settings))
    site.write("theme/templates/article.html", f"<html><head></head><body>{text}</body></html>")
    return site


def body(site: Site, path: str) -> str:
    """Return the body of a page that is published."""
    return (site.output / path).read_text().partition("<body>")[2].partition("</body>")[0]


@pytest.mark.usefixtures("traced_processes")
def test_the_clock_stands_at_the_landing_time(tmp_path: Path) -> None:
    """Whatever a site asks for the time gives that of the commit."""
    site = a_site(tmp_path, "{{ CLOCKS }}")
    conf = site.folder / "pelicanconf.py"
    conf.write_text(conf.read_text() + CLOCKS)
    site.article("first.md", "First", at="2024-01-15T12:00:00Z")
    run(site)
    assert body(site, "first.html") == NOON


def test_an_empty_feed_and_an_article_of_the_future(tmp_path: Path) -> None:
    """A feed of nothing says when the commit landed; what is dated later is shown from the first commit after it."""
    site = a_site(tmp_path, WITH_FUTURE_DATES=False, FEED_ALL_ATOM="all.xml")
    site.configure(CATEGORY_SAVE_AS="category.html")  # without, Pelican 4.12 fails with drafts
    site.write("theme/templates/category.html", "A category")
    site.article("later.md", "Later", Date="2024-02-10")
    site.article("pages/about.md", "About")
    site.commit(TIMES[0])
    site.write("content/pages/about.md", "Title: About\n\nMore.\n", at="2024-02-09T10:00:00Z")
    site.write("content/pages/about.md", "Title: About\n\nMore again.\n", at=TIMES[1])
    run(site)
    assert changes_now(site) == [
        (TIMES[0], "created", "/all.xml"),
        (TIMES[0], "created", "/pages/about.html"),
        ("2024-02-09T10:00:00Z", "updated", "/all.xml"),
        ("2024-02-09T10:00:00Z", "updated", "/pages/about.html"),
        (TIMES[1], "created", "/category.html"),
        (TIMES[1], "created", "/later.html"),
        (TIMES[1], "updated", "/all.xml"),
        (TIMES[1], "updated", "/pages/about.html"),
    ]


def test_chance_is_the_same_in_each_build(tmp_path: Path) -> None:
    """The order of sets, and what the module `random` gives: a backfill that is run again ends with the same bytes."""
    site = a_site(
        tmp_path, "{{ ORDER if article.slug == 'order' else range(10**9)|random if article.slug == 'random' }}"
    )
    conf = site.folder / "pelicanconf.py"
    conf.write_text(conf.read_text() + "ORDER = str({f'{number:05}' for number in range(99)})\n")
    for time, name in zip(TIMES, ("random", "order"), strict=False):
        site.article(f"{name}.md", name.title(), at=time)
    run(site)
    before = documents(site.output)
    assert changes_now(site) == [(TIMES[0], "created", "/random.html"), (TIMES[1], "created", "/order.html")]
    for folder in (site.output, site.folder / ".resourcesync"):
        shutil.rmtree(folder)
    run(site)
    assert documents(site.output) == before


@pytest.mark.usefixtures("traced_processes")
def test_missing_plugins_are_left_out_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once each, with the number of commits; when they are there, those are built again."""
    site = a_site(tmp_path, "{{ SITENAME }}", PLUGINS=["pelican_resourcesync", "a_plugin_of_then", "another.one"])
    site.article("first.md", "First", at=TIMES[0])
    site.configure(PLUGINS=["pelican_resourcesync", "a_plugin_of_then"])
    site.commit(TIMES[1])
    stream = io.StringIO()
    assert run(site, stream).skipped == {}
    left_out = [line for line in stream.getvalue().splitlines() if "plug-in" in line]
    assert left_out == [
        f"ResourceSync: the plug-in {name!r} cannot be imported and is left out of {number}: install it and run "
        "backfill again to build the site as it was"
        for name, number in (("a_plugin_of_then", "2 commits"), ("another.one", "1 commit"))
    ]
    assert body(site, "first.html") == "A site"

    modules = tmp_path / "modules"
    (modules / "a_plugin_of_then-1.0.dist-info").mkdir(parents=True)
    (modules / "a_plugin_of_then-1.0.dist-info" / "METADATA").write_text("Name: a-plugin-of-then\nVersion: 1.0\n")
    (modules / "a_plugin_of_then.py").write_text(
        "from pelican import signals\n"
        "def name(pelican): pelican.settings['SITENAME'] = 'With it'\n"
        "def register(): signals.initialized.connect(name)\n"
    )
    monkeypatch.syspath_prepend(modules)
    stream = io.StringIO()
    assert run(site, stream).built == 2
    assert "built again, because a-plugin-of-then was missing and is now 1.0." in stream.getvalue()
    assert body(site, "first.html") == "With it"


def test_past_commits_do_not_see_the_signing_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The code of a past commit runs without the key that signs what is published today."""
    monkeypatch.setenv(ENVIRONMENT, str(SigningKey.generate()))
    site = a_site(tmp_path, "{{ SEEN }}")
    conf = site.folder / "pelicanconf.py"
    conf.write_text(f"{conf.read_text()}import os\nSEEN = '{ENVIRONMENT}' in os.environ\n")
    site.article("first.md", "First", at=TIMES[0])
    run(site)
    assert body(site, "first.html") == "False"


def test_extra_settings(tmp_path: Path) -> None:
    """They override those of each commit, as with `pelican -e`; records without them are not theirs."""
    site = a_site(tmp_path, "{{ SITENAME }} {{ article.date.year }} {{ MORE }}")
    site.article("first.md", "First", at=TIMES[0])
    site.configure(SITENAME="Another")
    site.commit(TIMES[1])
    run(site)
    assert len(changes_now(site)) == 2
    extra = ["-e", 'SITENAME="One"', "MORE=[1, null]", "-e", 'SITENAME="The \\u001b[31mname"']
    done = our_command(site.folder, "backfill", "--jobs", "2", *extra)
    assert "all commits are built again, because -e SITENAME was missing and is now The \\x1b[31mname." in done.stderr
    assert body(site, "first.html") == "The \x1b[31mname 2024 [1, None]"
    assert changes_now(site) == [(TIMES[0], "created", "/first.html")]
    outcome = run(site, extra={"SITENAME": "The \x1b[31mname", "MORE": [1, None], "OUTPUT_PATH": "elsewhere"})
    assert outcome.known == 2, "where it is written to is no matter"


@pytest.mark.usefixtures("traced_processes")
def test_what_an_error_says_is_no_command_to_the_terminal(tmp_path: Path) -> None:
    """It is one line, without control characters, by the paths of the repository, and not too long."""
    site = a_site(tmp_path)
    site.article("first.md", "First")
    conf = (site.folder / "pelicanconf.py").read_text()
    for number, slip in enumerate(
        [
            "raise ValueError('\\x1b[31mred\\a\\n\\x9bline')",
            "open(PATH + '/none')",
            "raise ValueError('a' * 9999)",
            "raise SystemExit('over')",
            "import os, sys; print('\\x1b[31mlast words', file=sys.stderr); sys.stderr.flush(); os._exit(5)",
            "import no_such_module",
            "del PATH",
        ]
    ):
        site.write("pelicanconf.py", f"{conf}import os; PATH = os.path.abspath('content')\n{slip}\n")
        site.commit(TIMES[number])
    stream = io.StringIO()
    site.configure()
    site.commit(TIMES[7])
    run(site, stream)
    lines = {line.partition(" is skipped: ")[2] for line in stream.getvalue().splitlines() if "skipped" in line}
    assert lines == {
        "ValueError: \\x1b[31mred\\x07 \\x9bline",
        "FileNotFoundError: [Errno 2] No such file or directory: 'content/none'",
        f"ValueError: {'a' * 388}…",
        "exit status over",
        "exit status 5: \\x1b[31mlast words",
        "ModuleNotFoundError: No module named 'no_such_module'",
        "ValueError: PATH is not set",
    }


def test_two_files_of_one_address(tmp_path: Path) -> None:
    """A build that has them is left out, like one that fails; `exclude` mends it without another build."""
    site = a_site(tmp_path, ARTICLE_URL="{slug}", ARTICLE_SAVE_AS="{slug}.html")
    site.configure(RESOURCESYNC={**(site.settings.get("RESOURCESYNC") or {}), "clean_urls": True})
    site.article("first.md", "First")
    site.write("content/extra/first", "Text")
    site.configure(STATIC_PATHS=["extra"], EXTRA_PATH_METADATA={"extra/first": {"path": "first"}})
    site.commit(TIMES[0])
    site.configure(STATIC_PATHS=[])
    site.commit(TIMES[1])
    stream = io.StringIO()
    outcome = run(site, stream)
    (reason,) = outcome.skipped.values()
    assert reason == (
        f"first and first.html both have the URI {SITEURL}/first: exclude one of them (RESOURCESYNC['exclude'])"
    )
    assert f"is skipped: {reason}" in stream.getvalue()
    conf = site.folder / "pelicanconf.py"
    conf.write_text(conf.read_text() + "RESOURCESYNC['exclude'] = ['first']\n")
    outcome = run(site)
    assert (outcome.skipped, outcome.built) == ({}, 0)
