"""The truth of a small site is what was decided by hand."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.sites import Site, strip
from tests.truth.builds import Build, Command, builders
from tests.truth.clone import Clone, Commit
from tests.truth.conftest import Known
from tests.truth.doubts import settle
from tests.truth.steps import is_resource, walk
from tests.truth.support import EXPECTED, Change
from tests.truth.truth import NO_SITE, Truth, Window, collect, open_window


def _changes(known: Known, window: Window | None = None) -> list[Change]:
    steps = walk(known.truth, window or known.window).steps
    return [Change(known.commits.index(step.commit.sha), kind, path) for step in steps for path, kind in step.changes()]


def test_every_change_is_known(known: Known) -> None:
    """Created, updated and deleted, commit by commit; about.html besides, which is another each time."""
    stable = [change for change in _changes(known) if (change.kind, change.path) != ("updated", "about.html")]
    assert stable == EXPECTED


def test_sorts_and_hidden_files_are_known(known: Known) -> None:
    """As Pelican's signals tell them."""
    outputs = known.truth.builds[known.commits[0]].outputs
    assert {path: (output.sort, output.hidden) for path, output in outputs.items()} == {
        "about.html": ("page", False),
        "category/misc.html": ("listing", False),
        "drafts/shy.html": ("article", True),
        "first.html": ("article", False),
        "images/dot.svg": ("static", False),
        "second.html": ("article", False),
        "secret.html": ("article", True),
    }


def test_what_does_not_build_is_left_out_with_its_reason(known: Known) -> None:
    """The commits of before and after are one step."""
    assert known.truth.builds[known.commits[5]] == Build(
        reason="ValueError: a slip", errors=1, seconds=known.truth.builds[known.commits[5]].seconds
    )
    assert [commit.sha for commit in walk(known.truth, known.window).steps[5].commits] == known.commits[5:7]


def test_what_is_never_the_same_is_found(known: Known) -> None:
    """By building again the first and the last commit."""
    assert known.truth.unstable == {sha: ["about.html"] for sha in (known.commits[0], known.commits[-1])}


def test_what_hangs_on_the_order_of_a_set_is_found(tmp_path: Path) -> None:
    """By building with other hashes; it counts for nothing when the same hashes give the same."""
    site = strip(Site.create(tmp_path / "site"))
    site.write("theme/templates/page.html", "{{ letters }}")
    settings = (site.folder / "pelicanconf.py").read_text()
    site.write("pelicanconf.py", f"{settings}JINJA_GLOBALS = {{'letters': ''.join(set('abcdefghijklmnop'))}}\n")
    site.write("content/pages/a.md", "Title: A\n\nText.\n")
    sha = site.commit("2024-01-01T10:00:00Z")
    clone = Clone(site.folder, tmp_path / "clone")
    window = open_window(clone, clone.commits("HEAD"), None, [])
    truth = Truth(command=Command())
    with builders(truth.command, tmp_path / "jobs", jobs=1, python=sys.executable, timeout=60) as some:
        collect(truth, clone, window, some, keep=lambda: None, say=lambda _: None)
        settle(truth, clone, window, some, number=0, keep=lambda: None, say=lambda _: None)
    assert truth.unstable == {sha: ["pages/a.html"]}


def test_what_is_not_the_same_for_a_time_is_found(known: Known, tmp_path: Path) -> None:
    """By building again a commit that updates what is updated often, and is no matter of the first and the last."""
    ends: dict[str, list[str]] = {known.commits[0]: [], known.commits[8]: []}
    builds = {**known.truth.builds, known.commits[8]: replace(known.truth.builds[known.commits[7]])}
    truth = Truth(command=known.truth.command, builds=builds, unstable=dict(ends))
    with builders(truth.command, tmp_path / "jobs", jobs=1, python=known.python, timeout=60) as some:
        settle(truth, known.clone, known.window, some, number=2, keep=lambda: None, say=lambda _: None)
    (found,) = truth.unstable.keys() - ends.keys()
    assert truth.unstable[found] == ["about.html"]


def test_a_window_begins_with_the_output_before_it(known: Known) -> None:
    """It is no beginning of the site; where that output is not known, nothing is said of the first step."""
    line = known.clone.commits("HEAD")
    window = open_window(known.clone, line, known.commits[3], [])
    assert [change.number for change in _changes(known, window)] == [3, 3, 3, 3, 4, 4, 4, 6, 6, 6, 6, 7, 7, 8, 8, 8]
    window = open_window(known.clone, line, known.commits[6], [])
    assert [commit.sha for commit in walk(known.truth, window).apart] == [known.commits[6]]


