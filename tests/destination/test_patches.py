"""A mirror that uses patches: what it requests, and every kind of damage to a patch."""

import hashlib
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from pelican_resourcesync.destination import Mirror, MirrorResult
from pelican_resourcesync.options import MirrorOptions
from pelican_resourcesync.settings import Dumps, VersionOptions
from pelican_resourcesync.system import dcz
from tests.kit.live import Live, files, live
from tests.kit.publications import Source
from tests.kit.sources import FAST, files_of

PAGE, STYLE = (random.Random(seed).randbytes(30_000).hex().encode() for seed in (1, 2))


@dataclass
class Patched:
    """A site with patches, as it is published and served, and a copy of it."""

    source: Source
    site: Live
    copy: Path
    day: int = 0

    def publish(self, **contents: bytes) -> None:
        """Publish the next day."""
        self.day += 1
        named = {f"{name}.html": data for name, data in contents.items()}
        dumps, time = Dumps(changedump=True), f"2024-03-{self.day:02}T12:00"
        self.source.publish(named, time, patches=True, versions=VersionOptions(), dumps=dumps)

    def mirror(self, options: MirrorOptions = FAST) -> MirrorResult:
        """Update the copy, which then is what is published, and forget what was requested before."""
        self.site.asked()
        mirror = Mirror(f"{self.site.url}/", self.copy, options)
        result = mirror.run()
        assert result.complete, result.missing
        assert files_of(self.copy) == {file.name: file.read_bytes() for file in self.source.output.glob("*.html")}
        assert mirror.audit() == []
        return result

    def requested(self) -> list[str]:
        """Return which resources and patches were requested since the last update began; a patch is `patch`."""
        paths = [*self.site.asked().elements()]
        patches = ["patch" for path in paths if path.endswith(".dcz")]
        return sorted([*patches, *(path for path in paths if path.endswith(".html"))])

    def patch(self) -> Path:
        """Return the file of the only patch."""
        [file] = (self.source.output / "resourcesync/site/patches").iterdir()
        return file


@pytest.fixture
def patched(tmp_path: Path) -> Iterator[Patched]:
    """Publish a site of two files, and copy it."""
    with live(files(tmp_path / "site")) as site:
        site.keep_alive = True
        found = Patched(Source(tmp_path / "site", siteurl=site.url), site, tmp_path / "copy")
        found.publish(page=PAGE, style=STYLE)
        found.mirror()
        yield found


def edited(data: bytes, number: int) -> bytes:
    """Return a text with a small difference."""
    return data[: 5_000 * number] + b"edit %d" % number + data[5_000 * number :]


@pytest.mark.promise("Patched exactly")
def test_updated(patched: Patched) -> None:
    """What was updated comes as a patch, also into a copy that is switched at once."""
    patched.publish(page=edited(PAGE, 1), style=STYLE)
    result = patched.mirror()
    assert (patched.requested(), result.fetched, result.plan.notes) == (["patch"], 1, [])
    patched.publish(page=edited(PAGE, 2), style=STYLE)
    patched.mirror(replace(FAST, atomic=True))
    assert patched.requested() == ["patch"]
    assert not [*(patched.copy / ".mirror/parts").iterdir()]


def test_several(patched: Patched) -> None:
    """Patches follow each other, of several resources; what was deleted in between, or created, comes whole."""
    patched.publish(page=edited(PAGE, 1), style=STYLE)
    patched.publish(page=edited(PAGE, 2), style=edited(STYLE, 1))
    patched.publish(page=edited(PAGE, 3), style=edited(STYLE, 2), new=PAGE[:20_000])
    patched.mirror()
    assert patched.requested() == ["new.html", *["patch"] * 5]
    patched.publish(page=edited(PAGE, 4), style=STYLE)
    patched.publish(page=edited(PAGE, 5), style=STYLE, new=PAGE[:20_000])
    patched.publish(page=edited(PAGE, 6), new=PAGE[:20_001])
    patched.publish(page=edited(PAGE, 7), style=STYLE, new=PAGE[:20_000])
    patched.mirror()
    assert patched.requested() == [*["patch"] * 4, "style.html"]  # and the other is as it was


def test_interrupted(patched: Patched) -> None:
    """What is pending since an earlier run comes by the patches of both."""
    patched.publish(page=edited(PAGE, 1), style=STYLE)
    for file in ("page.html", patched.patch().relative_to(patched.source.output).as_posix()):
        patched.site.manners[file] = lambda ask: ask.send(503, b"")
    assert not Mirror(f"{patched.site.url}/", patched.copy, replace(FAST, retries=0, by="lists")).run().complete
    patched.site.manners.clear()
    patched.publish(page=edited(PAGE, 2), style=STYLE)
    patched.mirror()
    assert patched.requested() == ["patch", "patch"]


def test_larger_than_the_file(patched: Patched) -> None:
    """Patches that together are larger than the file are not requested."""
    other, third = (random.Random(seed).randbytes(10_000).hex().encode() for seed in (3, 4))
    patched.publish(page=PAGE[:25_000] + other[:15_000], style=STYLE)
    patched.publish(page=PAGE[:10_000] + third + other[:10_000], style=STYLE)
    patched.publish(page=PAGE[:17_000], style=STYLE)
    patched.mirror()
    assert patched.requested() == ["page.html"]


def change(patched: Patched, data: Callable[[bytes], bytes]) -> None:
    """Let the host serve other bytes as the patch."""
    patched.patch().write_bytes(data(patched.patch().read_bytes()))


