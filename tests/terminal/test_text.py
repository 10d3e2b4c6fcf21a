"""Words: numbers with their nouns and units, and nothing that a terminal would obey."""

import pytest

from pelican_resourcesync.terminal.text import format_bytes, format_count


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 changes"), (1, "1 change"), (2, "2 changes"), (12_300, "12,300 changes")]
)
def test_numbers_and_nouns_agree(number: int, text: str) -> None:
    """One is one; what is more is easy to read."""
    assert format_count(number, "change") == text


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
