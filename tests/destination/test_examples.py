"""The programs of docs/examples that follow a Source: exact over a random life of it, also if they are killed."""

import json
import runpy
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from datetime import date, timedelta
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any, cast

import psycopg
import pytest

from pelican_resourcesync.destination import FollowedChange, conflict_path_of, follow
from tests.kit.live import Ask, live
from tests.kit.postgresql import NoServerError, running
from tests.kit.publications import Source
from tests.kit.sites import ROOT
from tests.kit.sources import FakeSource, fake_source


class Killed(BaseException):
    """Ends an example in the middle of what it does."""


class Deadly(BytesIO):
    """Content that cannot be read to its end."""

    def read(self, size: int | None = -1, /) -> bytes:
        """Kill who reads."""
        raise Killed

    @property
    def is_news(self) -> bool:
        """Kill who reads it as a page."""
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
                yield (
                    replace(change, content=(deadly := cast("Any", Deadly())), page=deadly)
                    if number == after
                    else change
                )

    return followed


def indexed(target: Path) -> dict[str, bytes]:
    """Return the text of each page of the index."""
    with closing(sqlite3.connect(target)) as db:
        rows = db.execute("SELECT uri, text FROM page JOIN words ON words.rowid = page.id").fetchall()
        assert db.execute("SELECT count(*) FROM words").fetchone() == (len(rows),)
    return {uri: text.strip().encode() for uri, text in rows}


def noted(target: Path) -> dict[str, bytes]:
    """Return the text of each page in the file of `text_index`."""
    sites = json.loads(target.read_text()).values()
    return {uri: text.strip().encode() for site in sites for uri, text in site["texts"].items()}


def committed(target: Path) -> dict[str, bytes]:
    """Return the files of the last commit, by path."""
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=target, check=True, capture_output=True, encoding="utf-8"
    ).stdout
    return {name: (target / name).read_bytes() for name in names.split("\0") if name}


def stored(target: Path) -> dict[str, bytes]:
    """Return the content of each row."""
    with closing(sqlite3.connect(target)) as db:
        return dict(db.execute("SELECT uri, content FROM resource"))


class ElasticIndex:
    """The part of Elasticsearch's API that the example uses: what is not refreshed yet is not found."""

    def __init__(self) -> None:
        self.found: dict[str, Any] = {}
        self.written: dict[str, Any] = {}
        self.positions: dict[str, bytes] = {}
        self.refuse = False

    def answer(self, ask: Ask) -> None:
        """Answer one request."""
        body = ask.handler.rfile.read(int(ask.headers["Content-Length"] or 0))
        if ask.path.startswith("pages-cursor/_doc/"):
            if body:
                self.positions[ask.path] = body
            position = self.positions.get(ask.path)
            ask.send(200 if position else 404, b'{"_source": %s}' % position if position else b'{"found": false}')
            return
        result: dict[str, Any] = {}
        if ask.path == "pages/_bulk":
            assert ask.headers["Content-Type"] == "application/x-ndjson"
            assert body.endswith(b"\n")
            result = {"items": list(self._bulk(iter(body.splitlines())))}
        else:
            assert ask.path == "pages/_delete_by_query"
            [(field, value)] = json.loads(body)["query"]["match"].items()
            gone = {key for key, data in self.found.items() if data[field] == value}
            self.written = {key: data for key, data in self.written.items() if key not in gone}
        if "refresh=true" in ask.query:
            self.found = dict(self.written)
        ask.send(200, json.dumps(result).encode())

    def _bulk(self, lines: Iterator[bytes]) -> Iterator[dict[str, Any]]:
        for line in lines:
            ((action, target),) = json.loads(line).items()
            document = json.loads(next(lines)) if action == "index" else None
            if self.refuse:
                yield {action: {"status": 429, "error": {"type": "es_rejected_execution_exception"}}}
                continue
            self.written.pop(target["_id"], None)
            if document:
                self.written[target["_id"]] = document
            yield {action: {"status": 200 if action == "index" else 404}}

    def texts(self) -> dict[str, bytes]:
        """Return the text of each page by its URI."""
        return {each["uri"]: each["text"].encode() for each in self.found.values()}


