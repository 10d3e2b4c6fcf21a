"""Say from the sources alone which pages must move at a commit, which may, and why.

The sources of two commits that were built are compared. A page **must** move when the words of its source, of its
title or of what it includes differ. It **may** move when only the markup or other front matter differs, when data that
it shows changed, and when it lists a page that is new, gone or renamed. All other pages must not move.
"""

import json
import re
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from subprocess import PIPE
from typing import IO, Any, cast

from tests.tools.content.build import git, open_pages

TEXT = re.compile(r"\.(?:md|mdx|markdown|rst|txt|html?|njk|liquid|erb|ya?ml|json|toml|py|[jt]sx?|vue|astro)$")
URL = "https://site.example/"
MUST = ("text", "include")
MAY = ("markup", "link", "data", "list")
INCLUDE = re.compile(
    r".*(?:\.\. \w*include::|\{%-? *(?:include|render)|--8<--|<<<|@include|^import .* from|:file:|readFile).*"
)
# Not rendered: comments, hidden tables of contents, the language of a block of code, and the names of directives and
# roles. Links to places on the same page, the scheme of a link and the style of an element are no content either.
UNRENDERED = [
    re.compile(r"(?s)<!--.*?-->|\{#.*?#\}|\{% *comment *%\}.*?\{% *endcomment *%\}|\{/\*.*?\*/\}"),
    re.compile(r"(?m)^\.\. (?![\w-]+(?::[\w-]+)?::|[_|\[]).*\n(?:(?:[ \t]+.*)?\n(?=[ \t]|\n))*"),
    re.compile(r"(?m)^\.\. toctree::\n(?=(?:[ \t]+:.*\n)*[ \t]+:hidden:)(?:[ \t]+.*(?:\n|\Z)|\n(?=\s))*"),
    re.compile(r"(?m)^(\s*)(?:```+|~~~+)[^\n`]*$"),
    re.compile(r"(?<=\.\. )(?:code-block|code|sourcecode|highlight|index|module|currentmodule)::.*"),
    re.compile(r":(?:[a-z]+:)?[a-z-]+:(?=`)"),
    re.compile(r"(?<=\])\(#[^)\s]*\)|\bhref=[\"']#[^\"']*|\{#[\w-]+\}"),
    re.compile(r"\bhttps?:| (?:style|class|width|height|align)=(?:\"[^\"]*\"|'[^']*')"),
]
FRONT = re.compile(r"(?s)\A(?:---\n(.*?)\n---[ \t]*(?:\n|\Z)|\+\+\+\n(.*?)\n\+\+\+|(\{\n.*?\n\}))")
FIELDS = re.compile(r"(?m)(?:^:[\w-]+:.*\n)+")
TITLE = re.compile(r"(?mi)^[\"' ]*:?title[\"']?[ \t]*[:=]+[ \t]*[\"']?(.*?)[\"',]*$")
PERMALINK = re.compile(r"(?m)^permalink: *[\"']?/?([\w./-]+?)(/?)[\"']?$")
SLUG = re.compile(r"(?mi)^[\"' ]*:?slug[\"']?[ \t]*[:=]+[ \t]*[\"']?(.*?)[\"',]*$")


def write_truth(work: Path, name: str, site: dict[str, Any], path: Path) -> None:
    """Write what must and may move at the commits of a site."""
    tree = work / name / "tree"
    reader = ["git", "-C", str(tree), "cat-file", "--batch"]
    with closing(open_pages(work, name)) as pages, subprocess.Popen(reader, stdin=PIPE, stdout=PIPE) as objects:
        sources = Sources(tree, site, objects)
        query = 'select number, "commit" from build where built and number >= 0 order by number'
        builds = pages.execute(query).fetchall()
        lines = [{"commit": builds[0][1]}]
        for (before, old), (after, new) in pairwise(builds):
            reasons = sources.reasons(old, new, _both(pages, before, after))
            lines.append({"commit": new, **{reason: sorted(found) for reason, found in reasons.items() if found}})
    about = {"url": URL, **{key: site[key] for key in ("url", "origin", "theme") if key in site}}
    text = ",\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
    path.write_text(f'{{"site": {json.dumps(about)},\n"commits": [\n{text}\n]}}\n', encoding="utf-8")


def _both(pages: sqlite3.Connection, before: int, after: int) -> dict[str, bool]:
    # The pages that are in both states, and whether their bytes differ: a source that is not rendered moves nothing.
    query = "select a.path, a.page != b.page from state a join state b using (path) where a.number = ? and b.number = ?"
    return {path: bool(differ) for path, differ in pages.execute(query, (before, after))}


