"""A publication that version 0.1.0 made, whose history was told another way, is carried on as any other."""

import json
import shutil
from pathlib import Path

import pytest

from tests.support.sites import ROOT, Row, Site, strip

#: What 0.1.0 wrote for the site below; its documents, and no other file.
BEFORE = ROOT / "tests" / "data" / "publication-0.1.0" / "resourcesync"

LISTED: list[Row] = [
    ("2024-01-02T10:00:00Z", "created", "/a.html"),
    ("2024-01-02T10:00:00Z", "created", "/b.html"),
    ("2024-01-02T10:00:00Z", "created", "/images/a.png"),
    ("2024-02-02T10:00:00Z", "updated", "/a.html"),
    ("2024-02-02T10:00:00Z", "deleted", "/b.html"),
    ("2024-03-02T10:00:00Z", "created", "/c.html"),
]


@pytest.fixture
def published(tmp_path: Path) -> Site:
    """Make the site that 0.1.0 published, with its publication in the output."""
    site = strip(Site.create(tmp_path / "site", STATIC_PATHS=["images"]))
    site.commit("2024-01-01T10:00:00Z")
    site.article("a.md", "A")
    site.article("b.md", "B")
    site.write("content/images/a.png", "image")
    site.commit("2024-01-02T10:00:00Z")
    site.article("a.md", "A", "Edited.")
    site.remove("content/b.md")
    site.commit("2024-02-02T10:00:00Z")
    site.article("c.md", "C")
    site.commit("2024-03-02T10:00:00Z")
    shutil.copytree(BEFORE, site.output / "resourcesync")
    return site


def closed(folder: Path) -> dict[str, bytes]:
    """Return the Change Lists of January and February, which 0.1.0 closed."""
    return {name: (folder / "site" / f"changelist-2024{name}01T000000Z.xml").read_bytes() for name in ("01", "02")}


def test_publication_of_0_1_0_is_carried_on(published: Site) -> None:
    """No new beginning: the same addresses, closed lists with the same bytes, and what is new after what was listed."""
    state = json.loads((BEFORE / "publication.json").read_text())
    assert published.git("rev-parse", "HEAD") == state["commit"]
    published.article("c.md", "C", "Edited too.")
    published.remove("content/a.md")
    published.commit("2024-04-02T10:00:00Z")
    published.build(RESOURCESYNC={"allow_deletions": True})
    assert published.changes() == [
        *LISTED,
        ("2024-04-02T10:00:00Z", "deleted", "/a.html"),
        ("2024-04-02T10:00:00Z", "updated", "/c.html"),
    ]
    assert closed(published.output / "resourcesync") == closed(BEFORE)
    now = json.loads((published.output / "resourcesync" / "publication.json").read_text())
    assert (now["generation"], now["start"]) == (2, 1)


def test_publication_of_0_1_0_without_anything_new(published: Site) -> None:
    """A build of the same commit lists nothing new."""
    published.build()
    assert published.changes() == LISTED
