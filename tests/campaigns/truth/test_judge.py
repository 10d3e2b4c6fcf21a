"""The judge: what really changed in a small site, and Change Lists that are wrong in one thing."""

import ast
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.kit.sites import ROOT, Site, strip
from tests.tools.truth.__main__ import main
from tests.tools.truth.builds import Build, Command, Output
from tests.tools.truth.judge import Change, Listed, ListedChange, Report, compare, load_builds, save_builds

SITEURL = "https://example.org"
TOOL = ROOT / "tests" / "tools" / "truth"


@pytest.mark.promise("The past, built")
def test_small_site(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every change is known, and a backfill lists it; a commit that does not build is left out, with its reason."""
    commits = make_site(tmp_path / "site")
    arguments = [
        str(tmp_path / "site"),
        "--truth",
        str(tmp_path / "truth.json"),
        "--json",
        str(tmp_path / "report.json"),
    ]
    main([*arguments, "--judge", "backfill"])
    report: dict[str, Any] = json.loads((tmp_path / "report.json").read_text())
    changes = [tuple(change) for change, _sort in report["changes"]]
    assert changes == [(str(time_of(number)), kind, path) for number, kind, path in EXPECTED]
    assert report["failed"] == {commits[5]: "ValueError: a slip"}
    assert [report[name] for name in ("missing", "invented", "wrong_hashes", "impossible")] == [[], [], [], []]
    assert {path: sort for (_time, _kind, path), sort in report["changes"]} == {
        "about.html": "page",
        "category/misc.html": "listing",
        "deux.html": "article",
        "first.html": "article",
        "images/dot.svg": "static",
        "second.html": "article",
        "shy.html": "article",
        "third.html": "article",
    }
    capsys.readouterr()
    main([*arguments, "--from", commits[7]])
    said = capsys.readouterr()
    assert said.err == ""  # nothing is built again
    assert said.out.startswith("commits: 2, changes: 3\n")


T = [datetime(2024, 1, day, tzinfo=UTC) for day in range(1, 5)]


def output(digest: str, *, hidden: bool = False) -> Output:
    """Return an output file of one sort."""
    return Output(digest, "article", hidden)


BUILT: list[tuple[datetime, dict[str, Output]]] = [
    (T[0], {"a.html": output("1"), "b/index.html": output("1"), "secret.html": output("1", hidden=True)}),
    (T[1], {"a.html": output("2"), "secret.html": output("2", hidden=True)}),
    (T[2], {"a.html": output("2"), "secret.html": output("1"), "404.html": output("1")}),
]
REALLY = [
    Change(T[0], "created", "a.html"),
    Change(T[0], "created", "b/index.html"),
    Change(T[1], "updated", "a.html"),
    Change(T[1], "deleted", "b/index.html"),
    Change(T[2], "created", "secret.html"),
]
RIGHT = [
    ListedChange(f"{SITEURL}/a.html", "created", T[0], "1"),
    ListedChange(f"{SITEURL}/b/", "created", T[0], "1"),
    ListedChange(f"{SITEURL}/a.html", "updated", T[1], "2"),
    ListedChange(f"{SITEURL}/b/", "deleted", T[1]),
    ListedChange(f"{SITEURL}/secret.html", "created", T[2], "1"),
]
RESOURCES: dict[str, str | None] = {f"{SITEURL}/a.html": "2", f"{SITEURL}/secret.html": "1"}


def judged(changes: Sequence[ListedChange] = RIGHT, resources: Mapping[str, str | None] = RESOURCES) -> Report:
    """Return what is said of these lists."""
    listed = Listed(SITEURL, changes, resources)
    return compare(Report(len(BUILT), {}), BUILT, listed, exclude=["404.html"], hashes=True)


def test_what_is_right() -> None:
    """Nothing is said of it; hidden files and those that are no resources do not count."""
    report = judged()
    assert [change for change, _ in report.changes] == REALLY
    assert (report.missing, report.invented, report.wrong_hashes, report.impossible) == ([], [], [], [])


def test_changes_before_the_first_commit_that_is_asked_about() -> None:
    """They are judged by their order alone."""
    listed = Listed(SITEURL, RIGHT, RESOURCES)
    report = compare(Report(2, {}), BUILT[1:], listed, base=BUILT[0], exclude=["404.html"], hashes=True)
    assert [change for change, _ in report.changes] == REALLY[2:]
    assert (report.missing, report.invented, report.impossible) == ([], [], [])


def test_missing_change() -> None:
    """It is named, and nothing else."""
    report = judged([each for each in RIGHT if each.kind != "updated"])
    assert (report.missing, report.invented, report.impossible) == ([REALLY[2]], [], [])


@pytest.mark.parametrize(
    ("wrong", "invented"),
    [
        (replace(RIGHT[2], kind="created"), Change(T[1], "created", "a.html")),
        (
            replace(RIGHT[2], time=T[1] + timedelta(milliseconds=1)),
            Change(T[1] + timedelta(milliseconds=1), "updated", "a.html"),
        ),
        (replace(RIGHT[2], uri=f"{SITEURL}/never.html"), Change(T[1], "updated", f"{SITEURL}/never.html")),
        (
            replace(RIGHT[2], uri="https://example.organised/a.html"),
            Change(T[1], "updated", "https://example.organised/a.html"),
        ),
    ],
    ids=["kind", "time", "path", "host"],
)
def test_wrong_change(wrong: ListedChange, invented: Change) -> None:
    """It is invented, and the right one is missing."""
    report = judged([*RIGHT[:2], wrong, *RIGHT[3:]])
    assert (report.missing, report.invented) == ([REALLY[2]], [invented])


def test_change_that_is_listed_twice() -> None:
    """The second is invented, and impossible."""
    report = judged([*RIGHT[:3], RIGHT[2], *RIGHT[3:]])
    assert (report.missing, report.invented, len(report.impossible)) == ([], [REALLY[2]], 1)


@pytest.mark.parametrize("digest", [None, "3"])
def test_wrong_hash(digest: str | None) -> None:
    """So is one that is missing."""
    report = judged([*RIGHT[:2], replace(RIGHT[2], digest=digest), *RIGHT[3:]])
    assert (report.wrong_hashes, report.missing, report.invented) == ([REALLY[2]], [], [])


NEVER = ListedChange(f"{SITEURL}/never.html", "created", T[2])
TWICE = replace(RIGHT[3], time=T[2])


@pytest.mark.parametrize(
    ("changes", "resources", "what"),
    [
        ([*RIGHT, NEVER], RESOURCES, "never.html is created, and was never there"),
        (RIGHT[1:], RESOURCES, "a.html is updated at 2024-01-02 00:00:00+00:00, after nothing"),
        ([*RIGHT, TWICE], RESOURCES, "b/ is deleted at 2024-01-03 00:00:00+00:00, after deleted"),
        ([*RIGHT[:3], RIGHT[4]], RESOURCES, "b/ is there by its changes, or in the Resource List, not both"),
        (RIGHT, {**RESOURCES, f"{SITEURL}/b/": "1"}, "b/ was not built"),
        (RIGHT, {f"{SITEURL}/a.html": "2"}, "secret.html is not listed"),
        (RIGHT, {**RESOURCES, f"{SITEURL}/a.html": None}, "a.html has another hash in the Resource List"),
    ],
    ids=["never there", "updated first", "deleted twice", "not gone", "not built", "not listed", "hash"],
)  # fmt: skip
def test_impossible_history(changes: Sequence[ListedChange], resources: Mapping[str, str | None], what: str) -> None:
    """What no history can say is named."""
    assert what in [each.removeprefix(f"{SITEURL}/") for each in judged(changes, resources).impossible]


def test_builds_survive_their_file(tmp_path: Path) -> None:
    """With nothing beside it; those of another command are refused."""
    builds = {"1": Build(BUILT[0][1]), "2": Build(reason="a slip")}
    file = tmp_path / "truth.json"
    save_builds(file, Command(), builds)
    assert load_builds(file, Command()) == builds
    assert list(tmp_path.iterdir()) == [file]
    with pytest.raises(SystemExit, match="of another command"):
        load_builds(file, Command(siteurl="https://example.com"))


def test_judge_imports_nothing_of_what_it_judges() -> None:
    """By its sources, and when it runs; its driver needs Pelican alone."""
    for module in TOOL.glob("*.py"):
        for name in _imports(module):
            assert not name.startswith(("pelican_resourcesync", "repo_bridge")), (module, name)
    loaded = "import sys, tests.tools.truth.__main__; print(*sys.modules, sep='\\n')"
    process = subprocess.run([sys.executable, "-c", loaded], cwd=ROOT, check=True, capture_output=True, text=True)
    assert not [name for name in process.stdout.split() if name.startswith(("pelican_resourcesync", "repo_bridge"))]
    roots = {name.partition(".")[0] for name in _imports(TOOL / "driver.py")}
    assert roots <= {*sys.stdlib_module_names, "pelican"}


def _imports(module: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


# --- A small site whose every change is known by hand --------------------------


_BEGIN = datetime(2024, 1, 1, 10, tzinfo=UTC)

#: What the site's history really does: number of the commit, kind, path. Commit 5 does not build, so what it did is
#: seen at commit 6.
EXPECTED = [
    (0, "created", "about.html"),
    (0, "created", "category/misc.html"),
    (0, "created", "first.html"),
    (0, "created", "images/dot.svg"),
    (0, "created", "second.html"),
    (1, "updated", "first.html"),
    (3, "updated", "category/misc.html"),
    (3, "created", "deux.html"),
    (3, "deleted", "second.html"),
    (4, "updated", "category/misc.html"),
    (4, "created", "shy.html"),
    (6, "updated", "category/misc.html"),
    (6, "updated", "first.html"),
    (6, "created", "third.html"),
    (7, "deleted", "images/dot.svg"),
    (8, "updated", "category/misc.html"),
    (8, "deleted", "deux.html"),
]


def time_of(number: int) -> datetime:
    """Return the landing time of a commit: a day each, but the clock of commit 7 stood still, and 8 is of midnight."""
    odd = {7: timedelta(days=6, milliseconds=1), 8: timedelta(days=7, hours=14, milliseconds=1)}
    return _BEGIN + odd.get(number, timedelta(days=number))


class History:
    """The site as it is written, commit by commit."""

    def __init__(self, folder: Path) -> None:
        """Make the repository, with nothing committed."""
        self.site = strip(Site.create(folder))
        self.commits: list[str] = []
        link = '<a href="{{ SITEURL }}/{{ article.url }}">{{ article.title }}</a>'
        self.site.write("theme/templates/category.html", f"{{% for article in articles %}}{link}{{% endfor %}}")
        self.site.write("theme/templates/page.html", "<html><head></head><body>{{ page.content }}</body></html>")
        self.configure()

    def configure(self, more: str = "") -> None:
        """Write the settings file, with more at its end."""
        self.site.configure(PAGE_URL="{slug}.html", PAGE_SAVE_AS="{slug}.html", CATEGORY_SAVE_AS="category/{slug}.html")
        file = self.site.folder / "pelicanconf.py"
        file.write_text(file.read_text() + more)

    def commit(self) -> None:
        """Commit what there is, by a clock that is not always right."""
        shown = {7: _BEGIN + timedelta(days=6), 8: _BEGIN + timedelta(days=7, hours=14)}
        time = shown.get(len(self.commits), _BEGIN + timedelta(days=len(self.commits)))
        self.commits.append(self.site.commit(time.isoformat()))


def make_site(folder: Path) -> list[str]:
    """Make the site's repository and give the names of its commits."""
    history = History(folder)
    _publish(history)
    _stumble(history)
    return history.commits


def _publish(history: History) -> None:
    """Write what commits 0 to 4 hold."""
    site = history.site
    site.write("content/pages/about.md", "Title: About\n\nUs.\n")
    site.write("content/images/dot.svg", "<svg/>")
    site.article("first.md", "First")
    site.article("second.md", "Second")
    site.article("shy.md", "Shy", Status="draft")
    site.article("secret.md", "Secret", Status="hidden")
    history.commit()
    site.article("first.md", "First", "Other text.")
    history.commit()
    site.git("mv", "content/first.md", "content/one.md")
    history.commit()
    site.article("second.md", "Second", Slug="deux")
    site.article("secret.md", "Secret", "Other text.", Status="hidden")
    history.commit()
    site.article("shy.md", "Shy")
    history.commit()


def _stumble(history: History) -> None:
    """Write what commits 5 to 8 hold, of which the first does not build."""
    site = history.site
    history.configure("raise ValueError('a slip')\n")
    site.article("third.md", "Third")
    history.commit()
    history.configure()
    site.article("one.md", "First", "A third text.")
    history.commit()
    site.remove("content/images/dot.svg")
    history.commit()
    site.remove("content/second.md")
    history.commit()
