"""What commands print: progress, summaries, numbers and sections of rows for people, and JSON for programs.

Progress is shown on terminals only, with rich, for operations that take longer than a second.
"""

import json
import logging
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, is_dataclass
from datetime import datetime
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from pelican_resourcesync.protocol import ChangeKind, render_datetime
from pelican_resourcesync.system.printable import printable, printable_lines

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from rich.progress import Progress as Display
    from rich.text import Text

    # commands that publish nothing, such as `mirror`, import this package too
    from pelican_resourcesync.publication import ExpectedSet, Publication


_UNITS = ("bytes", "kB", "MB", "GB", "TB")
_STEP = 1000
#: So many URIs of each kind of change are shown.
_SHOWN = 2


def format_count(number: int, noun: str) -> str:
    """Return a number with its noun, as in `1 change` and `2,000 changes`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def format_bytes(number: int) -> str:
    """Return a number of bytes in a readable unit, such as `1.5 MB`."""
    size, unit = float(number), 0
    while size >= _STEP and unit < len(_UNITS) - 1:
        size, unit = size / _STEP, unit + 1
    return f"{size:.1f} {_UNITS[unit]}" if unit else format_count(number, "byte")


def as_json(value: "DataclassInstance | Mapping[str, object]") -> str:
    """Return a dataclass or a table as ASCII JSON. Times are in UTC, in the format of the standard; paths are text."""
    return json.dumps(value, indent=1, default=_plain)


def answer(options: Namespace, text: str, value: "DataclassInstance | Mapping[str, object] | str") -> None:
    """Print the result of a command: as JSON with `--json`, for people unless `--quiet` is set."""
    if options.json:
        text = value if isinstance(value, str) else as_json(value)
    if options.json or options.level < logging.ERROR:
        sys.stdout.write(f"{printable_lines(text)}\n")


def read_answer(question: str) -> str:
    """Ask on the terminal, and return the answer; the end of the input (Ctrl-D) stops the command, as Ctrl-C does."""
    try:
        return input(question)
    except EOFError:
        raise KeyboardInterrupt from None


def _plain(value: Any) -> object:
    if is_dataclass(value):
        return asdict(value)  # type: ignore[arg-type]  # not a class
    if isinstance(value, datetime):
        return render_datetime(value)
    if isinstance(value, PurePath):
        return str(value)
    raise TypeError(value)


def summaries(publications: "Mapping[str, Publication]", where: str, seconds: float) -> Iterator[str]:
    """Yield a line for each set: resources, changes, ranges, packages, where they are published, and what is new.

    Another says what was added from before its first publication.
    """
    for name, publication in publications.items():
        of = f"{name}: " if len(publications) > 1 else ""
        news = _news(publication, where)
        yield f"ResourceSync: {of}{_size_of(publication)} at {where} in {seconds:.2f} seconds; {news}."
        if publication.added:
            yield f"ResourceSync: {of}{past_of(publication)}."


def past_of(publication: "Publication") -> str:
    """Return what was added from before the first publication; empty if nothing was."""
    if publication.added is None:
        return ""
    number, begin, end = publication.added
    times = f"from {begin:%Y-%m-%d} to {end:%Y-%m-%d}"
    return f"added {format_count(number, 'change')} {times}, before the first publication"


def expectations(sets: "Mapping[str, ExpectedSet]") -> Iterator[str]:
    """Yield what would be published of each set, with examples."""
    for name, expected in sets.items():
        changes = ", ".join(f"{expected.changes[kind]:,} {kind}" for kind in ChangeKind if expected.changes.get(kind))
        news = "first publication" if expected.first else f"{changes or 'nothing changed'} since the last publication"
        yield f"{name}: {format_count(expected.resources, 'resource')}; {news}."
        examples = {
            "listed, for example": expected.listed,
            **{str(kind): uris for kind, uris in expected.examples.items()},
        }
        for what, uris in examples.items():
            yield from (f"  {what}: {uri}" for uri in uris)


def _size_of(publication: "Publication") -> str:
    found = f"{format_count(publication.resources, 'resource')}, {format_count(publication.changes, 'change')} in "
    found += format_count(publication.ranges, "Change List")
    packages, size = publication.packages
    return f"{found}, {format_count(packages, 'package')} of {format_bytes(size)}" if packages else found


def _news(publication: "Publication", where: str) -> str:
    new, gone = publication.new, publication.gone
    if publication.not_live:
        return "not live yet"
    if publication.first:
        removed = f"{format_count(gone, 'URL')} that {'has' if gone == 1 else 'have'} since been removed"
        return f"first publication; its history includes {removed}" if gone else "first publication"
    if not any(new.values()):
        return "nothing changed since the last publication"
    site, counts = where.removesuffix("/resourcesync/"), []
    for kind in filter(new.get, ChangeKind):
        shown = ", ".join([uri.removeprefix(site) for uri in publication.examples[kind][:_SHOWN]])
        more = f" and {new[kind] - _SHOWN:,} more" if new[kind] > _SHOWN else ""
        counts.append(f"{new[kind]:,} {kind} ({shown}{more})")
    around = f", {publication.around:,} of them only outside their main content" if publication.around else ""
    return f"{', '.join(counts)} since the last publication{around}"


def duration(seconds: float) -> str:
    """Return a time for people."""
    if seconds < 60:  # noqa: PLR2004 - a minute
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min {rest} s"  # noqa: PLR2004


#: The width of the longest bar in characters: at most, and at least if there is room for bars at all.
_WIDEST, _NARROWEST = 30, 8
_INDENT = 2
#: How the parts of a bar look, also without colours.
_PARTS = (("█", "green"), ("▓", "blue"), ("░", "red"))
#: The same for terminals that have no such characters.
_ASCII = "#=-"


class Section(NamedTuple):
    """Rows of cells below a title; `bars` are the numbers that each row's bar shows on a terminal, at most three."""

    title: str
    rows: Sequence[tuple[str, ...]]
    bars: Sequence[tuple[int, ...]] = ()


