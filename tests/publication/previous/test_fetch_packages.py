"""The publication at a URL, with packages: each as large as it likes within limits, and none more often than needed."""

import json
import os
import re
import shutil
import tracemalloc
from collections.abc import Iterator, Mapping
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

import pytest

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.http import Web
from pelican_resourcesync.publication import read_previous
from pelican_resourcesync.publication.model.kinds import kind_of
from pelican_resourcesync.publication.previous.fetch import FetchClock, FetchLimits, fetch_publication
from pelican_resourcesync.settings import Archives, Dumps
from tests.kit.live import Ask, Live, Manner, content, dripping, files, first, live, page, status
from tests.kit.publications import LAYOUT, STATE, Source
from tests.publication.previous.test_fetch import Time, fetched

DUMPS = Dumps(resourcedump=True, changedump=True, package_size=20_000)
ARCHIVES = Archives(resourcedump=None, resourcelist=None)
MB = 1_000_000


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Source:
    """Return a publication of January with all dumps, which no test alters."""
    source = Source(tmp_path_factory.mktemp("old") / "output")
    for time, data in (("2024-01-05T12:00", b"a"), ("2024-01-06T12:00", b"b")):
        source.publish(pictures(data), time, dumps=DUMPS, archives=ARCHIVES)
    return source


@pytest.fixture(scope="module")
def new(old: Source, tmp_path_factory: pytest.TempPathFactory) -> Source:
    """Return the publication of February that followed it, which no test alters."""
    output = tmp_path_factory.mktemp("new") / "output"
    shutil.copytree(old.output, output)
    source = Source(output)
    source.publish(pictures(b"c"), "2024-02-05T12:00", dumps=DUMPS, archives=ARCHIVES)
    return source


@pytest.fixture
def site(new: Source) -> Iterator[Live]:
    """Yield a live site of the publication of February."""
    with live(files(new.output)) as site:
        yield site


@pytest.fixture
def into(tmp_path: Path) -> Path:
    """Return where to bring it."""
    return tmp_path / "fetched" / "into"


def pictures(data: bytes) -> Mapping[str, bytes]:
    """Return a page that changes, and two pictures that do not, which no package holds together."""
    return {"a.html": data, "b.png": b"b" * 15_000, "c.png": b"c" * 15_000}


def named(source: Source) -> dict[str, str]:
    """Return the SHA-256 of all that the state names, by path."""
    state = source.state()
    return {**state["superseded"], **state["documents"]}


def packages(source: Source) -> set[str]:
    """Return the paths of the packages."""
    return {path for path in named(source) if kind_of(path).is_package}


def digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of the documents in a folder, but for the state."""
    found = {}
    for file in (folder / "resourcesync").rglob("*"):
        path = file.relative_to(folder).as_posix()
        if file.is_file() and path != STATE:
            with file.open("rb") as stream:
                found[path] = file_digest(stream, "sha256").hexdigest()
    return found


def failure(site: Live, into: Path, **options: Any) -> str:
    """Return what is said where nothing can be fetched, with `URL` for the site; nothing is written or left."""
    with pytest.raises(PublicationError) as caught:
        fetch_publication(Web(site.url), into, **options)
    assert not list(into.parent.iterdir())
    return str(caught.value).replace(site.url, "URL")


def test_packages_come_too(site: Live, new: Source, into: Path) -> None:
    """Each once, byte for byte, with all else; superseded and archived ones, too."""
    assert len(packages(new)) == 6  # two that all Resource Dumps share, one for `a.html` in two of them, two changes
    found = fetched(site, into)
    assert digests(into) == named(new)
    assert set(site.asked().values()) == {1}
    assert found.received == len(named(new))
    assert read_previous(into, LAYOUT) is not None
    assert [each.name for each in into.parent.iterdir()] == ["into"]


def test_known_packages_are_linked(site: Live, old: Source, new: Source, into: Path) -> None:
    """What a copy from earlier has is neither asked for nor copied; the copy stays as it is."""
    before = digests(old.output)
    fetched(site, into, old.output)
    shared = packages(new) & packages(old)
    assert len(shared) == 4  # the Resource Dump of January, archived, and a Change Dump
    assert not shared.intersection(site.asked())
    assert all((into / path).samefile(old.output / path) for path in shared)
    assert digests(into) == named(new)
    assert digests(old.output) == before


def test_a_known_package_that_is_damaged_is_fetched_and_stays(
    site: Live, new: Source, into: Path, tmp_path: Path
) -> None:
    """What is fetched in its place is never written into it, or behind what it is a link to."""
    known = tmp_path / "known"
    shutil.copytree(new.output, known)
    path, other, third = sorted(packages(new))[:3]
    (known / path).write_bytes(b"another")
    elsewhere = shutil.move(known / other, tmp_path / "elsewhere")
    (known / other).symlink_to(elsewhere)
    (known / third).unlink()
    (known / third).symlink_to(tmp_path / "nowhere")
    fetched(site, into, known)
    assert site.asked() == {STATE: 1, path: 1, third: 1}
    assert digests(into) == named(new)
    assert (known / path).read_bytes() == b"another"
    assert not (into / other).is_symlink()
    assert not (into / other).samefile(elsewhere)


@pytest.mark.parametrize(
    ("manner", "said"),
    [(content(b"damaged"), " is not the listed file"), (page, " is an HTML page"), (status(404), ": not found")],
)
def test_a_package_that_is_missing_or_wrong(site: Live, new: Source, into: Path, manner: Manner, said: str) -> None:
    """It is damage as that of any document: all is asked again for a minute, and only what is lacking."""
    path = max(new.state()["documents"].keys() & packages(new))
    site.manners[path] = manner
    time = Time()
    found = failure(site, into, clock=time.clock)
    assert f"URL/{path}{said}" in found
    assert "It is damaged, or still being deployed" in found
    asked = site.asked()
    assert (sum(time.slept), asked[STATE], asked[path]) == (60, 7, 7)
    assert {asked[each] for each in packages(new) - {path}} == {1}


def test_a_superseded_package_may_be_missing(new: Source, into: Path, tmp_path: Path) -> None:
    """Nobody waits for it."""
    shutil.copytree(new.output, tmp_path / "output")
    source = Source(tmp_path / "output")
    source.publish(pictures(b"d"), "2024-02-06T12:00", dumps=DUMPS, archives=ARCHIVES)
    superseded = [path for path in source.state()["superseded"] if kind_of(path).is_package]
    assert superseded
    with live(files(source.output)) as site:
        for each in superseded:
            site.manners[each] = status(404)
        fetched(site, into)
    assert digests(into).keys() == named(source).keys() - set(superseded)


def test_size_of_a_package(site: Live, new: Source, into: Path) -> None:
    """It is named; at the limit, all is well."""
    size = max(len(new.documents()[path]) for path in packages(new))
    assert f".zip is larger than {size - 1} bytes; nothing was changed" in failure(
        site, into, allowance=FetchLimits(package_size=size - 1)
    )
    fetched(site, into, allowance=FetchLimits(package_size=size))


def test_size_of_all_packages(site: Live, new: Source, into: Path) -> None:
    """They have a limit together; what is known costs nothing."""
    size = max(len(new.documents()[path]) for path in packages(new))
    said = failure(site, into, allowance=FetchLimits(packages_size=size))
    assert re.search(f"is larger than .* bytes|all packages have more than {size:,} bytes", said)
    fetched(site, into, new.output, allowance=FetchLimits(packages_size=0))


def test_all_packages_are_counted_together(site: Live, new: Source, into: Path) -> None:
    """Once nothing is left for them, the whole is said."""
    path = max(new.state()["documents"].keys() & packages(new))
    site.manners[path] = first(1, content(b"x" * 9_000), then=files(new.output))
    size = sum(len(new.documents()[each]) for each in packages(new) - {path}) + 9_000
    said = failure(site, into, allowance=FetchLimits(packages_size=size), clock=FetchClock(sleep=lambda _: None))
    assert re.search(f"is larger than .* bytes|all packages have more than {size:,} bytes", said)


def test_time_of_a_package(site: Live, new: Source, into: Path) -> None:
    """One that drips has its own time, however long documents may take."""
    path = max(new.state()["documents"].keys() & packages(new))
    site.manners[path] = dripping(b"x" * 50, 0.05)
    said = failure(site, into, allowance=FetchLimits(package_seconds=0.4))
    assert f"URL/{path}: the transfer takes longer than 0.4 seconds" in said


def test_time_of_all_packages(site: Live, new: Source, into: Path) -> None:
    """They have a limit together, which waiting counts in."""
    path = max(new.state()["documents"].keys() & packages(new))
    site.manners[path] = status(404)
    time = Time()
    said = failure(site, into, allowance=FetchLimits(packages_seconds=5), clock=time.clock)
    assert "fetching all packages takes longer than 5 seconds" in said


# What it takes


def huge(folder: Path, count: int, size: int) -> Source:
    """Make a publication that names so many packages of so many bytes, which take no room on the disk."""
    source = Source(folder)
    source.publish({"a.html": b"a"}, "2024-01-05T12:00")
    state = source.state()
    for number in range(count):
        file = source.write(f"resourcesync/site/resourcedump-20240105T120000Z-{number:05}.zip", b"%d" % number)
        os.truncate(file, size)
    state["documents"] |= {path: each for path, each in digests(folder).items() if kind_of(path).is_package}
    (folder / STATE).write_text(json.dumps(state))
    return source


def streamed(folder: Path) -> Manner:
    """Answer with files as a host does that has little memory."""

    def answer(ask: Ask) -> None:
        with (folder / ask.path).open("rb") as file:
            ask.begin(200, Content_Length=str(os.fstat(file.fileno()).st_size))
            ask.handler.wfile.flush()
            ask.handler.connection.sendfile(file)

    return answer


def test_memory_does_not_grow_with_packages(tmp_path: Path) -> None:
    """100 MB: a few are in memory, and there is no second copy of what is known."""
    source = huge(tmp_path / "output", 5, 20 * MB)
    one, two = tmp_path / "one" / "into", tmp_path / "two" / "into"
    with live(streamed(source.output)) as site:
        tracemalloc.start()
        assert fetched(site, one).received == len(named(source))
        assert fetched(site, two, one).received == 0
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert sum(path.endswith(".zip") for path in site.asked()) == 5
    assert most < 15 * MB
    assert digests(one) == named(source)
    path = max(packages(source))
    assert (two / path).samefile(one / path)


def test_what_is_named_twice_is_had_once(source_of_two: Source, into: Path) -> None:
    """Packages of the same bytes are fetched once, and lie at both paths."""
    [*paths] = sorted(packages(source_of_two))
    with live(files(source_of_two.output)) as site:
        fetched(site, into)
        assert sum(site.asked()[each] for each in paths) == 1
    assert digests(into) == named(source_of_two)


@pytest.fixture
def source_of_two(tmp_path: Path) -> Source:
    """Return a publication that names two packages of the same bytes."""
    source = huge(tmp_path / "output", 2, 1_000)
    first_one, other = sorted(packages(source))
    shutil.copyfile(source.output / first_one, source.output / other)
    state = source.state()
    state["documents"][other] = sha256((source.output / other).read_bytes()).hexdigest()
    (source.output / STATE).write_text(json.dumps(state))
    return source
