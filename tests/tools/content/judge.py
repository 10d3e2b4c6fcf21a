"""Judge a content hash on the pages of a site: what it moved, and what the sources say."""

import re
import sqlite3
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from difflib import SequenceMatcher
from itertools import pairwise
from pathlib import Path
from typing import Any

from lxml import html

from tests.tools.content.build import open_pages
from tests.tools.content.truth import MAY, MUST

Hash = Callable[[bytes, str], str]
Rows = list[dict[str, str]]


class Site:
    """The pages of a site as they were built, with their hashes."""

    def __init__(self, pages: sqlite3.Connection, content_hash: Hash, url: str) -> None:
        """Read the pages of a database; `url` is that of the site, which pages may give as canonical."""
        self._pages, self._hash, self._url = pages, content_hash, url
        self._hashes: dict[tuple[str, str], str] = {}

    def states(self, *, experiments: bool = False) -> list[tuple[str, dict[str, str]]]:
        """Return the commits that were built, or the experiments, each with its pages."""
        where = "number < 0" if experiments else "number >= 0"
        builds = self._rows(f'select number, "commit" from build where built and {where} order by abs(number)')
        return [(name, dict(self._rows("select path, page from state where number = ?", n))) for n, name in builds]

    def hash(self, path: str, page: str) -> str:
        """Return the content hash of a page; empty if people should not find it."""
        if (path, page) not in self._hashes:
            uri = self._url + re.sub(r"(^|/)index\.html$", r"\1", path)
            self._hashes[path, page] = self._hash(self._body(page), uri)
        return self._hashes[path, page]

    def changes(self, before: dict[str, str], after: dict[str, str]) -> tuple[set[str], set[str]]:
        """Return the pages with other bytes, and those of them with other content."""
        both = {path for path in before.keys() & after.keys() if before[path] != after[path]}
        pairs = {path: (self.hash(path, before[path]), self.hash(path, after[path])) for path in both}
        changed = {path for path, hashes in pairs.items() if all(hashes)}
        return changed, {path for path in changed if pairs[path][0] != pairs[path][1]}

    def difference(self, *pages: str) -> str:
        """Return the first words of the main text that differ, and what they became."""
        old, new = (_words(html.document_fromstring(self._body(page))) for page in pages)
        for tag, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            if tag != "equal":
                return f"[{' '.join(old[i:j][:12])} -> {' '.join(new[k:m][:12])}]"
        return ""

    def _body(self, page: str) -> bytes:
        return zlib.decompress(next(self._rows("select body from page where id = ?", page))[0])

    def _rows(self, query: str, *values: object) -> Iterator[tuple[Any, ...]]:
        return iter(self._pages.execute(query, values).fetchall())


def judge(work: Path, name: str, truth: dict[str, Any], read: Rows, content_hash: Hash) -> tuple[dict[str, int], Rows]:
    """Return counts of a site's moves, and the wrong ones: the commit, the pages and the first words that differ.

    What a person has read (`read`) decides where the sources give no reason: a move may be `right` all the same, and a
    change of a source may only be `around`.
    """
    with closing(open_pages(work, name)) as pages:
        return _judge(
            Site(pages, content_hash, truth["site"]["url"]), {line["commit"]: line for line in truth["commits"]}, read
        )


def _judge(site: Site, lines: dict[str, dict[str, Any]], read: Rows) -> tuple[dict[str, int], Rows]:
    states = site.states()
    counts: Counter[str] = Counter(commits=len(states), states=sum(len(pages) for _, pages in states))
    wrong: dict[tuple[str, str, str], list[str]] = {}
    for (_, before), (commit, after) in pairwise(states):
        reasons = {page: reason for reason in (*MUST, *MAY) for page in lines[commit].get(reason, ())}
        changed, moved = site.changes(before, after)
        counts["changed"] += len(changed)
        counts["moved"] += len(moved)
        for path in sorted(changed):
            is_moved, must, may = path in moved, reasons.get(path) in MUST, reasons.get(path) in MAY
            verdict = _read(read, commit, path) if is_moved != must and not may else {}
            must = must and not verdict
            counts["must"] += must
            counts["found"] += must and is_moved
            if is_moved == must or may or verdict.get("verdict") in {"right", "around"}:
                counts["right"] += is_moved
                counts.update([reasons.get(path, "read")] if is_moved else [])
            else:
                kind = "missed" if must else "wrong"
                counts[kind] += 1
                note = verdict.get("note") or site.difference(before[path], after[path])
                wrong.setdefault((kind, commit[:10], note), []).append(path)
    return dict(counts), [
        {"kind": kind, "commit": commit, "pages": str(len(paths)), "page": paths[0], "note": note}
        for (kind, commit, note), paths in wrong.items()
    ]


def judge_experiments(work: Path, name: str, content_hash: Hash, url: str) -> Iterator[tuple[str, int, int, str]]:
    """Yield for each experiment its name, how many pages it changed, how many it moved, and the first of these."""
    with closing(open_pages(work, name)) as pages:
        site = Site(pages, content_hash, url)
        (_, base), *others = site.states(experiments=True)
        for experiment, state in others:
            changed, moved = site.changes(base, state)
            yield experiment, len(changed), len(moved), ", ".join(sorted(moved)[:5])


def _read(read: Rows, commit: str, path: str) -> dict[str, str]:
    rows = (row for row in read if commit.startswith(row["commit"]) and re.fullmatch(row["page"], path))
    return next(rows, {})


def _words(root: html.HtmlElement) -> list[str]:
    for element in list(root.iter("script", "style", "svg")):
        element.drop_tree()
    regions = (root.xpath(path) for path in ("//main", "//*[@role='main']", "//article", "//body"))
    region = next((found[0] for found in regions if found), root)
    return [*(root.findtext(".//title") or "").split(), *region.text_content().split()]
