"""The inventory of resources: which outputs count, and under which URI."""

import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from pelican_resourcesync.errors import PublicationError, SettingsError
from pelican_resourcesync.publishers.pelican import Session, read_configuration
from pelican_resourcesync.publishers.pelican.outputs import OutputFile
from pelican_resourcesync.publishers.pelican.resources import select_resources
from pelican_resourcesync.publishers.static_site import Exclusion
from pelican_resourcesync.publishers.static_site.files import is_html
from tests.kit.backfills import run
from tests.kit.reader import parse_file
from tests.kit.sites import Site, strip
from tests.publishers.pelican.support import SITEURL

NOTHING = Exclusion(())


def written(path: str, uri: str | None = None, *, source: str | None = None, public: bool = True) -> OutputFile:
    """Make an output by hand."""
    return OutputFile(path, f"{SITEURL}/{path if uri is None else uri}", source, public=public)


def paths(outputs: list[OutputFile], *patterns: str) -> list[str]:
    """Return the paths of the resources among outputs."""
    return [each.path for each in select_resources(outputs, Exclusion(patterns))]


def test_all_outputs_in_the_order_of_their_uris() -> None:
    """Everything public is a resource; the order is the URIs', not the paths'."""
    outputs = [written("z.html", "a/"), written("b.html"), written("a/index.html", "c/")]
    assert paths(outputs) == ["z.html", "b.html", "a/index.html"]


def test_what_is_not_public_is_left_out() -> None:
    """Drafts and hidden pages are none."""
    assert paths([written("a.html"), written("drafts/b.html", public=False)]) == ["a.html"]


def test_own_documents_are_left_out() -> None:
    """What we wrote ourselves is not listed; what only looks like it is."""
    outputs = [
        written(path)
        for path in (
            ".well-known/resourcesync",
            ".well-known/security.txt",
            "resourcesync/index.html",
            "resourcesync/site/changelist.xml",
            "resourcesync.html",
            "blog/resourcesync/a.html",
        )
    ]
    assert paths(outputs) == [".well-known/security.txt", "blog/resourcesync/a.html", "resourcesync.html"]


@pytest.mark.parametrize(
    ("pattern", "left"),
    [
        ("404.html", ["a/404.html", "a/b.HTML", "x.html"]),
        ("a/*", ["404.html", "x.html"]),
        ("*.html", ["a/b.HTML"]),
        ("?.html", ["404.html", "a/404.html", "a/b.HTML"]),
        ("b.HTML", ["404.html", "a/404.html", "a/b.HTML", "x.html"]),
    ],
)
def test_exclude_names_paths(pattern: str, left: list[str]) -> None:
    """A pattern is of the whole path, with case, and `*` goes into folders."""
    outputs = [written(path) for path in ("404.html", "a/404.html", "a/b.HTML", "x.html")]
    assert paths(outputs, pattern) == left


def test_two_outputs_with_one_uri_are_an_error_that_names_both() -> None:
    """Nobody can guess which of two files a URI means."""
    outputs = [written("a/index.html", "a/", source="a.md"), written("b.html", "a/")]
    message = (
        rf"^a/index\.html \(of a\.md\) and b\.html both have the URI {SITEURL}/a/: "
        r"change the URL of one of them, or exclude it \(RESOURCESYNC\['exclude'\]\)$"
    )
    with pytest.raises(PublicationError, match=message):
        select_resources(outputs, NOTHING)


def test_excluding_one_of_two_is_the_cure() -> None:
    """As the message says; and one that is not public is in nobody's way."""
    outputs = [written("a/index.html", "a/"), written("b.html", "a/")]
    assert paths(outputs, "b.html") == ["a/index.html"]
    assert paths([outputs[0], written("b.html", "a/", public=False)]) == ["a/index.html"]


