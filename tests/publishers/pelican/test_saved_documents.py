"""The last publication while Pelican builds: it stays, or is saved, and no kill or cleaning loses it."""

import os
import shutil
from pathlib import Path
from textwrap import dedent

import pytest

from pelican_resourcesync.publication import DESCRIPTION, STATE, WELL_KNOWN, Workspace
from pelican_resourcesync.publishers.pelican import session as module
from pelican_resourcesync.publishers.pelican.session import SavedDocuments
from tests.kit.museum import Tree, tree
from tests.kit.sites import Site, run, strip

SAVED_FOLDER = Path(".resourcesync", "saved")

OTHER = "resourcesync/other"

#: Kills the build once the output was cleaned.
KILLER = """
    import os, signal
    from pelican import signals

    def kill(generators):
        os.kill(os.getpid(), signal.SIGKILL)

    def register():
        signals.all_generators_finalized.connect(kill)
"""


@pytest.fixture
def output(tmp_path: Path) -> Path:
    """Return an output with a publication, and another's set beside it."""
    output = tmp_path / "site/output"
    for path in (STATE, DESCRIPTION, WELL_KNOWN, "resourcesync/site/resourcelist.xml", f"{OTHER}/capabilitylist.xml"):
        (output / path).parent.mkdir(parents=True, exist_ok=True)
        (output / path).write_text(path)
        os.utime(output / path, (1_700_000_000, 1_700_000_000))
    (output / WELL_KNOWN).write_text(DESCRIPTION)
    os.utime(output / WELL_KNOWN, (1_700_000_000, 1_700_000_000))
    (output / OTHER / "latest.xml").symlink_to("capabilitylist.xml")
    (output / OTHER / "next.xml").symlink_to("not yet there.xml")
    return output


@pytest.fixture
def safe(output: Path) -> Path:
    """Return where a copy outlives a build that is killed."""
    return output.parent / SAVED_FOLDER


def clean(output: Path, *kept: str) -> None:
    """Do what Pelican does."""
    for each in output.iterdir():
        if each.name not in kept:
            shutil.rmtree(each)


# --- kept where they are -----------------------------------------------------


def test_documents_that_stay_are_not_copied(output: Path) -> None:
    """They are read where they are, and the well-known copy comes back with its time."""
    before = tree(output)
    saved = SavedDocuments(output)
    assert saved.output.folder == output
    clean(output, "resourcesync")
    saved.restore()
    saved.close()
    assert tree(output) == before
    assert list(output.parent.iterdir()) == [output]


def test_well_known_copy_that_a_killed_build_lost(output: Path) -> None:
    """Its other copy is as good."""
    clean(output, "resourcesync")
    saved = SavedDocuments(output)
    saved.restore()
    assert (output / WELL_KNOWN).read_text() == DESCRIPTION


def test_nothing_there(tmp_path: Path) -> None:
    """Where there are no documents none are taken, or put back."""
    for safe in (None, Workspace(tmp_path)):
        saved = SavedDocuments(tmp_path / "output", safe)
        saved.restore()
        saved.close()
    assert not any(tmp_path.iterdir())


# --- saved elsewhere -------------------------------------------------------------


@pytest.fixture(params=["linked", "copied"])
def _either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "copied":

        def fail(*_: object) -> None:
            raise OSError

        monkeypatch.setattr(os, "link", fail)


@pytest.mark.usefixtures("_either_way")
def test_documents_that_are_cleaned_away_come_back(output: Path, safe: Path) -> None:
    """With their times, and another's set with its links; nothing is left saved."""
    before = tree(output)
    saved = SavedDocuments(output, Workspace(output.parent))
    assert saved.output.folder == safe
    clean(output)
    saved.restore()
    saved.close()
    assert tree(output) == before
    assert (output / OTHER / "latest.xml").is_symlink()
    assert [each.name for each in safe.parent.iterdir()] == [".gitignore"]


