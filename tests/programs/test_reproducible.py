"""Promise 5, *reproducible*: the same documents, byte for byte, on any machine, in any time zone and locale."""

import subprocess
from pathlib import Path

import pytest

from tests.kit.sites import Site, import_sample_site, run

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
    known = subprocess.run(["locale", "-a"], check=True, capture_output=True, text=True, errors="replace").stdout
    more = [name for name in known.split() if not name.startswith(("C", "POSIX")) and name.isascii()]
    return more[0] if more else "C.UTF-8"


def documents(output: Path) -> dict[str, bytes]:
    """Return every document of a publication by its path."""
    files = [output / ".well-known" / "resourcesync", *(output / "resourcesync").rglob("*")]
    return {file.relative_to(output).as_posix(): file.read_bytes() for file in files if file.is_file()}


def publish_twice(folder: Path, environment: dict[str, str]) -> Site:
    """Publish the sample site as it was five commits ago and, on top of that, as it is."""
    site = import_sample_site(folder, until="main~5")
    site.command(environment=environment)
    site.git("checkout", "-q", "main")
    site.command(environment=environment)
    return site


@pytest.mark.promise("Reproducible")
def test_machines_publish_the_same(tmp_path: Path) -> None:
    """In other folders, time zones, locales, encodings and hash orders."""
    found = documents(publish_twice(tmp_path / "one", HERE).output)
    assert len(found) == 45  # 11 Change Lists with their pages and JSON, the list of these, a feed, and 10 others
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
