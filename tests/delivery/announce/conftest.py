"""A site that is live, the search engine that it announces to, and its hubs."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pelican_resourcesync.delivery import announce
from tests.kit.folders import Folder
from tests.kit.hub import IndexNow
from tests.kit.live import Ask, Live, Manner, files, live
from tests.kit.sites import our_command
from tests.publishers.folder.conftest import page

KEY = "0123456789abcdef-XY"


class Site(Folder):
    """A folder, what is live of it, and the search engine."""

    www: Path
    host: Live
    engine: IndexNow
    endpoint: str
    month = 0

    def release(self, files: dict[str, bytes | str], *gone: str, deploy: bool = True) -> None:
        """Publish with these files changed and others gone, a month later, and deploy that."""
        self.month += 1
        self.write(files)
        for path in gone:
            (self.public / path).unlink()
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SOURCE_DATE_EPOCH", str(int(datetime(2026, self.month, 2, 10, tzinfo=UTC).timestamp())))
            self.run()
        if deploy:
            self.deploy()

    def deploy(self) -> None:
        """Let what was published be live."""
        copy = self.www.with_name("next")
        shutil.copytree(self.public, copy)
        shutil.rmtree(self.www, ignore_errors=True)
        copy.rename(self.www)

    def announce(self, *options: str, target: str = "public", status: int = 0) -> str:
        """Announce, and return all that was printed."""
        done = our_command(self.base, "announce", target, "--endpoint", self.endpoint, *options, check=False)
        assert done.returncode == status, done
        return done.stdout + done.stderr

    def told(self) -> list[str]:
        """Return the paths that the engine was told, and forget them."""
        urls = [url.removeprefix(f"{self.url}/") for some in self.engine.told for url in some]
        self.engine.told.clear()
        return urls


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """Return a site that is live in its first publication."""
    monkeypatch.setattr(announce, "_PAUSE", 0.05)
    monkeypatch.setattr(announce, "_BACKOFF", 0.01)
    engine, www = IndexNow(), tmp_path / "www"
    with live(files(www)) as host, live(engine) as endpoint:
        made = Site(tmp_path / "work", host.url)
        made.www, made.host, made.engine, made.endpoint = www, host, engine, f"{endpoint.url}/indexnow"
        made.write({})
        made.base.mkdir()
        made.configure(f'indexnow_key = "{KEY}"\nallow_deletions = true')
        made.release({"index.html": page("Home"), "a/index.html": page("A"), "b.html": page("B"), "feed.xml": "<rss/>"})
        yield made


def with_headers(folder: Path, manner: Manner) -> Manner:
    """Return how a host answers that sends the headers of the file `_headers`."""

    @contextmanager
    def adding(ask: Ask) -> Iterator[None]:
        links, applies = [], False
        for line in (folder / "_headers").read_text().splitlines():
            if line.startswith("/"):
                applies = line.removeprefix("/").removesuffix("*") in (ask.path, "")
            elif applies and line.startswith("  Link: "):
                links.append(line.removeprefix("  Link: "))
        end = ask.handler.end_headers

        def end_headers() -> None:
            ask.handler.send_header("Link", ", ".join(links))
            end()

        ask.handler.end_headers = end_headers  # type: ignore[method-assign]  # of this one request
        try:
            yield
        finally:
            del ask.handler.end_headers

    def answer(ask: Ask) -> None:
        with adding(ask):
            manner(ask)

    return answer
