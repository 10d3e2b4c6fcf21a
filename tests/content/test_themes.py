"""Each kind of block in each theme: a change of it moves its page, and what the theme puts around it moves none."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pelican_resourcesync.content import content_hash

#: Kinds of blocks in reStructuredText and in Markdown, with a word that changes.
RST = {
    "heading": "Part\n----\n\nText.\n\nOLD\n---\n\nText.",
    "list": "- one\n- OLD\n\n  - nested",
    "numbers": "1. one\n2. OLD",
    "table": "===  ===\nA    B\n===  ===\none  OLD\n===  ===",
    "term": "OLD\n   A definition",
    "definition": "term\n   OLD",
    "code": ".. code-block:: python\n   :linenos:\n\n   def f():\n       return OLD",
    "caption": ".. figure:: /a.png\n   :alt: A\n\n   OLD",
    "footnote": "Text [#a]_.\n\n.. [#a] OLD",
    "admonition": ".. warning::\n\n   OLD",
    "sidebar": ".. sidebar:: Title\n\n   OLD",
    "sidebar-title": ".. sidebar:: OLD\n\n   Text",
    "topic": ".. topic:: Title\n\n   OLD",
    "quotation": "Text:\n\n   Quoted\n\n   -- OLD",
    "link": "`text <https://other.example/OLD>`__",
    "alt": ".. image:: /a.png\n   :alt: OLD",
    "picture": ".. image:: /OLD.png",
    "toc": ".. contents::\n\nPart\n----\n\nText\n\nOLD\n---\n\nText",
    "signature": ".. py:function:: f(OLD)\n\n   Text",
}
MARKDOWN = {
    "heading": "## Part\n\nText.\n\n## OLD\n\nText.",
    "list": "- one\n- OLD",
    "numbers": "1. one\n2. OLD",
    "table": "| A | B |\n|---|---|\n| one | OLD |",
    "term": "OLD\n:   A definition",
    "definition": "term\n:   OLD",
    "code": "```python\ndef f():\n    return OLD\n```",
    "footnote": "Text[^a].\n\n[^a]: OLD",
    "admonition": "!!! warning\n    OLD",
    "admonition-title": '!!! note "OLD"\n    Text',
    "details": "<details><summary>A</summary>OLD</details>",
    "summary": "<details><summary>OLD</summary>A</details>",
    "quotation": "> OLD",
    "link": "[text](https://other.example/OLD)",
    "alt": "![OLD](https://other.example/a.png)",
    "picture": "![A](https://other.example/OLD.png)",
    "abbreviation": "OLD and more",
}

SPHINX = 'project = "Site"\nversion = release = "{version}"\ncopyright = "{year}"\nhtml_theme = "{theme}"\n'
MKDOCS = """
site_name: Site {version}
site_url: https://site.example/
copyright: "{year}"
theme: {theme}
markdown_extensions: [abbr, admonition, attr_list, def_list, footnotes, tables, fenced_code]
"""
PELICAN = """
SITENAME = "Site {version}"
SITEURL = "https://site.example"
AUTHOR = "Me"
TIMEZONE = "UTC"
DEFAULT_LANG = "en"
LINKS = (("{year}", "https://other.example/{year}"),)
ARTICLE_PATHS, PAGE_PATHS = [""], []
MARKDOWN = {{"extensions": ["extra", "admonition"]}}
THEME = "{theme}"
PLUGINS = []
"""
#: For each generator its settings file, the files of pages and their head, and its command.
GENERATORS = {
    "sphinx": ("docs/conf.py", SPHINX, "docs/{name}.rst", "Page {name}\n==========================\n\n", RST),
    "mkdocs": ("mkdocs.yml", MKDOCS, "docs/{name}.md", "# Page {name}\n\n", MARKDOWN),
    "pelican": ("pelicanconf.py", PELICAN, "docs/{name}.md", "Title: Page {name}\nDate: {date}\n\n", MARKDOWN),
}
COMMANDS = {
    "sphinx": "sphinx -q -b html docs output",
    "mkdocs": "mkdocs build -q -d output",
    "pelican": "pelican -q docs -s pelicanconf.py -o output",
}


def build(folder: Path, generator: str, theme: str, *, again: bool) -> dict[str, str]:
    """Build a site with two pages for each kind of block; return the content hashes of its pages.

    When it is built `again`, one page of each kind has changed, there is a new page, and all around has changed, too.
    """
    settings, text, path, head, kinds = GENERATORS[generator]
    (folder / "docs").mkdir(exist_ok=True)
    values = {"version": "1.3", "year": "2027"} if again else {"version": "1.2", "year": "2026"}
    (folder / settings).write_text(text.format(theme=theme, **values), "utf-8")
    pages = {f"{kind}-{role}": block for kind, block in kinds.items() for role in ("changed", "kept")}
    pages |= {"zz-new": "A new page"} if again else {}
    for number, (name, block) in enumerate(pages.items()):
        word = "new" if again and name.endswith("-changed") else "old"
        date = f"2026-{1 + number // 28:02}-{1 + number % 28:02}"
        source = folder / path.format(name=name)
        source.write_text(head.format(name=name, date=date) + block.replace("OLD", word) + "\n", "utf-8")
    if generator == "sphinx":
        names = "".join(f"   {name}\n" for name in pages)
        (folder / "docs/index.rst").write_text(f"Site\n====\n\n.. toctree::\n\n{names}", "utf-8")
    shutil.rmtree(folder / "output", ignore_errors=True)
    command = [sys.executable, "-m", *COMMANDS[generator].split()]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=300)
    output = folder / "output"
    files = {file.relative_to(output).as_posix().removesuffix("/index.html"): file for file in output.rglob("*.html")}
    return {
        name: content_hash(file.read_bytes(), f"https://site.example/{name.removesuffix('.html')}/")
        for key, file in files.items()
        if (name := key.removesuffix(".html").removeprefix("page-")) in pages
    }


@pytest.mark.parametrize(
    ("generator", "theme"),
    [
        ("sphinx", "alabaster"),
        ("mkdocs", "mkdocs"),
        ("mkdocs", "readthedocs"),
        ("pelican", "notmyidea"),
        ("pelican", "simple"),
    ],
)
def test_generators(tmp_path: Path, generator: str, theme: str) -> None:
    """Exactly the pages whose sources changed have another hash."""
    before, after = (build(tmp_path, generator, theme, again=again) for again in (False, True))
    kinds = GENERATORS[generator][-1]
    assert before.keys() == {f"{kind}-{role}" for kind in kinds for role in ("changed", "kept")}
    assert {name for name in before if before[name] != after[name]} == {f"{kind}-changed" for kind in kinds}
