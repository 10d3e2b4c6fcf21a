"""The Resource List, part by part: the resources as they are now, compared with those published, and written (RL).

A Resource List is sorted, and so are the resources. A part is a document with the entries of a range of URIs. What
happens to it depends on its previous bytes and on the current rows of its range alone, so parts can be compared, and
later written, by any `map`: the built-in one, or that of a pool of processes.

`compare` writes drafts: the entries of a range, in which the times of changed resources are left open, because these
are known only when all changes are.
"""

import gc
import marshal
import os
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import cache, partial
from hashlib import sha256
from heapq import merge
from io import SEEK_END, BytesIO
from itertools import islice
from multiprocessing import parent_process
from operator import itemgetter
from pathlib import Path
from secrets import token_hex
from types import MappingProxyType
from typing import Any, BinaryIO, NamedTuple

from pelican_resourcesync.content import VERSION, content_hash
from pelican_resourcesync.errors import DocumentError, failing_disk
from pelican_resourcesync.http import BucketPath
from pelican_resourcesync.protocol import (
    ChangeKind,
    EntryText,
    content_time,
    hash_of_content,
    is_for_people,
    render_content,
    render_entries,
    split_content,
    unescape,
    with_content,
)
from pelican_resourcesync.publication.model.kinds import FOREVER
from pelican_resourcesync.publication.model.ranges import Body
from pelican_resourcesync.publication.model.resource import EDITION, Resources, Row, is_later, render_time
from pelican_resourcesync.publication.model.state import Counts, sortable
from pelican_resourcesync.publication.model.versions import AddedLinks
from pelican_resourcesync.publication.previous.previous import rows_in
from pelican_resourcesync.system.titles import HTML

#: Applies a function to all items, in their order, as the built-in `map` does.
Map = Callable[..., Iterable[Any]]

#: In the entry of a change: a time that is not known yet. No document can contain it.
OPEN = "\x00"
#: The most bytes of a time.
LONGEST_TIME = len("2024-03-01T12:00:00.000000Z")

#: The kind of a resource whose bytes have no hash: the history decides whether it changed.
UNKNOWN = "unknown"

_CREATED, _UPDATED, _DELETED = (kind.value for kind in ChangeKind)

#: The headers of a part, which never changes.
_HEADERS = {"Content-Type": "application/xml", "Cache-Control": FOREVER}

_BEGIN, _END = b"  <url>\n", b"</urlset>\n"
_BYTES = re.compile(r'    <rs:md(?: hash="([^"]*+)")?(?: length="([0-9]++)")?')
_HASHED = '    <rs:md hash="'
_PAGE_TYPES = tuple(f' type="{type_}"' for type_ in HTML)
_PROFILE = re.compile(r' profile="[^"]*+"')
_TYPE = re.compile(r'    <rs:md(?: hash="[^"]*+")?(?: length="([0-9]++)")?(?: type="([^"]*+)")?(?: c:[^/]*+)?/>\n')


#: Candidates as plain tuples, which `marshal` can write.
_Texts = list[tuple[str, ...]]


class Candidate(NamedTuple):
    """A resource that was added or removed, or whose bytes or links may have changed since it was listed.

    `md`, `links` and `time` are its metadata, links and time as they are now, as texts of a row; `lastmod` is the time
    listed before.
    """

    uri: str
    kind: str
    md: str
    links: str
    lastmod: str
    time: str = ""


class Terms(NamedTuple):
    """How parts are compared: `entries` and `size` limit the entries of a draft, `most` the bytes of a document's.

    Links of resources below `link_changes_below` count as changes, unless it is `None`, and so do all media types.
    `tracked` is whether changes are looked for at all, which they are not in a first publication without history.
    Drafts are written to `folder`. `past` are the times of the last changes of resources that were listed without one,
    by URI. `added` writes the links to duplicates and versions, which no row has. `contents` is whether the entries of
    pages say when their content changed.
    """

    entries: int
    size: int
    most: int
    link_changes_below: str | None
    edition: int
    tracked: bool
    folder: Path | BucketPath
    past: Mapping[str, str]
    added: AddedLinks
    contents: bool


