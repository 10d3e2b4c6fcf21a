"""What reading a long history costs, beside the bare stream of `git log`: run by `python -m tests.benchmark history`.

A site is made whose history has articles that come, change, move and go, and is built by the real Pelican in processes
of their own: without the plug-in, with it for the first time, and with it again after one more commit.
"""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from unittest.mock import patch

from pelican import Pelican
from pelican.settings import read_settings

from pelican_resourcesync.git.log import LOG_CONFIGURATION, LOG_OPTIONS
from pelican_resourcesync.git.repository import find_repository
from pelican_resourcesync.site.history import GitHistory
from pelican_resourcesync.site.history.sources import Sources, quiet_reading
from pelican_resourcesync.site.outputs.roles import Role
from tests.benchmark import Stopwatch
from tests.support.sites import ROOT, Site

#: What a first history may cost: so many times the bare stream, and so many seconds for each past state. The goal, 1.5
#: streams and one reading of each state, is not met where each new article moves up to two hundred pages of the index.
FIRST_STREAMS, FIRST_STATE = 3.0, 0.001
#: What the next one may cost, in bare streams.
STREAMS = 1.5
#: What the plug-in may need beside Pelican, in bytes.
MEMORY = 150 * 10**6

_BEGIN = datetime(2015, 1, 1, 9, tzinfo=UTC)
_FOLDERS = ("coins", "ledgers", "bridges", "maps", "letters", "news/house", "news/town")
_TAGS = tuple(
    f"{size} {thing}"
    for size in ("large", "small", "lost", "new")
    for thing in ("bell", "boat", "bone", "book", "bowl")
)
_AUTHORS = ("Ada Bell", "Béla Kún", "Chloë Ruiz", "Dag Ås")
_WORDS = "Coins weigh little; ledgers weigh more, and *nobody* counts what a bridge has carried since it was built. "
_CHUNK = 1 << 16

#: Of a hundred commits that are no additions: what they do.
_DEEDS = [
    *["edit"] * 79,
    *["retitle"] * 4,
    *["retag"] * 5,
    *["rename"] * 3,
    *["delete"] * 2,
    *["page", "file"] * 3,
    "several",
]


@dataclass
class Source:
    """One article as it is at some commit."""

    path: str
    title: str
    slug: str
    date: datetime
    tags: list[str]
    author: str
    version: int = 0

    def text(self) -> str:
        """Give its Markdown: a head as people write it, and a body of some length."""
        head = {
            "Title": self.title,
            "Date": f"{self.date:%Y-%m-%d %H:%M}",
            "Modified": f"{self.date + timedelta(days=self.version):%Y-%m-%d}" if self.version else "",
            "Slug": self.slug,
            "Tags": ", ".join(self.tags),
            "Author": self.author,
            "Summary": f"What is known of {self.title}, and *how* we know it.",
        }
        lines = "".join(f"{name}: {value}\n" for name, value in head.items() if value)
        return f"{lines}\nVersion {self.version} of this text.\n\n" + f"{_WORDS * 5}\n\n" * 4


