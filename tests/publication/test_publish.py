"""Publishing: what a series of publications promises to those who follow it."""

from hashlib import sha256
from pathlib import Path

import pytest

from pelican_resourcesync.protocol import Limits
from pelican_resourcesync.publication import Change, ChangeHistory, Resource
from pelican_resourcesync.publication.publish import TOOL
from tests.kit.publications import DELETED, SITEURL, STATE, UPDATED, Source, change, utc


def landed(commit: str, time: str, *changes: Change, built: str = "2024-06-01T12:00", **rest: object) -> ChangeHistory:
    """Let history tell of a commit that landed at a time, and of changes."""
    return ChangeHistory(built=utc(built), commit=commit, landed=utc(time), changes=changes, **rest)  # type: ignore[arg-type]


def test_first_publication_tells_the_history(source: Source) -> None:
    """The changes are those of the history, and `at` is the landing time of the commit."""
    history = landed(
        "c1",
        "2024-02-10T12:00",
        change("2024-01-05T12:00", "a.html"),
        change("2024-01-06T12:00", "gone.html"),
        change("2024-02-10T12:00", "gone.html", DELETED),
    )
    publication = source.publish({"a.html": b"a", "tags.html": b"t"}, history)
    assert source.rows() == [
        ("2024-01-05T12:00:00Z", "created", "a.html"),
        ("2024-01-06T12:00:00Z", "created", "gone.html"),
        ("2024-02-10T12:00:00Z", "deleted", "gone.html"),
        ("2024-02-10T12:00:00Z", "created", "tags.html"),
    ]
    assert source.at() == utc("2024-02-10T12:00")
    assert (publication.first, publication.gone, publication.changes, publication.ranges) == (True, 1, 4, 2)


@pytest.mark.promise("Never back-dated")
def test_no_change_is_back_dated(source: Source) -> None:
    """Promise 4: what a commit that is pushed late explains, or a clock that runs wrong, comes after all published."""
    source.publish({"a.html": b"a"}, landed("c1", "2024-04-01T12:00"))
    old = change("2024-03-01T12:00", "a.html", UPDATED)
    history = landed("c2", "2024-03-01T12:00", old, built="2023-01-01T12:00")
    source.publish({"a.html": b"b", "b.html": b"b"}, history)
    assert source.rows()[1:] == [
        ("2024-04-01T12:00:00.001Z", "updated", "a.html"),
        ("2024-04-01T12:00:00.001Z", "created", "b.html"),
    ]
    assert source.at() == utc("2024-04-01T12:00:00.001")


def test_an_unstable_page(source: Source) -> None:
    """What changes at every build though nothing did is named from the second time on, with its count."""
    first = source.publish({"a.html": b"a", "clock.html": b"0"}, landed("c1", "2024-02-10T12:00"))
    counts = [first.unstable]
    for number in (1, 2, 3):
        history = landed("c1", "2024-02-10T12:00", built=f"2024-03-{number:02}T12:00")
        counts.append(source.publish({"a.html": b"a", "clock.html": bytes([number])}, history).unstable)
    assert counts == [{}, {}, {f"{SITEURL}/clock.html": 2}, {f"{SITEURL}/clock.html": 3}]
    edited = landed("c2", "2024-04-10T12:00", change("2024-04-10T12:00", "clock.html", UPDATED))
    assert source.publish({"a.html": b"a", "clock.html": b"new"}, edited).unstable == {}
    assert source.state()["unstable"] == {}


def test_held_clocks_outlive_a_shallow_clone(source: Source) -> None:
    """Landing times that were set once hold, also where a build in between could not see the history."""
    held = {"c1": utc("2024-02-10T12:00")}
    source.publish({"a.html": b"a"}, landed("c1", "2024-02-10T12:00", postponed=held))
    source.publish({"a.html": b"b"}, landed("c2", "2024-02-11T12:00", complete=False))
    assert source.state()["postponed"] == {"c1": "2024-02-10T12:00:00Z"}
    source.publish({"a.html": b"c"}, landed("c3", "2024-02-12T12:00"))
    assert source.state()["postponed"] == {}


