"""Lineage: which copy of a publication is the later one, and starting over from one."""

import pytest

from pelican_resourcesync.publication import plan
from pelican_resourcesync.publication.model.history import ChangeHistory
from pelican_resourcesync.publication.model.layout import Layout
from pelican_resourcesync.publication.model.state import MOST_ANCESTORS, PublicationState, parse_state
from pelican_resourcesync.publication.previous.previous import layout_after
from tests.kit.publications import LAYOUT, SITEURL, STATE, Source, change, utc


def sealed(source: Source) -> PublicationState:
    """Return what is known of the publication in an output."""
    return parse_state((source.output / STATE).read_bytes(), STATE)


def publish(source: Source, number: int) -> PublicationState:
    """Publish a state of one resource that is like no other."""
    source.publish({"a.html": number.to_bytes(2)}, f"2024-01-{1 + number // 24:02}T{number % 24:02}:30")
    return sealed(source)


def test_descent(source: Source) -> None:
    """The same bytes are the same generation; a later one is ahead of every earlier one, and they behind it."""
    line = [publish(source, number) for number in range(4)]
    for at, one in enumerate(line):
        for other_at, other in enumerate(line):
            assert one.continues(other) is (at >= other_at)
    previous = source.previous()
    assert previous is not None
    assert previous.state.digest == line[-1].digest


def test_the_memory_is_bounded(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    """A state remembers the last hundred before it, the newest first; of older ones nothing is known."""
    assert MOST_ANCESTORS == 100
    monkeypatch.setattr(plan, "MOST_ANCESTORS", 10)
    line = [publish(source, number) for number in range(12)]
    last = line[-1]
    assert last.ancestry == tuple(each.digest for each in reversed(line[1:-1]))
    assert (last.predecessor, last.generation) == (line[-2].digest, 12)
    assert last.continues(line[1])
    assert not last.continues(line[0])


def test_where_the_next_documents_lie(source: Source) -> None:
    """Carried forward, where they were; started over, one start on; else as asked."""
    known = publish(source, 0)
    assert layout_after(LAYOUT, known) == LAYOUT
    assert layout_after(LAYOUT, known, restarts=True) == Layout(SITEURL, restart_number=2)
    assert layout_after(Layout(SITEURL, restart_number=4), None) == Layout(SITEURL, restart_number=4)


def test_started_over(source: Source) -> None:
    """The history is listed again, at URIs that were never public; the generations go on, nothing else."""
    source.publish({"a.html": b"a", "b.html": b"b"}, "2024-03-05T12:00")
    source.publish({"a.html": b"aa", "b.html": b"b"}, "2024-04-05T12:00")
    old = sealed(source)
    history = ChangeHistory(built=utc("2024-04-10T12:00"), changes=[change("2024-01-05T12:00", "a.html")], commit="c1")
    publication = source.publish({"a.html": b"a"}, history, None, restarted_from=old, allow_deletions=False)
    new = sealed(source)
    assert publication.first
    assert (new.generation, new.predecessor, new.restart_number) == (3, old.digest, 2)
    assert ([each.changes for each in new.change_lists], new.superseded) == ([1], {})
    assert new.continues(old)
    assert source.rows() == [("2024-01-05T12:00:00Z", "created", "a.html")]
    assert not any("hash" in each.md for each in source.changes())
    assert source.at() == utc("2024-04-10T12:00")
    assert source.capabilities()["resourcelist"] == f"{SITEURL}/resourcesync/site/2/resourcelist.xml"
    of_the_set = {
        path for path in source.documents() if path.startswith("resourcesync/site/") and path.endswith(".xml")
    }
    assert of_the_set
    assert all(path.startswith("resourcesync/site/2/") for path in of_the_set)


def test_started_over_is_carried_on(source: Source) -> None:
    """The next publication reads it from its folder and carries it forward there; a third start is beside both."""
    source.publish({"a.html": b"a"}, "2024-03-05T12:00")
    source.publish({"a.html": b"a"}, "2024-03-06T12:00", None, restarted_from=sealed(source))
    publication = source.publish({"a.html": b"b"}, "2024-04-05T12:00")
    assert not publication.first
    assert [loc for _time, _kind, loc in source.rows()] == ["a.html", "a.html"]
    assert all("/site/2/" in uri for uri in source.capabilities().values())
    source.publish({"a.html": b"b"}, "2024-04-06T12:00", None, restarted_from=sealed(source))
    assert all("/site/3/" in uri for uri in source.capabilities().values())
    assert source.state()["generation"] == 4


def test_started_over_is_not_back_dated(source: Source) -> None:
    """RL02: the Resource List is never as of a time before that of the one before, whatever clocks say."""
    source.publish({"a.html": b"a"}, "2024-03-05T12:00")
    at = source.at()
    source.publish({"a.html": b"a"}, "2023-01-01T12:00", None, restarted_from=sealed(source))
    assert source.at() == at
    source.publish({"a.html": b"b"}, "2023-01-01T12:00")
    assert source.at() > at