@pytest.mark.parametrize(
    ("uri", "pattern", "covered"),
    [
        ("private/a.html", "private/*", True),
        ("private/", "private/*", True),
        ("private/", "private/index.html", True),
        ("private", "private/index.html", True),
        ("private/a", "private/a.html", True),
        ("", "index.html", True),
        ("two%20words.html", "two words.html", True),
        ("gr%C3%B6%C3%9Fe.html", "größe.html", True),
        ("caf%E9.html", "caf?.html", True),
        ("a.html", "private/*", False),
        ("a.html", "a.html.html", False),
        ("private/a", "private/b.html", False),
        ("resourcesync/", "", True),
        ("resourcesync/site/old.xml", "", True),
        (".well-known/resourcesync", "", True),
    ],
)
def test_uris_of_the_past_are_excluded_as_their_files_are(uri: str, pattern: str, covered: bool) -> None:
    """Whatever file a host may have answered with, an exclusion of it covers the URI too."""
    assert Exclusion((pattern,)).excludes_uri(SITEURL, f"{SITEURL}/{uri}") is covered


def test_html_by_name() -> None:
    """Pages are known by their names' ends, in any case."""
    assert [is_html(name) for name in ("a.html", "a/b.HTM", "a.xhtml", "html", "a.html.gz")] == [
        True,
        True,
        *[False] * 3,
    ]


# --- What an output may hold that must not be published ------------------------


TIME = "2024-01-15T10:00:00Z"


@pytest.fixture
def small(tmp_path: Path) -> Site:
    """Return a site with one article and one static file."""
    site = strip(Site.create(tmp_path / "site", STATIC_PATHS=["files"]))
    site.article("first.md", "First")
    site.write("content/files/data.bin", "0123456789")
    site.commit(TIME)
    return site


def change_output(site: Site, *lines: str) -> None:
    """Let a plug-in of the site change the `output` when Pelican has written it."""
    code = ["import os, pathlib, sys", "from pelican import signals", "def change(pelican):"]
    code += ["    output = pathlib.Path(pelican.settings['OUTPUT_PATH'])"]
    code += [
        f"    if 'pytest' in sys.modules and str(output.parent) != {str(site.folder)!r}: return"
    ]  # of another test
    code += [f"    {line}" for line in lines]
    site.write("plugins/change.py", "\n".join([*code, "def register():", "    signals.finalized.connect(change)", ""]))
    sys.modules.pop("change", None)
    site.configure(PLUGIN_PATHS=["plugins"], PLUGINS=["change", "pelican_resourcesync"])


def listed(site: Site) -> dict[str, str | None]:
    """Return the lengths of the resources, by path."""
    entries = parse_file(site.output / "resourcesync/site/resourcelist.xml").entries
    return {each.uri.removeprefix("https://example.org/"): each.md.get("length") for each in entries}


