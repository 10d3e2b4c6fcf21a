"""Write a long list again of which few entries changed: the bytes of the others are copied, and nothing is parsed.

The documents must be known to be those that `write` wrote, sorted by `loc`: an entry that is copied is not looked at.
Only what surrounds a change is compared with what is expected there, and the number of all entries.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

from pelican_resourcesync.errors import DocumentError
from pelican_resourcesync.protocol.model import Document, RenderedEntry
from pelican_resourcesync.protocol.renderer import Renderer
from pelican_resourcesync.protocol.values import unescape
from pelican_resourcesync.protocol.vocabulary import Root
from pelican_resourcesync.protocol.writer import Piece

#: No value contains any of these, because it would be escaped.
_BEGIN, _LOC_END, _END, _TAIL = b"  <url>\n    <loc>", b"</loc>\n", b"  </url>\n", b"</urlset>\n"

_CHUNK = 131_072  # bytes
_EDITION = 2017

#: The entry that a document has and the one that comes instead; `None` for none. Both have the same `loc`.
Replacement = tuple[RenderedEntry | None, RenderedEntry | None]

# A number of entries, and the place of their bytes in a file (offset and length), or these themselves.
_Source = tuple[int, tuple[int, int] | bytes]


def splice(files: Sequence[Path], changes: Sequence[Replacement], count: int) -> Iterator[Piece] | None:
    """Return the entries of a Resource List after changes: those of the list as it was are in `files`, in this order.

    `changes` are sorted by `loc`, and `count` is the number of entries in the files. Returns `None` if these are not as
    expected. At most some hundreds of kilobytes are held in memory. Raises `DocumentError` for an entry that cannot be
    written, and `OSError` if a file cannot be read.
    """
    try:
        return _read([*_plan(files, changes, count)])
    except ValueError:
        return None


def _plan(files: Sequence[Path], changes: Sequence[Replacement], count: int) -> Iterator[tuple[Path, list[_Source]]]:
    """Yield for each file what comes from it and in between; raises `ValueError` for anything unexpected."""
    left = deque(_rendered(changes))
    found, last = 0, ""
    for number, file in enumerate(files, 1):
        sources: list[_Source] = []
        for offset, data in _bodies(file):
            if _loc(data, 0) <= last:
                raise ValueError(last)
            last, at = _loc(data, data.rindex(_BEGIN)), 0
            while left and left[0][0] <= last:
                loc, old, new = left.popleft()
                place = _position(data, at, loc)
                if not data.startswith(old, place) or (not old and _loc(data, place) == loc):
                    raise ValueError(loc)
                found += _copy(sources, data, offset, at, place) + bool(old)
                sources += [(1, new)] if new else []
                at = place + len(old)
            found += _copy(sources, data, offset, at, len(data))
        if number == len(files):
            sources += [(1, new) for _, _, new in left if new]
        yield file, sources
    if found != count or any(old for _, old, _ in left):
        raise ValueError(found)


def _copy(sources: list[_Source], data: bytes, offset: int, begin: int, end: int) -> int:
    """Add the entries between two places in what is at an offset in the file, if any, and return their number."""
    count = data.count(_END, begin, end)
    if count:
        sources.append((count, (offset + begin, end - begin)))
    return count


def _rendered(changes: Sequence[Replacement]) -> Iterator[tuple[str, bytes, bytes]]:
    """Yield each `loc` with the bytes of its entry before and after; empty for none."""
    texts = []
    for rows in zip(*changes, strict=True):
        known = Document(root=Root.URLSET, md=None, rendered=[row for row in rows if row])
        written = (text.encode() for batch in Renderer(Root.URLSET, _EDITION).entries(known) for text in batch)
        texts.append([next(written) if row else b"" for row in rows])
    for (old, new), *both in zip(changes, *texts, strict=True):
        if row := old or new:
            yield row[0], *both


def _bodies(file: Path) -> Iterator[tuple[int, bytes]]:
    """Yield all entries of a document, some at a time, with their offset in the file."""
    with file.open("rb") as stream:
        left = stream.read(_CHUNK)
        offset = left.index(_BEGIN)
        left = left[offset:]
        for data in chain([b""], iter(partial(stream.read, _CHUNK), b"")):
            whole = left + data
            end = whole.rfind(_END) + len(_END)
            if end < len(_END):
                left = whole
                continue
            yield offset, whole[:end]
            offset, left = offset + end, whole[end:]
        if left != _TAIL:
            raise ValueError(left)


def _position(data: bytes, begin: int, loc: str) -> int:
    """Return where in `data`, from the beginning of an entry, the first entry is whose `loc` is not less than this."""
    end = len(data)
    while begin < end:
        middle = data.rindex(_BEGIN, begin, max((begin + end) // 2, begin) + len(_BEGIN))
        if _loc(data, middle) < loc:
            begin = data.index(_END, middle) + len(_END)
        else:
            end = middle
    return begin


def _loc(data: bytes, entry: int) -> str:
    begin = entry + len(_BEGIN)
    return unescape(data[begin : data.index(_LOC_END, begin)].decode())


def _read(planned: Iterable[tuple[Path, list[_Source]]]) -> Iterator[Piece]:
    for file, sources in planned:
        with file.open("rb") as stream:
            for count, source in sources:
                if isinstance(source, bytes):
                    yield count, source
                    continue
                offset, length = source
                stream.seek(offset)
                data = stream.read(length)
                if len(data) != length:
                    message = f"{file} was changed while it was read: publish again"
                    raise DocumentError(message)
                yield count, data
