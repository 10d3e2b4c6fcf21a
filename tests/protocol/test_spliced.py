"""Lists of which most is copied from the last one: byte for byte those that are written from all entries."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pelican_resourcesync.errors import DocumentError
from pelican_resourcesync.protocol import (
    Limits,
    Link,
    Metadata,
    RenderedEntry,
    Renderer,
    Root,
    splice,
    spliced,
    write_parts,
)
from tests.protocol.strategies import links as any_links
from tests.protocol.strategies import metadata, uris
from tests.protocol.support import resource_list

_RENDERER = Renderer(Root.URLSET, 2017)
_HEAD = 1_000  # more than the head and the first entry of these documents have

_locs = (
    uris | st.integers(0, 40).map("https://example.org/{}".format) | st.sampled_from(["urn:x:&", "urn:x:&a", "urn:x:'"])
)
_parts = st.tuples(
    st.just("") | metadata(st.none()).map(_RENDERER.entry_md),
    st.lists(any_links, max_size=2).map(lambda links: _RENDERER.entry_links(tuple(links))),
    st.sampled_from(["", "2024-02-29T12:00:00Z", "2024-02-29T12:00:00.001Z"]),
)
_lists = st.dictionaries(_locs, _parts, max_size=16)
_limits = st.builds(
    Limits, entries=st.sampled_from([1, 2, 7, 50_000]), size=st.sampled_from([3_000, 6_000, 50_000_000])
)


class _File(BytesIO):
    def __init__(self, folder: dict[str, bytes], name: str) -> None:
        super().__init__()
        self._folder, self._name = folder, name

    def close(self) -> None:
        self._folder[self._name] = self.getvalue()
        super().close()


def parts_of(rows: Sequence[RenderedEntry], limits: Limits, name: str = "new", **options: Any) -> dict[str, bytes]:
    """Write a list in parts; for one that cannot be written, what was written until then."""
    folder: dict[str, bytes] = {}
    with suppress(DocumentError):
        write_parts(
            replace(resource_list(), rendered=rows, links=(Link(rel="up", href=f"urn:x:{name}"),)),
            name=f"{name}.xml",
            part_name=lambda number: f"{name}-{number:04}.xml",
            uri=lambda path: f"https://example.org/{path}",
            open=lambda path: _File(folder, path),
            limits=limits,
            **options,
        )
    return folder


def rows_of(listed: Mapping[str, tuple[str, str, str]]) -> list[RenderedEntry]:
    """Return entries sorted by `loc`."""
    return [(loc, *listed[loc]) for loc in sorted(listed)]


def files_in(folder: str | Path, documents: Mapping[str, bytes]) -> list[Path]:
    """Write a list into files, and return those of its parts."""
    files = []
    for name in sorted(documents, key=lambda name: (len(documents) > 1 and name == "old.xml", name)):
        files.append(Path(folder, name))
        files[-1].write_bytes(documents[name])
    return files[:-1] if len(files) > 1 else files


@given(_lists, _lists, st.sets(_locs), _limits, _limits, st.integers(_HEAD, 3_000))
@example({}, {"urn:x:a": ("", "", "")}, set(), Limits(), Limits(), _HEAD)
def test_what_is_copied_is_what_is_written(  # noqa: PLR0917 - strategies
    before: dict[str, Any], added: dict[str, Any], gone: set[str], old: Limits, new: Limits, chunk: int
) -> None:
    """Also where entries move from part to part, and where the limits were others."""
    after = {loc: each for loc, each in (before | added).items() if loc not in gone}
    documents = parts_of(rows_of(before), old, "old")
    if "old.xml" not in documents:  # an entry is too large
        return
    changed = sorted(added.keys() | (gone & before.keys()))
    changes = [tuple((loc, *each[loc]) if loc in each else None for each in (before, after)) for loc in changed]
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(spliced, "_CHUNK", chunk)
        pieces = splice(files_in(folder, documents), [(one, other) for one, other in changes], len(before))
        assert (pieces is None) == (not before)  # there is nothing to copy
        assert parts_of(rows_of(after), new, pieces=pieces) == parts_of(rows_of(after), new)


_ROWS: list[RenderedEntry] = [(f"https://example.org/{number:03}", "", "", "") for number in range(100)]
_INDEX, _UNCHANGED = 50, _ROWS[50]


def spliced_from(tmp_path: Path, documents: Mapping[str, bytes], *changes: Any, count: int = 100) -> bool:
    """Return whether these documents could be copied from."""
    return splice(files_in(tmp_path, documents), changes, count) is not None


@pytest.mark.parametrize(
    ("entry", "altered"),
    [
        (b"</urlset>\n", b"</urlset>\n\n"),
        (b"</urlset>\n", b""),
        (b"</urlset>\n", b"<!-- -->\n</urlset>\n"),
        (b"/099</loc>", b"/099</loc >"),
        (b"/050</loc>\n", b"/050</loc>\n    <changefreq>daily</changefreq>\n"),
        (b"/050</loc>\n", b"/050</loc>\n    <rs:md length='1'/>\n"),
        (b"/050</loc>\n", b"/050</loc>\n  </url>\n  <url>\n    <loc>https://example.org/050</loc>\n"),
        (b"/050</loc>\n", b"/999</loc>\n"),
        (b"/070</loc>\n", b"/070</loc>\n  </url>\n  <url>\n    <loc>https://example.org/0705</loc>\n"),
        (b"  <url>\n", b"    <url>\n"),
        (b"\n", b"\r\n"),
    ],
)
def test_other_documents(tmp_path: Path, entry: bytes, altered: bytes) -> None:
    """What another program, or another version of this one, would have written is not copied."""
    documents = parts_of(_ROWS, Limits(), "old")
    change = (_UNCHANGED, (*_UNCHANGED[:3], "2024-02-29T12:00:00Z"))
    assert spliced_from(tmp_path, documents, change)
    documents["old.xml"] = documents["old.xml"].replace(entry, altered)
    assert not spliced_from(tmp_path, documents, change)


def test_other_changes(tmp_path: Path) -> None:
    """Neither is one that begins with another entry, or with none where there is one, or that has another length."""
    documents = parts_of(_ROWS, Limits(entries=30), "old")
    there, missing, last = _ROWS[60], ("https://example.org/0605", "", "", ""), ("urn:x:z", "", "", "")
    assert spliced_from(tmp_path, documents, (there, None), (None, missing), (None, last))
    for change in ((None, there), (missing, None), (missing, missing), (last, None), ((*there[:3], "2024"), None)):
        assert not spliced_from(tmp_path, documents, change)
    assert not spliced_from(tmp_path, documents, count=99)
    swapped = {**documents, "old-0001.xml": documents["old-0002.xml"], "old-0002.xml": documents["old-0001.xml"]}
    assert not spliced_from(tmp_path, swapped, (_ROWS[10], None))
    assert not spliced_from(tmp_path, swapped)


def test_a_file_that_is_cut_meanwhile(tmp_path: Path) -> None:
    """Nothing is written that misses entries."""
    files = files_in(tmp_path, parts_of(_ROWS, Limits(), "old"))
    pieces = splice(files, [], 100)
    assert pieces is not None
    files[0].write_bytes(files[0].read_bytes()[:-100])
    with pytest.raises(DocumentError, match="was changed while it was read"):
        list(pieces)


def test_one_entry_larger_than_what_is_read_at_a_time(tmp_path: Path) -> None:
    """It is copied whole."""
    rows = [
        *_ROWS[:2],
        ("https://example.org/5", _RENDERER.entry_md(Metadata(type="x" * 300_000)), "", ""),
        ("urn:x:z", "", "", ""),
    ]
    documents = parts_of(rows, Limits(), "old")
    pieces = splice(files_in(tmp_path, documents), [(rows[1], None)], 4)
    assert parts_of([rows[0], *rows[2:]], Limits(), pieces=pieces) == parts_of([rows[0], *rows[2:]], Limits())


def test_limits_with_many_parts() -> None:
    """One part for each entry, of very many, that come in one piece."""
    rows: list[RenderedEntry] = [(f"urn:x:{number:05}", "", "", "") for number in range(20_000)]
    assert len(parts_of(rows, Limits(entries=1))) == 20_001
