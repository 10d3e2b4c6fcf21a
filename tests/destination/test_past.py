"""A mirror restores the past of a Source: exactly, or all but what it names."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pelican_resourcesync.cli import main
from pelican_resourcesync.destination import Mirror, MirrorResult
from pelican_resourcesync.errors import AbsentError, MirrorError, ResourceSyncError
from tests.destination.archives import ArchivedSource, archived_source
from tests.kit.examples import examples
from tests.kit.live import content, status
from tests.kit.sources import BEGIN, FAST, document, files_of, stamp

PAGES = {"a.html": "one", "b/c.html": "two", "b/d.txt": "three", "e.bin": "four"}
MINUTE = timedelta(minutes=1)


@pytest.fixture
def source() -> Iterator[ArchivedSource]:
    """Yield a Source that has changed a few times, with dumps and archives."""
    with archived_source(PAGES) as source:
        source.update({"a.html": "one, again", "new.html": "new"})
        source.delete("b/c.html")
        source.close_range()
        source.update({"a.html": "one, at last"})
        source.update({"b/c.html": "two is back"})
        yield source


def restored(source: ArchivedSource, time: datetime, folder: Path) -> MirrorResult:
    """Restore a time: what is there is right, and what is not there is named, and nothing else."""
    result = Mirror(source.url, folder, replace(FAST, at=time)).run()
    expected, found = source.state_at(time), files_of(folder)
    assert {path: expected[path] for path in found} == found
    named = {uri.removeprefix(source.url) for uri, _ in result.missing}
    assert named == expected.keys() - found.keys()
    assert result.complete == (not named)
    return result


def times(source: ArchivedSource) -> dict[datetime, tuple[int, int]]:
    """Return the times in reach, with how many resources there were then, and how many of them cannot be had."""
    found = Mirror(source.url, Path("nowhere"), FAST).times()
    assert [each.time for each in found] == sorted({each.time for each in found})
    return {datetime.fromisoformat(each.time): (each.resources, each.missing) for each in found}


@pytest.mark.promise("The past is restored exactly")
def test_every_time(source: ArchivedSource, tmp_path: Path) -> None:
    """Each listed time is restored completely, from packages with and without copies of their manifests."""
    for contents in (True, False):
        source.contents = contents
        source.publish()
        listed = times(source)
        assert listed == {BEGIN: (0, 0)} | {time: (len(source.state_at(time)), 0) for time, *_ in source.changes}
        for number, time in enumerate(listed):
            assert restored(source, time, tmp_path / f"{contents} {number}").complete


def test_patches_in_packages(source: ArchivedSource, tmp_path: Path) -> None:
    """A patch in a Change Dump (§14.4) is never taken for a past state; of these, what is nowhere else is named."""
    source.archives = False
    for patches in ("", "instead"):
        source.patches = patches
        source.publish()
        missing = {len(restored(source, time, tmp_path / f"{patches} {time}").missing) for time in times(source)}
        assert missing == ({0} if not patches else {0, 1})


def test_bytes_of_the_past_come_from_packages(source: ArchivedSource, tmp_path: Path) -> None:
    """A resource that has changed since is not asked for; one that is the same may be."""
    source.site.asked()
    restored(source, BEGIN + 6 * MINUTE, tmp_path / "copy")
    asked = source.site.asked()
    assert not asked.keys() & source.resources.keys()  # the package has the others, too
    assert asked["rs/changes-0.xml"] == 1
    restored(source, source.now, tmp_path / "now")
    assert source.site.asked()["rs/changes-0.xml"] == 0  # it ends before the list from which the restore begins


def test_without_packages(source: ArchivedSource, tmp_path: Path) -> None:
    """Only what is still the same can be had; the rest is named, with the reason, and was not asked for."""
    source.dumps = False
    source.publish()
    source.site.asked()
    result = restored(source, BEGIN + 6 * MINUTE, tmp_path / "copy")
    assert result.missing == [
        (f"{source.url}a.html", "its bytes from that time are no longer available"),
        (f"{source.url}b/c.html", "its bytes from that time are no longer available"),
    ]
    assert not source.site.asked().keys() & {"a.html", "b/c.html"}
    assert times(source)[BEGIN + 6 * MINUTE] == (5, 2)
    source.dumps = True
    source.publish()
    source.site.manners["rs/changedump.xml"] = status(404)
    result = restored(source, BEGIN + 6 * MINUTE, tmp_path / "absent")
    assert len(result.missing) == 2
    assert [note for note in result.plan.notes if "the dumps cannot be used: " in note]
    assert restored(source, source.now, tmp_path / "now").complete


def test_without_archives(source: ArchivedSource, tmp_path: Path) -> None:
    """Change Lists alone lead back from the current list; what was there before them is not known."""
    source.archives = source.dumps = False
    source.retain(BEGIN + 4 * MINUTE)
    source.publish()
    result = restored(source, BEGIN + 5 * MINUTE, tmp_path / "copy")
    assert result.missing == [
        (f"{source.url}a.html", "its bytes from that time are no longer available"),
        (f"{source.url}b/c.html", "its state at that time is not known"),
    ]
    with pytest.raises(MirrorError, match="--list-times"):
        restored(source, BEGIN + 3 * MINUTE, tmp_path / "before")
    assert min(times(source)) == BEGIN + 4 * MINUTE


@pytest.mark.parametrize("archives", [True, False])
def test_changes_without_hashes(source: ArchivedSource, tmp_path: Path, *, archives: bool) -> None:
    """Before a change without a hash nothing is restored: today's bytes may be others than those of then."""
    source.archives = archives
    source.publish()
    path = "rs/changes-0.xml"
    for number in range(1, 5):  # before the first publication
        plain = re.compile(f'(<lastmod>{stamp(BEGIN + number * MINUTE)}</lastmod><rs:md change="created") [^>]*/>')
        source.published[path] = plain.sub(r"\1/>", source.published[path].decode()).encode()
    assert source.published[path].count(b"hash=") == 2
    assert min(times(source)) == BEGIN + 4 * MINUTE
    assert restored(source, BEGIN + 5 * MINUTE, tmp_path / "after").complete
    with pytest.raises(MirrorError, match="--list-times"):
        restored(source, BEGIN + 3 * MINUTE, tmp_path / "before")


