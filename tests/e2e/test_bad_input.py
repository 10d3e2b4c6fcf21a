"""What is wrong, missing or strange around a site: one clear sentence with its cure each, and nothing guessed."""

import os
import shutil
import zlib
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pelican_resourcesync.errors import ResourceSyncError
from tests.support.reader import XmlDocument, parse
from tests.support.servers import public_files
from tests.support.sites import Row, Site, run, strip, warnings


@pytest.fixture
def bare(site: Site) -> Site:
    """Give a site that publishes its articles and pages alone."""
    return strip(site)


def documents(output: Path) -> set[str]:
    """Give the paths of all documents in an output."""
    return {
        file.relative_to(output).as_posix()
        for file in output.rglob("*")
        if file.is_file() and "resourcesync" in file.relative_to(output).as_posix()
    }


def resource_list(site: Site) -> XmlDocument:
    """Read the Resource List."""
    return parse((site.output / "resourcesync/site/resourcelist.xml").read_bytes())


def capabilities(site: Site) -> set[str]:
    """Give what the Capability List names."""
    document = parse((site.output / "resourcesync/site/capabilitylist.xml").read_bytes())
    return {entry.md["capability"] for entry in document.entries}


def refused(site: Site, *messages: str) -> None:
    """Check that a build fails with exactly this message, and publishes nothing."""
    status, said = run(site)
    assert status != 0
    assert "ResourceSync:" not in said
    for message in messages:
        assert message in said, said
    assert documents(site.output) == set()


# --- git ---------------------------------------------------------------------


def test_no_repository(bare: Site) -> None:
    """Without git the Resource List stands alone, with the times of the files, and one warning says what to do."""
    source = bare.article("a.md", "A")
    shutil.rmtree(bare.folder / ".git")
    os.utime(source, (1_700_000_000.5, 1_700_000_000.5))
    status, said = run(bare)
    assert status == 0
    (warning,) = warnings(said)
    assert f"{bare.folder / 'content'} is in no git repository" in warning
    assert "build in a clone" in warning
    assert capabilities(bare) == {"resourcelist"}
    assert bare.resources() == {"/a.html": "2023-11-14T22:13:20.500Z"}


@pytest.fixture
def shallow(bare: Site, tmp_path: Path) -> Site:
    """Give a shallow clone of a site with three commits, as most CIs make it."""
    for number, name in enumerate("abc"):
        bare.article(f"{name}.md", name.upper())
        bare.commit(f"2024-0{number + 1}-01T10:00:00Z")
    clone = Site(tmp_path / "clone", bare.settings)
    bare.git("clone", "-q", "--depth", "1", bare.folder.as_uri(), str(clone.folder))
    return clone


def test_shallow_clone(shallow: Site) -> None:
    """No Change List and no `lastmod` is made up, and the warning says how to fetch the rest."""
    status, said = run(shallow)
    assert status == 0
    (warning,) = warnings(said)
    assert "shallow clone" in warning
    assert "fetch-depth: 0" in warning
    assert "git fetch --unshallow" in warning
    assert capabilities(shallow) == {"resourcelist"}
    assert shallow.resources() == {"/a.html": None, "/b.html": None, "/c.html": None}
    assert resource_list(shallow).md["at"] == "2024-03-01T10:00:00Z"
    status, said = run(shallow, "--fatal", "warnings")
    assert status != 0
    assert "shallow clone" in said


def test_shallow_clone_made_whole(shallow: Site) -> None:
    """The warning's cure cures: once all is fetched, a first publication tells the whole history."""
    shallow.git("fetch", "-q", "--unshallow")
    status, said = run(shallow)
    assert (status, warnings(said)) == (0, [])
    assert shallow.changes() == [
        ("2024-01-01T10:00:00Z", "created", "/a.html"),
        ("2024-02-01T10:00:00Z", "created", "/b.html"),
        ("2024-03-01T10:00:00Z", "created", "/c.html"),
    ]


