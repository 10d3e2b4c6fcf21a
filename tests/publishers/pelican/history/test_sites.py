"""The rule in sites of other shapes: settings that are code, plug-ins, repositories within others, clones, sets."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from pelican_resourcesync.errors import HistoryError
from tests.kit.sites import Site
from tests.programs.test_sets import rows
from tests.publishers.git.repositories import add_submodule, link, repository, update_submodule
from tests.publishers.pelican.history.cases import (
    BARE,
    Step,
    build,
    conf,
    create,
    listed,
    noon,
    source,
    take,
    time_of,
)

A, A2, B, C = source("a"), source("a", "Another text."), source("b"), source("c")
REMOVE: Step = {"x.md": None}
README: Step = {"/README": "of no matter"}


def run(site: Site, steps: Sequence[Step], day: int = 1) -> str:
    """Let steps happen, and build after the last; return what is listed."""
    for each in steps:
        day = take(site, day, each)
    build(site, noon(day))
    return listed(site)


def test_history_that_was_rewritten(tmp_path: Path) -> None:
    """Where the commit that was published is no longer in the history, the bytes alone say what changed."""
    site = create(tmp_path / "site", {}, [{"x.md": A}, README])
    build(site, noon(3))
    site.git("reset", "-q", "--soft", "HEAD~1")
    assert run(site, [{"x.md": A2}, {"/README": "rewritten"}], 4) == "1 +a; 5 ~a"


@pytest.mark.promise("The past, by a rule")
def test_settings_file_that_comes_late(tmp_path: Path) -> None:
    """What went before there was a settings file is not named; the rest dates from its source."""
    site = create(tmp_path / "site", {}, [])
    settings = (site.folder / "pelicanconf.py").read_bytes()
    steps: list[Step] = [{"/pelicanconf.py": None, "x.md": A, "z.md": C}, {"z.md": None}]
    assert run(site, [*steps, {"/pelicanconf.py": settings, "y.md": B}, {"x.md": None}]) == "1 +a; 3 +b; 4 -a"


def test_settings_that_are_not_committed(tmp_path: Path) -> None:
    """While the settings are being changed, nothing is named that is gone."""
    site = create(tmp_path / "site", {}, [{"x.md": A, "y.md": B}, REMOVE])
    site.configure(SITENAME="Another")
    build(site, noon(3))
    assert listed(site) == "1 +b"


def test_settings_of_two_files(tmp_path: Path) -> None:
    """Every settings file in the repository counts that the build used."""
    site = create(tmp_path / "site", {}, [])
    publish = "import os, sys\nsys.path.append(os.curdir)\nfrom pelicanconf import *\n"
    days: list[Step] = [
        {"x.md": A, "pages/x.md": B, "pages/y.md": C, "/publishconf.py": publish},
        {"x.md": None},
        {"/publishconf.py": publish + "PAGE_URL = PAGE_SAVE_AS = '{slug}'\n"},
        {"pages/x.md": None},
    ]
    for day, step in enumerate(days, start=1):
        take(site, day, step)
    site.command("-s", "publishconf.py")
    assert listed(site) == "1 +b +c; 4 -b"


def test_settings_in_a_folder(tmp_path: Path) -> None:
    """A site may be a folder of its repository."""
    outer = Site.create(tmp_path / "site")
    outer.remove("pelicanconf.py")
    site = Site(outer.folder / "docs", {**outer.settings, **BARE})
    (site.folder / "content").mkdir(parents=True)
    site.configure()
    steps: list[Step] = [{"x.md": A, "y.md": B}, conf(SITENAME="Another"), REMOVE]
    assert run(site, steps) == "1 +a +b; 3 -a"


def test_no_settings_in_the_repository(tmp_path: Path) -> None:
    """Where a repository has no settings file, nothing is known of URLs that are gone."""
    site = Site(tmp_path / "site", {**Site.create(tmp_path / "other").settings, **BARE})
    site.folder.mkdir()
    site.configure()
    content = repository(site.folder / "content")
    for day, files in enumerate([{"x.md": A, "y.md": B}, {"x.md": A2}], start=1):
        for path, text in files.items():
            content.write(path, text)
        content.commit(time_of(day))
    content.remove("y.md")
    content.commit(time_of(3))
    build(site, noon(4))
    assert listed(site) == "1 +a; 2 ~a"


def test_history_from_a_revision(tmp_path: Path) -> None:
    """History may begin with any commit of the published branch; all that is there is created with it."""
    site = create(tmp_path / "site", {}, [{"x.md": A, "z.md": C}, {"z.md": None}, {"x.md": A2, "y.md": B}, REMOVE])
    build(site, noon(5), RESOURCESYNC={"previous": "output", "history": "HEAD~2"})
    assert listed(site) == "2 +a; 3 ~a +b; 4 -a"


def test_history_from_a_commit_of_no_use(tmp_path: Path) -> None:
    """A commit of another branch is refused, with what to do."""
    site = create(tmp_path / "site", {}, [{"x.md": A}])
    site.git("checkout", "-q", "-b", "side")
    take(site, 2, {"y.md": B})
    site.git("checkout", "-q", "main")
    with pytest.raises(HistoryError, match="'side', a commit that was never the head of this branch: use 'all'"):
        build(site, noon(3), RESOURCESYNC={"previous": "output", "history": "side"})
    with pytest.raises(HistoryError, match=r"RESOURCESYNC\['history'\]: 'nothing' is not a commit"):
        build(site, noon(3), RESOURCESYNC={"previous": "output", "history": "nothing"})


MOVER = """
from pelican import signals