@contextmanager
def place(name: str, folder: Path) -> Iterator[tuple[Any, Callable[[], dict[str, bytes]]]]:
    """Yield where an example keeps what it follows, and a function that returns this."""
    if name == "elastic_index":
        index = ElasticIndex()
        with live(index.answer) as site:
            yield f"{site.url}/pages", index.texts
    elif name == "database":
        yield f"sqlite:///{folder}", partial(stored, folder)
    else:
        yield folder, partial({"search_index": indexed, "git_history": committed, "text_index": noted}[name], folder)


#: No waiting for hosts.
PATIENCE = {"backoff": 0.001, "max_wait": 0.02, "retries": 2, "jobs": 3, "timeout": 10, "max_deletions": 100}
EXAMPLES = ("search_index", "git_history", "database", "elastic_index")


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


@pytest.mark.promise("A follower loses nothing")
@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """After each undisturbed run it has what the Source has."""
    for seed in range(30 if request.config.getoption("--long") else 1):
        random, module = Random(seed), example(name)
        with fake_source() as source, place(name, tmp_path / f"{seed}") as (where, contents):
            for _ in range(8):
                live_on(source, random)
                module.follow = killing(random.randint(0, 2), within=random.random() < 0.5)
                with suppress(Killed):
                    module.update(source.url, where, **PATIENCE)
                module.follow = follow
                module.update(source.url, where, **PATIENCE)
                wanted = {f"{source.url}{path}": data for path, data in source.resources.items()}
                if name == "search_index":  # only pages
                    wanted = {uri: data for uri, data in wanted.items() if uri.endswith((".html", "/"))}
                if name == "git_history":
                    wanted = {conflict_path_of(uri, None): data for uri, data in wanted.items()}
                assert contents() == wanted


def test_a_change_that_the_index_refuses(tmp_path: Path) -> None:
    """The run ends with the reason, and the next one sends it again; without a cursor, the index begins empty."""
    module, index = example("elastic_index"), ElasticIndex()
    with fake_source({"a.html": "1", "b.html": "2"}) as source, live(index.answer) as site:
        where = f"{site.url}/pages"
        index.refuse = True
        with pytest.raises(OSError, match=r"/pages refused a change: .*es_rejected_execution_exception"):
            module.update(source.url, where, **PATIENCE)
        assert not index.positions
        index.refuse = False
        index.written["old"] = index.found["old"] = {
            "source": module.key(source.url),
            "uri": f"{source.url}gone.html",
            "text": "of a run without a cursor",
        }
        module.update(source.url, where, **PATIENCE)
        assert index.texts() == {f"{source.url}a.html": b"1", f"{source.url}b.html": b"2"}
        module.BATCH = 2  # lines: the deletion and the update are sent apart
        source.update({"a.html": None, "b.html": "3", "c.html": "4"})
        module.update(source.url, where, **PATIENCE)
        assert index.texts() == {f"{source.url}b.html": b"3", f"{source.url}c.html": b"4"}


def test_database_in_postgresql(tmp_path: Path) -> None:
    """The same program follows into PostgreSQL."""
    module = example("database")
    try:
        with running() as server, fake_source({"a.html": "1", "b.html": "2"}) as source:
            url = server.empty_database()
            where = url.replace("postgresql://", "postgresql+psycopg://")  # as docs/follow.md says
            module.update(source.url, where, **PATIENCE)
            source.update({"a.html": None, "b.html": "3"})
            module.update(source.url, where, **PATIENCE)
            with psycopg.connect(server.dsn(url)) as connection:
                rows = connection.execute("SELECT uri, content FROM resource").fetchall()
            assert rows == [(f"{source.url}b.html", b"3")]
    except NoServerError as error:
        pytest.skip(str(error))


def test_search(tmp_path: Path) -> None:
    """The index finds pages by their words."""
    module = example("search_index")
    with fake_source({"a.html": "of ships and shoes", "b.html": "of sealing wax"}) as source:
        module.update(source.url, tmp_path / "index", **PATIENCE)
        assert module.search(tmp_path / "index", "wax") == [f"{source.url}b.html"]


