"""What publishing costs beside building: `python -m tests.benchmark [ARTICLES] [FORMAT]` (format md or rst).

`python -m tests.benchmark history [COMMITS] [ARTICLES]` says what a long history costs: see `benchmark_history`.

Makes a site of so many articles, one commit each and an edit for every third, builds it in one process, and gives the
seconds of Pelican, those of reading the history and writing the documents, those of all that we do (the links in the
pages too), and the ratios: the figures of one run on one machine.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

from pelican import Pelican
from pelican.settings import read_settings

from pelican_resourcesync.publication import publish_sets
from pelican_resourcesync.site import publisher
from pelican_resourcesync.site.history import GitHistory
from pelican_resourcesync.site.session import Session
from tests.support.sites import Site

_BEGIN = datetime(2015, 1, 1, 9, tzinfo=UTC)
_WORDS = "Coins weigh little; ledgers weigh more, and *nobody* counts what a bridge has carried since it was built. "


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of one run: of Pelican alone, of history and documents, and of everything that publishing does."""

    pelican: float
    history: float
    publishing: float

    @property
    def ratio(self) -> float:
        """Give what history and documents cost, as a part of what Pelican costs."""
        return self.history / self.pelican


def make_site(folder: Path, articles: int, form: str = "md") -> Site:
    """Make a site of `articles` articles whose history has four commits for every three of them."""
    site = Site.create(folder, DEFAULT_PAGINATION=10, FEED_ALL_ATOM="feeds/all.atom.xml", FEED_MAX_ITEMS=20)
    site.configure()
    site.commit("2015-01-01T08:00:00Z", "Begin")
    stream = "".join(_commits(articles, form)).encode()
    subprocess.run(["git", "fast-import", "--quiet", "--force"], cwd=folder, input=stream, check=True)
    site.git("reset", "-q", "--hard", "main")
    return site


def measure(site: Site) -> Cost:
    """Build and publish the site in this process, cold."""
    history, publishing = Stopwatch(), Stopwatch()
    settings = read_settings(str(site.folder / "pelicanconf.py"))
    with (
        patch.object(Session, "publish", publishing.around(Session.publish)),
        patch.object(GitHistory, "read", history.around(GitHistory.read)),
        patch.object(publisher, "publish", history.around(publish_sets)),
    ):
        start = time.perf_counter()
        Pelican(settings).run()
        whole = time.perf_counter() - start
    return Cost(whole - publishing.seconds, history.seconds, publishing.seconds)


class Stopwatch:
    """Adds up the seconds, by a clock, that functions take; they do what they always do."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        """Begin at nothing."""
        self.seconds = 0.0
        self._clock = clock

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Give the function, timed."""

        def timed(*arguments: Any, **named: Any) -> Any:
            start = self._clock()
            try:
                return function(*arguments, **named)
            finally:
                self.seconds += self._clock() - start

        return timed


def _commits(articles: int, form: str) -> Iterator[str]:
    """Give the history as a stream for `git fast-import`."""
    time = _BEGIN
    parent = "from refs/heads/main^0\n"
    for number in range(articles):
        edits = [number] if number % 3 else [number, number // 2]
        for version, edited in enumerate(edits):
            time += timedelta(hours=19)
            source = _article(edited, form, f"Version {number}.{version}")
            stamp = f"A writer <writer@example.org> {int(time.timestamp())} +0000"
            yield f"commit refs/heads/main\ncommitter {stamp}\ndata 1\nx\n{parent}"
            yield f"M 100644 inline content/{edited % 7}/a{edited:05}.{form}\ndata {len(source.encode())}\n{source}\n"
            parent = ""


def _article(number: int, form: str, note: str) -> str:
    date = (_BEGIN + timedelta(hours=19 * number)).strftime("%Y-%m-%d %H:%M")
    tags = f"shelf {chr(97 + number % 11)}, room {chr(97 + number % 23)}"
    body = "\n\n".join(_WORDS * 6 for _ in range(8))
    if form == "rst":
        title = f"Object {number}"
        return f"{title}\n{'#' * len(title)}\n\n:date: {date}\n:tags: {tags}\n\n{note}\n\n{body}\n"
    return f"Title: Object {number}\nDate: {date}\nTags: {tags}\n\n{note}\n\n{body}\n\n    code = {number}\n"


def measure_history(commits: int = 10_000, articles: int = 2_000) -> None:
    """Measure what a long history costs, and print it."""
    from tests import benchmark_history

    with tempfile.TemporaryDirectory() as folder:
        long = benchmark_history.make_long_site(Path(folder, "site"), commits, articles)
        figures = benchmark_history.measure(long)
    print(f"{commits} commits, {articles} articles: {figures}")


def main(arguments: list[str]) -> None:
    """Measure and print."""
    if arguments[:1] == ["history"]:
        measure_history(*(int(each) for each in arguments[1:]))
        return
    articles = int(arguments[0]) if arguments else 500
    form = arguments[1] if arguments[1:] else "md"
    with tempfile.TemporaryDirectory() as folder:
        site = make_site(Path(folder, "site"), articles, form)
        commits = site.git("rev-list", "--count", "HEAD")
        cost = measure(site)
    print(
        f"{articles} articles ({form}), {commits} commits: Pelican {cost.pelican:.2f} s, history and documents "
        f"{cost.history:.2f} s ({cost.ratio:.1%}), all of publishing {cost.publishing:.2f} s "
        f"({cost.publishing / cost.pelican:.1%})"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
