"""Where things of a repository are: rules 17 and 18, and the files of records."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pelican_resourcesync.http import is_plain
from repo_bridge.model import Collection
from repo_bridge.records.resources import Addresses, Interface, record_path

SEVEN = Addresses(version=7, ui="https://repo.example", records="https://repo.example/records")
SIX = replace(SEVEN, version=6)
UUID = "0c5a4794-6c89-56b8-a5a5-a538a8dceccd"


DIRECT, XMLUI = replace(SEVEN, server="https://repo.example/server"), replace(SIX, interface=Interface.XMLUI)
NAME, CODED = "æ & b/c?.pdf", "%C3%A6%20%26%20b%2Fc%3F.pdf"


@pytest.mark.parametrize(
    ("find", "path"),
    [
        # Rule 17: an item's page is at its handle, else at its uuid; a collection's too.
        (lambda: SEVEN.landing_page(UUID, "123456789/1"), "handle/123456789/1"),
        (lambda: SEVEN.landing_page(UUID, None), f"items/{UUID}"),
        (lambda: SEVEN.container(Collection(id=UUID, handle=None, name="")), f"collections/{UUID}"),
        (lambda: SEVEN.container(Collection(id=UUID, handle="1/2", name="")), "handle/1/2"),
        # Rule 17: a file is at its uuid: at the server, where that is known, else at the user interface.
        (lambda: SEVEN.bitstream(UUID, None, None, "a b.pdf"), f"bitstreams/{UUID}/download"),
        (lambda: DIRECT.bitstream(UUID, "1/2", 3, "a"), f"server/api/core/bitstreams/{UUID}/content"),
        # Rule 18: before version 7 a page takes a handle.
        (lambda: SIX.landing_page("1", "123456789/1"), "handle/123456789/1"),
        (lambda: SIX.landing_page("1", None), None),
        (lambda: SIX.container(Collection(id="1", handle=None, name="")), None),
        # Rule 18: a file is at its handle, number and name, in two ways; without handle or number it is nowhere.
        (lambda: SIX.bitstream("9", "123/4", 2, NAME), f"bitstream/123/4/2/{CODED}"),
        (lambda: XMLUI.bitstream("9", "123/4", 2, NAME), f"bitstream/handle/123/4/{CODED}?sequence=2"),
        (lambda: SIX.bitstream("9", None, 2, NAME), None),
        (lambda: SIX.bitstream("9", "123/4", None, NAME), None),
    ],
)
def test_rules_17_and_18(find: Callable[[], str | None], path: str | None) -> None:
    """Rules 17 and 18: where pages and files are in each version."""
    assert find() == (path and f"https://repo.example/{path}")


def test_long_names_are_cut() -> None:
    """A name that would make an address too long is cut, and an empty one has another (X10)."""
    assert len(SIX.bitstream("9", "123/4", 2, "é" * 5000) or "") < 2048
    assert SIX.bitstream("9", "123/4", 2, "") == "https://repo.example/bitstream/123/4/2/file"


@pytest.mark.parametrize(
    ("handle", "path"),
    [
        ("123456789/1", "oai_dc/123456789/1.xml"),
        ("10.1234/a.b/c", "oai_dc/10.1234/a.b~2Fc.xml"),
        ("1/..", "oai_dc/1/~2E~2E.xml"),
        ("./x", "oai_dc/~2E/x.xml"),
        ("1/é~", "oai_dc/1/~C3~A9~7E.xml"),
        ("1", f"oai_dc/~item/{UUID}.xml"),
        ("1/", f"oai_dc/~item/{UUID}.xml"),
        (None, f"oai_dc/~item/{UUID}.xml"),
        ("1/" + "x" * 300, f"oai_dc/~item/{UUID}.xml"),
    ],
)
def test_record_paths(handle: str | None, path: str) -> None:
    """A record is called by its handle, else by its item; what could be misread in a path is written otherwise."""
    assert record_path("oai_dc", UUID, handle) == path
    assert SEVEN.record(path).startswith("https://repo.example/records/oai_dc/")


_parts = st.text(min_size=1, max_size=12) | st.sampled_from(["..", ".", "a~", "~41", "A", "con", "\ud7ff"])


@given(st.lists(st.tuples(_parts, _parts).map("/".join), unique=True, min_size=2, max_size=6))
def test_record_paths_are_plain_and_differ(handles: list[str]) -> None:
    """Whatever handles are, their records lie below the folder, under plain names, and no two in one place."""
    paths = [record_path("oai_dc", f"id {number}", handle) for number, handle in enumerate(handles)]
    for path in paths:
        assert is_plain(path)
        assert PurePosixPath(path).parts[0] == "oai_dc"
    assert len(set(paths)) == len(handles)
