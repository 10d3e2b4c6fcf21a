"""Mirrors of resources: where they are fetched from, what happens if a mirror is bad, and what it must not cause."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from pelican_resourcesync.destination import Mirror, MirrorResult
from pelican_resourcesync.options import MirrorOptions
from tests.destination.linked import LinkedSource, link
from tests.kit.live import Live, Manner, content, live, redirect, status
from tests.kit.sources import FAST, files_of, following, living

RESOURCES = {f"{number}.html": f"page {number}" for number in range(12)}
NOT_ALLOWED = "the Source has mirrors on other hosts: to use them as well, add --allow-host localhost"


@pytest.fixture
def source() -> Iterator[LinkedSource]:
    """Yield a Source of a dozen pages."""
    with living(LinkedSource, RESOURCES) as source:
        yield source


Mirroring = Callable[..., Live]


@pytest.fixture
def mirror_of(source: LinkedSource) -> Iterator[Mirroring]:
    """Return what starts a mirror at another host, and links to it; in its own manner, if one is given."""
    with ExitStack() as stack:

        def start(pri: int | None = None, manner: Manner | None = None) -> Live:
            site = stack.enter_context(live(manner or source.answer))
            site.url = site.url.replace("127.0.0.1", "localhost")
            add(source, site.url, pri)
            return site

        yield start


def add(source: LinkedSource, url: str, pri: int | None = None) -> None:
    """Link from all resources to their mirrors at a URL."""
    for path in source.resources:
        more = {} if pri is None else {"pri": pri}
        source.links[path] = source.links.get(path, "") + link("duplicate", f"{url}/{path}", **more)
    source.publish()


ALLOWED = replace(FAST, allow_host=["localhost"], allow_private=True)


def run(source: LinkedSource, folder: Path, options: MirrorOptions = ALLOWED) -> MirrorResult:
    """Mirror the Source; the copy is complete and right."""
    result = Mirror(source.url, folder, options).run()
    assert result.complete
    assert files_of(folder) == source.states[-1]
    return result


def pages(site: Live) -> int:
    """Return how many pages a site was asked for since the last time."""
    return sum(count for path, count in site.asked().items() if path in RESOURCES)


def test_best_mirrors_in_turn(source: LinkedSource, mirror_of: Mirroring, folder: Path) -> None:
    """Equals share the requests, without the user's credentials; what is worse, and the Source itself, get none."""
    best, none, equal, worse = mirror_of(1), mirror_of(), mirror_of(1), mirror_of(2)
    assert run(source, folder, replace(ALLOWED, user="ann:secret", header=["X-Key: secret"])).plan.notes == []
    heads = [ask.headers for site in (best, equal) for ask in site.asks]
    assert [each["Authorization"] or each["X-Key"] for each in heads] == [None] * 12
    assert source.site.asks[0].headers["Authorization"]
    assert list(map(pages, (best, equal, worse, none, source.site))) == [6, 6, 0, 0, 0]


def test_mirror_without_a_file(source: LinkedSource, mirror_of: Mirroring, folder: Path) -> None:
    """What the best mirrors do not have comes from the next one, and at last from the Source, without waiting."""
    empty, busy, half = mirror_of(1, status(404)), mirror_of(2, status(503)), mirror_of(3)
    half.manners |= dict.fromkeys([f"{number}.html" for number in range(6)], redirect("https://example.org/"))
    result = run(source, folder, replace(ALLOWED, backoff=60, max_wait=60))
    assert len(result.plan.notes) == 1
    assert result.plan.notes[0].startswith(f"the mirror localhost failed ({half.url}/")
    assert result.plan.notes[0].endswith(
        ".html redirects elsewhere, to https://example.org/: add --allow-host example.org to follow it there), "
        "so it is no longer used"
    )
    assert list(map(pages, (empty, busy))) == [12, 12]


def test_mirror_of_other_bytes(source: LinkedSource, mirror_of: Mirroring, folder: Path) -> None:
    """It is noted, and asked for nothing more in this run than was on its way; the next run tries it again."""
    bad = mirror_of(1, content(b"page X"))
    good = mirror_of(2)
    for _ in range(2):
        result = run(source, folder)
        assert len(result.plan.notes) == 1
        assert result.plan.notes[0].startswith(f"the mirror localhost served other bytes for {source.url}")
        assert 1 <= pages(bad) < 12
        assert pages(good) == 12
        assert pages(source.site) == 0
        for path in RESOURCES:
            source.put(path, f"new {path}")
        source.publish()


