"""Mirrors of one set each, by the independent client `resync`."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_everything import EVERYTHING, NOW, is_in
from tests.support.live import served
from tests.support.mirror import Mirror
from tests.support.reader import parse
from tests.support.sites import PRIVATE, Site, import_sample_site, public_files

#: The sets that are mirrored: the site itself is, publication by publication, in `test_ten_publications.py`.
SETS = ("coins", "german")


class SetMirror(Mirror):
    """A copy of one set, kept by `resync-sync` by its Capability List."""

    def run(self, *options: str) -> str:
        """Run the client and give all that it says."""
        name = self.folder.name
        return super().run("--capabilitylist", f"{self.address}/resourcesync/{name}/capabilitylist.xml", *options)


@pytest.fixture
def mirrors(tmp_path: Path) -> Iterator[tuple[Site, Mapping[str, SetMirror]]]:
    """Yield the sample site as it was nine commits ago, served, and an empty mirror for each set."""
    site = import_sample_site(tmp_path / "museum", until="main~8")
    with served(site.output) as address:
        for name in SETS:
            (tmp_path / name).mkdir()
        yield site, {name: SetMirror(tmp_path / name, address) for name in SETS}


def publish(site: Site, address: str, **resourcesync: Any) -> None:
    """Build the site as a host serves it."""
    site.build(SITEURL=address, DELETE_OUTPUT_DIRECTORY=True, RESOURCESYNC={**EVERYTHING, **resourcesync})


def of(site: Site, name: str) -> dict[str, bytes]:
    """Return the files of a set."""
    return {path: data for path, data in public_files(site.output, *PRIVATE).items() if is_in(name, path)}


def in_sync(mirror: SetMirror) -> str:
    """Return what the audit says of a mirror that has all there is."""
    return f"IN SYNC (same={len(mirror.files())}, to create=0, to update=0, to delete=0)"


def test_independent_client_mirrors_each_set(mirrors: tuple[Site, Mapping[str, SetMirror]]) -> None:
    """A baseline, then the changes of eight commits, list by list: in step, and the same bytes, both times."""
    site, copies = mirrors
    address = copies["coins"].address
    publish(site, address)
    at = {}
    for name, copy in copies.items():
        copy.run("--baseline")
        assert copy.files() == of(site, name)
        at[name] = parse((site.output / f"resourcesync/{name}/resourcelist.xml").read_bytes()).md["at"]
    site.git("checkout", "-q", "main")
    publish(site, address)
    for name, copy in copies.items():
        index = parse((site.output / f"resourcesync/{name}/changelist.xml").read_bytes())
        since = datetime.fromisoformat(at[name])
        pointers = [each for each in index.entries if "until" not in each.md or _until(each.md["until"]) > since]
        for pointer in pointers:
            copy.follow(pointer.uri)
        assert copy.files() == of(site, name)
        assert copy.files().keys() == NOW.get(name, copy.files().keys())
        assert copy.audit() == in_sync(copy)


def _until(text: str) -> datetime:
    return datetime.fromisoformat(text)