def move(content):
    if content.source_path.endswith(".md"):
        content.override_url = content.override_save_as = f"moved/{content.slug}.html"

def move_all(generator):
    for content in generator.articles:
        move(content)

def register():
"""


@pytest.mark.promise("The past, by a rule")
@pytest.mark.parametrize(
    ("moves", "changes"),
    [
        ("content_object_init.connect(move)", "1 +moved/b +moved/c +moved/new; 2 ~moved/new; 3 ~moved/b; 4 -moved/c"),
        ("article_generator_finalized.connect(move_all)", "1 +moved/b +moved/new; 2 ~moved/new; 3 ~moved/b"),
    ],
)
def test_plugin_that_sets_urls(tmp_path: Path, moves: str, changes: str) -> None:
    """A plug-in that sets URLs early is asked about the past; where one does so late, no past URL is named."""
    site = create(tmp_path / "site", {"PLUGINS": ["pelican_resourcesync", "mover"], "PLUGIN_PATHS": ["plugins"]}, [])
    files: Step = {"x.md": A, "y.md": B, "z.md": C, "/plugins/mover.py": f"{MOVER}    signals.{moves}\n"}
    days: list[Step] = [files, {"x.md": source("new")}, {"y.md": source("b", "New.")}, {"z.md": None}]
    for day, step in enumerate(days, start=1):
        take(site, day, step)
    site.command()
    assert listed(site) == changes


DROPPER = """
from pelican import signals

def drop(generator):
    generator.articles = [each for each in generator.articles if "secret" not in each.title]

def register():
    signals.article_generator_pretaxonomy.connect(drop)
"""


def test_plugin_that_drops_articles(tmp_path: Path) -> None:
    """Where a plug-in keeps an article out that Pelican would publish, no article that is gone is named."""
    site = create(tmp_path / "site", {"PLUGINS": ["pelican_resourcesync", "dropper"], "PLUGIN_PATHS": ["plugins"]}, [])
    files: Step = {"x.md": A, "y.md": B, "s.md": source("secret"), "t.md": source("another secret"),
                   "images/i": "1", "/plugins/dropper.py": DROPPER}  # fmt: skip
    for day, step in enumerate([files, {"x.md": None, "s.md": None, "images/i": None}], start=1):
        take(site, day, step)
    site.command()
    assert listed(site) == "1 +b +images/i; 2 -images/i"


def test_excluded_pattern_that_hid_something_once(tmp_path: Path) -> None:
    """A pattern of 'exclude' that only hides what is gone is no mistake; one that never hid anything may be."""
    site = create(tmp_path / "site", {}, [{"secret.md": source("secret"), "x.md": A}, {"secret.md": None}])
    exclude = {"previous": "output", "exclude": ["secret.*", "typo"]}
    (warning,) = build(site, noon(3), RESOURCESYNC=exclude)
    assert "'typo'" in warning
    assert listed(site) == "1 +a"


def test_symbolic_link_to_a_folder(tmp_path: Path) -> None:
    """Files below a linked folder have no source in git: they are created with the commit that is built."""
    site = create(tmp_path / "site", {}, [{"x.md": A, "/shared/i": "1"}])
    link(site, "content/images", "../shared")
    assert run(site, [{}, {"/shared/i": "2"}, README], 2) == "1 +a; 4 +images/i"
    assert run(site, [{"/shared/i": "3"}, README], 6) == "1 +a; 4 +images/i; 7 ~images/i"


def test_submodule_of_sources(tmp_path: Path) -> None:
    """What a submodule holds is created with the commit that is built, then changed by what moves the submodule."""
    module = repository(tmp_path / "module")
    for name in ("i", "j"):
        module.write(name, "1")
    module.commit(time_of(1))
    site = create(tmp_path / "site", {}, [{"x.md": A}])
    add_submodule(site, module, "content/images")
    assert run(site, [{}, README], 2) == "1 +a; 3 +images/i +images/j"
    module.write("i", "2", at=time_of(5))
    update_submodule(site, "content/images")
    assert run(site, [{}, {"/README": "again"}], 5) == "1 +a; 3 +images/i +images/j; 5 ~images/i"


SETS = {"news": {"categories": ["news"]}, "folder": {"paths": ["k/*"]}, "pictures": {"types": ["image/*"]}}


def test_sets(tmp_path: Path) -> None:
    """A set has the past of its members of today; of what is gone, what its paths and types mean."""
    patterns = {"ARTICLE_URL": "{category}/{slug}.html", "ARTICLE_SAVE_AS": "{category}/{slug}.html"}
    news, notes = ({title: source(title, Category="news", Save_as=f"k/{title}.html") for title in "az"},
                   {"b": source("b", Category="notes")})  # fmt: skip
    site = create(
        tmp_path / "site",
        patterns,
        [
            {"a.md": news["a"], "z.md": news["z"], "b.md": notes["b"], "images/i.png": "1", "images/j.png": "1"},
            {"z.md": None, "images/j.png": None},
            {"b.md": source("b", Category="news", Save_as="b.html")},
        ],
    )
    build(site, noon(4), RESOURCESYNC={"previous": "output", "sets": SETS})
    days = {name: [f"{time[8:10]} {kind} {path}" for time, kind, path in rows(site, name)] for name in SETS}
    assert days == {
        "news": ["01 created b.html", "01 created k/a.html", "03 updated b.html"],
        "folder": ["01 created k/a.html", "01 created k/z.html", "02 deleted k/z.html"],
        "pictures": ["01 created images/i.png", "01 created images/j.png", "02 deleted images/j.png"],
    }
