"""The programs of docs/examples that follow a Source: exact over a random life of it, also if they are killed."""

import runpy
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any

import pytest

from pelican_resourcesync.destination import FollowedChange, conflict_path_of, follow
from tests.destination.sources import FakeSource, fake_source
from tests.support.sites import ROOT


class Killed(BaseException):
    """Ends an example in the middle of what it does."""


class Deadly(BytesIO):
    """Content that cannot be read to its end."""

    def read(self, size: int | None = -1, /) -> bytes:
        """Kill who reads."""
        raise Killed


def example(name: str) -> Any:
    """Import an example."""
    spec = spec_from_file_location(name, ROOT / "docs/examples" / f"{name}.py")
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def killing(after: int, *, within: bool) -> Callable[..., Iterator[FollowedChange]]:
    """Return a `follow` that kills its caller after some changes: between two, or while it handles one."""

    def followed(*arguments: Any, **named: Any) -> Iterator[FollowedChange]:
        changes = follow(*arguments, **named)
        with closing(changes):
            for number, change in enumerate(changes):
                if number == after and not (within and change.content):
                    raise Killed
                yield replace(change, content=Deadly()) if number == after else change

    return followed


def indexed(target: Path) -> dict[str, bytes]:
    """Return the text of each page of the index."""
    with closing(sqlite3.connect(target)) as db:
        rows = db.execute("SELECT uri, text FROM page JOIN words ON words.rowid = page.id").fetchall()
        assert db.execute("SELECT count(*) FROM words").fetchone() == (len(rows),)
    return {uri: text.encode() for uri, text in rows}


def committed(target: Path) -> dict[str, bytes]:
    """Return the files of the last commit, by path."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=target, check=True, capture_output=True, text=True).stdout
    return {name: (target / name).read_bytes() for name in names.split("\0") if name}


def stored(target: Path) -> dict[str, bytes]:
    """Return the content of each row."""
    with closing(sqlite3.connect(target)) as db:
        return dict(db.execute("SELECT uri, content FROM resource"))


#: No waiting for hosts.
PATIENCE = {"backoff": 0.001, "max_wait": 0.02, "retries": 2, "jobs": 3, "timeout": 10}
READERS = {"search_index": indexed, "git_history": committed, "database": stored}


def live_on(source: FakeSource, random: Random) -> None:
    """Let some resources change, and publish."""
    for _ in range(random.randint(1, 5)):
        path = random.choice(["a.html", "A.html", "b/", "b/index.html", "c/d.html", "e", "~f"])
        if path in source.resources and random.random() < 0.4:
            source.delete(path)
        else:
            source.put(path, f"text {random.random()}")
    if random.random() < 0.3:
        source.close_range()
    if random.random() < 0.2:  # everything is read again
        source.begin = source.now
        source.changes.clear()
    source.publish()


@pytest.mark.parametrize("name", READERS)
def test_example(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """After each undisturbed run it has what the Source has."""
    for seed in range(30 if request.config.getoption("--long") else 1):
        random, module, target = Random(seed), example(name), tmp_path / f"{seed}"
        where = f"sqlite:///{target}" if name == "database" else target
        with fake_source() as source:
            for _ in range(8):
                live_on(source, random)
                module.follow = killing(random.randint(0, 2), within=random.random() < 0.5)
                with suppress(Killed):
                    module.update(source.url, where, **PATIENCE)
                module.follow = follow
                module.update(source.url, where, **PATIENCE)
                wanted = {f"{source.url}{path}": data for path, data in source.resources.items()}
                if name == "git_history":
                    wanted = {conflict_path_of(uri, None): data for uri, data in wanted.items()}
                assert READERS[name](target) == wanted


def test_search(tmp_path: Path) -> None:
    """The index finds pages by their words."""
    module = example("search_index")
    with fake_source({"a.html": "of ships and shoes", "b.html": "of sealing wax"}) as source:
        module.update(source.url, tmp_path / "index", **PATIENCE)
        assert module.search(tmp_path / "index", "wax") == [f"{source.url}b.html"]


def test_commits(tmp_path: Path) -> None:
    """Each change is one commit, in order, and none is repeated."""
    module = example("git_history")
    with fake_source({"a.html": "1", "b.html": "2"}) as source:
        module.update(source.url, tmp_path, **PATIENCE)
        source.put("b.html", "3")
        source.delete("a.html")
        source.publish()
        module.update(source.url, tmp_path, **PATIENCE)
        module.update(source.url, tmp_path, **PATIENCE)
        said = module.git(tmp_path, "log", "--reverse", "--format=%s").splitlines()
        ends = ["created a", "created b", "updated b", "deleted a"]
        assert said == ["Begin", *(f"{kind} {source.url}{name}.html" for kind, name in map(str.split, ends))]


@pytest.mark.parametrize("name", READERS)
def test_host_that_is_down(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An example ends with one message, and no traceback; the next run goes on."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}/"
    target = f"sqlite:///{tmp_path}/table" if name == "database" else str(tmp_path / "target")
    monkeypatch.setattr(sys, "argv", [name, url, target])
    monkeypatch.setattr("pelican_resourcesync.source.source.time.sleep", lambda _: None)
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(ROOT / "docs/examples" / f"{name}.py"), run_name="__main__")
    assert ended.value.code == f"{url}: Connection refused"