def write_sections(sections: Iterable[Section], stream: TextIO) -> None:
    """Write the sections without control characters, separated by empty lines."""
    shown = [
        Section(printable(section.title), [tuple(map(printable, row)) for row in section.rows], section.bars)
        for section in sections
    ]
    if stream.isatty():
        _draw(shown, stream)
    else:
        stream.write("\n\n".join("\n".join([section.title, *_aligned(section.rows)]) for section in shown) + "\n")


def _aligned(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Yield lines in which the cells of a column are aligned; the last cell of a row may be as long as it is."""
    widths: dict[int, int] = {}
    for row in rows:
        for column, cell in enumerate(row[:-1]):
            widths[column] = max(widths.get(column, 0), len(cell))
    for row in rows:
        cells = [cell.ljust(widths[column]) for column, cell in enumerate(row[:-1])]
        yield f"  {'  '.join([*cells, row[-1]])}".rstrip()


def _draw(sections: Sequence[Section], stream: TextIO) -> None:
    from rich.console import Console, Group, RenderableType
    from rich.table import Table
    from rich.text import Text

    console = Console(file=stream)
    blocks = console.encoding.startswith("utf")
    parts: list[RenderableType] = []
    for section in sections:
        table = Table.grid(padding=(0, 2, 0, 0))
        for _ in range(max(map(len, section.rows), default=0) + 2):
            table.add_column(overflow="fold")
        widths = [max(map(len, column)) for column in zip(*section.rows, strict=False)]
        width = min(_WIDEST, console.width - sum(widths) - 2 * len(widths) - _INDENT)
        unit = width / (max(map(sum, section.bars), default=0) or 1)
        for index, row in enumerate(section.rows):
            bar = [_bar(section.bars[index], unit, blocks=blocks)] if section.bars and width >= _NARROWEST else []
            table.add_row("", Text(row[0], style="cyan"), *map(Text, row[1:]), *bar)
        parts += [*([Text()] if parts else []), Text(section.title, style="bold"), table]
    drawn = Group(*parts)
    console.print(drawn)


def _bar(numbers: Sequence[int], unit: float, *, blocks: bool) -> "Text":
    """Return a bar whose parts end where their sums do, so that its length is right to a character."""
    from rich.text import Text

    bar, done, total = Text(), 0, 0
    for number, (block, colour), plain in zip(numbers, _PARTS, _ASCII, strict=False):
        total += number
        end = max(done + (number > 0), round(total * unit))
        bar.append((block if blocks else plain) * (end - done), style=colour)
        done = end
    return bar


# Progress

#: The delay before a stage is shown, and the time between two updates, in seconds.
_PATIENCE, _PAUSE = 1.0, 0.2
#: The number of builds after which the remaining time is estimated.
_ENOUGH = 3


class Progress:
    """A line at the bottom of a terminal: a stage and how much of it is done, or with `begin` a bar for builds.

    Nothing but messages is written where `stream` is not a terminal. Each stage counts from zero.
    """

    def __init__(self, stream: TextIO, name: str = "ResourceSync", clock: Callable[[], float] = time.monotonic) -> None:
        """Write to `stream`, with `name` at the start of lines; `clock` returns the time in seconds."""
        self._stream = stream
        self._name = name
        self._clock = clock
        self._first = self._next = clock() + _PATIENCE
        self._stage = ""
        self._items = self._bytes = 0
        self._begun = 0.0
        self._total = self._done = self._failed = 0
        self._display: Display | None = None

    @classmethod
    @contextmanager
    def shown(cls, stream: TextIO, name: str = "ResourceSync") -> "Iterator[Progress]":
        """Show progress within the context, and clear the line at its end."""
        progress = cls(stream, name)
        try:
            yield progress
        finally:
            progress.close()

    def say(self, what: str) -> None:
        """Begin a stage, such as `reading the repository`, and show it without waiting for the next update."""
        self._stage, self._items, self._bytes = printable(what), 0, 0
        self._next = self._first
        self._show()

    def advance(self, number: int) -> None:
        """Count more items as read."""
        self._items += number
        self._show()

    def packed(self, size: int) -> None:
        """Count more bytes as packed."""
        self._bytes += size
        self._show()

    def message(self, text: str) -> None:
        """Write a line that stays, without control characters."""
        line = f"{self._name}: {printable(text)}"
        if self._display is None:
            self._stream.write(f"{line}\n")
            self._stream.flush()
        else:
            self._display.console.print(line, markup=False, highlight=False, emoji=False, soft_wrap=True)

    def begin(self, total: int) -> None:
        """Show a bar for a number of builds."""
        self._begun, self._total, self._done = self._clock(), total, 0
        if self._stream.isatty():
            self._display = self._open(total)

    def count(self, *, failed: bool = False) -> None:
        """Count a build that is done, or that failed."""
        self._failed += failed
        self._done += 1
        if self._display is not None:
            self._display.update(self._display.task_ids[0], advance=1, description=self._builds(), refresh=True)
        left = self._total - self._done
        if self._done == _ENOUGH and left:
            needed = (self._clock() - self._begun) / self._done * left
            self.message(f"{format_count(left, 'build')} left, which will take about {duration(needed)}.")

    def close(self) -> None:
        """Clear the line."""
        if self._display is not None:
            self._display.stop()
            self._display = None

    def _show(self) -> None:
        what = ", ".join(self._parts()) if self._clock() >= self._next else ""
        if what and self._stream.isatty():
            self._next = self._clock() + _PAUSE
            self._display = self._display or self._open(None)
            self._display.update(self._display.task_ids[0], description=f"{self._name}: {what}", refresh=True)

    def _open(self, total: int | None) -> "Display":
        from rich.console import Console
        from rich.progress import BarColumn, ProgressColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Display

        text = TextColumn("{task.description}", markup=False)
        columns: list[ProgressColumn] = [BarColumn(), text, TimeRemainingColumn()] if total else [text]
        display = Display(
            *columns,
            console=Console(file=self._stream),
            transient=True,
            auto_refresh=total is not None,
            speed_estimate_period=24 * 3600,
        )
        display.add_task(self._builds() if total else "", total=total)
        display.start()
        return display

    def _parts(self) -> Iterator[str]:
        if self._stage:
            yield self._stage
        if self._items:
            yield f"{format_count(self._items, 'item')} read"
        if self._bytes:
            yield f"{format_bytes(self._bytes)} packed"

    def _builds(self) -> str:
        return f"{self._done - self._failed:,} built, {self._failed:,} failed, {self._total - self._done:,} left"


def spinner(doing: str, name: str, stream: TextIO) -> AbstractContextManager[object]:
    """Return a context in which a terminal shows what is being done; elsewhere nothing is shown."""
    from rich.console import Console
    from rich.text import Text

    return Console(file=stream).status(Text(f"{name}: {printable(doing)} …"))
