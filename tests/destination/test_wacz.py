"""The past of a Source as a web archive: programs that replay it show at each time what was published then."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given

from pelican_resourcesync.cli import main
from pelican_resourcesync.destination import Mirror, MirrorResult
from pelican_resourcesync.destination.state import NEVER, PastVersion, StoredResource, open_state
from pelican_resourcesync.destination.wacz import captures
from pelican_resourcesync.errors import MirrorError
from pelican_resourcesync.options import MirrorOptions
from pelican_resourcesync.source import ListedResource
from tests.destination.archives import ArchivedSource, archived_source
from tests.destination.test_past import MANNERS, MINUTE, STEPS, live_through, without
from tests.kit.examples import examples
from tests.kit.sources import BEGIN, FAST, digest, fake_source
from tests.kit.web_archive import Shown, WebArchive, replayed

SECOND = timedelta(seconds=1)
PAGES: dict[str, str | bytes] = {
    "index.html": "<title>Home | A site</title>", "a.html": "<title>One</title>", "b/c.html": "<p>two", "b/d.txt": "3",
    "e.bin": b"\0\xff" * 200_000,
}  # fmt: skip


@pytest.fixture
def source() -> Iterator[ArchivedSource]:
    """Yield a Source that has changed a few times, with dumps and archives."""
    with archived_source(PAGES) as source:
        source.update({"a.html": "<title>One, again</title>", "new.html": PAGES["a.html"]})
        source.delete("b/c.html")
        source.close_range()
        source.update({"a.html": PAGES["a.html"]})
        source.update({"b/c.html": "<p>two is back", "b/d.txt": None})
        yield source


def archive(source: ArchivedSource, file: Path, options: MirrorOptions = FAST) -> tuple[MirrorResult, WebArchive]:
    """Write a WACZ file and read it."""
    result = Mirror(source.url, file, options).archive()
    return result, WebArchive(file)


def shown_at(source: ArchivedSource, time: datetime) -> dict[str, tuple[int, bytes]]:
    """Return what must be shown of all URLs that were there at a time or before."""
    now = source.state_at(time)
    known = {path for moment, path, *_ in source.all_changes if moment <= time}
    return {source.url + path: (200, now[path]) if path in now else (404, b"") for path in known}


@pytest.mark.promise("A web archive shows the past")
def test_every_time_in_pywb(source: ArchivedSource, tmp_path: Path) -> None:
    """`wacz validate` accepts the file; pywb shows what was there at every time, also in the seconds before changes."""
    result, read = archive(source, tmp_path / "site.wacz")
    assert (result.complete, result.versions, result.resources) == (True, 9, 6)
    changed = [time for time, *_ in source.changes]
    times = sorted({*changed, *(time - SECOND for time in changed[1:]), changed[-1] + timedelta(days=1000)})
    expected = {(time, url): answer for time in times for url, answer in shown_at(source, time).items()}
    found = replayed(tmp_path / "site.wacz", list(expected), tmp_path)
    assert {asked: (each.status, each.body) for asked, each in zip(expected, found, strict=True)} == expected
    for asked, each in zip(expected, found, strict=True):
        assert read.closest(asked[1], asked[0]) == each
    assert {each.type for (_, url), each in zip(expected, found, strict=True) if url.endswith("txt")} == {
        "text/plain", "text/html",  # of the page that says that it was deleted
    }  # fmt: skip


def test_list_of_pages(source: ArchivedSource, tmp_path: Path) -> None:
    """It has each version of each page with its title; the front page is opened first."""
    source.resources["a.html"] = b'<meta http-equiv="refresh" content="0; url=/new.html">'
    source.put("a.html", source.resources["a.html"])  # leads elsewhere, and is no page
    source.publish()
    _, read = archive(source, tmp_path / "site.wacz", replace(FAST, only=("*/index.html", "*/a.html", "*.bin")))
    assert [(each["url"].removeprefix(source.url), each["ts"], each["title"]) for each in read.pages] == [
        ("a.html", "2024-01-01T00:02:00Z", "One"),
        ("a.html", "2024-01-01T00:06:00Z", "One, again"),
        ("a.html", "2024-01-01T00:09:00Z", "One"),
        ("index.html", "2024-01-01T00:01:00Z", "Home | A site"),
    ]
    assert len({each["id"] for each in read.pages}) == 4
    assert read.captures.keys() == {f"{source.url}{path}" for path in ("a.html", "index.html", "e.bin")}
    front = {key: read.package[key] for key in ("title", "mainPageURL", "mainPageDate", "created")}
    assert front == {
        "title": "One", "mainPageURL": f"{source.url}a.html", "mainPageDate": "2024-01-01T00:09:00Z",
        "created": "2024-01-01T00:12:00Z",
    }  # fmt: skip


def test_one_time(source: ArchivedSource, tmp_path: Path) -> None:
    """With a time, it has what was there then, at whatever time it is looked at."""
    then = BEGIN + 7.5 * MINUTE
    result, read = archive(source, tmp_path / "site.wacz", replace(FAST, at=then))
    assert (result.complete, result.versions, result.resources) == (True, 6, 6)
    assert {url.removeprefix(source.url): [time for time, _ in found] for url, found in read.captures.items()} == {
        path: [BEGIN + minute * MINUTE]
        for path, minute in (("index.html", 1), ("a.html", 6), ("b/c.html", 3), ("b/d.txt", 4), ("e.bin", 5),
                             ("new.html", 7))
    }  # fmt: skip
    for time in (BEGIN, source.now):
        found = {url: read.closest(url, time) for url in read.captures}
        assert {url.removeprefix(source.url): each.body for url, each in found.items() if each} == source.state_at(then)


def test_lists_alone(source: ArchivedSource, tmp_path: Path) -> None:
    """Without Change Lists, a version begins at its own time and ends with the first list that does not have it."""
    without(source, "changelist", "changedump")
    name = "rs/archive/resourcelist-2024-01-01T000900Z.xml"  # back-dated: the list at 6 has another version
    source.edit(name, b"<lastmod>2024-01-01T00:09", b"<lastmod>2024-01-01T00:03")
    _, read = archive(source, tmp_path / "site.wacz")
    found = {url.removeprefix(source.url): [time for time, _ in found] for url, found in read.captures.items()}
    assert {path: [(time - BEGIN) / MINUTE for time in found[path]] for path in ("a.html", "b/c.html", "b/d.txt")} == {
        "a.html": [2, 5 + 59 / 60, 6, 8 + 59 / 60, 9],
        "b/c.html": [3, 8 + 59 / 60, 9, 9 + 59 / 60, 10],  # its deletion at 8 is in no list before that at 9
        "b/d.txt": [4, 10 + 59 / 60, 11],
    }


def test_two_sets(tmp_path: Path) -> None:
    """What is deleted from one set is there as long as another has it."""
    with archived_source(PAGES) as source:
        other = {
            path.replace("rs/", "other/"): data.replace(f"{source.url}rs/".encode(), f"{source.url}other/".encode())
            for path, data in source.published.items()
        }
        source.update({"a.html": None})
        listed = source.entry("other/capabilitylist.xml", {"capability": "capabilitylist"}).encode()
        name = ".well-known/resourcesync"
        source.edit(name, b"<url>", listed + b"<url>")
        source.published = other | source.published | {"a.html": other["a.html"]}
        for number, chosen in enumerate(((), ("rs",))):
            _, read = archive(source, tmp_path / f"{number}.wacz", replace(FAST, set=chosen))
            found = read.closest(f"{source.url}a.html", source.now)
            assert found
            assert found.status == (404 if chosen else 200)


def test_fragments(tmp_path: Path) -> None:
    """A listed URL with a fragment is restored and archived as others are."""
    with archived_source({"a.html#part": "one"}) as source:
        source.dumps = False
        source.publish()
        source.published["a.html"] = source.resources["a.html#part"]
        assert Mirror(source.url, tmp_path / "copy", replace(FAST, at=source.now)).run().complete
        result, read = archive(source, tmp_path / "site.wacz")
        assert (result.complete, [*read.captures]) == (True, [f"{source.url}a.html#part"])


def test_versions_of_a_resource(tmp_path: Path) -> None:
    """A URL that begins with another is not a version of it."""
    uris = [f"https://x.test/a{end}" for end in ("", "#2024", "!b", "/b", "$", '"')]
    with open_state(tmp_path / "copy", "https://x.test/", adopt=False, sync=False) as state:
        query = "INSERT INTO pending (uri, hash, time) VALUES (?, '', '')"
        state.db.executemany(query, [(uri,) for uri in uris])
        assert [(uri, each.uri) for uri, each in state.pending([uris[0]])] == [(uris[0], uris[0]), (uris[0], uris[1])]


@pytest.mark.promise("A web archive shows the past")
def test_same_bytes(source: ArchivedSource, tmp_path: Path) -> None:
    """It is the same however its bytes came, and in whichever order."""
    files = [tmp_path / f"{number}.wacz" for number in range(3)]
    for file, options in zip(files, (FAST, replace(FAST, by="dumps", jobs=1), FAST), strict=True):
        archive(source, file, options)
        source.contents = not source.contents
        source.publish()
    assert len({file.read_bytes() for file in files}) == 1


def test_what_is_missing(source: ArchivedSource, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Versions that nothing has any more are named with their time; the others are written."""
    source.dumps = False
    source.publish()
    file = tmp_path / "site.wacz"
    assert main(["restore", source.url, str(file), "--all-times"]) == 3
    said = capsys.readouterr().out
    why = "its bytes from that time are no longer available"
    assert f"Missing: {source.url}b/c.html#2024-01-01T00:03:00.000000Z ({why})\n" in said
    assert said.count("Missing: ") == 3
    assert f"Incomplete: {file} has 6 versions of 5 resources; 4 fetched" in said
    assert WebArchive(file).closest(f"{source.url}new.html", source.now) == Shown(
        200, "text/html", b"<title>One</title>"
    )
    source.published = {path: data for path, data in source.published.items() if path not in source.resources}
    with pytest.raises(MirrorError, match=r"none\.wacz was not written: none of the 9 versions is available any more"):
        archive(source, tmp_path / "none.wacz")
    assert [each.name for each in tmp_path.iterdir()] == ["site.wacz"]