def test_several_told_changes_are_one(source: Source) -> None:
    """From the second publication on a URI has one change in each: its last time in the history, what the bytes say."""
    source.publish({"a.html": b"a"}, landed("c1", "2024-02-10T12:00"))
    history = landed(
        "c2",
        "2024-02-14T12:00",
        change("2024-02-11T12:00", "a.html", DELETED),
        change("2024-02-12T12:00", "a.html"),
        change("2024-02-13T12:00", "b.html"),
        change("2024-02-14T12:00", "b.html", DELETED),
    )
    source.publish({"a.html": b"new"}, history)
    assert source.rows()[1:] == [("2024-02-12T12:00:00Z", "updated", "a.html")]
    assert [*source.changes()][-1].md["hash"] == f"sha-256:{sha256(b'new').hexdigest()}"


@pytest.mark.promise("True")
def test_time_of_a_file_without_history(source: Source) -> None:
    """Where no change was ever listed, `lastmod` is what is known of the file; from the first change on, that."""
    history = ChangeHistory(built=utc("2024-02-10T12:00"), complete=False)
    resource = Resource(f"{SITEURL}/a.html", source.write("a.html", b"a"), utc("2023-01-01T12:00"))
    source.publish([resource], history)
    assert source.resource_list()[resource.uri].lastmod == "2023-01-01T12:00:00Z"
    source.publish([resource], history)
    assert source.resource_list()[resource.uri].lastmod == "2023-01-01T12:00:00Z"
    source.publish({"a.html": b"b"}, "2024-03-10T12:00")
    assert source.resource_list()[resource.uri].lastmod == "2024-03-10T12:00:00Z"


def test_state(source: Source) -> None:
    """`publication.json`: the chain of generations, the commit, its landing time, and clocks not believed."""
    held = {"c1": utc("2024-02-10T12:00")}
    source.publish({"a.html": b"a"}, landed("c1", "2024-02-10T12:00", postponed=held))
    first = (source.output / STATE).read_bytes()
    content = source.state()
    [change_list], [part] = content.pop("change_lists"), content.pop("parts")
    time, home = "2024-02-10T12:00:00Z", "resourcesync/site"
    assert {key: value for key, value in content.items() if value or value is None} == {
        "format": 1, "tool": TOOL, "generation": 1, "predecessor": None, "publisher": "site", "siteurl": SITEURL,
        "language": "en", "at": time, "began": time, "commit": "c1", "landed": time, "postponed": {"c1": time},
        "restart_number": 1, "documents": content["documents"],
    }  # fmt: skip
    assert (change_list["path"], change_list["created"]) == (f"{home}/changelist-20240201T000000Z.xml", 1)
    assert (part["path"], part["first"], part["last"]) == (f"{home}/resourcelist.xml", f"{SITEURL}/a.html", time)
    source.publish({"a.html": b"b"}, landed("c2", "2024-02-11T12:00"))
    state = source.state()
    assert (state["generation"], state["predecessor"]) == (2, sha256(first).hexdigest())
    assert (state["commit"], state["postponed"]) == ("c2", {})
    assert state["earlier"] == ["2024-02-10T12:00:00Z"]
    assert [(each["created"], each["updated"]) for each in state["change_lists"]] == [(1, 1)]


def test_change_lists_keep_to_the_size_limit(tmp_path: Path) -> None:
    """X04: not only the number of entries is bounded; long addresses, and what XML makes of them, count."""
    source = Source(tmp_path / "output")
    contents = {f"{'/'.join(['a&' * 100] * 4)}/{number:03}.html": b"x" for number in range(120)}
    for time, data in (("2024-01-01T12:00", b"x"), ("2024-01-02T12:00", b"y")):
        history = landed(time, time)
        source.publish(dict.fromkeys(contents, data), history, limits=Limits(size=80_000))
        documents = source.documents()
        sizes = [len(documents[item.uri.removeprefix(f"{SITEURL}/")]) for item, _ in source.change_lists()]
        assert max(sizes) <= 80_000
        assert sum(sizes) > 80_000
    changed = [(each.uri, each.md["change"]) for each in source.changes()]
    assert len(changed) == len(set(changed)) == 240
    assert len(source.change_lists()) >= 6
