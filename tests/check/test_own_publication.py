"""What this project publishes keeps to the standard, in every combination of its settings."""

from pathlib import Path
from typing import Any

import pytest

from pelican_resourcesync.check import Request, check
from tests.support.sites import Site, import_sample_site


@pytest.fixture(scope="module")
def museum(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """Give the sample site, to be built again and again."""
    return import_sample_site(tmp_path_factory.mktemp("museum") / "site")


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"edition": 2014},
        {"robots": True, "link_headers": ["_headers", ".htaccess"]},
        {"changes_by": "day", "keep": 3},
        {"changes_by": "tag", "html_links": False},
        {"changes_by": 5, "history": "none"},
    ],
    ids=str,
)
def test_sample_site(museum: Site, settings: dict[str, Any], tmp_path: Path) -> None:
    """No error, no warning, and every resource is what is said of it."""
    museum.build(OUTPUT_PATH=str(tmp_path), RESOURCESYNC={"previous": "none", **settings})
    edition = 2014 if settings.get("edition") == 2014 else None
    report = check(Request(target=str(tmp_path), deep=True, edition=edition))
    assert (
        report.as_text()
        .splitlines()[0]
        .endswith(": conforming: 0 errors, 0 warnings in " + f"{report.documents} documents")
    )
    assert report.documents > 3
