"""The status for people: what a publication is, line by line, without anything of a site's next build."""

import re
from pathlib import Path

import pytest

from pelican_resourcesync.publication import Archives, ChangeHistory, Dumps, costs_of
from pelican_resourcesync.terminal.status import TargetStatus, look_at, status_blocks
from pelican_resourcesync.terminal.text import render_blocks
from tests.publication.support import SITEURL, UPDATED, Source, change, utc

HISTORY = (change("2024-01-05T12:00", "a"), change("2024-02-06T12:00", "a", UPDATED))


@pytest.fixture
def source(tmp_path: Path) -> Source:
    """Return a source that was published with a history of two months."""
    source = Source(tmp_path / "output")
    told = ChangeHistory(built=utc("2024-02-10T12:00"), changes=HISTORY, commit="c1", landed=HISTORY[-1].time)
    source.publish({"a": b"a"}, told)
    return source


def names(text: str) -> list[str]:
    """Return the names of the lines."""
    return re.findall(r"^([a-z -]+): ", text, re.MULTILINE)


def test_one_set_is_one_block(source: Source) -> None:
    """With the ranges, what is archived, sizes and estimates."""
    text = render_blocks(status_blocks(look_at(str(source.output)), {}))
    assert "\n\n" not in text
    assert names(text) == [
        *("site", "generation", "commit", "at", "sets", "resources", "changes", "archived", "bytes"),
        *("well-known", "estimates"),
    ]
    assert f"site:          {SITEURL}\ngeneration:    1\ncommit:        c1, landed 2024-02-06T12:00:00Z\n" in text
    assert (
        "changes:       2 in 2 Change Lists\n"
        "               2024-01-01T00:00:00Z to 2024-02-01T00:00:00Z: 1\n"
        "               2024-02-01T00:00:00Z to open: 1\n"
        "archived:      1 changelist\n"
    ) in text
    assert f"well-known:    {SITEURL}/.well-known/resourcesync: is the Source Description\n" in text
    assert "estimates:     all resources have 1 byte\n" in text


def test_costs_are_told_where_settings_are_known(source: Source) -> None:
    """Setting by setting, with what is asked for; else what a dump would take."""
    found = look_at(str(source.output))
    assert found.publication
    assert "a Resource Dump of them" in render_blocks(status_blocks(found, {}))
    volume = found.publication.sets[0].volume
    costs = {"site": costs_of(volume, Dumps(resourcedump=True), Archives(resourcedump=3, changelist=None))}
    text = render_blocks(status_blocks(found, costs))
    assert "a Resource Dump of them" not in text
    for begin in (
        "dumps.resourcedump (on): at most ",
        "dumps.changedump (off): about ",
        "archives.resourcedump (3): at most ",
        "archives.changelist (all): about ",
    ):
        assert f"               {begin}" in text
    assert re.search(r"changelist \(all\): about [^\n]* for each closed range, and all are kept$", text, re.MULTILINE)


def test_several_sets_have_a_block_each(source: Source) -> None:
    """And one more for what they share."""
    Source(source.output, set_name="papers").publish({"p": b"12345"}, "2024-03-01T12:00")
    one, other, shared = render_blocks(status_blocks(look_at(str(source.output)), {})).split("\n\n")
    assert names(one)[0] == names(other)[0] == "set"
    assert "set:           papers\n" in other
    assert "estimates:     all resources have 5 bytes\n" in other
    assert names(shared) == ["site", "sets", "bytes", "well-known"]


def test_a_problem_is_a_line(tmp_path: Path) -> None:
    """To which more may be said."""
    assert render_blocks(status_blocks(TargetStatus(target="x", problem="there\x1b is none"), {})) == (
        "publication:   there\\x1b is none"
    )
    (tmp_path / "empty").mkdir()
    assert render_blocks(status_blocks(look_at(str(tmp_path / "empty")), {})).endswith(
        f"no publication at {tmp_path / 'empty'}"
    )


def test_a_time_in_the_future_is_pointed_out(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    """No later publication can have an earlier time, so whoever looks should know."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
    source.publish({"a": b"b"}, "2999-03-01T12:00")
    text = render_blocks(status_blocks(look_at(str(source.output)), {}))
    assert "at:            2999-03-01T12:00:00Z, which is in the future: see `previous` 'none'\n" in text
