"""Random lives of a Source that starts over, takes down and regroups: a copy that follows it equals a new one."""

import json
import random
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from pelican_resourcesync import publish
from pelican_resourcesync.cli import main
from pelican_resourcesync.destination import Mirror
from pelican_resourcesync.publishers.aggregator import Aggregator
from tests.destination.test_aggregator import copied, listed
from tests.kit.sources import FAST, digest

URL, COPY = "https://life.test", "https://copy.test"
LAST = "c/three.html"
NAMES = [f"{folder}{name}.html" for folder in ("", "a/", "b/", "c/") for name in ("one", "two", "three")]
#: Sets that come, go, split and merge.
SETS = [["site"], ["site", "a"], ["site", "a", "b"], ["site", "a b"], ["a", "b", "c"], ["a b c"]]
OPTIONS = replace(FAST, max_deletions=100.0)


class Life:
    """A site in a folder, and copies that follow it now and then."""

    def __init__(self, base: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
        self.base, self.site, self.dice = base, base / "site", random.Random(seed)
        self.monkeypatch, self.time = monkeypatch, 1_700_000_000
        self.pages, self.sets = {LAST: "stays"}, SETS[0]
        again = base / "published"
        self.copies = {
            "plain": Mirror(str(self.site), base / "plain", OPTIONS),
            "atomic": Mirror(str(self.site), base / "atomic", replace(OPTIONS, atomic=True)),
            "published": Aggregator(str(self.site), again, COPY, OPTIONS),
            "again": Mirror(str(again), base / "again", OPTIONS),
        }

    def edit(self) -> None:
        """Write, change and delete some pages; perhaps regroup them."""
        for name in self.dice.sample(NAMES[:-1], self.dice.randrange(5)):
            if self.dice.random() < 0.4:
                self.pages.pop(name, None)
            else:
                self.pages[name] = str(self.dice.randrange(2))
        if self.dice.random() < 0.3:
            self.sets = self.dice.choice(SETS)

    def publish(self) -> None:
        """Publish what there is now, perhaps as if for the first time."""
        for name in NAMES:
            (self.site / name).unlink(missing_ok=True)
        for name, text in self.pages.items():
            (self.site / name).parent.mkdir(parents=True, exist_ok=True)
            (self.site / name).write_text(f"<html><head><title>{name}</title></head><body>{text}</body></html>")
        sets = [
            f"{json.dumps(each)} = {{ paths = {json.dumps(each.split())} }}" for each in self.sets if each != "site"
        ]
        sets += ["site = {}"] * ("site" in self.sets)
        text = f'previous = "output"\nallow_deletions = true\nhtml_links = true\nsets = {{ {", ".join(sets)} }}\n'
        (self.base / "resourcesync.toml").write_text(text.replace("a b", "a-b").replace("-b c", "-b-c"))
        self.time += self.dice.choice([60, 90_000])
        with self.monkeypatch.context() as patch:
            patch.setenv("SOURCE_DATE_EPOCH", str(self.time))
            if self.dice.random() < 0.2:
                patch.setenv("RESOURCESYNC_FIRST", "1")
            publish(self.site, base_url=URL, config=self.base / "resourcesync.toml")

    def is_listed(self, name: str) -> bool:
        """Return whether a set has a page."""
        return "site" in self.sets or name.partition("/")[0] in " ".join(self.sets).split()

    def take_down(self) -> None:
        """Forget a page in the documents, and delete it."""
        if names := sorted(name for name in self.pages.keys() - {LAST} if self.is_listed(name)):
            name = self.dice.choice(names)
            with self.monkeypatch.context() as patch:
                patch.setenv("SOURCE_DATE_EPOCH", str(self.time + 30))
                assert main(["forget", f"{URL}/{name}", "--output", str(self.site)]) == 0
            del self.pages[name]
            (self.site / name).unlink()

    def follow(self) -> None:
        """Let some copies follow: each is like a new one, and an audit finds nothing."""
        fresh = self.base / "fresh"
        shutil.rmtree(fresh, ignore_errors=True)
        assert Mirror(str(self.site), fresh, OPTIONS).run().complete
        followed = [name for name in ("plain", "atomic", "published") if self.dice.random() < 0.6]
        for name in followed + ["again"] * ("published" in followed):
            assert self.copies[name].run().complete
            assert copied(self.base / name) == copied(fresh), name
            assert self.copies[name].audit() == [], name
        if "published" in followed:
            hashes = {
                each.uri.removeprefix(f"{COPY}/"): each.md["hash"] for each in listed(self.base / "published").entries
            }
            assert hashes == {path: digest(data) for path, data in copied(fresh).items()}


@pytest.mark.promise("A copy is like a new one")
@pytest.mark.parametrize("seed", range(2))
def test_life(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, seed: int) -> None:
    """Whatever a Source goes through; and a file that nothing lists is found in each copy."""
    (tmp_path / "site").mkdir()
    for number in range(seed, 20, 2) if request.config.getoption("--long") else [seed + 1]:
        life = Life(tmp_path / str(number), monkeypatch, number)
        life.site.mkdir(parents=True)
        for _ in range(40 if request.config.getoption("--long") else 8):
            life.edit()
            life.publish()
            if life.dice.random() < 0.2:
                life.take_down()
            life.follow()
        for name, mirror in life.copies.items():
            if (tmp_path / str(number) / name).exists():
                (tmp_path / str(number) / name / "stale.html").write_text("no list names this")
                assert mirror.run().complete
                assert [each.uri for each in mirror.audit()] == ["stale.html"], name