def test_command(
    source: ArchivedSource, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name of the file decides; a wrong use ends with a message."""
    monkeypatch.chdir(tmp_path)
    assert main(["restore", source.url, "site.wacz", "--all-times", "--json"]) == 0
    said = capsys.readouterr().out
    assert '"complete": true, "resources": 6, "versions": 9, "fetched": 9' in said
    assert main(["restore", source.url, "then.WACZ", "--at", "2024-01-01T00:06:00Z"]) == 0
    assert "Complete: then.WACZ has 5 resources; 5 fetched" in capsys.readouterr().out
    assert main(["restore", source.url, "dry.wacz", "--at", "2024-01-01T00:06:00Z", "--dry-run"]) == 0
    assert "To fetch: 5 resources" in capsys.readouterr().out
    for wrong in (["folder", "--all-times"], ["dry.wacz", "--all-times", "--dry-run"]):
        assert main(["restore", source.url, *wrong]) == 2
        assert "--all-times needs a FOLDER that ends with .wacz" in capsys.readouterr().err
    Path("folder.wacz").mkdir()
    for name in ("folder.wacz", "absent/site.wacz"):
        assert main(["restore", source.url, name, "--all-times"]) == 2
        assert f"{name} cannot be written: choose the name of a file in a folder that exists" in capsys.readouterr().err
    assert main(["restore", source.url, "early.wacz", "--at", "2020-01-01"]) == 2
    assert "lead there. Use restore --list-times to see" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "cdxj_indexer", None)
    assert main(["restore", source.url, "site.wacz", "--all-times"]) == 2
    assert "WACZ files need an extra: pip install 'pelican-resourcesync[wacz]'" in capsys.readouterr().err
    assert sorted(each.name for each in tmp_path.iterdir()) == ["folder.wacz", "site.wacz", "then.WACZ"]


def test_hostile_values(tmp_path: Path) -> None:
    """URLs and media types of a hostile list change no header, and replay all the same."""
    broken = "a%0D%0AX-Evil:%201.html"
    paths = [
        "caf%C3%A9.html", "{}.html", "q.html?x=%22{}&y=1%202", "%00.html", "%FF.html",
        "'\"().html", f"{'long/' * 1_000}x.html", "a;b=c,d!e$f*g+h.html",
    ]  # fmt: skip
    types = {
        "1.html": "text/html&#13;&#10;X-Evil: 1", "2.html": "text/h\u00e9tml", "3.html": f"text/{'x' * 10_000}",
        "4.html": "text/html; charset=iso-8859-1", "5.html": "&#133;", "6.html": "TEXT/HTML ", "7/": "",
    }  # fmt: skip
    with fake_source() as source:
        for path in (*paths, *types):
            source.put(path, f"<title>{path[:9]}</title>")
        source.update({broken: "<title>Broken</title>"})
        for path, media_type in types.items():
            plain = f"<loc>{source.url}{path}</loc>", f'{digest(source.resources[path])}"'
            for name in ("rs/resourcelist.xml", "rs/changelist.xml"):
                head, loc, rest = source.published[name].decode().partition(plain[0])
                rest = rest.replace(plain[1], f'{plain[1]} type="{media_type}"' if media_type else plain[1], 1)
                source.published[name] = (head + loc + rest).encode()
        source.published |= {path.partition("?")[0]: source.resources[path] for path in paths}
        del source.resources[broken]
        result = Mirror(source.url, tmp_path / "site.wacz", FAST).archive()
        assert result.complete, result.missing
        read = WebArchive(tmp_path / "site.wacz")
        assert {url.removeprefix(source.url) for url in read.captures} == {*paths, *types, broken}
        found = replayed(tmp_path / "site.wacz", [(BEGIN, source.url + path) for path in source.resources], tmp_path)
        unknown = "application/octet-stream"
        expected = {
            **dict.fromkeys(paths, "text/html"), "1.html": unknown, "2.html": unknown, "3.html": types["3.html"],
            "4.html": types["4.html"], "5.html": unknown, "6.html": "TEXT/HTML", "7/": "text/html",
        }  # fmt: skip
        assert {path: each.type for path, each in zip(source.resources, found, strict=True)} == expected
        assert [each.body for each in found] == list(source.resources.values())
        assert {f"{source.url}4.html", f"{source.url}6.html"} <= {each["url"] for each in read.pages}
        # pywb itself shows no URL with a line break.
        assert read.closest(source.url + broken, BEGIN) == Shown(200, "text/html", b"<title>Broken</title>")


def version(path: str, begin: str, until: str) -> PastVersion:
    """Return a version of a day in 2024."""
    times = [each and f"2024-01-{each}Z" if each != NEVER else NEVER for each in (begin, until)]
    return PastVersion(ListedResource(f"https://x.test/{path}", "", "", "", None, "text/plain", (), ""), *times)


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        ([version("a", "01T00:00:00.5", NEVER)], [("a", "01T00:00:00", NEVER)]),
        (
            [version("b", "05T10:00:00.1", "05T10:00:00.2"), version("b", "05T10:00:00.2", "05T10:00:00.9"),
             version("b", "05T10:00:00.9", "05T10:00:01")],
            [("b", "05T10:00:00", "05T10:00:01"), ("gone b", "05T10:00:01", NEVER)],
        ),
        (  # two sets: it left one of them, and returned
            [version("c", "01T00:00:00", "02T00:00:00"), version("c", "01T12:00:00", "07T00:00:00"),
             version("c", "03T00:00:00", "04T00:00:00"), version("c", "08T00:00:00", NEVER),
             version("d", "03T00:00:00", "05T00:00:00")],
            [("c", "01T00:00:00", "01T12:00:00"), ("c", "01T12:00:00", "03T00:00:00"),
             ("c", "03T00:00:00", "07T00:00:00"), ("gone c", "07T00:00:00", "08T00:00:00"), ("c", "08T00:00:00", NEVER),
             ("d", "03T00:00:00", "05T00:00:00"), ("gone d", "05T00:00:00", NEVER)],
        ),
    ],
)  # fmt: skip
def test_captures(versions: list[PastVersion], expected: list[tuple[str, str, str]]) -> None:
    """They follow one another in whole seconds; a resource is gone when it is in no set any more."""
    stored = {each.key: StoredResource("", "file", "", "0" * 64, 0, "", "") for each in versions}
    found = captures({each.key: each for each in versions}, stored)
    short = [
        (f"{'' if each.file else 'gone '}{each.uri[15:]}", each.time[8:], each.until[8:] or NEVER) for each in found
    ]
    assert short == expected
    assert list(captures({each.key: each for each in versions}, {})) == []


@pytest.mark.promise("A web archive shows the past")
@examples(8, 1_000)
@given(steps=STEPS, manners=MANNERS)
def test_random_past(steps: list[tuple[str, str, int]], manners: dict[str, object]) -> None:
    """Of a random Source, each listed time is shown as it was; what is missing is named."""
    with archived_source(PAGES) as source, TemporaryDirectory() as folder:
        for name, value in manners.items():
            setattr(source, name, value)
        live_through(source, steps)
        try:
            result, read = archive(source, Path(folder, "site.wacz"))
        except MirrorError:
            assert not source.resources
            return
        missing = {uri.partition("#")[0] for uri, _ in result.missing}
        for each in Mirror(source.url, Path(folder), FAST).times():
            time = datetime.fromisoformat(each.time)
            for url, (status, body) in shown_at(source, time).items():
                found = read.closest(url, time)
                if status == 200 and found is not None and url not in missing:
                    assert (found.status, found.body) == (status, body)
                elif status == 200:
                    assert url in missing
                elif found is not None and found.status == 200:  # it is younger
                    assert all(when > time for when, _ in read.captures[url])