@dataclass
class Chronicle:
    """Writes a history as a stream for `git fast-import`; the same for the same numbers.

    `states` counts the states of articles and pages that were ever committed, `live` those at the end.
    """

    commits: int
    articles: int
    states: int = 0
    _random: Random = field(default_factory=lambda: Random(9))
    _sources: list[Source] = field(default_factory=list)
    _made: int = 0
    _pages: set[str] = field(default_factory=set)

    @property
    def live(self) -> int:
        """The states that are built: those of the last commit."""
        return len(self._sources) + len(self._pages)

    def stream(self) -> Iterator[str]:
        """Give the stream, to go on after the first commit of `main`."""
        parent = "from refs/heads/main^0\n"
        for number, deed in enumerate(self._deeds()):
            when = _BEGIN + timedelta(hours=7 * number, seconds=self._random.randrange(9000))
            stamp = f"A writer <writer@example.org> {int(when.timestamp())} +0100"
            changes = "".join(self._do(deed, when))
            yield f"commit refs/heads/main\ncommitter {stamp}\ndata {len(deed)}\n{deed}\n{parent}{changes}"
            parent = ""

    def _deeds(self) -> Iterator[str]:
        """Give what each commit does: enough additions that so many articles are left."""
        others = [_DEEDS[number % len(_DEEDS)] for number in range(self.commits)]
        additions = self.articles
        while additions - others[: self.commits - additions].count("delete") < self.articles:
            additions += 1
        deeds = ["add"] * additions + others[: self.commits - additions]
        head, rest = deeds[:20], deeds[20:]
        self._random.shuffle(rest)
        yield from head + rest

    def _do(self, deed: str, when: datetime) -> Iterator[str]:
        match deed:
            case "add":
                yield self._add(when)
            case "page":
                name = f"pages/page{self._random.randrange(12)}.md"
                self._pages.add(name)
                yield self._put(name, f"Title: {name[6:-3].title()}\n\nOn {when}.\n\n{_WORDS * 9}\n")
            case "file":
                name = f"images/image{self._random.randrange(60)}.svg"
                yield _modify(name, f"<svg xmlns='http://www.w3.org/2000/svg'><!-- {when} --></svg>\n")
            case "several":
                for source in self._random.sample(self._sources, 5):
                    yield self._edit(source)
            case "delete":
                source = self._sources.pop(self._random.randrange(len(self._sources)))
                yield f"D content/{source.path}\n"
            case "rename":
                yield from self._rename(self._choose())
            case "retitle":
                source = self._choose()
                source.title = f"{source.title.partition(',')[0]}, edition {source.version}"
                yield self._edit(source)
            case "retag":
                source = self._choose()
                source.tags = self._tags()
                yield self._edit(source)
            case _:
                yield self._edit(self._choose())

    def _choose(self) -> Source:
        """Choose an article, one of the last fifty in most cases."""
        recent = self._sources[-50:]
        return self._random.choice(recent if self._random.random() < 0.6 else self._sources)

    def _tags(self) -> list[str]:
        return sorted(self._random.sample(_TAGS, 3))

    def _add(self, when: datetime) -> str:
        number, self._made = self._made, self._made + 1
        folder = self._random.choice(_FOLDERS)
        name = f"object-{number:05}"
        self._sources.append(
            Source(
                path=f"{folder}/{name}.md",
                title=f"Object {number}",
                slug=name,
                date=when,
                tags=self._tags(),
                author=self._random.choice(_AUTHORS),
            )
        )
        return self._put(self._sources[-1].path, self._sources[-1].text())

    def _edit(self, source: Source) -> str:
        source.version += 1
        return self._put(source.path, source.text())

    def _rename(self, source: Source) -> Iterator[str]:
        """Move a source: into another folder, where it keeps its URL, or to another slug."""
        before = source.path
        folder, _, name = before.rpartition("/")
        if self._random.random() < 0.5:
            folder = self._random.choice([other for other in _FOLDERS if other != folder])
        else:
            name = f"{name[:12]}-{source.version}-{self._random.randrange(10**6)}.md"
            source.slug = name[:-3]
        source.path = f"{folder}/{name}"
        yield f"D content/{before}\n"
        yield self._edit(source)

    def _put(self, path: str, text: str) -> str:
        self.states += 1
        return _modify(path, text)


def _modify(path: str, text: str) -> str:
    return f"M 100644 inline content/{path}\ndata {len(text.encode())}\n{text}\n"


@dataclass(frozen=True, slots=True)
class Long:
    """A site of a long history, of which `past` states of sources are there no more."""

    site: Site
    past: int


def make_long_site(folder: Path, commits: int, articles: int) -> Long:
    """Make a site with a history of `commits` commits, which leave `articles` articles."""
    site = Site.create(folder, DEFAULT_PAGINATION=10, FEED_ALL_ATOM="feeds/all.atom.xml", FEED_MAX_ITEMS=20)
    site.configure(STATIC_PATHS=["images"], CATEGORY_FEED_ATOM="feeds/{slug}.atom.xml")
    site.commit("2014-12-31T08:00:00Z", "Begin")
    chronicle = Chronicle(commits - 1, articles)
    command = ["git", "fast-import", "--quiet", "--force"]
    with subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE) as process:
        assert process.stdin
        for commit in chronicle.stream():
            process.stdin.write(commit.encode())
    assert process.returncode == 0
    site.git("reset", "-q", "--hard", "main")
    return Long(site, chronicle.states - chronicle.live)


def edit(site: Site) -> None:
    """Make one more commit: an article is edited."""
    source = next(file for file in sorted((site.folder / "content" / "coins").iterdir()))
    source.write_text(f"{source.read_text('utf-8')}\nOne more line.\n", "utf-8")
    site.commit("2025-01-01T08:00:00Z")


