"""What the tests of folders use."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from tests.kit.folders import Folder


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """Return a folder with two pages and a style sheet, which continues what it holds."""
    made = Folder(tmp_path / "work")
    made.write({"index.html": page("Home"), "about/index.html": page("About"), "style.css": "b{}"})
    made.configure()
    return made


def page(text: str, *, head: str = "", footer: str = "") -> str:
    """Return an HTML page."""
    below = f"<footer>{footer}</footer>" if footer else ""
    return f"<html><head><title>{text}</title>{head}</head><body>{text}{below}</body></html>"


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return what sets the time of the next publications."""

    def set_time(text: str) -> None:
        monkeypatch.setenv("SOURCE_DATE_EPOCH", str(int(datetime.fromisoformat(text).timestamp())))

    return set_time