class Task(NamedTuple):
    """A range of URIs to compare: from `begin` to before `end`, whose entries before are in the documents `old`.

    The current rows are all those of `resources` in the range or, if `changed` is known, those of before with these
    differences.
    """

    name: str
    terms: Terms
    begin: str = ""
    end: str | None = None
    old: tuple[Path | BucketPath, ...] = ()
    resources: Resources | None = None
    changed: Sequence[tuple[str, Row | None]] | None = None


class Segment(NamedTuple):
    """Entries in a row, which go into the same document: where they are, and what they come to.

    `candidates` is where its candidates are, if it has any. `differs` is whether any entry differs from before
    whatever the times of changes will be, `other_bytes` whether more than links does. `fills` is what its open lines
    become, once that is decided, or a file with that: pairs of a time and the URI, or of nothing and the time listed
    before.
    """

    body: Body
    first: str
    counts: Counts
    size: int
    candidates: Body | None = None
    fills: Path | bytes | None = None
    differs: bool = False
    other_bytes: bool = False

    @property
    def entries(self) -> int:
        """The number of entries."""
        return self.counts.entries


class Frame(NamedTuple):
    """What comes before the entries of a document, and the size of these in bytes."""

    head: bytes = b""
    size: int = 0


@cache
def _leave_imports_alone() -> None:
    """Keep the garbage collector of a worker from examining what was imported again and again."""
    gc.freeze()


def compare(task: Task) -> tuple[list[Segment] | None, Frame]:
    """Compare a range with its entries before.

    Returns its new segments, or `None` if nothing differs, and the frame of the document of before.
    """
    if parent_process():
        _leave_imports_alone()
    frames = [frame_of(file) for file in task.old]
    with ExitStack() as stack:
        comparison = _Comparison(task, stack)
        segments = comparison.run()
    return segments and comparison.placed(segments), frames[0] if frames else Frame()


class _Old:
    """The entries of documents, of which only some are held in memory."""

    def __init__(self, files: Sequence[Path | BucketPath]) -> None:
        self._batches = (batch for file in files for batch in Body(file, is_draft=False).batches())
        self._held: list[EntryText] = []

    def up_to(self, uri: str | None) -> list[EntryText]:
        """Return the next entries, up to a URI, or all that are left."""
        while uri is None or not self._held or self._held[-1].loc <= uri:
            batch = next(self._batches, None)
            if batch is None:
                break
            self._held += batch
        to = len(self._held) if uri is None else _after(self._held, uri)
        found, self._held = self._held[:to], self._held[to:]
        return found


def _after(entries: Sequence[EntryText], uri: str) -> int:
    """Return the number of entries up to a URI."""
    return bisect_right(entries, uri, key=itemgetter(0))


def _patched(
    files: Sequence[Path | BucketPath], changed: Sequence[tuple[str, Row | None]], without: Callable[[str], str]
) -> Iterator[Row]:
    """Yield the rows in documents with these differences, and `without` the links that are added to rows."""
    listed = (row for file in files for row in rows_in(Body(file, is_draft=False)))
    rows = (row._replace(links=without(row.links)) if row.links else row for row in listed)
    new = {uri: row for uri, row in changed if row}
    seen = {uri for uri, _ in changed}
    return merge((row for row in rows if row.uri not in seen), new.values(), key=itemgetter(0))


