"""Random histories of small sites, written into a repository in one go by `git fast-import`."""

import subprocess
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from tests.site.history.cases import at, source
from tests.support.sites import SETTINGS, Site

Tree = dict[str, bytes]

BEGIN = datetime(2024, 1, 1, 8, tzinfo=UTC)  # the last landing of a day must not be at midnight

#: What may be changed of the settings, each with the values that it may have.
CHOICES: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "article": [at(ARTICLE="{slug}.html"), at(ARTICLE="{category}/{slug}/"), at(ARTICLE="{date:%d}/{slug}.html")],
    "translation": [at(ARTICLE_LANG="{slug}-{lang}.html"), at(ARTICLE_LANG="{lang}/{slug}.html")],
    "page": [at(PAGE="pages/{slug}.html"), at(PAGE="p/{slug}/")],
    "language": [{"DEFAULT_LANG": "en"}, {"DEFAULT_LANG": "fr"}],
    "sources": [{"OUTPUT_SOURCES": False}, {"OUTPUT_SOURCES": True}],
    "name": [{"SITENAME": "A site"}, {"SITENAME": "Another"}],
}

#: The settings that every commit has.
FIXED: dict[str, Any] = {
    **SETTINGS,
    "THEME": "theme",
    "AUTHOR_SAVE_AS": "",
    "DIRECT_TEMPLATES": ["index"],
    "TAG_SAVE_AS": "",
    "DEFAULT_METADATA": {"category": "misc"},
    "RESOURCESYNC": {"previous": "output", "allow_deletions": True},
}

ARTICLES = ("content/a.md", "content/b.md", "content/k/c.md", "content/k/d.md", "content/l/e.md", "content/f.md")
PAGES = ("content/pages/g.md", "content/pages/h.md")
FILES = ("content/images/i", "content/images/j", "theme/static/s", "theme/templates/t.html", "README")
EDITS = ("write", "write", "write", "remove", "rename", "settings", "edit")


@dataclass(frozen=True, slots=True)
class Landing:
    """What is there after a commit of the published line; `side` are those of the branch that it merged."""

    tree: Tree
    side: Sequence[Tree] = ()


@dataclass(frozen=True, slots=True, repr=False)
class History:
    """The landings of a repository, and what its work tree holds that is not committed."""

    landings: Sequence[Landing]
    loose: Tree | None

    def __repr__(self) -> str:
        trees = [each.tree for each in self.landings] + ([self.loose] if self.loose else [])
        lines = [f"{len(self.landings)} landings{', and an edit' if self.loose else ''}"]
        for number, (before, now) in enumerate(pairwise([{}, *trees])):
            lines += [f"{number} - {path}" for path in before.keys() - now.keys()]
            for path in (path for path in now if now[path] != before.get(path)):
                old = before.get(path, b"").splitlines()
                lines.append(f"{number} {path}: {[line for line in now[path].splitlines() if line not in old]}")
        return "\n".join(lines)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Let Hypothesis show a history by what its landings change."""
        printer.text(repr(self))

    def write(self, folder: Path) -> Site:
        """Make the repository, checked out, with its work tree as it is at the end."""
        folder.mkdir()
        site = Site(folder, dict(FIXED))
        site.git("init", "-q", "-b", "main")
        subprocess.run(["git", "fast-import", "--quiet"], cwd=folder, input=self._stream(), check=True)
        site.git("reset", "-q", "--hard")
        for path in set(self.landings[-1].tree) - set(self.loose or self.landings[-1].tree):
            site.remove(path)
        for path, data in (self.loose or {}).items():
            site.write(path, data)
        (folder / "content").mkdir(exist_ok=True)
        (folder / "theme/static").mkdir(parents=True, exist_ok=True)
        return site

    def _stream(self) -> bytes:
        found: list[bytes] = []
        marks = 0

        def commit(branch: str, time: datetime, tree: Tree, *parents: int) -> int:
            mark = marks + 1
            when = int(time.timestamp())
            lines = [f"commit refs/heads/{branch}", f"mark :{mark}", f"committer A <a@example.org> {when} +0000"]
            lines += ["data 0", *(f"{word} :{each}" for word, each in zip(("from", "merge"), parents, strict=False))]
            found.append("\n".join([*lines, "deleteall", ""]).encode())
            found.extend(b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(data), data)
                         for path, data in sorted(tree.items()))  # fmt: skip
            found.append(b"\n")
            return mark

        last: tuple[int, ...] = ()
        for number, landing in enumerate(self.landings):
            side = last
            for tree in landing.side:
                marks = commit("side", time_of(number), tree, *side)
                side = (marks,)
            marks = commit("main", time_of(number), landing.tree, *last, *(side if side != last else ()))
            last = (marks,)
        return b"".join(found)


def time_of(number: int) -> datetime:
    """Return the time at which a landing lands: the work tree's is that of the build."""
    return BEGIN + timedelta(hours=number)


