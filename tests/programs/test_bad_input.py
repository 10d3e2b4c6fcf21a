"""What is wrong, missing or strange around a site: one clear sentence with its cure each, and nothing guessed."""

import os
import shutil
from pathlib import Path

import pytest
from pelican.readers import MarkdownReader

from pelican_resourcesync.errors import ResourceSyncError
from tests.kit.reader import XmlDocument, parse
from tests.kit.sites import Site, run, strip, warnings


@pytest.fixture
def bare(site: Site) -> Site:
    """Return a site that publishes its articles and pages alone."""
    return strip(site)


def documents(output: Path) -> set[str]:
    """Return the paths of all documents in an output."""
    return {
        file.relative_to(output).as_posix()
        for file in output.rglob("*")
        if file.is_file() and "resourcesync" in file.relative_to(output).as_posix()
    }


def resource_list(site: Site) -> XmlDocument:
    """Read the Resource List."""
    return parse((site.output / "resourcesync/site/resourcelist.xml").read_bytes())


def capabilities(site: Site) -> set[str]:
    """Return what the Capability List names."""
    document = parse((site.output / "resourcesync/site/capabilitylist.xml").read_bytes())
    return {entry.md["capability"] for entry in document.entries}


@pytest.mark.parametrize(
    ("name", "others", "warned"),
    [("a.md", ("b.rst",), ".md"), ("a.ipynb", (), ".ipynb"), ("a.ipynb", ("b.rst",), ""), ("a.txt", (), "")],
)
def test_sources_that_no_reader_reads(
    bare: Site, monkeypatch: pytest.MonkeyPatch, name: str, others: tuple[str, ...], warned: str
) -> None:
    """The first publication warns of what is not in it; what a site with content may have for another use is not."""
    monkeypatch.setattr(MarkdownReader, "enabled", False)  # as without the package `markdown`
    for path in (name, *others):
        bare.write(f"content/{path}", "B\n#\n\n:date: 2024-01-01\n:category: C\n\nText.\n", at="2024-01-01T10:00:00Z")
    for expected in ([warned] if warned else [], []):
        found = [warning for warning in warnings(run(bare)[1]) if "no reader for it is installed" in warning]
        assert [warning.partition("ending in ")[2].partition(" is published")[0] for warning in found] == expected


# --- git ---------------------------------------------------------------------


def test_no_repository(bare: Site) -> None:
    """Without git the Resource List stands alone, with the times of the files, and one warning says what to do."""
    source = bare.article("a.md", "A")
    shutil.rmtree(bare.folder / ".git")
    os.utime(source, (1_700_000_000.5, 1_700_000_000.5))
    status, said = run(bare)
    assert status == 0
    (warning,) = warnings(said)
    assert f"{bare.folder / 'content'} is not in a git repository" in warning
    assert "run git init there and commit the site, or build in a clone of its repository" in warning
    assert capabilities(bare) == {"resourcelist"}
    assert bare.resources() == {"/a.html": "2023-11-14T22:13:20Z"}


def test_commit_dated_in_the_future(bare: Site) -> None:
    """It lands just after its parent, one warning names it, and a later build neither warns nor changes its mind."""
    bare.article("a.md", "A", at="2024-01-01T10:00:00Z")
    bare.article("b.md", "B")
    bare.commit("2030-01-01T10:00:00Z")
    sha = bare.head
    status, said = run(bare, SOURCE_DATE_EPOCH="1717243200")
    assert status == 0
    (warning,) = warnings(said)
    assert f"the commit {sha[:10]} is dated 2030-01-01, in the future" in warning
    expected = [
        ("2024-01-01T10:00:00Z", "created", "/a.html"),
        ("2024-01-01T10:00:01Z", "created", "/b.html"),
    ]
    assert bare.changes() == expected
    assert resource_list(bare).md["at"] == "2024-01-01T10:00:01Z"
    status, said = run(bare, SOURCE_DATE_EPOCH="1924992000")
    assert (status, warnings(said)) == (0, [])
    assert bare.changes() == expected


# --- settings ----------------------------------------------------------------


def test_build_that_stops_publishes_nothing(bare: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A setting, a time of the build or a beginning that cannot be used is named, with what it may be; no secret is."""
    bare.article("a.md", "A", at="2024-01-01T10:00:00Z")
    status, said = run(bare, "-e", 'SITEURL="https://me:secret@example.org"')
    assert status != 0
    assert "SITEURL contains a user, which would be in every published URI: remove it" in said
    assert "secret" not in said
    assert "Traceback" not in said
    assert not bare.output.exists()
    with pytest.raises(ResourceSyncError, match=r"\['changes_by'\] must be .*, not 'mouth' \(did you mean 'month'\?"):
        bare.build(RESOURCESYNC={"changes_by": "mouth"})
    with pytest.raises(ResourceSyncError, match=r"RESOURCESYNC\['history'\]: 'nowhere' is not a commit"):
        bare.build(RESOURCESYNC={"history": "nowhere"})
    for epoch in ("tomorrow", "99999999999999999", "1.5"):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
        with pytest.raises(
            ResourceSyncError, match=r"SOURCE_DATE_EPOCH is '.*', but must be a number of seconds since 1970"
        ):
            bare.build()
    assert documents(bare.output) == set()


# --- outputs -----------------------------------------------------------------


def test_failed_build_keeps_the_previous_publication(bare: Site) -> None:
    """A build that fails leaves the means to repeat it: the next one goes on where the last publication ended."""
    page = "Title: {0}\nSave_as: {0}\nUrl: about\n\nText.\n"
    bare.configure(RESOURCESYNC={"clean_urls": True})
    bare.write("content/pages/about.md", page.format("about.html"))
    bare.commit("2024-01-01T10:00:00Z")
    run(bare)
    before = bare.changes()
    bare.write("content/pages/other.md", page.format("about"), at="2024-02-01T10:00:00Z")
    status, said = run(bare)
    assert status != 0
    assert "both have the URI https://example.org/about: change the URL of one of them, or exclude it" in said
    assert (
        f"ResourceSync: nothing was published. The folder {bare.output} has the new pages and the documents of the "
        "last publication: do not upload it. Correct the cause and build again; nothing else needs repair."
    ) in said
    bare.write("content/pages/other.md", page.format("other.html"), at="2024-03-01T10:00:00Z")
    status, said = run(bare)
    assert (status, warnings(said)) == (0, [])
    assert "1 created (/other.html) since the last publication" in said
    assert bare.changes()[: len(before)] == before


# --- the previous publication ------------------------------------------------