def test_gap(source: ArchivedSource, tmp_path: Path) -> None:
    """An archived list of a time without Change Lists can be restored, and nothing around it."""
    source.retain(BEGIN + 8 * MINUTE)
    source.publish()
    listed = times(source)
    at = [BEGIN + each * MINUTE for each in (4, 6, 8, 9)]
    assert {time: count for time, (count, _) in listed.items()} == {time: len(source.state_at(time)) for time in at}
    assert restored(source, at[1], tmp_path / "copy").complete
    with pytest.raises(MirrorError):
        restored(source, at[1] + MINUTE, tmp_path / "between")


def test_documents_that_cannot_be_read(source: ArchivedSource, tmp_path: Path) -> None:
    """The message says which, instead of that nothing is known of the time."""
    source.dumps = False
    source.publish()
    for path in source.published:
        if "changes-" in path or "archive/" in path:
            source.site.manners[path] = status(404)
    with pytest.raises(AbsentError, match=r"rs/changes-0\.xml: not found"):
        restored(source, BEGIN + 3 * MINUTE, tmp_path / "copy")


def test_folders(source: ArchivedSource, tmp_path: Path) -> None:
    """A restored folder stays as it is; it may be gone on with, compared and mended."""
    then = replace(FAST, at=BEGIN + 6 * MINUTE)
    copy = tmp_path / "copy"
    restored(source, BEGIN + 6 * MINUTE, copy)
    assert restored(source, BEGIN + 6 * MINUTE, copy).fetched == 0
    assert Mirror(source.url, copy, then).audit() == []
    (copy / "a.html").write_text("damaged")
    assert [each.uri for each in Mirror(source.url, copy, then).audit()] == [f"{source.url}a.html"]
    assert Mirror(source.url, copy, then).repair().fetched == 1
    with pytest.raises(MirrorError, match="as it was at 2024-01-01T00:06:00"):
        Mirror(source.url, copy, FAST).run()
    with pytest.raises(MirrorError, match="choose another folder"):
        Mirror(source.url, copy, replace(FAST, at=BEGIN + 5 * MINUTE)).run()
    Mirror(source.url, tmp_path / "now", FAST).run()
    with pytest.raises(MirrorError, match="as it is now: choose another folder"):
        Mirror(source.url, tmp_path / "now", then).run()