class _Comparison:
    def __init__(self, task: Task, stack: ExitStack) -> None:
        self._task, self._terms = task, task.terms
        self._segments: list[Segment] = []
        name = f"{task.name}-{token_hex(8)}"  # a task may run twice, at the same time on two machines
        self._drafts = [_Writer(task.terms.folder / f"{name}{end}") for end in ("", ".candidates")]
        self._bodies, self._candidates = (stack.enter_context(each) for each in self._drafts)

    def run(self) -> list[Segment] | None:
        task, old, most = self._task, _Old(self._task.old), self._terms.entries
        rows: Iterator[Row] = iter(())
        if task.changed is not None:
            rows = _patched(task.old, task.changed, self._terms.added.without)
        elif task.resources:
            rows = task.resources.rows(task.begin, task.end)
        while True:
            chunk = [*islice(rows, most)]
            last = len(chunk) < most
            before = old.up_to(None if last else chunk[-1].uri)
            if chunk or before:
                self._compare(chunk, before)
            if last:
                break
        differs = any(each.differs or each.candidates for each in self._segments)
        return self._segments if differs else None

    def placed(self, segments: Sequence[Segment]) -> list[Segment]:
        """Return segments with the files that their drafts were written to."""
        bodies, candidates = (each.file for each in self._drafts)
        return [
            each._replace(
                body=each.body._replace(file=bodies),
                candidates=each.candidates and each.candidates._replace(file=candidates),
            )
            for each in segments
        ]

    def _compare(self, chunk: list[Row], before: list[EntryText]) -> None:
        """Compare rows with the entries of before, and write a segment, or two halves."""
        if self._terms.edition != EDITION:
            chunk = [row._replace(links=_PROFILE.sub("", row.links)) for row in chunk]
        times, mds, links, candidates, differs, other_bytes = self._differences(chunk, before)
        uris = [row.uri for row in chunk]
        body = "".join(render_entries(uris, [time_line(time) for time in times], mds, links)).encode()
        size = len(body) + LONGEST_TIME * body.count(_OPEN)
        if size > self._terms.size and len(chunk) > 1:
            middle = len(chunk) // 2
            split = _after(before, chunk[middle - 1].uri)
            self._compare(chunk[:middle], before[:split])
            self._compare(chunk[middle:], before[split:])
            return
        if size > self._terms.most:
            message = (
                f"the entry with loc {chunk[0].uri!a} has {size:,} bytes, but a document can hold only "
                f"{self._terms.most:,}: give it fewer links (X04)"
            )
            raise DocumentError(message)
        at, listed = self._bodies.tell(), self._candidates.tell()
        self._bodies.write(body)
        if candidates:
            self._candidates.write(marshal.dumps(candidates))
        of_bodies, of_candidates = (each.file for each in self._drafts)
        self._segments.append(
            Segment(
                body=Body(of_bodies, is_draft=True, begin=at, end=at + len(body)),
                first=chunk[0].uri if chunk else before[0].loc,
                counts=count_entries(times, mds),
                size=size,
                candidates=Body(of_candidates, is_draft=True, begin=listed, end=self._candidates.tell())
                if candidates
                else None,
                differs=differs,
                other_bytes=other_bytes,
            )
        )

    def _differences(
        self, chunk: list[Row], old: list[EntryText]
    ) -> tuple[list[str], list[str], list[str], _Texts, bool, bool]:
        """Return times, metadata and links as listed, candidates, and whether rows differ, in more than links."""
        terms = self._terms
        known = dict(zip(map(itemgetter(0), old), old, strict=True))
        times: list[str] = []
        mds: list[str] = []
        all_links: list[str] = []
        added = terms.added.links if terms.added.are_any else lambda *_: ""
        content_of = self._content if terms.contents else lambda *_, **__: ""
        candidates: _Texts = []
        differs = other_bytes = False
        for uri, md, links, time in chunk:
            before = known.pop(uri, None)
            if before is None:
                differs = other_bytes = True
                mds.append(with_content(md, content_of(uri, md)))
                if terms.tracked:
                    candidates.append((uri, _CREATED, mds[-1], links, "", time))
                times.append(OPEN if terms.tracked else time)
                all_links.append(links + added(uri, md, times[-1]))
                continue
            _, lastmod, listed_md, links_before = before
            md_before, content = split_content(listed_md)
            if not lastmod and uri in terms.past:
                lastmod = terms.past[uri]
                differs = other_bytes = True  # a Resource Dump has the times, too
            hashed = ' hash="' in md
            listed = links + added(uri, md, lastmod)
            if md == md_before and listed == links_before and (hashed or not is_later(time, lastmod)):
                times.append(lastmod)
                mds.append(listed_md)
                all_links.append(listed)
                continue
            other_md = md != md_before
            kind = UNKNOWN if not hashed and (other_md or is_later(time, lastmod)) else ""
            if bytes_differ(md_before, md) or self._is_change(uri, links, links_before, other_md=hashed and other_md):
                kind = _UPDATED
            differs |= other_md or listed != links_before
            other_bytes |= other_md
            if kind == _UPDATED:
                content = content_of(uri, md, content, content_time(listed_md, lastmod), stays=not other_md)
            mds.append(with_content(md, content))
            if kind:
                candidates.append((uri, kind, mds[-1], links, lastmod, time))
            times.append(OPEN if kind else lastmod)
            all_links.append(links + added(uri, md, OPEN) if kind else listed)
        if known:
            differs = other_bytes = True
            candidates += [(uri, _DELETED, _gone(each), "", each.lastmod, "") for uri, each in known.items()]
            candidates.sort()
        return times, mds, all_links, candidates, differs, other_bytes

    def _is_change(self, uri: str, links: str, links_before: str, *, other_md: bool) -> bool:
        """Return whether other metadata or links of a resource count as a change of it."""
        below = self._terms.link_changes_below
        if below is None:
            return False
        return other_md or (links != self._terms.added.without(links_before) and uri.startswith(below))

    def _content(self, uri: str, md: str, before: str = "", since: str = "", *, stays: bool = False) -> str:
        """Return what the entry of a page is to say about its content; nothing of what is no page.

        `before` is what was said, of content that is as old as `since`. It `stays` if the bytes did.
        """
        resources = self._task.resources
        if resources is None or not any(map(md.__contains__, _PAGE_TYPES)):
            return ""
        known = hash_of_content(before)
        if stays and known is not None:
            return render_content(known, since)
        resource = resources.get(uri)
        if resource is None or resource.file is None:
            return ""
        with failing_disk(f"{uri} cannot be read", "try again"):
            body = resource.file.read_bytes()
        found = content_hash(body, uri)
        version = known.partition("-")[0] if known else VERSION
        if known is None and resource.content_since:
            return render_content(found, render_time(resource.content_since))
        same = known is not None and known == (found if version == VERSION else content_hash(body, uri, version))
        return render_content(found, since if same else None)