class Sources:
    """The text files of a site's commits, and the pages that they make."""

    def __init__(self, tree: Path, site: dict[str, Any], objects: "subprocess.Popen[bytes]") -> None:
        """Read sources from a work tree and a process that prints objects."""
        self._tree, self._site, self._objects = tree, site, objects
        self._texts: dict[str, str] = {}

    def reasons(self, old: str, new: str, both: dict[str, bool]) -> dict[str, set[str]]:
        """Return the pages that must and may move between two commits, by their reasons; a page has one, the first."""
        olds, news = self._files(old), self._files(new)
        changed = {path for path in olds.keys() | news.keys() if olds.get(path) != news.get(path)}
        touched = [path for path in changed if compare(self._text(olds.get(path)), self._text(news.get(path)))]
        reasons: dict[str, set[str]] = {reason: set() for reason in (*MUST, *MAY)}
        for page, (before, after) in self._pages(changed, olds, news).items():
            reasons[compare(before, after) or "markup"].add(page)
        for reason, page in self._mentions(touched, olds, news, both):
            reasons[reason].add(page)
        for files, shown in self._site.get("data", []):
            if any(re.fullmatch(files, path) for path in changed):
                reasons["data"] |= {page for page in both if re.fullmatch(shown, page)}
        for shown, files in self._site.get("lists", []):
            if any(re.fullmatch(files, path) for path in touched):
                reasons["list"] |= {page for page in both if re.fullmatch(shown, page)}
        told: set[str] = set()
        for reason, found in reasons.items():
            reasons[reason] = {page for page in found - told if both.get(page)}
            told |= found
        return reasons

    def _pages(self, changed: set[str], olds: dict[str, str], news: dict[str, str]) -> dict[str, list[str]]:
        # The text of each page's sources before and after, of those that changed: a page may get another source.
        texts: dict[str, list[str]] = {}
        for path in sorted(changed):
            for side, files in enumerate((olds, news)):
                text = self._text(files.get(path))
                page = page_of(self._site, path, text) if text else None
                if page:
                    texts.setdefault(page, ["", ""])[side] += text
        return texts

    def _mentions(
        self, touched: list[str], olds: dict[str, str], news: dict[str, str], both: dict[str, bool]
    ) -> Iterator[tuple[str, str]]:
        # Pages that include a file that changed, or link to one that is new or gone.
        names = "|".join(sorted({re.escape(_stem(path)) for path in touched}))
        mention = re.compile(rf"(?m)(?<![\w-])({names})(?:\.(\w+)|[]#/)>\"'`]|$)")
        for path, name in news.items() if touched else ():
            text = self._text(name)
            page = page_of(self._site, path, text)
            for match in mention.finditer(text) if page in both else ():
                others = {other for other in touched if _stem(other) == match[1] and other != path}
                is_include = INCLUDE.fullmatch(text[: match.end()].rsplit("\n", 1)[-1])
                if is_include and any(other.endswith(f".{match[2]}") for other in others):
                    yield "include", str(page)
                elif any(other not in olds or other not in news for other in others):
                    yield "link", str(page)

    def _files(self, commit: str) -> dict[str, str]:
        lines = git(self._tree, "ls-tree", "-r", "-z", commit).split("\0")[:-1]
        rows = (line.partition("\t") for line in lines)
        return {path: fields.split()[2] for fields, _, path in rows if TEXT.search(path) and " commit " not in fields}

    def _text(self, name: str | None) -> str:
        if name and name not in self._texts:
            stdin, stdout = cast("IO[bytes]", self._objects.stdin), cast("IO[bytes]", self._objects.stdout)
            stdin.write(f"{name}\n".encode())
            stdin.flush()
            size = int(stdout.readline().split()[2])
            self._texts[name] = stdout.read(size + 1)[:-1].decode(errors="replace").replace("\r\n", "\n")
        return self._texts[name] if name else ""


def _stem(path: str) -> str:
    return path.rsplit("/", 1)[-1].rsplit(".", 1)[0]


def page_of(site: dict[str, Any], path: str, text: str) -> str | None:
    """Return the page that a source makes, or None where it makes none."""
    for pattern, template in site["sources"]:
        match = re.fullmatch(pattern, path)
        if match:
            head = text[:4000]
            link = PERMALINK.search(head)
            if link:
                return link[1] if link[1].endswith(".html") else f"{link[1]}/index.html"
            slug = SLUG.search(head)
            title = (TITLE.search(head) or re.match(r"(.+)\n[#=]{3}", head)) if site.get("slug") == "title" else None
            name = slug[1] if slug else _slug(title[1]) if title else _stem(path).lower()
            page = str(template).replace(r"\1", (match[1] or "") if match.re.groups else "")
            return page.replace("{slug}", name)
    return None


def _slug(title: str) -> str:
    return re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", title.lower()).strip())


def compare(old: str, new: str) -> str | None:
    """Return why a page moves whose source changed: its words, or only its markup; or None."""
    if words(old) != words(new):
        return "text"
    if "".join(old.split()) != "".join(new.split()):
        return "markup"
    return None


def words(source: str) -> list[str]:
    """Return the words of a source that its page shows, with the title."""
    front = FRONT.match(source)
    title = TITLE.search(front[0]) if front else None
    body = source[front.end() :] if front else FIELDS.sub("", source, count=1)
    for pattern in UNRENDERED:
        body = pattern.sub(" ", body)
    return re.findall(r"\w+", (title[1] if title else "") + " " + body)