@pytest.mark.promise("All or nothing")
@pytest.mark.usefixtures("_either_way")
@pytest.mark.parametrize("gone", [[], [STATE], ["resourcesync/site/resourcelist.xml"], [STATE, DESCRIPTION, OTHER]])
def test_build_killed_while_the_output_was_cleaned(output: Path, safe: Path, gone: list[str]) -> None:
    """Whatever was gone by then is put back by the next build, and is saved again."""
    before = tree(output / "resourcesync")
    SavedDocuments(output, Workspace(output.parent))  # killed
    for path in gone:
        (shutil.rmtree if (output / path).is_dir() else Path.unlink)(output / path)
    saved = SavedDocuments(output, Workspace(output.parent))
    assert tree(output / "resourcesync") == before
    assert tree(safe / "resourcesync") == before
    saved.close()
    assert not safe.exists()


def test_build_killed_after_it_published(output: Path, safe: Path) -> None:
    """What was saved belongs to the publication before, and does not replace a later one."""
    SavedDocuments(output, Workspace(output.parent))  # killed
    (output / STATE).unlink()
    (output / STATE).write_text("the next")
    (output / "resourcesync/site/resourcelist.xml").unlink()
    saved = SavedDocuments(output, Workspace(output.parent))
    assert not (output / "resourcesync/site/resourcelist.xml").exists()
    assert (safe / STATE).read_text() == "the next"
    saved.close()


def test_build_killed_while_it_took_them(output: Path, safe: Path) -> None:
    """Half a copy is none."""
    before = tree(output)
    (safe.with_name("saved.part") / "resourcesync").mkdir(parents=True)
    (safe.with_name("saved.part") / STATE).write_text("half")
    saved = SavedDocuments(output, Workspace(output.parent))
    assert tree(safe / "resourcesync") == tree(output / "resourcesync")
    saved.close()
    assert tree(output) == before
    assert not safe.with_name("saved.part").exists()