@st.composite
def articles(draw: st.DrawFn, path: str) -> bytes:
    """Return an article or a page for a path, which makes its slug: two files never have one URL."""
    if draw(st.integers(0, 11)) == 0:
        return source("broken", Date="some day").encode()
    name = path.rpartition("/")[2].removesuffix(".md")
    metadata = {
        "Slug": draw(st.sampled_from([name, name, f"{name}{name}"])),
        "Date": draw(st.sampled_from(["2023-01-01", "2023-05-05", "2022-02-02", "2022-03-03"])),
        "Status": draw(st.sampled_from(["published", "published", "published", "draft", "hidden", "skip"])),
    }
    if path == "content/f.md":  # a translation of another, perhaps
        metadata |= {"Slug": draw(st.sampled_from(["f", "a"])), "Lang": "de"}
    if not draw(st.integers(0, 3)):
        metadata["Note"] = "of no matter"
    text = draw(st.sampled_from(["Text.", "Text.", "Another text."]))
    return source(name, text, **{key: value for key, value in metadata.items() if value}).encode()


@st.composite
def edited(draw: st.DrawFn, before: Tree, *, without: Collection[str] = ()) -> Tree:
    """Return a tree after a few edits, `without` those of some kinds."""
    tree = dict(before)
    for _ in range(draw(st.integers(1, 4))):
        what = draw(st.sampled_from([kind for kind in EDITS if kind not in without]))
        path = draw(st.sampled_from([*ARTICLES, *PAGES, *FILES]))
        if what == "write" and path.endswith(".md"):
            tree[path] = draw(articles(path))
        elif what == "write":
            tree[path] = draw(st.sampled_from([b"1", b"2"]))
        elif what == "edit" and path in tree:
            tree[path] += b"More.\n"
        elif what == "remove":
            tree.pop(path, None)
        elif what == "rename" and path in tree:
            data = tree.pop(path)
            folder, _, name = path.rpartition("/")
            moved = f"content/m/{name}" if path in ARTICLES else f"{folder}/n-{name}".lstrip("/")
            tree[moved] = data
        elif what == "settings":
            tree["pelicanconf.py"] = draw(configured(tree.get("pelicanconf.py")))
    return _without_doubles(before, tree)


def _without_doubles(before: Tree, tree: Tree) -> Tree:
    """Return a tree without what was written where a source was moved from, whose URL would be that of two."""
    names = [path.rpartition("/")[2].removeprefix("n-") for path in tree]
    return tree if len(names) == len(set(names)) else before


@st.composite
def configured(draw: st.DrawFn, before: bytes | None) -> bytes:
    """Return a settings file, with one of its settings changed."""
    if before is None:
        settings = FIXED | {name: value for choices in CHOICES.values() for name, value in choices[0].items()}
    else:
        lines = (line.partition(" = ") for line in before.decode().splitlines())
        settings = {name: eval(value) for name, _, value in lines}
    settings |= draw(st.sampled_from(draw(st.sampled_from(list(CHOICES.values())))))
    return "".join(f"{name} = {value!r}\n" for name, value in settings.items()).encode()


@st.composite
def histories(draw: st.DrawFn, most: int = 8) -> History:
    """Return a history that ends with a site that Pelican can build."""
    tree: Tree = {".gitignore": b"output/\n__pycache__/\n", "theme/templates/base.html": b"x"}
    late = draw(st.sampled_from([0, 0, 0, 2]))
    landings: list[Landing] = []
    for number in range(draw(st.integers(late + 3, most))):
        if number == late:
            tree["pelicanconf.py"] = draw(configured(None))
        side: list[Tree] = []
        if number and not draw(st.integers(0, 5)):
            branch = tree
            for _ in range(draw(st.integers(1, 2))):
                branch = draw(edited(branch, without=("settings",)))
                side.append(branch)
            tree = branch
        else:
            tree = draw(edited(tree, without=() if number > late else ("settings",)))
        landings.append(Landing(tree, side))
    loose = draw(edited(tree, without=("settings", "rename"))) if not draw(st.integers(0, 4)) else None
    whole = {path: data for path, data in (loose or tree).items() if b"some day" not in data}
    if whole != (loose or tree):
        landings.append(Landing(whole))
        loose = None
    return History(landings, loose)
