"""The corpus on a tiny site of our own: what is built and true, and that the judge sees a function that is wrong."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pelican_resourcesync.content import content_hash
from tests.tools.content.build import build, experiment
from tests.tools.content.judge import judge, judge_experiments
from tests.tools.content.truth import URL, words, write_truth

# Each page is its source in main, below the title of its front matter; the index lists the sources.
BUILD = """for f in *.md; do
  title=$(sed -n 's/^title: //p' $f)
  printf '<title>%s</title><main><h1>%s</h1>%s</main><footer>%s</footer>' \\
    "$title" "$title" "$(sed '1,/^---$/d' $f)" "$(cat footer)" > {out}/${{f%.md}}.html
done
printf '<main><h1>All</h1>%s</main><footer>%s</footer>' "$(ls *.md)" "$(cat footer)" > {out}/index.html
"""
COMMITS = [
    {"a.md": "title: A\n---\nBread is baked.", "b.md": "title: B\n---\nSee <a href='a.html'>A</a>.", "footer": "2025"},
    {"footer": "2026"},
    {"a.md": "title: A\n---\nBread is baked\nslowly. <!-- how? -->"},
    {"a.md": "title: A\n---\nBread is baked slowly. <!-- yes -->"},
    {"b.md": "title: Beer\n---\nSee <a href='a.html'>A</a>."},
    {"c.md": "title: C\n---\nCheese."},
]
# The pages that must and may move at each commit but the first, by hand.
TRUTH: list[dict[str, list[str]]] = [
    {},
    {"text": ["a.html"]},
    {"markup": ["a.html"]},
    {"text": ["b.html"]},
    {"list": ["index.html"]},
]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """Return the folder of the corpus, with the site built and its truth written, and the site's row."""
    work = tmp_path_factory.mktemp("corpus")
    origin = work / "origin"
    subprocess.run(["git", "init", "-q", "-b", "main", origin], check=True)
    for files in COMMITS:
        for name, text in files.items():
            (origin / name).write_text(text, encoding="utf-8")
        subprocess.run(["git", "-C", origin, "add", "."], check=True)
        subprocess.run(["git", "-C", origin, "commit", "-qm", "Change"], check=True, env={**os.environ, **NAMES})
    row = {
        "origin": str(origin),
        "theme": "tiny",
        "paths": ["."],
        "commits": 9,
        "build": "mkdir {out} && " + BUILD,
        "sources": [[r"(.*)\.md", r"\1.html"]],
        "lists": [[r"index\.html", r".*\.md"]],
        "experiments": {"footer": "echo 2030 > footer", "new page": "cp a.md d.md"},
    }
    (work / "tiny").mkdir()
    build(work, "tiny", row)
    write_truth(work, "tiny", row, work / "tiny.json")
    return work, row


NAMES = {f"GIT_{who}_{what}": "a@b.test" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def _truth(work: Path) -> dict[str, Any]:
    truth: dict[str, Any] = json.loads((work / "tiny.json").read_text(encoding="utf-8"))
    return truth


def test_truth_is_made_of_the_sources(site: tuple[Path, dict[str, Any]]) -> None:
    """A footer and a comment move nothing; words do, and lists of what they change."""
    lines = [
        {reason: pages for reason, pages in line.items() if reason != "commit"} for line in _truth(site[0])["commits"]
    ]
    assert lines[1:] == TRUTH


def test_the_content_hash_moves_what_the_sources_say(site: tuple[Path, dict[str, Any]]) -> None:
    """The function moves the pages whose words changed, and the list that shows a new one."""
    counts, moves = judge(site[0], "tiny", _truth(site[0]), [], content_hash)
    assert moves == []
    assert counts == {
        "commits": 6, "states": 19, "changed": 7, "moved": 3, "must": 2, "found": 2, "right": 3, "text": 2, "list": 1,
    }  # fmt: skip


def _bytes(body: bytes, _: str) -> str:
    return body.decode()


def _nothing(_: bytes, __: str) -> str:
    return "always the same"


@pytest.mark.parametrize(
    ("function", "kind", "pages"),
    [(_bytes, "wrong", [("a.html", "3")]), (_nothing, "missed", [("a.html", "1"), ("b.html", "1")])],
)
def test_the_judge_names_what_a_bad_function_does(
    site: tuple[Path, dict[str, Any]], function: Callable[[bytes, str], str], kind: str, pages: list[tuple[str, str]]
) -> None:
    """A hash of the bytes moves too much, and one of nothing misses all."""
    _, moves = judge(site[0], "tiny", _truth(site[0]), [], function)
    assert [(move["kind"], move["page"], move["pages"]) for move in moves] == [(kind, *page) for page in pages]


def test_what_a_person_has_read_decides(site: tuple[Path, dict[str, Any]]) -> None:
    """A move that was read and found right is no wrong one."""
    truth = _truth(site[0])
    read = [{"commit": truth["commits"][1]["commit"], "page": ".*", "verdict": "right", "note": "The year is news."}]
    assert judge(site[0], "tiny", truth, read, _bytes)[1] == []


def test_experiments_count_the_pages_that_move(site: tuple[Path, dict[str, Any]]) -> None:
    """A footer moves no page, and a new page only the list."""
    work, row = site
    experiment(work, "tiny", row)
    assert list(judge_experiments(work, "tiny", content_hash, URL)) == [
        ("footer", 4, 0, ""),
        ("new page", 1, 1, "index.html"),
    ]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("---\ntitle: Bread\ndate: 2026\n---\nWheat <!-- rye -->", ["Bread", "Wheat"]),
        (":title: Bread\n:date: 2026\n\nWheat", ["Wheat"]),
        ("```python\nx = 1\n```\n", ["x", "1"]),
        (".. A comment\n   on two lines\n\nWheat", ["Wheat"]),
        (".. toctree::\n   :hidden:\n\n   a\n   b\n\nWheat", ["Wheat"]),
        (".. toctree::\n\n   a\n", ["toctree", "a"]),
        ("{# no #}{% comment %}no{% endcomment %}Wheat", ["Wheat"]),
    ],
)
def test_words_are_those_that_a_page_shows(source: str, expected: list[str]) -> None:
    """Front matter but the title, comments and what only configures are no words."""
    assert words(source) == expected
