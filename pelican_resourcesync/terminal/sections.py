"""Results in sections of rows: with bars and colours on a terminal, and as plain text elsewhere."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

from pelican_resourcesync.system.printable import printable

if TYPE_CHECKING:
    from rich.text import Text

#: The width of the longest bar in characters: at most, and at least if there is room for bars at all.
_WIDEST, _NARROWEST = 30, 8
_INDENT = 2
#: How the parts of a bar look, also without colours.
_PARTS = (("█", "green"), ("▓", "blue"), ("░", "red"))
#: The same for terminals that have no such characters.
_ASCII = "#=-"


@dataclass(frozen=True, slots=True)
class Section:
    """Rows of cells below a title; `bars` are the numbers that each row's bar shows on a terminal, at most three."""

    title: str
    rows: Sequence[tuple[str, ...]]
    bars: Sequence[tuple[int, ...]] = ()


def write_sections(sections: Iterable[Section], stream: TextIO) -> None:
    """Write the sections without control characters, separated by empty lines."""
    shown = [
        Section(printable(each.title), [tuple(map(printable, row)) for row in each.rows], each.bars)
        for each in sections
    ]
    if stream.isatty():
        _draw(shown, stream)
    else:
        stream.write("\n\n".join("\n".join([each.title, *_aligned(each.rows)]) for each in shown) + "\n")


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
    for each in sections:
        table = Table.grid(padding=(0, 2, 0, 0))
        for _ in range(max(map(len, each.rows), default=0) + 2):
            table.add_column(overflow="fold")
        widths = [max(map(len, column)) for column in zip(*each.rows, strict=False)]
        width = min(_WIDEST, console.width - sum(widths) - 2 * len(widths) - _INDENT)
        unit = width / (max(map(sum, each.bars), default=0) or 1)
        for index, row in enumerate(each.rows):
            bar = [_bar(each.bars[index], unit, blocks=blocks)] if each.bars and width >= _NARROWEST else []
            table.add_row("", Text(row[0], style="cyan"), *map(Text, row[1:]), *bar)
        parts += [*([Text()] if parts else []), Text(each.title, style="bold"), table]
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
