"""The truth of a small site is what was decided by hand."""

from pathlib import Path

from tests.truth.builds import Build
from tests.truth.conftest import Known
from tests.truth.steps import walk
from tests.truth.support import EXPECTED, Change
from tests.truth.truth import NO_SITE, Truth, Window, open_window


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


def test_a_truth_survives_its_file(known: Known, tmp_path: Path) -> None:
    """Byte for byte; and nothing lies beside it."""
    file = tmp_path / "truth.json"
    known.truth.save(file)
    assert Truth.load(file, known.truth.command) == known.truth
    assert list(tmp_path.iterdir()) == [file]
