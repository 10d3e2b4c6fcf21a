"""Records: what is written is read again, whatever the names; what is damaged is none."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pelican_resourcesync.site.backfill.objects import Objects
from pelican_resourcesync.site.backfill.record import File, Record, Records

_NAMES = st.text(st.characters(exclude_characters="\0"), min_size=1).map(lambda name: f"a{name}".replace("/", "-"))
_FILES = st.builds(File, _NAMES, st.none() | st.text(), st.text(), st.integers(0), st.text())


@given(st.lists(_FILES))
def test_round_trip(files: list[File]) -> None:
    """Names that are no text (lone surrogates) too."""
    record = Record(tuple(files))
    assert Record.parse(record.render()) == record
    assert record.render().isascii()


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"files": [1]}', '{"files": [["a", null]]}', '{"files": null}']
    + [json.dumps({"files": [[path, None, "", 0, ""]]}) for path in ("/etc/passwd", "../a", "a/../../b", "a\0")],
)
def test_damaged(tmp_path: Path, text: str) -> None:
    """It is as if there were none, and nothing leads out of the output."""
    (tmp_path / "sha.json").write_text(text)
    assert Records(tmp_path, Objects(tmp_path)).get("sha") is None


def test_no_record_without_its_bytes(tmp_path: Path) -> None:
    """A record counts while all its bytes are there, as many as they were."""
    file = tmp_path / "file"
    file.write_bytes(b"bytes")
    objects = Objects(tmp_path / "objects")
    digest, length = objects.put(file)
    record = Record((File("file", None, digest, length, "text/plain", ()),))
    Records(tmp_path / "records", objects).keep("sha", record)
    assert Records(tmp_path / "records", Objects(tmp_path / "objects")).get("sha") == record
    objects.path(digest).write_bytes(b"other bytes")
    assert Records(tmp_path / "records", Objects(tmp_path / "objects")).get("sha") is None
    assert Objects(tmp_path / "objects").put(file) == (digest, length)
    assert objects.path(digest).read_bytes() == b"bytes"