def test_what_cannot_be_restored_stays_saved(output: Path, safe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a disk that fails, the next build puts it back."""
    before = tree(output / "resourcesync")
    saved = SavedDocuments(output, Workspace(output.parent))
    clean(output)

    def fail(*_: object) -> None:
        raise OSError

    with monkeypatch.context() as patched:
        patched.setattr(module, "_bring", fail)
        with pytest.raises(OSError):  # noqa: PT011 - any
            saved.restore()
        saved.close()
    SavedDocuments(output, Workspace(output.parent)).close()
    assert tree(output / "resourcesync") == before


# --- real builds -------------------------------------------------------------


@pytest.fixture
def flat(site: Site) -> Site:
    """Return a site whose output lies among its sources."""
    strip(site)
    site.configure(PATH=".", ARTICLE_EXCLUDES=["theme", "plugins"], PAGE_PATHS=[], PLUGIN_PATHS=["plugins"])
    site.write("plugins/killer.py", dedent(KILLER))
    site.write("a.md", "Title: A\nDate: 2024-01-01\n\nText.\n")
    site.commit("2024-01-01T10:00:00Z")
    return site


def kill(site: Site) -> None:
    """Build, and be killed once the output was cleaned."""
    status, _ = run(site, "--extra-settings", 'PLUGINS=["killer", "pelican_resourcesync"]')
    assert status == -9


def documents(site: Site) -> Tree:
    """Return the documents of the output."""
    return tree(site.output / "resourcesync")


def test_killed_build_is_followed_by_one_that_publishes_nothing(flat: Site) -> None:
    """Then the documents stay where they were saved, and the next build that publishes continues them."""
    flat.build()
    before = documents(flat)
    kill(flat)
    flat.build(SITEURL="")
    assert documents(flat) == {}
    assert tree(flat.folder / SAVED_FOLDER / "resourcesync") == before
    flat.build()
    assert documents(flat) == before


def test_what_is_ours_beside_the_settings_is_never_published(flat: Site) -> None:
    """Where all files beside the settings are static files, ours are not; the site's own stay what they are."""
    flat.configure(STATIC_PATHS=["."], STATIC_EXCLUDES=["output", ".git"], RESOURCESYNC={"previous": "output"})
    flat.write("b.txt", "b")
    flat.commit("2024-02-01T10:00:00Z")
    for place in ("live", "saved", "cache"):
        flat.write(f".resourcesync/{place}/x.txt", "x")
        flat.write(f".resourcesync/{place}/x.md", "Title: X\nDate: 2024-01-01\n\nText.\n")
    for _ in range(2):
        flat.build()
        assert (flat.output / "b.txt").is_file()
        assert not [*flat.output.rglob("x.*"), *flat.output.rglob(".resourcesync")]
    assert "/b.txt" in flat.resources()
    assert not [path for path in flat.resources() if "/x." in path or "resourcesync" in path]


# --- several sets ------------------------------------------------------------


@pytest.fixture
def sets(flat: Site) -> Site:
    """Return that site, published as two sets, none of which is the set `site`, beside somebody else's."""
    named = {"pages": {"paths": ["*.html"]}, "texts": {"paths": ["*.txt"]}}
    flat.configure(STATIC_PATHS=["texts"], RESOURCESYNC={"previous": "output", "dumps": True, "sets": named})
    flat.write("texts/b.txt", "b")
    flat.commit("2024-01-02T10:00:00Z")
    flat.build()
    flat.write(f"output/{OTHER}/publication.json", "theirs")
    return flat


def test_killed_build_loses_no_set(sets: Site) -> None:
    """They outlive it in the work folder, are no sources, and the next build continues all; another's is there too."""
    sets.write(f"output/{OTHER}/page.html", "<title>No article</title><meta name='date' content='2024-01-01'/>")
    before = documents(sets)
    sets.write("texts/b.txt", "another b", at="2024-02-01T10:00:00Z")
    kill(sets)
    assert documents(sets) == {}
    assert tree(sets.folder / SAVED_FOLDER / "resourcesync") == before
    assert sets.git("status", "--porcelain") == ""
    kill(sets)
    status, said = run(sets)
    assert status == 0
    assert "1 article," in said
    assert not (sets.folder / SAVED_FOLDER).exists()
    assert "texts: 1 resource, 2 changes" in said
    assert "nothing changed" in said.split("pages: ")[1].splitlines()[0], said
    after = documents(sets)
    for path in ("other/publication.json", "other/page.html"):
        assert after[path] == before[path]
    assert {path for path in before if path.startswith("pages/")} == {p for p in after if p.startswith("pages/")}


def test_build_of_sets_killed_after_it_published(sets: Site) -> None:
    """Saved documents of an older publication do not come back, except those of others."""
    old = sets.folder.parent / "old"
    shutil.copytree(sets.output / "resourcesync", old / "resourcesync")
    sets.write("texts/b.txt", "another b", at="2024-02-01T10:00:00Z")
    for number in (1, 2):  # after the second, what the first superseded is gone
        sets.article("../a.md", "A", f"Words {number}.", at=f"2024-03-0{number}T10:00:00Z")
        sets.build()
    before = documents(sets)
    assert documents(sets).keys() < {*before, *tree(old / "resourcesync")}
    shutil.copytree(old, sets.folder / SAVED_FOLDER)
    shutil.rmtree(sets.output / OTHER)
    sets.build(SITEURL="")
    assert documents(sets) == before


def test_set_that_is_gone_does_not_come_back(sets: Site) -> None:
    """A build was killed after it published without a set: its saved documents do not come back either."""
    old = sets.folder.parent / "old"
    shutil.copytree(sets.output / "resourcesync", old / "resourcesync")
    sets.configure(RESOURCESYNC={"previous": "output", "sets": {"pages": {"paths": ["*.html"]}}})
    sets.build()
    shutil.copytree(old, sets.folder / SAVED_FOLDER)
    sets.build()
    assert {path.split("/")[0] for path in documents(sets)} == {"pages", "other", "index.html", "description.xml"}


def test_neighbour_that_published_meanwhile_keeps_nothing_back(sets: Site) -> None:
    """That somebody else has a later publication in the output says nothing of ours."""
    before = documents(sets)
    kill(sets)
    sets.write(f"output/{OTHER}/publication.json", "theirs, later")
    sets.build(SITEURL="")
    after = documents(sets)
    assert after.pop("other/publication.json")[0] == b"theirs, later"
    assert after == {path: each for path, each in before.items() if not path.startswith("other/")}