def test_before_its_settings_file_a_site_is_empty(known: Known) -> None:
    """What comes first is all created."""
    line = known.clone.commits("HEAD")
    window = open_window(known.clone, line, known.commits[6], [])
    truth = Truth(command=known.truth.command, builds={**known.truth.builds, known.commits[5]: Build(reason=NO_SITE)})
    assert {kind for _path, kind in walk(truth, window).steps[0].changes()} == {"created"}


def test_commits_that_touch_nothing_of_the_site_are_not_built(known: Known) -> None:
    """Nor are those whose tree was there before."""
    line = known.clone.commits("HEAD")
    images = open_window(known.clone, line, None, ["content/images"])
    assert images.needed == [known.commits[0], known.commits[7]]
    again = [*line, line[0]]
    assert open_window(known.clone, again, None, []).needed == known.commits


def test_a_tree_that_comes_again_is_another_site_at_another_time(known: Known) -> None:
    """What a page shows of the time differs, unless all are built by the clock of the machine."""
    line = known.clone.commits("HEAD")
    again = [*line, Commit(sha="f" * 40, tree=line[0].tree, committed=line[-1].committed + 1)]
    assert open_window(known.clone, again, None, []).needed == [*known.commits, "f" * 40]
    assert open_window(known.clone, again, None, [], "now").needed == known.commits


def test_a_truth_survives_its_file(known: Known, tmp_path: Path) -> None:
    """Byte for byte; and nothing lies beside it."""
    file = tmp_path / "truth.json"
    known.truth.save(file)
    assert Truth.load(file, known.truth.command) == known.truth
    assert list(tmp_path.iterdir()) == [file]


def test_a_truth_is_of_one_command(known: Known, tmp_path: Path) -> None:
    """Another would be another site."""
    file = tmp_path / "truth.json"
    known.truth.save(file)
    with pytest.raises(SystemExit, match="told by another command"):
        Truth.load(file, Command(more=["-t", "simple"]))


def test_a_truth_of_old_was_told_by_the_clock_of_the_machine(known: Known, tmp_path: Path) -> None:
    """There was no other."""
    file = tmp_path / "truth.json"
    known.truth.save(file)
    data = json.loads(file.read_text())
    del data["command"]["clock"]
    file.write_text(json.dumps(data))
    assert Truth.load(file, Command(clock="now")).builds == known.truth.builds
    with pytest.raises(SystemExit, match="told by another command"):
        Truth.load(file, Command())


def test_a_partial_clone_builds_with_what_there_is(known: Known, tmp_path: Path) -> None:
    """Its own work tree is never asked; a clone to publish in is clean all the same."""
    blob = known.clone.git("rev-parse", f"{known.commits[0]}:content/images/dot.svg").strip()
    partial = tmp_path / "partial"
    known.clone.git("clone", "-q", "--bare", "--no-hardlinks", str(known.folder), str(partial))
    _lose(partial, blob)
    clone = Clone(partial, tmp_path / "clone")
    with builders(known.truth.command, tmp_path / "jobs", jobs=1, python=known.python, timeout=60) as some:
        build = some.build(clone, known.commits[0], 0)
    whole = known.truth.builds[known.commits[0]].outputs
    assert build.outputs.keys() == whole.keys() - {"images/dot.svg"}
    assert Clone(partial, tmp_path / "judged").check_out(known.commits[0]).is_dir()
    judged = Clone(partial, tmp_path / "judged2")
    judged.check_out(known.commits[0])
    assert judged.git("status", "--porcelain") == ""


def _lose(repository: Path, blob: str) -> None:
    """Take one object out of a repository: unpack it all, and remove its file."""
    for pack in (repository / "objects" / "pack").glob("*.pack"):
        moved = repository / pack.name
        pack.rename(moved)
        pack.with_suffix(".idx").unlink()
        with moved.open("rb") as stream:
            subprocess.run(["git", "unpack-objects", "-q"], cwd=repository, stdin=stream, check=True)
    (repository / "objects" / blob[:2] / blob[2:]).unlink()


def test_the_repository_is_not_touched(known: Known) -> None:
    """Nothing is checked out in it, nothing left behind."""
    assert Site(known.folder).git("status", "--porcelain", "--ignored") == ""


@pytest.mark.parametrize(
    ("path", "is_one"),
    [
        ("index.html", True),
        ("404.html", False),
        ("resourcesync/site/changelist.xml", False),
        (".well-known/resourcesync", False),
        ("blog/.nojekyll", False),
        ("_headers", False),
        ("blog/_headers", True),
    ],
)
def test_what_is_a_resource(path: str, is_one: bool) -> None:
    """As the README says."""
    assert is_resource(path, ["404.html"]) is is_one