@pytest.mark.promise("Nothing from outside")
def test_links_out_of_the_output_are_no_resources(
    small: Site, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither listed nor in a dump: one warning names them; a link to another file of the output is followed."""
    secret = tmp_path / "secret.txt"
    secret.write_text("the password")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "inner.txt").write_text("the password")

    change_output(
        small,
        f"(output / 'leak.txt').symlink_to({str(secret)!r})",
        f"(output / 'hidden.txt').symlink_to({str(secret)!r})",
        f"(output / 'relative.txt').symlink_to(os.path.relpath({str(secret)!r}, output))",
        f"(output / 'folder').symlink_to({str(tmp_path / 'folder')!r})",
        f"(output / 'gone.txt').symlink_to({str(tmp_path / 'nothing')!r})",
        "(output / 'same.bin').symlink_to('files/data.bin')",
    )
    small.configure(RESOURCESYNC={"dumps": True, "exclude": ["hidden.txt"]})
    small.build()
    warning = (
        "ResourceSync: symbolic links to files outside the output are not published (leak.txt, relative.txt): "
        "replace them with copies"
    )
    assert [each for each in caplog.messages if "symbolic link" in each] == [warning]
    assert listed(small).keys() == {"files/data.bin", "first.html", "same.bin"}
    packages = [*(small.output / "resourcesync").rglob("*.zip")]
    assert packages
    for package in packages:
        with ZipFile(package) as archive:
            assert all(b"the password" not in archive.read(each) for each in archive.namelist())


def test_links_that_pelican_makes_in_place_of_copies(small: Site, caplog: pytest.LogCaptureFixture) -> None:
    """`STATIC_CREATE_LINKS` links to the sources, symbolically where the disks differ: these are resources."""
    source = small.folder / "content/files/data.bin"
    change_output(
        small, "os.unlink(output / 'files/data.bin')", f"(output / 'files/data.bin').symlink_to({str(source)!r})"
    )
    small.build()
    assert not [each for each in caplog.messages if "symbolic link" in each]
    assert listed(small)["files/data.bin"] == "10"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("files/a\x7fb.txt", r"control characters or invalid UTF-8 in its name, 'files/a\\x7fb\.txt'"),
        ("files/.resourcesync-x", "has a name that is reserved for temporary files"),
        (".resourcesync-x/y", "has a name that is reserved for temporary files"),
        ("_headers/y", "_headers is not a file"),
    ],
)
def test_what_cannot_be_published(small: Site, path: str, message: str) -> None:
    """It stops the build, and what was published stays as it was."""
    small.configure(RESOURCESYNC={"link_headers": ["_headers"]})
    small.build()
    (small.output / "_headers").unlink()
    before = (small.output / "resourcesync/publication.json").read_bytes()
    change_output(small, f"file = output / {path!r}", "file.parent.mkdir(exist_ok=True)", "file.write_text('theirs')")
    with pytest.raises(PublicationError, match=message):
        small.build()
    assert (small.output / "resourcesync/publication.json").read_bytes() == before
    assert (small.output / path).read_text() == "theirs"


def test_a_static_file_where_the_documents_belong(small: Site) -> None:
    """It would be lost, at each build."""
    small.build()
    small.configure(EXTRA_PATH_METADATA={"files/data.bin": {"path": "resourcesync/index.html"}})
    with pytest.raises(PublicationError, match=r"Pelican writes resourcesync/index\.html, in the folder for documents"):
        small.build()


@pytest.mark.promise("Nothing from outside")
@pytest.mark.parametrize("kept", [0, 4])
def test_a_copy_that_pelican_did_not_finish(small: Site, kept: int) -> None:
    """Pelican only warns when the disk is full: the build stops, and what was published stays as it was."""
    small.build()
    before = (small.output / "resourcesync/publication.json").read_bytes()
    change_output(small, f"os.truncate(output / 'files/data.bin', {kept})")
    message = rf"data\.bin, with {kept} of 10 bytes: see Pelican's warnings, free disk space, and build again"
    with pytest.raises(PublicationError, match=message):
        small.build()
    assert (small.output / "resourcesync/publication.json").read_bytes() == before


def test_a_copy_that_a_plugin_made_smaller(small: Site) -> None:
    """Other bytes are a choice of the site, and published."""
    change_output(small, "(output / 'files/data.bin').write_bytes(b'9')")
    small.build()
    assert listed(small)["files/data.bin"] == "1"


def test_a_past_build_with_an_incomplete_copy_or_a_link(small: Site, tmp_path: Path) -> None:
    """Backfill stops where the disk is full, which is no fault of the commit, and keeps no target of a link."""
    (tmp_path / "secret.txt").write_text("the password")
    change_output(small, f"(output / 'leak.txt').symlink_to({str(tmp_path / 'secret.txt')!r})")
    small.commit("2024-02-15T10:00:00Z")
    assert run(small, since="HEAD").skipped == {}
    assert listed(small).keys() == {"files/data.bin", "first.html"}
    kept = [each for each in (small.folder / ".resourcesync").rglob("*") if each.is_file()]
    assert len(kept) > 3
    assert all(b"the password" not in each.read_bytes() for each in kept)
    change_output(small, "os.truncate(output / 'files/data.bin', 4)")
    small.commit("2024-03-15T10:00:00Z")
    with pytest.raises(PublicationError, match=r"cannot be built .*data\.bin, with 4 of 10 bytes"):
        run(small, since="HEAD")


def test_our_work_folder_must_not_be_public(small: Site) -> None:
    """An output that contains the settings file stops before anything is written or deleted."""
    small.configure(OUTPUT_PATH=".", DELETE_OUTPUT_DIRECTORY=False)
    site = read_configuration(small.folder / "pelicanconf.py")
    message = r"contains .*, the folder of the settings, so settings, sources and \.resourcesync would be public"
    with pytest.raises(SettingsError, match=message):
        Session(dict(site.pelican))
    assert not (small.folder / ".resourcesync").exists()