def work() -> float:
    """Give the seconds for which processors have worked for this process and those that it has waited for.

    What else the machine does at the time makes little difference to these.
    """
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def bare_stream(folder: Path) -> float:
    """Give the seconds of work that it takes git to tell the history, and us to throw it away."""
    start = work()
    command = ["git", "-c", LOG_CONFIGURATION, "log", *LOG_OPTIONS, "HEAD", "--"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE) as process:
        assert process.stdout
        while process.stdout.read(_CHUNK):
            pass
    assert process.returncode == 0
    return work() - start


def bare_reading(site: Site) -> float:
    """Return the seconds of work that it takes to read the metadata of each past state of a source once."""
    settings = read_settings(str(site.folder / "pelicanconf.py"))
    repository = find_repository(site.folder)
    changes = [change for commit in repository.log() for change in commit.changes]
    last = {change.path: change for change in changes}
    past = [each for each in changes if each.new and each.path.endswith(".md") and last[each.path] is not each]
    start = work()
    repository.prefetch([str(each.new) for each in past])
    with Sources(settings, "https://example.org", []) as sources, quiet_reading():
        for each in past:
            role = Role.PAGE if each.path.startswith("content/pages/") else Role.ARTICLE
            sources.past(each.path.removeprefix("content/"), role, partial(repository.blob, str(each.new)))
    seconds = work() - start
    repository.close()
    return seconds


@dataclass(frozen=True, slots=True)
class Build:
    """One build in a process of its own: seconds of its history, of work and by the clock, and the most bytes held."""

    history: float
    clock: float
    memory: int


@dataclass(frozen=True, slots=True)
class Figures:
    """What the history of one site costs, in seconds of work and bytes.

    `stream` is git's bare stream, `reading` the reading of the metadata of all past states of sources, of which there
    are `past`; `first` is the first build, `following` the one after one more commit. `memory` is what the plug-in
    needs beside Pelican.
    """

    stream: float
    reading: float
    first: Build
    following: Build
    past: int
    memory: int

    @property
    def first_goal(self) -> float:
        """The seconds that the history of a first publication should cost."""
        return STREAMS * self.stream + self.reading

    @property
    def first_limit(self) -> float:
        """The seconds that it may cost."""
        return FIRST_STREAMS * self.stream + FIRST_STATE * self.past

    @property
    def following_goal(self) -> float:
        """The seconds that the history of the next one may cost."""
        return STREAMS * self.stream

    def __str__(self) -> str:
        return (
            f"bare stream {self.stream:.3f} s, {self.past} past states read in {self.reading:.2f} s; "
            f"first {self.first.history:.2f} s (by the clock {self.first.clock:.2f}, limit {self.first_limit:.2f}, "
            f"goal {self.first_goal:.2f}), "
            f"next {self.following.history:.2f} s (by the clock {self.following.clock:.2f}, goal "
            f"{self.following_goal:.2f}), "
            f"memory {self.memory / 10**6:.0f} MB (goal {MEMORY / 10**6:.0f})"
        )


def measure(long: Long) -> Figures:
    """Build a site again and again, and see what its history costs."""
    streams = [bare_stream(long.site.folder) for _ in range(3)]
    plain = build(long.site, publish=False)
    long.site.git("clean", "-fdxq")
    first = build(long.site)
    reading = bare_reading(long.site)
    streams += [bare_stream(long.site.folder) for _ in range(3)]
    edit(long.site)
    following = build(long.site)
    streams += [bare_stream(long.site.folder) for _ in range(3)]
    return Figures(
        stream=median(streams),
        reading=reading,
        first=first,
        following=following,
        past=long.past,
        memory=max(first.memory, following.memory) - plain.memory,
    )


def build(site: Site, *, publish: bool = True) -> Build:
    """Build a site in a process of its own."""
    command = [sys.executable, "-m", "tests.benchmark_history", "publish" if publish else "plain"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.run(command, cwd=site.folder, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return Build(**json.loads(process.stdout.splitlines()[-1]))


def _build_here(*, publish: bool) -> Build:
    """Build the site in the current folder in this process."""
    history, clock = Stopwatch(work), Stopwatch()
    with patch.object(GitHistory, "read", clock.around(history.around(GitHistory.read))):
        Pelican(read_settings("pelicanconf.py", override={} if publish else {"PLUGINS": []})).run()
    return Build(history.seconds, clock.seconds, _peak())


def _peak() -> int:
    """Give the most bytes that this process held.

    Linux counts in `ru_maxrss` what the process that started this one held, so there we ask elsewhere.
    """
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text("ascii").partition("VmHWM:")[2].split()[0]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    figures = asdict(_build_here(publish="publish" in sys.argv))
    sys.stdout.write(f"{json.dumps(figures)}\n")
