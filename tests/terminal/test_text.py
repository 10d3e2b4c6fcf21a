"""Words: numbers with their nouns and units, and nothing that a terminal would obey."""

import io
import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pelican_resourcesync.protocol import ChangeKind
from pelican_resourcesync.publication import Publication
from pelican_resourcesync.terminal import Section, as_json, format_bytes, summaries, write_sections
from tests.kit.screen import terminal
from tests.kit.sites import Site, strip


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1_000, "1.0 kB"),
        (1_049, "1.0 kB"),
        (1_500_000, "1.5 MB"),
        (999_900, "999.9 kB"),
        (100_000_000_000, "100.0 GB"),
        (12_345_600_000_000_000, "12345.6 TB"),
    ],
)
def test_bytes_are_said_in_a_fitting_unit(number: int, text: str) -> None:
    """Thousands, as makers of disks count them; what is more than all units is still said."""
    assert format_bytes(number) == text


# --- Sections ------------------------------------------------------------------


SECTIONS = (
    Section("Site\x1b", [("name", "a\nb"), ("longer name", "c")]),
    Section("Nothing", []),
    Section("Changes", [("one", "1"), ("two", "2"), ("ten", "3")], [(100, 0, 200), (1, 0, 0), (0, 150, 0)]),
)


def test_in_a_pipe_it_is_plain_text() -> None:
    """Columns are aligned, and no bar is drawn."""
    stream = io.StringIO()
    write_sections(SECTIONS, stream)
    assert stream.getvalue() == (
        "Site\\x1b\n  name         a\\nb\n  longer name  c\n\nNothing\n\nChanges\n  one  1\n  two  2\n  ten  3\n"
    )


def test_on_a_terminal_bars_are_drawn() -> None:
    """Thirty characters for the longest; what is small has at least one."""
    with terminal() as screen:
        write_sections(SECTIONS, screen.stream)
        lines = [line.rstrip() for line in screen.seen().splitlines()]
    assert lines[0] == "Site\\x1b"
    assert [line.rpartition("  ")[2] for line in lines[-3:]] == ["█" * 10 + "░" * 20, "█", "▓" * 15]


@pytest.mark.parametrize(("columns", "longest"), [("18", 8), ("19", 9), ("17", 0)])
def test_bars_fit_into_the_terminal(monkeypatch: pytest.MonkeyPatch, columns: str, longest: int) -> None:
    """They are as long as there is room, or left out: an indent, two columns of 3 and 1, and gaps are before."""
    monkeypatch.setenv("COLUMNS", columns)
    with terminal() as screen:
        write_sections(SECTIONS[2:], screen.stream)
        bars = [re.sub(r"[^█▓░]", "", line) for line in screen.seen().splitlines()]
    assert max(map(len, bars)) == longest
    assert len(bars) == 4