def test_site_in_a_subdirectory(tmp_path: Path) -> None:
    """A site below the top of its repository: what lies beside it is no matter of the site."""
    top = Site.create(tmp_path / "top")
    site = strip(Site(top.folder / "docs" / "my site"))
    site.article("a.md", "A")
    top.remove("pelicanconf.py")
    top.article("not-of-the-site.md", "Other")
    top.commit("2024-01-01T10:00:00Z")
    top.write("README.md", "Something else")
    top.commit("2024-02-01T10:00:00Z")
    site.article("a.md", "A", "Other words.")
    top.commit("2024-03-01T10:00:00Z")
    status, said = run(site)
    assert (status, warnings(said)) == (0, [])
    assert site.changes() == [
        ("2024-01-01T10:00:00Z", "created", "/a.html"),
        ("2024-03-01T10:00:00Z", "updated", "/a.html"),
    ]


def test_uncommitted_sources(bare: Site) -> None:
    """What is not committed happened at the time of the build, which SOURCE_DATE_EPOCH decides."""
    bare.article("edited.md", "Edited")
    bare.article("lost.md", "Lost")
    bare.article("staged.md", "Staged")
    bare.commit("2024-01-01T10:00:00Z")
    bare.article("edited.md", "Edited", "Other words.")
    bare.article("untracked.md", "Untracked")
    bare.article("staged.md", "Staged", "Other words.")
    bare.git("add", "content/staged.md")
    bare.remove("content/lost.md")
    epoch = int(datetime(2024, 6, 1, 12, tzinfo=UTC).timestamp())
    status, said = run(bare, SOURCE_DATE_EPOCH=str(epoch))
    assert (status, warnings(said)) == (0, [])
    assert sorted(bare.changes()) == [
        ("2024-01-01T10:00:00Z", "created", "/edited.html"),
        ("2024-01-01T10:00:00Z", "created", "/lost.html"),
        ("2024-01-01T10:00:00Z", "created", "/staged.html"),
        ("2024-06-01T12:00:00Z", "created", "/untracked.html"),
        ("2024-06-01T12:00:00Z", "deleted", "/lost.html"),
        ("2024-06-01T12:00:00Z", "updated", "/edited.html"),
        ("2024-06-01T12:00:00Z", "updated", "/staged.html"),
    ]
    assert resource_list(bare).md["at"] == "2024-06-01T12:00:00Z"


def test_strange_names(bare: Site) -> None:
    """Names outside ASCII, with blanks, `%`, `#`, `?` and `&`: their URIs by hand, in resources and in changes."""
    bare.configure(STATIC_PATHS=["files"], SLUGIFY_SOURCE="basename")
    names = {
        "Zürich 1.txt": "/files/Z%C3%BCrich%201.txt",
        "100%.txt": "/files/100%25.txt",
        "a%20b.txt": "/files/a%2520b.txt",
        "a#b?c&d.txt": "/files/a%23b%3Fc&d.txt",
        "日本/語.txt": "/files/%E6%97%A5%E6%9C%AC/%E8%AA%9E.txt",
        '"quoted".txt': "/files/%22quoted%22.txt",
    }
    for name in names:
        bare.write(f"content/files/{name}", name)
    bare.commit("2024-01-01T10:00:00Z")
    for name in names:
        bare.write(f"content/files/{name}", f"{name} again")
    bare.commit("2024-02-01T10:00:00Z")
    bare.remove("content/files/100%.txt")
    bare.commit("2024-03-01T10:00:00Z")
    status, said = run(bare)
    assert (status, warnings(said)) == (0, [])
    assert bare.resources().keys() == {*names.values()} - {"/files/100%25.txt"}
    assert sorted(bare.changes()) == sorted(
        [
            *(("2024-01-01T10:00:00Z", "created", uri) for uri in names.values()),
            *(("2024-02-01T10:00:00Z", "updated", uri) for uri in names.values()),
            ("2024-03-01T10:00:00Z", "deleted", "/files/100%25.txt"),
        ]
    )