def time_line(time: str) -> str:
    """Return the line of an entry with the time of its last change; empty if that is not known."""
    return f"    <lastmod>{time}</lastmod>\n" if time else ""


def _gone(entry: EntryText) -> str:
    """Return the metadata of the deletion of a resource, which is no news if it was a page that is not for people."""
    return "" if is_for_people(entry.md) else with_content("", render_content("", entry.lastmod))


_OPEN, _OPEN_LINE = OPEN.encode(), time_line(OPEN).encode()


def bytes_differ(before: str, now: str) -> bool:
    """Return whether metadata, as texts of rows, is of bytes that may differ, by hash or else by length."""
    if before.startswith(_HASHED) and now.startswith(_HASHED):  # nearly always
        return not now.startswith(before[: before.index('"', len(_HASHED)) + 1])
    (hash_before, length_before), (hash_now, length_now) = (
        found.groups() if (found := _BYTES.match(md)) else (None, None) for md in (before, now)
    )
    if hash_before or hash_now:
        return hash_before != hash_now
    return None not in {length_before, length_now} and length_before != length_now


_candidate = partial(tuple.__new__, Candidate)  # without a function in Python for each


def candidates_in(segment: Segment) -> list[Candidate]:
    """Return the candidates of a segment, sorted by URI."""
    return [*map(_candidate, marshal.loads(segment.candidates.read()))] if segment.candidates else []  # noqa: S302 - ours


def frame_of(file: Path | BucketPath) -> Frame:
    """Return what is around the entries of a document."""
    with file.open("rb") as stream:
        head, size = stream.read(16_384), stream.seek(0, SEEK_END)
    begin = head.find(_BEGIN)
    head = head[:begin] if begin >= 0 else head.removesuffix(_END)
    return Frame(head, size - len(head) - len(_END))


