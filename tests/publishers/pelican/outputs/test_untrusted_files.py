"""What an output may hold that must not be published: links out of it, half-written copies, our work folder."""

import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from pelican_resourcesync.errors import PublicationError, SettingsError
from pelican_resourcesync.publishers.pelican import Session, read_configuration
from tests.kit.backfills import run
from tests.kit.reader import parse_file
from tests.kit.sites import Site, strip

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
        "ResourceSync: the output has 2 symbolic links that lead out of it and are not published (leak.txt, "
        "relative.txt): replace them with copies"
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
        ("files/.resourcesync-x", "has a name that is reserved for interrupted runs"),
        (".resourcesync-x/y", "has a name that is reserved for interrupted runs"),
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
    with pytest.raises(PublicationError, match=r"Pelican writes resourcesync/index\.html, where documents of the"):
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
    with pytest.raises(PublicationError, match=r"cannot be built: .*data\.bin, with 4 of 10 bytes"):
        run(small, since="HEAD")


def test_our_work_folder_must_not_be_public(small: Site) -> None:
    """An output that contains the settings file stops before anything is written or deleted."""
    small.configure(OUTPUT_PATH=".", DELETE_OUTPUT_DIRECTORY=False)
    site = read_configuration(small.folder / "pelicanconf.py")
    message = r"contains .*, the folder of the settings, so settings, sources and the work folder \.resourcesync"
    with pytest.raises(SettingsError, match=message):
        Session(dict(site.pelican))
    assert not (small.folder / ".resourcesync").exists()