def test_only_hosts_that_the_user_allows(source: LinkedSource, mirror_of: Mirroring, folder: Path) -> None:
    """A mirror elsewhere is not asked, and the user is told how to; nor is one for a folder, or without a hash."""
    mirror = mirror_of()
    add(source, "gsiftp://grid.example")
    assert run(source, folder, replace(FAST, allow_private=True)).plan.notes == [NOT_ALLOWED]
    assert run(source, folder, FAST).plan.notes == [], "there was nothing to fetch"
    source.write_to(folder.with_name("site"))
    assert Mirror(str(folder.with_name("site")), folder.with_name("from here"), ALLOWED).run().complete
    assert len([*following(source.url, None, replace(FAST, allow_private=True))]) == 12
    source.hashes = False  # nothing would prove that it is what the Source has
    source.publish()
    run(source, folder.with_name("without hashes"))
    assert mirror.asks == []


def test_user_is_asked_once(source: LinkedSource, mirror_of: Mirroring, folder: Path, tmp_path: Path) -> None:
    """For each host; the answer is kept with the copy, and an audit asks for nothing."""
    mirror, asked = mirror_of(), list[str]()

    def answering(answer: bool) -> MirrorOptions:
        def ask(host: str) -> bool:
            asked.append(host)
            return answer

        return replace(FAST, allow_private=True, ask=ask)

    assert run(source, folder, answering(True)).plan.notes == []
    assert pages(mirror) == 12
    assert run(source, tmp_path / "other", answering(False)).plan.notes == []
    assert asked == ["localhost", "localhost"]
    source.update({"0.html": "new"})
    run(source, folder, answering(False))
    run(source, tmp_path / "other", answering(True))
    assert asked == ["localhost", "localhost"]
    assert pages(mirror) == 1


def test_no_credentials_for_a_mirror(source: LinkedSource, folder: Path) -> None:
    """Not even where it is at the same address as the Source."""
    add(source, f"{source.url}copy")
    run(source, folder, replace(ALLOWED, user="ann:secret"))
    at_mirror = [ask.headers["Authorization"] for ask in source.site.asks if ask.path.startswith("copy/")]
    assert at_mirror == [None] * 12


def test_tags_of_mirrors_are_theirs(source: LinkedSource, mirror_of: Mirroring, folder: Path) -> None:
    """The Source is not asked whether it has what a mirror gave a tag."""
    mirror_of(1, lambda ask: ask.send(200, source.published[ask.path], ETag='"of the mirror"'))
    run(source, folder)
    source.hashes = False
    source.update({"0.html": "new"})
    run(source, folder)
    (again,) = [ask for ask in source.site.asks if ask.path == "0.html"]
    assert again.headers["If-None-Match"] is None


def test_follower(source: LinkedSource, mirror_of: Mirroring) -> None:
    """A program that follows gets resources from mirrors in the same way; their links have the priorities."""
    bad, empty, best = mirror_of(1, content(b"page X")), mirror_of(2, status(404)), mirror_of(3)
    best.manners["7.html"] = status(503)
    changes = following(source.url, None, replace(ALLOWED, user="ann:secret"))
    found = {each.uri: (each.content.read() if each.content else b"", each.links) for each in changes}
    assert {uri.removeprefix(source.url): data for uri, (data, _) in found.items()} == source.states[-1]
    assert [each.pri for each in found[f"{source.url}7.html"][1]] == [1, 2, 3]
    assert [each.partition(source.url)[0] for each in changes.notes] == ["the mirror localhost served other bytes for "]
    assert {ask.headers["Authorization"] for site in (bad, empty, best) for ask in site.asks} == {None}
    assert source.site.asks[-1].headers["Authorization"]
    assert 1 <= pages(bad) <= 12
    assert list(map(pages, (empty, best, source.site))) == [12, 12, 1]


@pytest.mark.promise("A mirror stays inside")
def test_nothing_from_a_private_address(source: LinkedSource, mirror_of: Mirroring, folder: Path) -> None:
    """Where the user allowed a host, but not its address; nor on another port of the Source's own host."""
    mirror = mirror_of()
    add(source, mirror.url.replace("localhost", "127.0.0.1"))
    notes = run(source, folder, replace(FAST, allow_host=["localhost"])).plan.notes
    assert ["is not public" in each for each in notes] == [True, True]
    assert mirror.asks == []


def test_many_hosts(source: LinkedSource, folder: Path) -> None:
    """A Source cannot make the user answer for ever, nor a note endless."""
    for number in range(20):
        add(source, f"https://{number}.example")
    assert run(source, folder, FAST).plan.notes[0].count("--allow-host") == 8
    asked: list[str] = []

    def ask(host: str) -> bool:
        asked.append(host)
        return False

    run(source, folder.with_name("other"), replace(FAST, ask=ask))
    assert len(asked) == 8


def test_many_mirrors(source: LinkedSource, mirror_of: Mirroring, folder: Path) -> None:
    """A Source cannot let each resource be looked for in many places."""
    mirror = mirror_of(1, status(404))
    for number in range(20):
        add(source, f"{mirror.url}/{number}", number + 2)
    run(source, folder)
    assert len(mirror.asks) == 8 * 12