DAMAGE: dict[str, Callable[[Patched], object]] = {
    "absent": lambda patched: patched.patch().unlink(),
    "cut": lambda patched: change(patched, lambda data: data[:-1]),
    "longer": lambda patched: change(patched, lambda data: data + b"!"),
    "other": lambda patched: change(patched, lambda data: bytes(len(data))),
    "edited copy": lambda patched: (patched.copy / "page.html").write_bytes(PAGE + b"edited here"),
    "removed copy": lambda patched: (patched.copy / "page.html").unlink(),
}


@pytest.mark.promise("Patched exactly")
@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damaged(patched: Patched, damage: Callable[[Patched], object]) -> None:
    """Where a patch or the file in the copy is not as it should be, the whole file is fetched, and that is said."""
    patched.publish(page=edited(PAGE, 1), style=STYLE)
    damage(patched)
    result = patched.mirror()
    assert patched.requested() == ["page.html", "patch"]
    [note] = result.plan.notes
    assert note.startswith(f"{patched.site.url}/page.html is fetched whole, because a patch cannot be used: ")


GOOD = dcz.make_patch(PAGE, edited(PAGE, 1))


def flipped(place: int) -> bytes:
    """Return the right patch with one byte that is not."""
    return GOOD[:place] + bytes([GOOD[place] ^ 0xFF]) + GOOD[place + 1 :]


@pytest.mark.promise("Patched exactly")
@pytest.mark.parametrize(
    ("data", "why"),
    [
        (dcz.make_patch(STYLE, edited(PAGE, 1)), "the patch is for other bytes"),
        (dcz.make_patch(PAGE, edited(PAGE, 2)), "has a different hash"),
        (dcz.make_patch(PAGE, PAGE), "does not produce the"),
        (b"<!DOCTYPE html><p>Here was a patch once.", "it is not a patch"),
        (b"", "it is not a patch"),
        (GOOD[:40], "does not produce the"),
        (GOOD[:-1], "does not produce the"),
        (flipped(0), "it is not a patch"),
        (flipped(40), "the patch is damaged"),
        (GOOD[:40] + bytes(200), "the patch is damaged"),
        (GOOD[:40] + GOOD, "does not produce the"),  # its header is a frame that is skipped
    ],
)
def test_wrong_patch(patched: Patched, data: bytes, why: str) -> None:
    """A patch that does not give what the list says, although the list says that patch, is of no use."""
    patched.publish(page=edited(PAGE, 1), style=STYLE)
    patched.source.replace_patch(data)
    result = patched.mirror()
    assert patched.requested() == ["page.html", "patch"]
    assert why in result.plan.notes[0]


@pytest.mark.parametrize(
    ("attribute", "other"),
    [
        ('type="application/x-dcz"', 'type="text/x-diff"'),
        (' hash="sha-256:{0}"', ""),
        (' length="{1}"', ""),
        ('length="{1}"', 'length="{2}"'),
    ],
)
def test_useless_links(patched: Patched, attribute: str, other: str) -> None:
    """A patch of another type, or of which the list does not say enough or that it is larger, is not requested."""
    patched.publish(page=edited(PAGE, 1), style=STYLE)
    data = patched.patch().read_bytes()
    known = hashlib.sha256(data).hexdigest(), len(data), len(edited(PAGE, 1))
    patched.source.replace_patch(data, **{attribute.format(*known): other.format(*known)})
    assert patched.mirror().plan.notes == []
    assert patched.requested() == ["page.html"]


def test_on_another_host(patched: Patched) -> None:
    """A patch on a host that the user did not allow is not requested."""
    patched.publish(page=edited(PAGE, 1), style=STYLE)
    there = f"{patched.site.url}/resourcesync/site/patches"
    elsewhere = there.replace("127.0.0.1", "localhost")
    patched.source.replace_patch(patched.patch().read_bytes(), **{there: elsewhere})
    result = patched.mirror(replace(FAST, allow_private=True))
    assert patched.requested() == ["page.html"]
    assert result.plan.notes[0].endswith("because a patch cannot be used: it is not a patch")


def test_again(patched: Patched) -> None:
    """A patch that cannot be fetched now is requested again, and the others are not."""
    patched.publish(page=edited(PAGE, 1), style=STYLE)
    path = patched.patch().relative_to(patched.source.output).as_posix()
    patched.publish(page=edited(PAGE, 1), style=edited(STYLE, 1))
    once = files(patched.source.output)
    patched.site.manners[path] = lambda ask: once(ask) if ask.before else ask.send(503, b"")
    patched.mirror()
    assert patched.requested() == ["patch"] * 3


@pytest.mark.parametrize("module", ["links", "state"])
def test_too_large(patched: Patched, module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that are too large to be held in memory, before or after, are fetched whole."""
    monkeypatch.setattr(f"pelican_resourcesync.destination.{module}.LARGEST", len(PAGE) - 1)
    patched.publish(page=edited(PAGE, 1), style=STYLE)
    assert patched.mirror().plan.notes == []
    assert patched.requested() == ["page.html"]


def test_without_the_library(patched: Patched, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra `patch`, files come whole."""
    patched.publish(page=edited(PAGE, 1), style=STYLE)
    monkeypatch.setattr(dcz, "zstd", None)
    patched.mirror()
    assert patched.requested() == ["page.html"]


def test_rather_than_packages(patched: Patched) -> None:
    """Packages that have whole files are taken only if they are smaller than the patches."""
    many = {f"page{number}": edited(PAGE, 1) + b"%d" % number for number in range(12)}
    patched.publish(page=PAGE, style=STYLE, **many)
    patched.mirror()
    patched.publish(page=PAGE, style=STYLE, **{name: edited(data, 2) for name, data in many.items()})
    patched.mirror()
    assert patched.requested() == ["patch"] * 12
