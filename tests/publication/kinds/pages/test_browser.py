"""The pages in a real browser: nothing breaks, nothing leaves the host, and everybody can read them."""

import html
from pathlib import Path
from typing import Any

import pytest

from pelican_resourcesync.publication.model.options import PageOptions
from pelican_resourcesync.settings import VersionOptions
from tests.kit.browser import look_at, needs_chromium
from tests.publication.kinds.pages.sites import HOSTILE, counts, everything, publish

#: By name: months of history, resources beyond them, the site's name, the language, the width, and whether it is dark.
_CASES: dict[str, tuple[int, int, str, str, int, bool]] = {
    "empty": (0, 0, "", "en", 320, False),
    "one range": (1, 0, "Notes", "de", 1280, True),
    "hostile": (3, 0, HOSTILE, "fr", 320, True),
    "large": (200, 9_000, "Archive", "ja", 390, False),
}


@needs_chromium
@pytest.mark.parametrize("name", _CASES)
def test_in_a_browser(tmp_path: Path, name: str) -> None:
    """Every link resolves, bars are as high as their counts, nothing is reported, and axe finds no violation."""
    ranges, more, site_name, language, width, dark = _CASES[name]
    options: dict[str, Any] = everything(site_name=site_name, page=PageOptions(language=language))
    source = publish(tmp_path, ranges, more, **options)
    seen = look_at(source.output, "resourcesync/index.html", width, dark=dark)
    answer = seen.answer
    assert seen.errors == []
    assert answer.get("error") is None
    assert answer["language"] == language
    assert answer["scripts"] == 0
    assert answer["broken"] == []
    assert answer["links"] > 4
    assert answer["overflow"] <= 0
    assert answer["background"] == ("rgb(20, 24, 27)" if dark else "rgb(251, 250, 248)")
    assert answer["violations"] == []
    expected = list(counts(ranges))[-12:]
    bars = answer["bars"]
    assert [[count for _, count, _ in parts] for _, parts in bars] == [[*filter(None, each)] for each in expected]
    heights = [sum(height for _, _, height in parts) for _, parts in bars]
    most = max(map(sum, expected), default=1)
    highest = max(heights, default=0)
    assert heights == pytest.approx([highest * (sum(each) / most) ** 0.5 for each in expected], rel=0.02)


@needs_chromium
@pytest.mark.parametrize("dark", [False, True])
def test_pages_about_changes_in_a_browser(tmp_path: Path, *, dark: bool) -> None:
    """Everybody can read these, too, on a phone and on a screen: nothing is too wide, and axe finds no violation."""
    page = PageOptions(language="fr", commit_url="https://code.example/{commit}")
    options = everything(site_name=HOSTILE, page=page, versions=VersionOptions())
    source = publish(tmp_path, 3, **options)
    for day, text in ((1, f"<p>{HOSTILE}"), (2, f"<main><p>{html.escape(HOSTILE)}</p><p>Neu")):
        source.publish({"0/page-1.html": text.encode()}, f"2020-04-0{day}T12:00", **options)
    paths = sorted((tmp_path / "resourcesync/site/changes").glob("*.html"))
    assert len(paths) == 5
    assert b"<ins>" in paths[-2].read_bytes()
    for file in (paths[-2], paths[-1]):
        answer = look_at(tmp_path, file.relative_to(tmp_path).as_posix(), 320 if dark else 1280, dark=dark).answer
        assert "error" not in answer, answer["error"]
        assert (answer["broken"], answer["violations"], answer["scripts"]) == ([], [], 0)
        assert answer["overflow"] <= 0
        assert answer["links"] > 3


@needs_chromium
def test_what_the_browser_would_notice(tmp_path: Path) -> None:
    """A page with a request elsewhere, a dead link and a picture without a text is found out."""
    (tmp_path / "bad.html").write_text(
        '<html lang="en"><title>Bad</title><img src="https://other.example/x.png"><a href="gone.xml">gone</a>'
    )
    seen = look_at(tmp_path, "bad.html", 320)
    assert any("other.example" in line for line in seen.errors)
    assert [each.rpartition("/")[2] for each in seen.answer["broken"]] == ["gone.xml"]
    assert any(each.startswith("image-alt") for each in seen.answer["violations"])
