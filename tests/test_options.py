"""One row of an option is what programs, the command line, TOML files and people have of it."""

import re
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from pelican_resourcesync.options import (
    CHECK_ROWS,
    ROWS,
    CheckOptions,
    MirrorOptions,
    Option,
    SourceOptions,
    add_options,
    flag,
    rows_of,
)

#: A key that could sign.
KEY = "ed25519:" + "A" * 43
#: What each option takes, other than its default, and what that means: by its `metavar`, or by its name.
GIVEN: dict[str, tuple[Any, Any]] = {
    "": (True, True),
    "N": (3, 3),
    "NAME": ("site", "site"),
    "NAME[:PASSWORD]": ("me:secret", "me:secret"),
    "NAME:VALUE": ("X-A: b", "X-A: b"),
    "HOST": ("cdn.example", "cdn.example"),
    "PATTERN": ("*.pdf", "*.pdf"),
    "TYPE": ("image/*", "image/*"),
    "TEXT": ("Museum/1.0", "Museum/1.0"),
    "TIME": ("1.5h", 5_400),
    "SIZE": ("2MB", 2_000_000),
    "ROUTE": ("dumps", "dumps"),
    "RULE": ("CH02", "CH02"),
    "YEAR": (2014, 2014),
    "URL": ("https://museum.example/", "https://museum.example/"),
    "rate": ("2MB/s", "2MB/s"),
    "key": (KEY, KEY),
    "at": ("2024-01-31", datetime(2024, 1, 31, tzinfo=UTC)),
}
#: Those that may be repeated.
REPEATED = {"set", "only", "type", "header", "allow_host", "key", "prefer", "ignore"}
#: The rows of a copy, and those of a check.
TABLES = [(name, row, rows) for rows in (ROWS, CHECK_ROWS) for name, row in rows.items()]


@pytest.mark.parametrize(("name", "row", "rows"), TABLES, ids=[*ROWS, *CHECK_ROWS])
def test_command_line_and_table(name: str, row: Option, rows: Mapping[str, Option]) -> None:
    """What an option means is the same in both; without it, nothing is given, and the default is what the help says."""
    value, meaning = GIVEN.get(name) or GIVEN[row.metavar]
    parser = ArgumentParser()
    add_options(parser, name, rows=rows)
    assert vars(parser.parse_args([])) == {}
    words = [flag(name), str(value)] if row.metavar else [flag(name)]
    expected = [meaning] if name in REPEATED else meaning
    assert vars(parser.parse_args(words)) == {name: expected}
    assert row.read(value) == expected
    if name in REPEATED:
        assert row.read([value, value]) == [meaning, meaning]
        assert vars(parser.parse_args(words * 2)) == {name: [meaning, meaning]}
    if name != "publish":
        default = getattr(CheckOptions() if rows is CHECK_ROWS else MirrorOptions(), name)
        assert default == (row.parse(row.default) if row.default else () if name in REPEATED else default)
        assert row.default or not default
    assert f"{flag(name)} {row.metavar}".strip() in parser.format_help()


@pytest.mark.parametrize(("name", "row"), [*ROWS.items(), *CHECK_ROWS.items()], ids=[*ROWS, *CHECK_ROWS])
def test_other_values(name: str, row: Option) -> None:
    """A value of another type is refused, and so is a text where the option takes something that it is not."""
    wrong: list[Any] = [None, {}, [[1]]]
    if not row.metavar or (row.parse is not str and name != "user_agent"):
        wrong.append("5 %")
    if name not in REPEATED:
        wrong.append([1])
    for value in wrong:
        with pytest.raises((ValueError, ArgumentTypeError)):
            row.read(value)


@pytest.mark.parametrize("table", [SourceOptions, MirrorOptions, CheckOptions])
def test_help_of_the_library(table: type) -> None:
    """`help()` lists each option of a table with the words of the command line, and none twice."""
    inherited = rows_of(SourceOptions) if table is MirrorOptions else {}
    expected = [f"- `{name}`: {row.help}" for name, row in rows_of(table).items() if name not in inherited]
    assert re.findall("^- .*$", table.__doc__ or "", re.MULTILINE) == expected
