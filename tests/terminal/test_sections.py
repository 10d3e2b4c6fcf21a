"""Sections: plain text in a pipe; bars of the right length on a terminal; nothing that a terminal would obey."""

import io
import re

import pytest

from pelican_resourcesync.terminal import Section, write_sections
from tests.kit.screen import terminal

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
