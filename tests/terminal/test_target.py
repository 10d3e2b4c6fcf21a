"""The target: what lies in a folder or at a URL, or in one sentence why nothing of it can be told."""

from pathlib import Path

import pytest

from pelican_resourcesync.errors import SettingsError, TransportError
from pelican_resourcesync.terminal.status import TargetStatus, look_at
from tests.publication.support import Source
from tests.support.live import files, live, status


@pytest.fixture
def output(tmp_path: Path) -> Path:
    """Return a folder with a publication."""
    Source(tmp_path / "output").publish({"a": b"a"}, "2024-03-01T12:00")
    return tmp_path / "output"


def test_a_folder_and_its_url_are_told_alike(output: Path) -> None:
    """The same sets, with the same sizes."""
    found = look_at(str(output))
    assert (found.target, found.problem) == (str(output), None)
    assert found.publication
    with live(files(output)) as site:
        public = look_at(site.url)
        assert public.publication
        assert public.publication.sets == found.publication.sets
        site.manner = status(404)
        assert look_at(site.url) == TargetStatus(target=site.url, problem=f"there is no publication at {site.url}")
        site.manner = status(500)
        with pytest.raises(TransportError, match="500"):
            look_at(site.url)


def test_a_damaged_one_is_a_problem(output: Path) -> None:
    """Which is told as what was found: it is no fault of whoever looks."""
    (output / "resourcesync/site/resourcelist.xml").write_bytes(b"another")
    found = look_at(str(output))
    assert found.publication is None
    assert found.problem
    assert "is damaged" in found.problem


def test_what_is_named_must_be_there(tmp_path: Path) -> None:
    """Save where it is only the usual place, in which there is nothing yet."""
    nowhere = str(tmp_path / "nowhere")
    with pytest.raises(SettingsError, match="is neither a folder nor a URL"):
        look_at(nowhere)
    assert look_at(nowhere, needed=False) == TargetStatus(
        target=nowhere, problem=f"there is no publication at {nowhere}"
    )
    (tmp_path / "nowhere").mkdir()
    assert look_at(nowhere) == TargetStatus(target=nowhere, problem=f"there is no publication at {nowhere}")
