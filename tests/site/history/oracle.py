"""The rule once more, slow and obvious: from `docs/history.md` and by Pelican itself, without any code of the product.

Each commit of the published line is checked out, and Pelican's own generators say, under the settings of today, which
URLs there were and what each showed. Two such states, one after another, are compared.
"""

import ast
import io
import logging
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pelican.generators import ArticlesGenerator, PagesGenerator, StaticGenerator
from pelican.paginator import Paginator
from pelican.readers import Readers
from pelican.settings import read_settings

SETTINGS_FILE = "pelicanconf.py"
#: What metadata depends on beside the sources, of what the histories change.
_METADATA = ("DEFAULT_LANG",)

Tree = dict[str, bytes]


@dataclass(slots=True)
class State:
    """What a site showed at each URL at one time, and which settings formed the URLs."""

    shown: dict[str, object] = field(default_factory=dict)
    formed: dict[str, set[str]] = field(default_factory=dict)

    def put(self, url: str, shown: object, *settings: str) -> None:
        """Take note of a URL."""
        self.shown[url] = shown
        self.formed[url] = set(settings)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The changes that the rule lists, as (number of the landing, kind, URL), and how much it leaves out."""

    changes: set[tuple[int, str, str]]
    left_out: int


def judge(repository: Path, loose: Tree | None) -> Verdict:
    """Return what the rule says of a repository, whose work tree is `loose` where that is not committed."""
    commits = _git(repository, "rev-list", "--first-parent", "--reverse", "HEAD").decode().split()
    trees = [_tree(repository, commit) for commit in commits] + ([loose] if loose else [])
    begin = next(number for number, tree in enumerate(trees) if SETTINGS_FILE in tree)
    settings = [_plain(tree.get(SETTINGS_FILE)) for tree in trees]
    with tempfile.TemporaryDirectory() as folder:
        pelican = _Pelican(Path(folder), trees[-1][SETTINGS_FILE])
        known, unknown = pelican.understood(trees, begin)
        states = [State()] * begin + [pelican.state(tree) for tree in known[begin:]]
    changes: set[tuple[int, str, str]] = set()
    for url in {url for state in states for url in state.shown}:
        first = begin
        if url not in states[-1].shown:
            forming = set().union(*(state.formed.get(url, ()) for state in states))
            first = max(begin, _same_since(settings, forming))
        life = set(_life(url, states, first))
        changes |= life
        unknown += not life
    return Verdict(changes, unknown)


def _life(url: str, states: Sequence[State], first: int) -> Iterator[tuple[int, str, str]]:
    """Return the changes of a URL, before whose `first` state nothing is known."""
    nothing: Mapping[str, object] = {}
    for number in range(first, len(states)):
        before = states[number - 1].shown if number > first else nothing
        now = states[number].shown
        if url in now and url not in before:
            yield number, "created", url
        elif url in before and url not in now:
            yield number, "deleted", url
        elif url in now and now[url] != before[url]:
            yield number, "updated", url


def _same_since(settings: Sequence[Mapping[str, Any]], names: set[str]) -> int:
    """Return the number of the landing since which these settings are what they are today."""
    since = len(settings) - 1
    while since and all(settings[since - 1].get(name) == settings[-1].get(name) for name in names):
        since -= 1
    return since


class _Pelican:
    """Pelican under the settings of today, asked about the sources of another time."""

    def __init__(self, folder: Path, settings_file: bytes) -> None:
        self._folder = folder
        self._number = 0
        file = folder / SETTINGS_FILE
        file.write_bytes(settings_file)
        quiet = {"PLUGINS": [], "RESOURCESYNC": {"enabled": False}, "CACHE_CONTENT": False}
        (folder / "content").mkdir()
        (folder / "theme/templates").mkdir(parents=True)
        self._settings = read_settings(str(file), override=quiet)

    def understood(self, trees: Sequence[Tree], begin: int) -> tuple[list[Tree], int]:
        """Return the trees with, for each source that does not parse, what was before it; and how many do not."""
        before: Tree = {}
        found: list[Tree] = []
        unknown = 0
        for number, tree in enumerate(trees):
            now: Tree = {}
            for path, data in tree.items():
                if self._parses(path, data):
                    now[path] = data
                elif path in before:
                    now[path] = before[path]
                unknown += path not in now or now[path] != data if self._is_new(trees, number, begin, path) else 0
            before = now if number >= begin else {}
            found.append(now)
        return found, unknown

    @staticmethod
    def _is_new(trees: Sequence[Tree], number: int, begin: int, path: str) -> bool:
        """Return whether a file is another one than at the landing before; all are at the first one that counts."""
        return number == begin or (number > begin and trees[number - 1].get(path) != trees[number][path])

    def _parses(self, path: str, data: bytes) -> bool:
        if not path.endswith(".md"):
            return True
        file = self._folder / "one.md"
        file.write_bytes(data)
        try:
            Readers(self._settings).read_file(str(self._folder), "one.md")
        except ValueError:
            return False
        return True

    def state(self, tree: Tree) -> State:
        """Return what a site of these files showed."""
        self._number += 1
        folder = self._folder / str(self._number)
        for path, data in tree.items():
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        (folder / "content").mkdir(exist_ok=True)
        settings = {**self._settings, "PATH": str(folder / "content"), "OUTPUT_PATH": str(folder / "output")}
        context = {**settings, "generated_content": {}, "static_links": set(), "static_content": {}}
        context["localsiteurl"] = settings["SITEURL"]
        generators = [
            kind(context=context, settings=settings, path=settings["PATH"], theme=settings["THEME"], output_path="")
            for kind in (ArticlesGenerator, PagesGenerator, StaticGenerator)
        ]
        logging.disable(logging.CRITICAL)
        try:
            for generator in generators:
                generator.generate_context()
            state = State()
            writer = _Writer(state, settings, tree)
            generators[0].generate_feeds(writer)
            generators[0].generate_pages(writer)
            generators[1].generate_output(writer)
        finally:
            logging.disable(logging.NOTSET)
        for static in context["staticfiles"]:
            state.put(static.url, tree[f"content/{static.get_relative_source_path()}"], *_METADATA)
        for path, data in tree.items():
            if path.startswith("theme/static/"):
                state.put(path.replace("static/", "", 1), data)
        return state


class _Writer:
    """Takes the place of Pelican's writer: notes what would be written, and writes nothing."""

    def __init__(self, state: State, settings: Mapping[str, Any], tree: Tree) -> None:
        self._state = state
        self._settings = settings
        self._tree = tree

    def write_file(self, name: str, template: Any, context: Any, *, url: str, **kwargs: Any) -> None:
        """Take note of the page of a content, or of the pages of a listing."""
        del template, context
        content = kwargs.get("article") or kwargs.get("page")
        if not name:
            return
        if content is not None:
            self._content(content)
            return
        kind = kwargs["template_name"]
        needed = {"tags": "tags", "categories": "category", "authors": "authors"}.get(kind, "title")
        articles = [article for article in kwargs["articles"] if getattr(article, needed, None)]
        setting = "YEAR_ARCHIVE" if kind == "period_archives" else kind.upper()
        formed = (f"{setting}_SAVE_AS", f"{setting}_URL", *_METADATA)
        show = self._whole if kind == "index" else self._head
        if kind not in self._settings["PAGINATED_TEMPLATES"]:
            self._state.put(url, [show(each) for each in articles], *formed)
            return
        per_page = self._settings["PAGINATED_TEMPLATES"][kind] or self._settings["DEFAULT_PAGINATION"]
        paginator = Paginator(name, url, articles, self._settings, per_page)
        for number in range(1, paginator.num_pages + 1):
            page = paginator.page(number)
            paged = ("DEFAULT_PAGINATION",) if number > 1 else ()
            self._state.put(page.url, [show(each) for each in page.object_list], *formed, *paged)

    def write_feed(
        self, elements: Sequence[Any], context: Any, path: str, url: str, feed_type: str = "atom", **_: Any
    ) -> None:
        """Take note of a feed."""
        del context, url
        shown = [self._whole(each) for each in elements[: self._settings["FEED_MAX_ITEMS"]]]
        setting = next(name for name in FEEDS if FEEDS[name] == path.split("/", maxsplit=1)[0])
        self._state.put(path, shown, setting, *_METADATA)

    def _content(self, content: Any) -> None:
        if content.status != "published":
            return
        kind = type(content).__name__.upper()
        kind += "" if content.in_default_lang else "_LANG"
        formed = (f"{kind}_SAVE_AS", f"{kind}_URL", "OUTPUT_SOURCES", *_METADATA)
        data = self._data(content)
        self._state.put(content.url, data, *formed)
        if self._settings["OUTPUT_SOURCES"]:
            self._state.put(content.save_as.rpartition(".")[0] + ".text", data, *formed)

    def _data(self, content: Any) -> bytes:
        return self._tree[f"content/{content.get_relative_source_path()}"]

    def _whole(self, article: Any) -> object:
        return article.url, self._data(article)

    def _head(self, article: Any) -> object:
        return article.url, self._data(article).partition(b"\n\n")[0]


#: The feeds of the histories: where each lies.
FEEDS = {
    "FEED_ALL_ATOM": "all",
    "TAG_FEED_ATOM": "tags",
    "CATEGORY_FEED_RSS": "categories",
    "TRANSLATION_FEED_ATOM": "lang",
}


def _plain(data: bytes | None) -> dict[str, Any]:
    """Return the settings of a file that has one assignment of a plain value in each line."""
    lines = (line.partition(" = ") for line in (data or b"").decode().splitlines())
    return {name: ast.literal_eval(value) for name, _, value in lines}


def _tree(repository: Path, commit: str) -> Tree:
    """Return the files of a commit."""
    with tarfile.open(fileobj=io.BytesIO(_git(repository, "archive", "--format=tar", commit))) as archive:
        files = ((each.name, archive.extractfile(each)) for each in archive.getmembers())
        return {name: file.read() for name, file in files if file}


def _git(repository: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=repository, check=True, capture_output=True).stdout
