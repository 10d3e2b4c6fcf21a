"""The output, as a search looks into it: one that nobody cleans, and one whose documents were taken aside."""

from pathlib import Path

import pytest

from pelican_resourcesync.publication.previous.search import Output, PlainOutput
from pelican_resourcesync.site.saved_documents import SavedDocuments


def test_documents_are_there_or_are_not(tmp_path: Path) -> None:
    """What else lies in an output is none; as soon as there are any, they are found."""
    output = PlainOutput(tmp_path / "output")
    assert output.folder is None
    (tmp_path / "output").mkdir()
    (tmp_path / "output/index.html").write_text("a page")
    assert output.folder is None
    (tmp_path / "output/resourcesync").write_text("no folder")
    assert output.folder is None
    (tmp_path / "output/resourcesync").unlink()
    (tmp_path / "output/resourcesync").mkdir()
    assert output.folder == tmp_path / "output"


def test_it_is_known_by_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Relative, with detours, or by a link; another folder is none, nor is one within."""
    (tmp_path / "output").mkdir()
    (tmp_path / "link").symlink_to("output")
    monkeypatch.chdir(tmp_path)
    for output in (PlainOutput(tmp_path / "output"), PlainOutput(Path("link"))):
        for name in ("output", "link", "output/../output", str(tmp_path / "output")):
            assert output.holds(Path(name))
        for name in (".", "output/resourcesync", "other"):
            assert not output.holds(Path(name))


def test_what_pelican_cleans_looks_the_same(tmp_path: Path) -> None:
    """Of an output that is not to be cleaned the plug-in says what this says."""
    (tmp_path / "output/resourcesync").mkdir(parents=True)
    outputs: list[Output] = [SavedDocuments(tmp_path / "output"), PlainOutput(tmp_path / "output")]
    assert [each.folder for each in outputs] == [tmp_path / "output"] * 2
    assert [each.holds(tmp_path / "output") for each in outputs] == [True, True]