def divided(segments: Sequence[Segment], entries: int, size: int) -> list[list[Segment]]:
    """Divide the segments of a range into as few documents as hold them, evenly."""
    segments = [each for each in segments if each.entries]
    total, bytes_ = sum(each.entries for each in segments), sum(each.size for each in segments)
    number = max(1, -(-total // entries), -(-bytes_ // size))
    parts: list[list[Segment]] = [[]]
    for each in segments:
        part = parts[-1]
        held = sum(one.entries for one in part)
        full = held + each.entries > entries or sum(one.size for one in part) + each.size > size
        if part and (full or held >= total / number):
            parts.append([])
        parts[-1].append(each)
    return [part for part in parts if part]


class Writing(NamedTuple):
    """A document to write to `file`: what comes before its entries, and segments; `finals` are the times of changes."""

    file: Path | BucketPath
    head: bytes
    segments: Sequence[Segment]
    finals: "Finals"


def write_part(writing: Writing) -> tuple[str, int, Counts]:
    """Write a document; return its SHA-256, its length, and what it contains."""
    digest, counts = sha256(), Counts()
    with _Writer(writing.file, _HEADERS) as stream:
        for data in _chunks(writing, counts):
            digest.update(data)
            stream.write(data)
        length = stream.tell()
    return digest.hexdigest(), length, counts


class _Writer:
    """Writes a `file`; to a bucket, only if all goes well, with these headers, and if it has bytes.

    A task may run twice, at the same time on two machines, so a file that is there is not emptied first: the other run
    writes the same bytes to the same places.
    """

    def __init__(self, file: Path | BucketPath, headers: Mapping[str, str] = MappingProxyType({})) -> None:
        self.file, self._headers = file, headers

    def __enter__(self) -> BinaryIO:
        self._stream: BinaryIO = BytesIO()
        if isinstance(self.file, Path):
            self._stream = open(self.file, "wb", opener=_without_emptying)
        return self._stream

    def __exit__(self, error: object, *_: object) -> None:
        held = self._stream
        if isinstance(held, BytesIO) and isinstance(self.file, BucketPath) and held.tell() and not error:
            self.file = self.file.write_bytes(held.getvalue(), self._headers)
        held.close()


def _without_emptying(file: str, flags: int) -> int:
    return os.open(file, flags & ~os.O_TRUNC, 0o666)


def _chunks(writing: Writing, counts: Counts) -> Iterator[bytes]:
    yield writing.head
    for segment in writing.segments:
        data = segment.body.read()
        counts.add(segment.counts)
        if segment.fills:
            filled = segment.fills if isinstance(segment.fills, bytes) else segment.fills.read_bytes()
            fills = marshal.loads(filled)  # noqa: S302 - ours
            times = [writing.finals.of(time, uri) if time else uri for time, uri in fills]
            counts.add(replace(count_entries(times, ()), entries=0))
            first, *rests = data.split(_OPEN_LINE)
            entries = (_filled(rest, time) for rest, time in zip(rests, times, strict=True))
            data = b"".join([first, *entries])
        yield data
    yield _END


def _filled(rest: bytes, time: str) -> bytes:
    """Return the rest of an entry from its time on, which other entries may follow."""
    modified = f' modified="{time}"' if time else ""
    return time_line(time).encode() + rest.replace(b' modified="' + _OPEN + b'"', modified.encode())


class Finals:
    """The times at which changes are published, which may be later than those at which they happened.

    Changes of one time are divided if they do not fit into one document, in the order of their URIs. Only times that
    differ are held, because there may be millions.
    """

    def __init__(self) -> None:
        """Start without any."""
        self._times: dict[str, tuple[list[str], list[str]]] = {}

    def add(self, time: str, first: str, final: str) -> None:
        """Publish the changes of a time at another, from the URI `first` on."""
        if sortable(final) != time:
            uris, finals = self._times.setdefault(time, ([], []))
            uris.append(first)
            finals.append(final)

    def of(self, time: str, uri: str) -> str:
        """Return the time at which a change is published."""
        uris, finals = self._times.get(time, ((), ()))
        number = bisect_right(uris, uri)
        return finals[number - 1] if number else f"{time}Z"


def count_entries(times: Sequence[str], mds: Sequence[str]) -> Counts:
    """Return what entries with these times and this metadata come to; what is not known yet does not count."""
    lengths: Counter[str] = Counter()
    numbers: Counter[str] = Counter()
    for length, type_ in _TYPE.findall("".join(mds)):
        numbers[type_] += 1
        if length:
            lengths[type_] += int(length)
    if unknown := len(mds) - numbers.total():
        numbers[""] += unknown
    known = [sortable(time) for time in times if time and time != OPEN]
    return Counts(
        entries=len(mds),
        types={unescape(type_): (number, lengths[type_]) for type_, number in numbers.items()},
        years=dict(Counter([time[:4] for time in known])),
        last=f"{max(known)}Z" if known else "",
    )
