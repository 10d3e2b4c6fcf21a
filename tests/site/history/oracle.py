"""The rule once more, slow and obvious: from `docs/history.md` and by Pelican itself, without any code of the product.

Each commit of the published line is checked out, and Pelican's own generators say, under the settings of today, which
sources were public and at which URLs. What follows is the description of the rule, interval by interval.
"""

import io
import logging
import subprocess
import tarfile
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pelican.generators import ArticlesGenerator, PagesGenerator, StaticGenerator
from pelican.settings import read_settings

SETTINGS_FILE = "pelicanconf.py"
BROKEN = b"some day"

Tree = dict[str, bytes]
#: The URLs of each source that is public.
State = dict[str, frozenset[str]]
#: A change: number of the landing, kind, URL.
Change = tuple[int, str, str]


@dataclass(frozen=True, slots=True)
class Life:
    """A source that was public from the landing `start` on, and no longer at `end`."""

    path: str
    start: int
    end: int


def expected_changes(repository: Path, loose: Tree | None) -> set[Change]:
    """Return the changes of the sources of a repository, whose work tree is `loose` where that is not committed."""
    commits = _git(repository, "rev-list", "--first-parent", "--reverse", "HEAD").decode().split()
    trees = [_tree(repository, commit) for commit in commits] + ([loose] if loose else [])
    with tempfile.TemporaryDirectory() as folder:
        states = [_state(Path(folder, str(number)), tree, trees[-1]) for number, tree in enumerate(trees)]
    names = [tree.get(SETTINGS_FILE) for tree in trees]
    configured = max(number for number, data in enumerate(names) if number == 0 or data != names[number - 1])
    lives = [life for path in {path for state in states for path in state} for life in _lives(path, states)]
    shown: list[dict[str, set[bytes]]] = [defaultdict(set) for _ in trees]
    for life in lives:
        for url in _urls(life, lives, trees, states, configured):
            for number in range(life.start, life.end):
                shown[number][url].add(trees[number][life.path])
    return {
        change
        for number, now in enumerate(shown)
        for change in _changes(number, shown[number - 1] if number else {}, now)
    }


def _lives(path: str, states: Sequence[State]) -> list[Life]:
    """Return the times in which a source was public without interruption."""
    public = [path in state for state in states] + [False]
    starts = [number for number, now in enumerate(public) if now and not (number and public[number - 1])]
    return [Life(path, start, public.index(False, start)) for start in starts]


def _urls(
    life: Life, lives: Sequence[Life], trees: Sequence[Tree], states: Sequence[State], configured: int
) -> frozenset[str]:
    """Return the URLs at which a life is named: none where it is not."""
    if life.end == len(trees):
        return states[-1][life.path]
    last = states[life.end - 1][life.path]
    if life.path not in trees[life.end]:
        for other in lives:
            is_new = other.start == life.end and other.path not in trees[life.end - 1]
            if is_new and states[other.start][other.path] == last:
                return _urls(other, lives, trees, states, configured)
    is_known = BROKEN not in trees[life.end].get(life.path, b"")
    return last if life.end > configured and is_known else frozenset()


def _changes(number: int, before: dict[str, set[bytes]], now: dict[str, set[bytes]]) -> set[Change]:
    created = {(number, "created", url) for url in now.keys() - before.keys()}
    deleted = {(number, "deleted", url) for url in before.keys() - now.keys()}
    return (
        created | deleted | {(number, "updated", url) for url in now.keys() & before.keys() if now[url] != before[url]}
    )


def _state(folder: Path, tree: Tree, today: Tree) -> State:
    """Return which sources of a tree are public at which URLs, under the settings of today."""
    for path, data in (tree | {SETTINGS_FILE: today[SETTINGS_FILE]}).items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    for name in ("content", "theme/templates"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    quiet = {"PLUGINS": [], "RESOURCESYNC": {"enabled": False}, "CACHE_CONTENT": False}
    settings = read_settings(str(folder / SETTINGS_FILE), override=quiet)
    context = {**settings, "generated_content": {}, "static_links": set(), "static_content": {}}
    context["localsiteurl"] = settings["SITEURL"]
    articles, pages, static = [
        kind(context=context, settings=settings, path=settings["PATH"], theme=settings["THEME"], output_path="")
        for kind in (ArticlesGenerator, PagesGenerator, StaticGenerator)
    ]
    logging.disable(logging.CRITICAL)
    try:
        for generator in (articles, pages, static):
            generator.generate_context()
    finally:
        logging.disable(logging.NOTSET)
    state: State = {}
    for content in [*articles.articles, *articles.translations, *pages.pages, *pages.translations]:
        copy = [content.save_as.rpartition(".")[0] + ".text"] if settings["OUTPUT_SOURCES"] else []
        state[f"content/{content.get_relative_source_path()}"] = frozenset([content.url, *copy])
    for file in context["staticfiles"]:
        state[f"content/{file.get_relative_source_path()}"] = frozenset([file.url])
    return state | {
        path: frozenset([path.replace("static/", "", 1)]) for path in tree if path.startswith("theme/static/")
    }


def _tree(repository: Path, commit: str) -> Tree:
    """Return the files of a commit."""
    with tarfile.open(fileobj=io.BytesIO(_git(repository, "archive", "--format=tar", commit))) as archive:
        files = ((each.name, archive.extractfile(each)) for each in archive.getmembers())
        return {name: file.read() for name, file in files if file}


def _git(repository: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=repository, check=True, capture_output=True).stdout
