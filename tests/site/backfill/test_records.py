"""Records: what is written is read again, whatever the names; what is damaged is none."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pelican_resourcesync.site.backfill.records import (
    BuildRecord,
    BuildRecordStore,
    File,
    Site,
    Tools,
    ends_of,
    mixed,
    record_of,
)
from pelican_resourcesync.site.outputs.facets import UNFILED, Facets

SHA = "a" * 40
SITE = Site(url="https://example.org", folder=".", settings="pelicanconf.py", extra={"SITENAME": "A \u20ac"})

_NAMES = st.text(st.characters(exclude_characters="\0"), min_size=1).map(lambda name: f"a{name}".replace("/", "-"))
_DIGESTS = st.integers(0, 2**256 - 1).map(lambda number: f"{number:064x}")
_FACETS = st.just(UNFILED) | st.builds(Facets, st.text(), st.lists(st.text()).map(tuple), st.text())
_FILES = st.builds(File, _NAMES, st.none() | st.text(), _DIGESTS, st.integers(0), _FACETS)


def a_record(*files: File, **known: Any) -> BuildRecord:
    """Make a record."""
    return BuildRecord(
        **{"commit": SHA, "landed": "2024", "site": SITE, "tools": {"Python": "3.11"}, "files": files, **known}
    )


@given(st.lists(_FILES), st.none() | st.lists(st.text()).map(tuple), st.text())
def test_round_trip(files: list[File], unstable: tuple[str, ...] | None, failure: str) -> None:
    """Names that are no text (lone surrogates) too."""
    record = a_record(*files, unstable=unstable, failure=failure)
    assert BuildRecord.parse(record.render()) == record
    assert record.render().isascii()


def _with(change: Callable[[dict[str, Any]], object]) -> str:
    content: dict[str, Any] = json.loads(a_record().render())
    change(content)
    return json.dumps(content)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        _with(lambda content: content.update(files=[1])),
        _with(lambda content: content.update(files=None)),
        _with(lambda content: content.update(files=[["a", None]])),
        _with(lambda content: content.update(format=1)),
        _with(lambda content: content.update(missing=[1])),
        _with(lambda content: content.update(tools={"Python": 3})),
        _with(lambda content: content.update(more=True)),
        *(
            _with(lambda content, row=row: content.update(files=[row]))  # type: ignore[misc]
            for row in (
                *([path, None, "0" * 64, 0] for path in ("/etc/passwd", "../a", "a/../../b", "a\0")),
                *(["a", None, digest, 0] for digest in ("../../../etc/passwd", "", "0" * 63, None)),
                ["a", None, "0" * 64, "0"],
                ["a", 1, "0" * 64, 0],
                ["a", None, "0" * 64, 0, ["News", "tags", None]],
            )
        ),
    ],
)
def test_damaged(tmp_path: Path, text: str) -> None:
    """It is as if there were none, and nothing leads out of the output or of the folder of the bytes."""
    with pytest.raises(ValueError):  # noqa: PT011 - of many kinds
        BuildRecord.parse(text)
    (tmp_path / "records").mkdir()
    (tmp_path / "records" / f"{SHA}.json").write_text(text)
    assert BuildRecordStore(tmp_path).get(SHA) is None


def test_no_record_without_its_bytes(tmp_path: Path) -> None:
    """A record counts while all its bytes are there, as many as they were."""
    file = tmp_path / "file"
    file.write_bytes(b"bytes")
    objects = BuildRecordStore(tmp_path).objects
    digest, length = objects.put(file)
    record = a_record(File("file", None, digest, length))
    BuildRecordStore(tmp_path).keep(record)
    assert BuildRecordStore(tmp_path).get(SHA) == record
    assert BuildRecordStore(tmp_path).get("b" * 40) is None
    assert BuildRecordStore(tmp_path).get("../records/" + SHA) is None
    objects.path(digest).write_bytes(b"other bytes")
    assert BuildRecordStore(tmp_path).get(SHA) is None
    assert BuildRecordStore(tmp_path).objects.put(file) == (digest, length)
    assert objects.path(digest).read_bytes() == b"bytes"


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"missing": []},
        {"missing": [], "files": [["/a", None, "0" * 64, 0, None]]},
        {"missing": [], "files": [["a"]]},
    ],
)
def test_what_is_no_answer(answer: dict[str, Any]) -> None:
    """A build is run by code of the past: what it answers is checked as a record is."""
    with pytest.raises(ValueError, match=r"answer|path"):
        record_of(answer, commit=SHA, landed="2024", site=SITE, tools={})


def test_other_tools() -> None:
    """One that is another, or gone, is named; what writes nothing of a site does not count."""
    tools = Tools([])
    now = tools.behind(["pelican", "rich", "markdown", "no_such_module"])
    assert {"Python", "pelican", "Markdown"} == now.keys()
    assert tools.difference(a_record(tools=now)) == ""
    other = {**now, "Markdown": "1.0"}
    assert tools.difference(a_record(tools=other)) == f"Markdown was 1.0 and is now {now['Markdown']}"
    assert tools.difference(a_record(tools={"gone": "1.0"})) == "gone 1.0 is no longer installed"
    assert mixed([a_record(tools=now), a_record(tools={}), a_record(tools=now)]) == ""
    assert mixed([a_record(tools=now), a_record(tools=other)]) == "Markdown"


def test_a_plugin_that_came(tmp_path: Path) -> None:
    """What was missing then and is there now would make another build: by its own name, or as a part of `pelican`."""
    (tmp_path / "here.py").touch()
    (tmp_path / "pelican" / "plugins").mkdir(parents=True)
    (tmp_path / "pelican" / "plugins" / "there.py").touch()
    tools = Tools([str(tmp_path)])
    for name, difference in (("here", True), ("there", True), ("nowhere", False), ("here.within", False)):
        assert bool(tools.difference(a_record(tools={}, missing=[name]))) == difference, name


def test_the_ends() -> None:
    """The first and the last that built, each once."""
    one, two, three = (a_record(commit=str(number) * 40) for number in (1, 2, 3))
    failed = a_record(commit="f" * 40, failure="no")
    assert ends_of([failed, one, two, failed, three, failed]) == [one, three]
    assert ends_of([failed, one]) == [one]
    assert ends_of([failed]) == []