@pytest.mark.parametrize("damage", ["deleted", "corrupt"])
def test_unreadable_blob_of_the_past(bare: Site, damage: str) -> None:
    """A past source that git cannot read is left out and counted; the rest of the history is told."""
    bare.article("a.md", "Old title")
    bare.article("b.md", "B")
    bare.commit("2024-01-01T10:00:00Z")
    name = bare.git("rev-parse", "HEAD:content/a.md")
    bare.article("a.md", "New title")
    bare.commit("2024-02-01T10:00:00Z")
    blob = bare.folder / ".git" / "objects" / name[:2] / name[2:]
    blob.chmod(0o644)
    if damage == "deleted":
        blob.unlink()
    else:
        blob.write_bytes(zlib.compress(b"blob 3\0abc"))
    status, said = run(bare, "--verbose")
    assert (status, warnings(said)) == (0, [])
    assert "1 past URLs and states of sources are left out of the Change Lists" in said
    assert bare.changes() == [
        ("2024-01-01T10:00:00Z", "created", "/b.html"),
        ("2024-02-01T10:00:00Z", "created", "/new-title.html"),
    ]


def test_commit_dated_in_the_future(bare: Site) -> None:
    """It lands just after its parent, one warning names it, and a later build neither warns nor changes its mind."""
    bare.article("a.md", "A")
    bare.commit("2024-01-01T10:00:00Z")
    bare.article("b.md", "B")
    sha = bare.commit("2030-01-01T10:00:00Z")
    status, said = run(bare, SOURCE_DATE_EPOCH="1717243200")
    assert status == 0
    (warning,) = warnings(said)
    assert f"the commit {sha[:10]} is dated 2030-01-01, in the future" in warning
    expected = [
        ("2024-01-01T10:00:00Z", "created", "/a.html"),
        ("2024-01-01T10:00:00.001Z", "created", "/b.html"),
    ]
    assert bare.changes() == expected
    assert resource_list(bare).md["at"] == "2024-01-01T10:00:00.001Z"
    status, said = run(bare, SOURCE_DATE_EPOCH="1924992000")
    assert (status, warnings(said)) == (0, [])
    assert bare.changes() == expected


# --- settings ----------------------------------------------------------------


def test_command_refuses_a_setting(bare: Site) -> None:
    """The command shows the message and fails; a password in SITEURL is in nothing that it says."""
    bare.article("a.md", "A")
    bare.configure(SITEURL="https://me:secret@example.org")
    status, said = run(bare)
    assert status != 0
    assert "SITEURL has a user, which would be in every published URI: leave it out" in said
    assert "secret" not in said
    assert not bare.output.exists()