def test_a_terminal_without_such_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    """It gets those that it has."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(stream, "isatty", lambda: True)
    write_sections(SECTIONS, stream)
    stream.seek(0)
    assert "=" * 15 in stream.read()


# --- For programs: JSON that any of them can read, whatever stands in it -------


@dataclass(frozen=True, slots=True)
class Inner:
    """What lies within."""

    at: datetime
    folder: Path | None


@dataclass(frozen=True, slots=True)
class Told:
    """What is written."""

    name: str
    inner: dict[str, Inner]


def test_times_and_paths_are_texts() -> None:
    """Times as the standard writes them; what is not known is `null`; the keys are in the order of the fields."""
    at = datetime(2024, 3, 1, 12, 0, 0, 250_000, tzinfo=UTC)
    text = as_json(Told("Zürich\x1b", {"site": Inner(at, Path("a/b")), "other": Inner(at, None)}))
    assert text.isascii()
    assert "\x1b" not in text
    assert json.loads(text) == {
        "name": "Zürich\x1b",
        "inner": {
            "site": {"at": "2024-03-01T12:00:00.250Z", "folder": "a/b"},
            "other": {"at": "2024-03-01T12:00:00.250Z", "folder": None},
        },
    }
    assert text.index('"name"') < text.index('"inner"')
    with pytest.raises(TypeError):  # rather than Python's form of it
        as_json(Told("set", {"site": {"b"}}))  # type: ignore[dict-item] # as a mistake


# --- The summary: in one line a set, what was published, as people say it ------


WHERE = "https://example.org/resourcesync/"


def made(**values: Any) -> Publication:
    """Return what came of a publication in which nothing changed, but for some values."""
    counts = {"first": False, "resources": 2, "changes": 3, "ranges": 1, "gone": 0}
    return Publication(**{"new": dict.fromkeys(ChangeKind, 0), "examples": {}, **counts, **values})


def said(publication: Publication) -> str:
    """Return the line of one set."""
    [line] = summaries({"site": publication}, WHERE, 1.234)
    return line


def new(created: int = 0, updated: int = 0, deleted: int = 0) -> dict[ChangeKind, int]:
    """Return new changes by kind."""
    return {ChangeKind.CREATED: created, ChangeKind.UPDATED: updated, ChangeKind.DELETED: deleted}


def test_one_line_says_all() -> None:
    """Counts, where, how long, and what is new."""
    begin = f"ResourceSync: 2 resources, 3 changes in 1 Change List at {WHERE} in 1.23 seconds; "
    assert said(made()) == f"{begin}nothing changed since the last publication."
    pages = {kind: tuple(f"https://example.org/{kind}-{number}" for number in range(3)) for kind in ChangeKind}
    news = "1 created (/created-0), 2 updated (/updated-0, /updated-1), 3 deleted (/deleted-0, /deleted-1 and 1 more)"
    examples = {ChangeKind.CREATED: pages[ChangeKind.CREATED][:1], ChangeKind.UPDATED: pages[ChangeKind.UPDATED][:2]}
    found = made(new=new(1, 2, 3), examples={**pages, **examples})
    assert said(found) == f"{begin}{news} since the last publication."
    assert said(made(new=new(12_300), examples=pages)) == (
        f"{begin}12,300 created (/created-0, /created-1 and 12,298 more) since the last publication."
    )
    elsewhere = {ChangeKind.DELETED: ("https://old.example/a",)}
    assert said(made(new=new(deleted=1), examples=elsewhere)) == (
        f"{begin}1 deleted (https://old.example/a) since the last publication."
    )
    assert said(made(first=True, not_live=True, new=new(2))) == f"{begin}not live yet."
    assert said(made(first=True, new=new(2))) == f"{begin}first publication."


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        ({"resources": 0, "changes": 0, "ranges": 0}, "0 resources, 0 changes in 0 Change Lists at"),
        ({"resources": 1, "changes": 1, "ranges": 1}, "1 resource, 1 change in 1 Change List at"),
        ({"resources": 12_300, "changes": 1_000_000}, "12,300 resources, 1,000,000 changes in 1 Change List at"),
        ({"packages": (1, 736)}, "3 changes in 1 Change List, 1 package of 736 bytes at"),
        ({"packages": (12, 1_234_567_890)}, "3 changes in 1 Change List, 12 packages of 1.2 GB at"),
        ({"packages": (0, 0)}, "3 changes in 1 Change List at"),
    ],
)
def test_numbers_and_nouns_agree(counts: dict[str, Any], text: str) -> None:
    """One is one; what there is not, as packages without dumps, is not said."""
    assert text in said(made(**counts))


@pytest.mark.parametrize(
    ("gone", "text"),
    [
        (1, "first publication; its history includes 1 URL that has since been removed."),
        (2, "first publication; its history includes 2 URLs that have since been removed."),
    ],
)
def test_a_first_publication_says_what_is_gone(gone: int, text: str) -> None:
    """History tells of what was there before anybody looked."""
    assert said(made(first=True, gone=gone)).endswith(text)


def test_each_set_has_a_line() -> None:
    """With its name, where there are several."""
    lines = [*summaries({"site": made(), "papers": made(resources=1, first=True)}, WHERE, 0.5)]
    assert [line.partition(",")[0] for line in lines] == [
        "ResourceSync: site: 2 resources",
        "ResourceSync: papers: 1 resource",
    ]
    assert lines[1].endswith("in 0.50 seconds; first publication.")


def test_a_build_says_it(site: Site, capfd: pytest.CaptureFixture[str]) -> None:
    """A line a set at the end of what Pelican prints, with packages only where there are some."""
    strip(site)
    site.configure(RESOURCESYNC={"sets": {"site": {}, "texts": {"types": ["text/html"], "dumps": True}}})
    site.article("one.md", title="One title")
    site.commit("2024-01-05T12:00:00Z")
    site.build()
    out, err = capfd.readouterr()
    lines = [line for line in out.splitlines() if line.startswith("ResourceSync: ")]
    assert len(lines) == 2
    assert lines[0].startswith("ResourceSync: site: 1 resource, 1 change in 1 Change List at https://example.org/")
    assert "texts: 1 resource, 1 change in 1 Change List, 1 package of " in lines[1]
    assert "packed" not in out + err
