"""Promise 5, *reproducible*: the same documents, byte for byte, on any machine, in any time zone and locale."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.kit.sites import Site, import_sample_site, run, strip, warnings

#: With Python in plain ASCII.
HERE = {
    "TZ": "Pacific/Kiritimati",
    "PYTHONHASHSEED": "1",
    "LC_ALL": "C",
    "PYTHONUTF8": "0",
    "PYTHONCOERCECLOCALE": "0",
}


def foreign() -> str:
    """Return a locale other than the two that are everywhere, if the machine has one."""
    known = subprocess.run(["locale", "-a"], check=True, capture_output=True, encoding="utf-8", errors="replace").stdout
    more = [name for name in known.split() if not name.startswith(("C", "POSIX")) and name.isascii()]
    return more[0] if more else "C.UTF-8"


def documents(output: Path) -> dict[str, bytes]:
    """Return every document of a publication by its path."""
    files = [output / ".well-known" / "resourcesync", *(output / "resourcesync").rglob("*")]
    return {file.relative_to(output).as_posix(): file.read_bytes() for file in files if file.is_file()}


def publish_twice(folder: Path, environment: dict[str, str]) -> Site:
    """Publish the sample site as it was five commits ago and, on top of that, as it is."""
    site = import_sample_site(folder, until="main~5")
    options = ("-e", 'RESOURCESYNC={"previous": "output", "dumps": true}')
    site.command(*options, environment=environment)
    site.git("checkout", "-q", "main")
    site.command(*options, environment=environment)
    return site


@pytest.mark.promise("Reproducible")
def test_machines_publish_the_same(tmp_path: Path) -> None:
    """In other folders, time zones, locales, encodings and hash orders."""
    found = documents(publish_twice(tmp_path / "one", HERE).output)
    assert sum(path.endswith(".zip") for path in found) >= 2
    assert b'"generation": 2' in found["resourcesync/publication.json"]
    assert b"M%C3%BCnze%201.svg" in found["resourcesync/site/resourcelist.xml"]
    elsewhere = {"TZ": "America/St_Johns", "PYTHONHASHSEED": "4240", "LC_ALL": foreign()}
    assert documents(publish_twice(tmp_path / "elsewhere", elsewhere).output) == found


@pytest.mark.promise("Reproducible")
def test_built_again_at_another_time_nothing_changes(tmp_path: Path) -> None:
    """The clock of the build is in no document of a site whose every change git explains."""
    site = import_sample_site(tmp_path / "site")
    run(site, SOURCE_DATE_EPOCH="1735689600")
    before = documents(site.output)
    for arguments in ((), ("--delete-output-directory",)):  # over what is there, and after cleaning
        run(site, *arguments, SOURCE_DATE_EPOCH="1767225600")
        assert documents(site.output) == before


# --- Pages that are other bytes at each build, such as one that prints the time: a warning names them


PAGE = "<html><head></head><body>{{ page.content }} {{ nanoseconds() }}</body></html>"


@pytest.fixture
def restless(site: Site) -> Site:
    """Return a site whose one page prints the time of the build."""
    strip(site)
    site.write("theme/templates/page.html", PAGE)
    lines = (site.folder / "pelicanconf.py").read_text()
    site.write("pelicanconf.py", f"from time import time_ns\n{lines}JINJA_GLOBALS = {{'nanoseconds': time_ns}}\n")
    site.write("content/pages/now.md", "Title: Now\n\nText.\n")
    site.article("a.md", "A")
    site.commit("2024-01-01T10:00:00Z")
    return site


def test_page_that_prints_the_time_of_the_build(restless: Site) -> None:
    """From its second change for nothing on, one warning names it, with the count, until it comes to rest."""
    said: list[list[str]] = []
    for _ in range(3):
        status, text = run(restless)
        assert status == 0
        said.append(warnings(text))
    assert said[:2] == [[], []]
    (warning,) = said[2]
    assert "1 resource changes on every build although no source changed" in warning
    assert "for example https://example.org/pages/now.html" in warning
    shown = re.search(r'It first differs at "(\d+)", which was "(\d+)" before', warning)
    assert shown
    assert 0 < int(shown[1]) - int(shown[2]) < 3600 * 10**9
    assert "or exclude the pages (RESOURCESYNC['exclude'])" in warning
    updates = [path for _time, kind, path in restless.changes() if kind == "updated"]
    assert updates.count("/pages/now.html") == 2
    assert updates.count("/a.html") == 0
    restless.write("theme/templates/page.html", PAGE.replace("{{ nanoseconds() }}", ""), at="2024-02-01T10:00:00Z")
    assert warnings(run(restless)[1]) == []


def test_commit_may_explain_a_change(restless: Site) -> None:
    """A page that changes with a commit may show what that changed: only builds without one count."""
    for day in range(2, 5):
        restless.article("a.md", "A", f"Text of day {day}.", at=f"2024-01-{day:02}T10:00:00Z")
        assert warnings(run(restless)[1]) == []