def test_command(source: ArchivedSource, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command lists times, restores one, and says what is missing by its exit status."""
    assert main(["restore", source.url, "--list-times"]) == 0
    assert "2024-01-01T00:06:00Z  rs: 5 resources, all available (a list or dump)\n" in capsys.readouterr().out
    assert main(["restore", source.url, "--list-times", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["times"]
    assert found[-1] == {
        "time": "2024-01-01T00:09:00.000000Z", "set": "rs", "resources": 5, "missing": 0, "snapshot": True,
    }  # fmt: skip
    assert main(["restore", source.url, str(tmp_path / "then"), "--at", "2024-01-01T00:06:00Z"]) == 0
    assert files_of(tmp_path / "then") == source.state_at(BEGIN + 6 * MINUTE)
    source.dumps = False
    source.publish()
    capsys.readouterr()
    assert main(["restore", source.url, str(tmp_path / "part"), "--at", "2024-01-01T00:06:00Z"]) == 3
    said = capsys.readouterr().out
    assert f"Missing: {source.url}a.html (its bytes from that time are no longer available)\n" in said
    assert main(["restore", source.url, "--list-times"]) == 0
    assert "5 resources, 2 of them not available" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["restore", source.url, str(tmp_path / "part"), "--at", "yesterday"])
    assert "is not a valid time: write it as 2024-01-31" in capsys.readouterr().err
    assert main(["restore", source.url, "--at", "2024-01-01"]) == 2
    assert "add a FOLDER for the copy, or the name" in capsys.readouterr().err
    assert main(["restore", source.url, str(tmp_path / "part"), "--at", "9999-01-01"]) == 2
    assert "9999-01-01T00:00:00Z is in the future: choose a time" in capsys.readouterr().err
    # Options may stand between the arguments.
    assert main(["restore", source.url, "--set", "rs", str(tmp_path / "mixed"), "--at", "2024-01-01T00:06:00Z"]) == 3


def test_set_that_came_later(source: ArchivedSource, tmp_path: Path) -> None:
    """It is empty before its first list, where another set was there; before all sets, nothing is restored."""
    with_second = source.published[".well-known/resourcesync"].replace(
        b"</urlset>", (source.entry("late/caps.xml", {"capability": "capabilitylist"}) + "</urlset>").encode()
    )
    late = source.entry("late/list.xml", {"capability": "resourcelist"})
    source.published |= {
        ".well-known/resourcesync": with_second,
        "late/caps.xml": document("urlset", {"capability": "capabilitylist"}, late),
        "late/list.xml": document(
            "urlset", {"capability": "resourcelist", "at": stamp(source.now)}, source.entry("late/page.html")
        ),
    }
    result = restored(source, BEGIN + 6 * MINUTE, tmp_path / "then")
    assert result.plan.notes == ["late: nothing is listed from before that time, so nothing was copied"]
    for alone in (replace(FAST, set=("late",)), replace(FAST, at=BEGIN - timedelta(days=1))):
        then = replace(alone, at=alone.at or BEGIN + 6 * MINUTE)
        with pytest.raises(MirrorError, match="is not known: the Source lists no state from before"):
            Mirror(source.url, tmp_path / "none", then).run()


def without(source: ArchivedSource, *capabilities: str) -> None:
    """Let the Capability List not name some documents."""
    for each in capabilities:
        lists = source.published["rs/capabilitylist.xml"]
        source.published["rs/capabilitylist.xml"] = lists.replace(f'"{each}"'.encode(), b'"other"')


def test_dumps_alone(source: ArchivedSource, tmp_path: Path) -> None:
    """A Source without lists is restored from its Resource Dumps and the changes in its Change Dumps."""
    lists = ("resourcelist", "resourcelist-archive", "changelist")
    without(source, *lists)
    at = [BEGIN + each * MINUTE for each in (4, 5, 6, 8, 9)]
    found = times(source)
    assert [found[each] for each in at] == [(len(source.state_at(each)), 0) for each in at]
    for number, each in enumerate(at):
        assert restored(source, each, tmp_path / f"{number}").complete
    source.contents = False
    source.publish()
    without(source, *lists)
    assert restored(source, at[1], tmp_path / "whole").complete
    for path in [each for each in source.published if each.endswith(".zip")]:
        source.site.manners[path] = status(404)
    with pytest.raises(ResourceSyncError):
        restored(source, at[1], tmp_path / "gone")


def test_gap_between_packages(source: ArchivedSource, tmp_path: Path) -> None:
    """Without lists and earlier dumps, nothing before a package that is no longer listed is known."""
    without(source, "resourcelist", "resourcelist-archive", "changelist", "resourcedump-archive")
    pointers = source.published["rs/changedump.xml"].decode().split("</url>")
    ends = [BEGIN + each * MINUTE for each in (4, 6, 8, 9)]
    assert [f'until="{stamp(end)}"' in each for end, each in zip(ends, pointers, strict=False)] == [True] * 4
    del pointers[1]
    source.published["rs/changedump.xml"] = "</url>".join(pointers).encode()
    restored(source, ends[1], tmp_path / "after")
    with pytest.raises(MirrorError, match="is not known"):
        restored(source, ends[0], tmp_path / "before")


def test_list_that_took_long_to_write(source: ArchivedSource, tmp_path: Path) -> None:
    """A list says what was there when it was completed; before that, it is not known which of its states were there."""
    without(source, "resourcedump-archive")
    begin, end = (f"2024-01-01T00:0{minute}:00Z" for minute in (6, 8))
    archive, name = "rs/resourcelist-archive.xml", "rs/archive/resourcelist-2024-01-01T000{}00Z.xml"
    source.edit(archive, f'at="{begin}"'.encode(), f'at="{begin}" completed="{end}"'.encode())
    source.published[name.format(6)] = source.published[name.format(8)].replace(end.encode(), begin.encode())
    source.site.asked()
    assert restored(source, BEGIN + 7 * MINUTE, tmp_path / "during").complete
    assert name.format(6) not in source.site.asked()
    without(source, "changelist", "changedump")  # nothing says what was there when it was completed, nor before
    source.edit(archive, end.encode(), b"2024-01-01T00:07:00Z", 1)
    assert list(times(source)) == [BEGIN + each * MINUTE for each in (4, 8, 9)]


def test_archives_with_indexes(source: ArchivedSource, tmp_path: Path) -> None:
    """An archive may be an index of archives, and need not say the times of what it names."""
    source.archives, source.change_lists = True, False
    source.publish()
    path = "rs/resourcelist-archive.xml"
    archive = re.sub(rb' at="[^"]*"', b"", source.published[path])
    inner = source.entry("rs/inner.xml", {}, tag="sitemap")
    source.published |= {
        path: document("sitemapindex", {"capability": "resourcelist-archive"}, inner),
        "rs/inner.xml": archive,
    }
    assert restored(source, BEGIN + 6 * MINUTE, tmp_path / "copy").complete


def test_change_lists_in_an_archive_with_an_index(source: ArchivedSource, tmp_path: Path) -> None:
    """What the Change List no longer names may be in an archive, which may be an index."""
    old = source.published["rs/changelist.xml"]
    pointers = [part.encode() + b"</sitemap>" for part in old.decode().split("</sitemap>")[:-1]]
    first = pointers[0][pointers[0].index(b"<sitemap>") :].replace(b"sitemap>", b"url>").decode()
    inner = source.entry("rs/inner.xml", {}, tag="sitemap")
    source.published |= {
        "rs/changelist.xml": source.published["rs/changes-1.xml"],
        "rs/archive.xml": document("sitemapindex", {"capability": "changelist-archive"}, inner),
        "rs/inner.xml": document("urlset", {"capability": "changelist-archive"}, first),
    }
    source.name("changelist-archive", "rs/archive.xml")
    assert list(times(source))[:2] == [BEGIN, BEGIN + MINUTE]
    assert restored(source, BEGIN + 5 * MINUTE, tmp_path / "copy").complete


def test_packages_that_nobody_expects(source: ArchivedSource, tmp_path: Path) -> None:
    """What the likely packages do not bring is looked for in all others, by their manifests."""
    then = BEGIN + 6 * MINUTE
    likely = f"rs/dump-{stamp(then).replace(':', '')}.zip"
    source.site.manners |= {likely: status(404), f"{likely}.xml": status(404)}
    result = restored(source, then, tmp_path / "copy")
    assert result.complete
    assert "cannot be used" in result.plan.notes[0]
    assert times(source)[then] == (5, 0)
    source.site.manners |= {f"rs/changedump-2024-01-01T000400Z.zip{more}": status(404) for more in ("", ".xml")}
    assert restored(source, then, tmp_path / "from an earlier dump").complete
    source.site.manners |= {path: content(b"") for path in source.published if path.endswith(".zip")}
    assert not restored(source, then, tmp_path / "nothing").complete
    source.site.manners |= {path: content(b"") for path in source.published if path.endswith(".zip.xml")}
    assert times(source)[then] == (5, 2)
    assert not restored(source, then, tmp_path / "nothing at all").complete


NAMES = st.sampled_from(["a.html", "b.html", "c/d.html", "c/e.txt", "f.bin"])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), NAMES, st.integers(0, 9)),
        st.tuples(st.just("delete"), NAMES, st.just(0)),
        st.tuples(st.just("forget"), NAMES, st.just(0)),
        st.tuples(st.sampled_from(["publish", "publish", "close", "retain"]), st.just(""), st.integers(0, 9)),
    ),
    min_size=3, max_size=40,
)  # fmt: skip
MANNERS = st.fixed_dictionaries({
    "dumps": st.booleans(), "archives": st.booleans(), "contents": st.booleans(), "hashes": st.booleans(),
    "keep": st.sampled_from([None, 1, 2, 5]),
})  # fmt: skip


def live_through(source: ArchivedSource, steps: list[tuple[str, str, int]]) -> None:
    """Let a Source live."""
    for what, path, number in steps:
        if what == "put":
            source.put(path, f"text {number} of {path}")
        elif what == "delete" and path in source.resources:
            source.delete(path)
        elif what == "forget":
            source.forget(path)
        elif what == "publish":
            source.publish()
        elif what == "close":
            source.close_range()
        elif what == "retain" and source.changes:
            source.retain(source.changes[number * len(source.changes) // 10][0])
    source.now += MINUTE
    source.publish()


@pytest.mark.promise("The past is restored exactly")
@examples(12, 1_500)
@given(steps=STEPS, manners=MANNERS, some=st.lists(st.integers(0, 99), min_size=1, max_size=3, unique=True))
def test_random_past(steps: list[tuple[str, str, int]], manners: dict[str, object], some: list[int]) -> None:
    """Of a random Source, some listed times and times between them are exact, or exactly what is missing is named."""
    with archived_source(PAGES) as source, TemporaryDirectory() as folder:
        for name, value in manners.items():
            setattr(source, name, value)
        live_through(source, steps)
        listed = times(source)
        assert {time: count for time, (count, _) in listed.items()} == {
            time: len(source.state_at(time)) for time in listed
        }
        assert source.now in listed
        for number in some:
            time = sorted(listed)[number % len(listed)]
            result = restored(source, time, Path(folder, str(number)))
            assert len(result.missing) == listed[time][1]
        for number in some:
            between = BEGIN + number * MINUTE / 3
            try:
                restored(source, between, Path(folder, f"between {number}"))
            except MirrorError:
                assert between not in listed
