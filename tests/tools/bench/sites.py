"""Sites with a long history for benchmarks: articles that come, change, move and go. The same for the same numbers."""

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from tests.kit.sites import Site

_BEGIN = datetime(2015, 1, 1, 9, tzinfo=UTC)
_FOLDERS = ("coins", "ledgers", "bridges", "maps", "letters", "news/house", "news/town")
_TAGS = tuple(
    f"{size} {thing}"
    for size in ("large", "small", "lost", "new")
    for thing in ("bell", "boat", "bone", "book", "bowl")
)
_AUTHORS = ("Ada Bell", "Béla Kún", "Chloë Ruiz", "Dag Ås")
_WORDS = "Coins weigh little; ledgers weigh more, and *nobody* counts what a bridge has carried since it was built. "

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
        """Return its Markdown: a head as people write it, and a body of some length."""
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
    """Writes a history as a stream for `git fast-import`."""

    commits: int
    articles: int
    _random: Random = field(default_factory=lambda: Random(9))
    _sources: list[Source] = field(default_factory=list)
    _made: int = 0

    def stream(self) -> Iterator[str]:
        """Yield the stream, to go on after the first commit of `main`."""
        parent = "from refs/heads/main^0\n"
        for number, deed in enumerate(self._deeds()):
            when = _BEGIN + timedelta(hours=7 * number, seconds=self._random.randrange(9000))
            stamp = f"A writer <writer@example.org> {int(when.timestamp())} +0100"
            changes = "".join(self._do(deed, when))
            yield f"commit refs/heads/main\ncommitter {stamp}\ndata {len(deed)}\n{deed}\n{parent}{changes}"
            parent = ""

    def _deeds(self) -> Iterator[str]:
        """Yield what each commit does: enough additions that so many articles are left."""
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
        return _modify(path, text)


def _modify(path: str, text: str) -> str:
    return f"M 100644 inline content/{path}\ndata {len(text.encode())}\n{text}\n"


def make_site(folder: Path, commits: int, articles: int) -> Site:
    """Make a site with a history of `commits` commits, which leave `articles` articles."""
    site = Site.create(folder, DEFAULT_PAGINATION=10, FEED_ALL_ATOM="feeds/all.atom.xml", FEED_MAX_ITEMS=20)
    site.configure(STATIC_PATHS=["images"], CATEGORY_FEED_ATOM="feeds/{slug}.atom.xml")
    site.commit("2014-12-31T08:00:00Z", "Begin")
    stream = "".join(Chronicle(commits - 1, articles).stream()).encode()
    subprocess.run(["git", "fast-import", "--quiet", "--force"], cwd=folder, input=stream, check=True)
    site.git("reset", "-q", "--hard", "main")
    return site


def edit(site: Site) -> None:
    """Make one more commit: an article is edited."""
    source = next(file for file in sorted((site.folder / "content").rglob("*.md")))
    source.write_text(f"{source.read_text('utf-8')}\nOne more line.\n", "utf-8")
    site.commit("2025-01-01T08:00:00Z")