def test_texts(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    """After each publication an index is equal to a new one, and takes a small part of the texts to be so."""
    number, times = (1_000, 50) if pytestconfig.option.long else (100, 6)
    module, random, site = example("text_index"), Random(7), Source(tmp_path)
    pages = {f"p{name}.html": random.randrange(100) for name in range(number)}
    kept, put, whole = module.Texts(), 0, 0
    counting = Counting(kept)
    for time in range(times):
        pages |= {name: random.randrange(100) for name in random.sample([*pages], number // 50)}
        pages[f"new{time}.html"] = time
        pages.pop(random.choice([*pages]))
        contents = {name: text_page(text, around=str(time)) for name, text in pages.items()}
        site.publish(contents, f"{date(2026, 1, 1) + timedelta(days=time)}T10:00")
        counting.number = 0
        module.update(str(tmp_path), counting)
        fresh = module.Texts()
        module.update(str(tmp_path), fresh)
        assert kept == fresh
        if time:
            put, whole = put + counting.number, whole + len(pages)
    assert put <= whole * 0.05


class Counting:
    """A store that counts the texts that are put into it."""

    def __init__(self, texts: Any) -> None:
        self.texts, self.number, self.cursor = texts, 0, ""
        self.remove, self.clear = texts.remove, texts.clear

    def put(self, url: str, text: str, about: dict[str, str]) -> None:
        """Put a text."""
        self.number += 1
        self.texts.put(url, text, about)


def text_page(text: int, around: str) -> bytes:
    """Return a page with a text, and navigation around it that says when it was built."""
    return f"<title>T</title><nav>{around}</nav><main><h1>T</h1><p>About {text}</p></main>".encode()


def test_commits(tmp_path: Path) -> None:
    """Each change is one commit, in order, and none is repeated."""
    module = example("git_history")
    with fake_source({"a.html": "1", "b.html": "2"}) as source:
        module.update(source.url, tmp_path, **PATIENCE)
        source.update({"b.html": "3", "a.html": None})
        module.update(source.url, tmp_path, **PATIENCE)
        module.update(source.url, tmp_path, **PATIENCE)
        said = module.git(tmp_path, "log", "--reverse", "--format=%s").splitlines()
        ends = ["created a", "created b", "updated b", "deleted a"]
        assert said == [
            f"Begin {source.url}",
            *(f"{kind} {source.url}{name}.html" for kind, name in map(str.split, ends)),
        ]


def run(name: str, monkeypatch: pytest.MonkeyPatch, *arguments: object) -> str:
    """Run an example as a program, and return with which message it ends."""
    monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
    try:
        runpy.run_path(str(ROOT / "docs/examples" / f"{name}.py"), run_name="__main__")
    except SystemExit as ended:
        return str(ended.code)
    return ""


@pytest.mark.parametrize("name", [*EXAMPLES, "text_index"])
def test_two_sources(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one Source does, also a reset and a resource that is missing, leaves what is there of the other."""
    with (
        fake_source({"a.html": "1"}) as one,
        fake_source({"a.html": "2", "b.html": "3"}) as two,
        place(name, tmp_path / "target") as (where, contents),
    ):
        assert run(name, monkeypatch, one.url, where) == ""
        if name == "git_history":
            message = f"{where} is the history of another Source: {one.url}"
            assert run(name, monkeypatch, two.url, where) == message
            return
        del two.published["b.html"]
        assert f"1 of the resources cannot be fetched; the next run tries again: {two.url}b.html" in run(
            name, monkeypatch, two.url, where
        )
        assert contents() == {f"{one.url}a.html": b"1", f"{two.url}a.html": b"2"}
        two.begin = two.now
        two.changes.clear()
        two.update({"a.html": None, "b.html": None, "c.html": "4"})
        assert run(name, monkeypatch, two.url, where) == run(name, monkeypatch, one.url, where) == ""
        assert contents() == {f"{one.url}a.html": b"1", f"{two.url}c.html": b"4"}


@pytest.mark.parametrize("name", [*EXAMPLES, "text_index"])
def test_host_that_is_down(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An example ends with one message, and no traceback; the next run goes on. Without arguments, it says its use."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}/"
    monkeypatch.setattr("pelican_resourcesync.source.source.time.sleep", lambda _: None)
    with place(name, tmp_path / "target") as (where, _):
        assert run(name, monkeypatch, url, where) == f"{url}: Connection refused"
    assert f"`python {name}.py https://example.org/ " in run(name, monkeypatch)
