"""The command `show --why`: what of the content of a page differs from the page that is live."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pelican_resourcesync.publication import ChangeHistory
from tests.commands.conftest import output_of
from tests.kit.live import files, live
from tests.kit.publications import Source, utc

PAGE = "<title>{0} - Site</title><nav>{1}</nav><main><h1>{0}</h1><p>One</p><p>{2}</p><a href='/x/'>x</a></main>"


@pytest.fixture
def built(tmp_path: Path) -> Iterator[Source]:
    """Return a site that is live, and built in another folder."""
    www = tmp_path / "www"
    www.mkdir()
    (www / "a.html").write_text(PAGE.format("T", "menu", "two"))
    with live(files(www)) as host:
        source = Source(tmp_path / "output", siteurl=host.url)
        yield source


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        (PAGE.format("T", "menu", "two"), ["The live page at {} has the same bytes."]),
        (PAGE.format("T", "other", "two"), ["The content is the same; only the parts around it differ."]),
        (PAGE.format("T", "menu", "three"), ["The content differs.", "-two", "+three"]),
        (PAGE.format("U", "menu", "two"), ["The content differs.", "-T", "+U"]),
        (PAGE.format("T", "menu", "two").replace("/x/", "/y/"), ["The content differs.", "-link: /x/", "+link: /y/"]),
    ],
    ids=["bytes", "around", "text", "title", "link"],
)
def test_what_differs(built: Source, page: str, expected: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """The words that differ are shown, and where nothing that counts does, that is said."""
    built.publish({"a.html": page.encode()}, ChangeHistory(built=utc("2026-01-01T10:00")))
    uri = f"{built.siteurl}/a.html"
    lines = output_of(capsys, "show", str(built.output), "--why", uri).splitlines()
    shown = [
        line for line in lines if line.startswith(("The", "http")) or line[:1] + line[1:2] not in {"--", "++", "@@"}
    ]
    assert [line for line in shown if line[0] != " "] == [line.format(uri) for line in expected]


def test_what_is_not_there(built: Source, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A page that is new is not compared; a file that is nowhere, and a folder without a publication, are errors."""
    built.publish({"new.html": b"<p>new"}, ChangeHistory(built=utc("2026-01-01T10:00")))
    uri = f"{built.siteurl}/new.html"
    assert (
        output_of(capsys, "show", str(built.output), "--why", uri) == f"{uri} is not live yet: the whole page is new.\n"
    )
    missing = output_of(capsys, "show", str(built.output), "--why", f"{built.siteurl}/b.html", exits=2)
    assert f"{built.output} has no file for {built.siteurl}/b.html: pass the URL of a page" in missing
    assert "contains no publication: pass the folder that was published" in output_of(
        capsys, "show", str(tmp_path / "www"), "--why", uri, exits=2
    )