def test_build_that_stops_publishes_nothing(bare: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A setting, a time of the build or a beginning that cannot be used is named, with what it may be."""
    bare.article("a.md", "A")
    bare.commit("2024-01-01T10:00:00Z")
    with pytest.raises(ResourceSyncError, match=r"\['changes_by'\] is 'mouth'.*did you mean 'month'\?"):
        bare.build(RESOURCESYNC={"changes_by": "mouth"})
    with pytest.raises(ResourceSyncError, match=r"'history' is 'nowhere', .*names no commit"):
        bare.build(RESOURCESYNC={"history": "nowhere"})
    for epoch in ("tomorrow", "99999999999999999", "1.5"):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
        with pytest.raises(
            ResourceSyncError, match=r"SOURCE_DATE_EPOCH is '.*': make it a number of seconds since 1970"
        ):
            bare.build()
    assert documents(bare.output) == set()


@pytest.fixture
def three(bare: Site) -> Site:
    """Give a site of three commits; the second has a tag, the third takes the first article away."""
    bare.article("a.md", "A")
    bare.commit("2024-01-01T10:00:00Z")
    bare.article("b.md", "B")
    bare.commit("2024-02-01T10:00:00Z")
    bare.git("tag", "begin")
    bare.remove("content/a.md")
    bare.article("b.md", "B", "Other words.")
    bare.commit("2024-03-01T10:00:00Z")
    return bare


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        ("none", [("2024-03-01T10:00:00Z", "created", "/b.html")]),
        (
            "begin",
            [
                ("2024-02-01T10:00:00Z", "created", "/a.html"),
                ("2024-02-01T10:00:00Z", "created", "/b.html"),
                ("2024-03-01T10:00:00Z", "deleted", "/a.html"),
                ("2024-03-01T10:00:00Z", "updated", "/b.html"),
            ],
        ),
        (
            "HEAD~2",
            [
                ("2024-01-01T10:00:00Z", "created", "/a.html"),
                ("2024-02-01T10:00:00Z", "created", "/b.html"),
                ("2024-03-01T10:00:00Z", "deleted", "/a.html"),
                ("2024-03-01T10:00:00Z", "updated", "/b.html"),
            ],
        ),
    ],
)
def test_where_history_begins(three: Site, history: str, expected: list[Row]) -> None:
    """What came before that commit counts as having come with it; what was gone by then is not named."""
    three.build(RESOURCESYNC={"history": history})
    assert three.changes() == expected


def test_history_that_begins_beside_the_branch(bare: Site) -> None:
    """A commit that never was the head of the published branch is no place to begin: said, not guessed."""
    bare.article("a.md", "A")
    bare.commit("2024-01-01T10:00:00Z")
    bare.git("checkout", "-q", "-b", "side")
    bare.article("b.md", "B")
    beside = bare.commit("2024-02-01T10:00:00Z")
    bare.git("checkout", "-q", "main")
    bare.git("merge", "-q", "--no-ff", "side", GIT_COMMITTER_DATE="2024-03-01T10:00:00Z")
    bare.configure(RESOURCESYNC={"history": beside})
    refused(bare, f"'history' is '{beside}'", "one of its first-parent history")


# --- outputs -----------------------------------------------------------------


def test_two_outputs_with_one_url(bare: Site) -> None:
    """The build stops, names both files, and writes no document."""
    bare.write("content/pages/about.md", "Title: About\nSave_as: about.html\nUrl: about\n\nText.\n")
    bare.write("content/pages/other.md", "Title: Other\nSave_as: about/index.html\nUrl: about\n\nText.\n")
    bare.commit("2024-01-01T10:00:00Z")
    refused(
        bare,
        "about.html (of pages/about.md)",
        "about/index.html (of pages/other.md)",
        "both have the URI https://example.org/about:",
        "give one of them another URL, or exclude it",
    )


def test_failed_build_keeps_the_previous_publication(bare: Site) -> None:
    """A build that fails leaves the means to repeat it: the next one goes on where the last publication ended."""
    page = "Title: {0}\nSave_as: {0}\nUrl: about\n\nText.\n"
    bare.write("content/pages/about.md", page.format("about.html"))
    bare.commit("2024-01-01T10:00:00Z")
    run(bare)
    before = bare.changes()
    bare.write("content/pages/other.md", page.format("about/index.html"))
    bare.commit("2024-02-01T10:00:00Z")
    assert run(bare)[0] != 0
    bare.write("content/pages/other.md", page.format("other.html"))
    bare.commit("2024-03-01T10:00:00Z")
    status, said = run(bare)
    assert (status, warnings(said)) == (0, [])
    assert "1 created since the last publication" in said
    assert bare.changes()[: len(before)] == before


def test_killed_build_keeps_the_previous_publication(bare: Site) -> None:
    """A build killed after the output was cleaned: the next one goes on as if it had never been."""
    bare.article("a.md", "A")
    bare.commit("2024-01-01T10:00:00Z")
    run(bare)
    bare.write(
        "plugins/killer.py",
        "import os, signal\nfrom pelican import signals\n\n\ndef kill(pelican):\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n\n\ndef register():\n    signals.finalized.connect(kill)\n",
    )
    bare.article("a.md", "A", "Other words.")
    bare.commit("2024-02-01T10:00:00Z")
    killer = ('PLUGIN_PATHS=["plugins"]', 'PLUGINS=["killer", "pelican_resourcesync"]')
    assert run(bare, "--extra-settings", *killer)[0] == -9
    assert not (bare.output / ".well-known").exists()
    status, said = run(bare)
    assert (status, warnings(said)) == (0, [])
    assert bare.changes() == [
        ("2024-01-01T10:00:00Z", "created", "/a.html"),
        ("2024-02-01T10:00:00Z", "updated", "/a.html"),
    ]


def test_excluded_later_becomes_deleted(bare: Site) -> None:
    """What a setting takes out of the set is deleted for those who follow, at the commit of the settings."""
    bare.article("a.md", "A")
    bare.article("b.md", "B")
    bare.commit("2024-01-01T10:00:00Z")
    bare.build()
    bare.configure(RESOURCESYNC={"exclude": ["b.*"], "allow_deletions": True})
    bare.commit("2024-02-01T10:00:00Z")
    bare.build()
    assert bare.changes() == [
        ("2024-01-01T10:00:00Z", "created", "/a.html"),
        ("2024-01-01T10:00:00Z", "created", "/b.html"),
        ("2024-02-01T10:00:00Z", "deleted", "/b.html"),
    ]
    assert bare.resources().keys() == {"/a.html"}
    assert (bare.output / "b.html").exists()
    bare.configure(RESOURCESYNC={})
    bare.commit("2024-03-01T10:00:00Z")
    bare.build()
    assert bare.changes()[3:] == [("2024-03-01T10:00:00Z", "created", "/b.html")]


def test_withdrawn_becomes_deleted(bare: Site) -> None:
    """Published, then a draft, then published again, in three builds: deleted and created, and the draft unnamed."""
    bare.configure(RESOURCESYNC={"allow_deletions": True})
    for month, status in enumerate(["published", "draft", "published", "hidden"], start=1):
        bare.article("a.md", "A", Status=status, Category="x")
        bare.article("b.md", "B")
        bare.commit(f"2024-0{month}-01T10:00:00Z")
        bare.build()
    assert [row for row in bare.changes() if row[2] != "/b.html"] == [
        ("2024-01-01T10:00:00Z", "created", "/a.html"),
        ("2024-02-01T10:00:00Z", "deleted", "/a.html"),
        ("2024-03-01T10:00:00Z", "created", "/a.html"),
        ("2024-04-01T10:00:00Z", "deleted", "/a.html"),
    ]
    assert not any(b"drafts" in (bare.output / path).read_bytes() for path in documents(bare.output))


def test_stale_output_is_no_resource(bare: Site) -> None:
    """Where Pelican does not clean the output, what it no longer writes is deleted, though the file lies there."""
    bare.configure(DELETE_OUTPUT_DIRECTORY=False, RESOURCESYNC={"allow_deletions": True})
    bare.article("a.md", "A")
    bare.article("b.md", "B")
    bare.commit("2024-01-01T10:00:00Z")
    bare.build()
    bare.remove("content/b.md")
    bare.commit("2024-02-01T10:00:00Z")
    bare.build()
    assert {"a.html", "b.html"} <= public_files(bare.output).keys()
    assert bare.resources().keys() == {"/a.html"}
    assert bare.changes()[2:] == [("2024-02-01T10:00:00Z", "deleted", "/b.html")]


# --- the previous publication ------------------------------------------------


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("publication.json", b"{"),
        ("publication.json", b"[]"),
        ("publication.json", b'{"format": 99}'),
        ("site/resourcelist.xml", b"<urlset/>"),
        ("site/changelist.xml", None),
    ],
)
def test_damaged_previous_publication(bare: Site, name: str, data: bytes | None) -> None:
    """It is not believed: the build stops, says what is damaged and what to do, and leaves what is there."""
    bare.article("a.md", "A")
    bare.commit("2024-01-01T10:00:00Z")
    bare.build()
    file = bare.output / "resourcesync" / name
    if data is None:
        file.unlink()
    else:
        file.write_bytes(data)
    found = {path: (bare.output / path).read_bytes() for path in documents(bare.output)}
    status, said = run(bare)
    assert status != 0
    assert name in said
    assert "upload it again" in said or "update the tool" in said
    assert "Traceback" not in said
    assert {path: (bare.output / path).read_bytes() for path in documents(bare.output)} == found


def test_other_siteurl_stops_the_build(bare: Site) -> None:
    """Every URI would change: that is meant only where the settings say so; then the old ones are `deleted`."""
    bare.article("a.md", "A")
    bare.commit("2024-01-01T10:00:00Z")
    bare.build()
    before = documents(bare.output)
    bare.configure(SITEURL="https://new.example")
    status, said = run(bare)
    assert status == 1
    assert "moved_from to 'https://example.org' where the site has moved" in said
    assert documents(bare.output) == before
    bare.configure(RESOURCESYNC={"moved_from": "https://example.org"})
    status, said = run(bare)
    assert (status, "1 created, 1 deleted since the last publication" in said) == (0, True)
    assert [(kind, path) for _time, kind, path in bare.changes()] == [
        ("created", "https://example.org/a.html"),
        ("deleted", "https://example.org/a.html"),
        ("created", "/a.html"),
    ]
