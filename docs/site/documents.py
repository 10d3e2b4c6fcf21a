"""A plug-in for Pelican that reads this project's documents, which have no metadata, and makes them searchable.

The title is the first heading. `docs/README.md` has the order and the sections. Links between documents, which work on
a forge, lead to pages.
"""

import inspect
import posixpath
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import pdoc.doc
from markdown import Markdown
from markdown.extensions import Extension
from markdown.extensions.codehilite import CodeHiliteExtension
from markdown.extensions.fenced_code import FencedCodeExtension
from markdown.extensions.md_in_html import MarkdownInHtmlExtension
from markdown.extensions.tables import TableExtension
from markdown.extensions.toc import TocExtension
from markdown.treeprocessors import Treeprocessor
from pelican import Pelican, signals
from pelican.readers import BaseReader, Readers

import pelican_resourcesync

DOCS = Path(__file__).resolve().parent.parent
INDEX = "README.md"
#: Where a document has the reference of the code.
REFERENCE = "<!-- reference -->"
MOST = 100  # characters of a line of code
REPOSITORY = tomllib.loads((DOCS.parent / "pyproject.toml").read_text("utf-8"))["project"]["urls"]["Source"]


class DocumentReader(BaseReader):  # type: ignore[misc]
    """A reader of Markdown without metadata."""

    file_extensions = ("md",)

    def read(self, source_path: str) -> tuple[str, dict[str, Any]]:
        """Return the page as HTML, and its title, address, section and table of contents."""
        root = Path(self.settings["PATH"])
        name = Path(source_path).relative_to(root).as_posix()
        title, _, text = Path(source_path).read_text("utf-8").partition("\n")
        if not root.samefile(DOCS):  # the plug-in asks for the metadata of an earlier state of a document
            text = ""
        text = text.replace(REFERENCE, reference() if REFERENCE in text else "")
        markdown = Markdown(
            extensions=[
                TableExtension(),
                FencedCodeExtension(),
                MarkdownInHtmlExtension(),
                CodeHiliteExtension(guess_lang=False, css_class="highlight"),
                TocExtension(slugify=slug, toc_depth="2-3"),
                Links(name),
            ]
        )
        html = markdown.convert(text)
        html = re.sub(r"<table>.*?</table>", r'<div class="table" tabindex="0">\g<0></div>', html, flags=re.DOTALL)
        html = html.replace("<pre>", '<pre tabindex="0">')  # so that the keyboard can scroll what is wide
        address = page_of(name)
        section = next((title for title, pages in sections() if name in dict(pages)), "")
        metadata = {
            "title": escape(title.removeprefix("# ").replace("`", "")),
            "slug": address.removesuffix(".html"),
            "save_as": address,
            "url": address,
            "section": section,
            "toc": markdown.toc_tokens,  # type: ignore[attr-defined]
        }
        return html, {key: self.process_metadata(key, value) for key, value in metadata.items()}


class Links(Extension):
    """Links of a document, as links of its page."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 - Markdown's name
        """Rewrite the links after all others have made theirs."""
        md.treeprocessors.register(LinkRewriter(self.name), "document-links", 0)


class LinkRewriter(Treeprocessor):
    """Make links lead to pages, or for other files to the repository; label the cells of tables for narrow screens."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def run(self, root: Element) -> None:
        """Rewrite the links and tables of a document."""
        for table in root.iter("table"):
            labels = ["".join(head.itertext()) for head in table.iter("th")]
            for row in table.iter("tr"):
                for label, cell in zip(labels, row.findall("td"), strict=False):
                    cell.set("data-label", label)
        for link in root.iter("a"):
            target, mark, anchor = link.get("href", "").partition("#")
            if "://" in target or not target:
                continue
            path = posixpath.normpath(posixpath.join(posixpath.dirname(self.name), target))
            if path.startswith("../"):
                link.set("href", f"{REPOSITORY}/blob/main/{path.removeprefix('../')}{mark}{anchor}")
            elif path.endswith(".md"):
                if (link.text or "").endswith(".md"):  # the name of a file, which says little on a page
                    link.text = dict(each for _, pages in sections() for each in pages).get(path, link.text)
                link.set("href", posixpath.relpath(page_of(path), posixpath.dirname(self.name) or ".") + mark + anchor)


def reference() -> str:
    """Return the reference of the package from its docstrings, which pdoc reads, as Markdown."""
    package = pelican_resourcesync
    exported = {name: getattr(package, name) for name in package.__all__ if name not in ("__version__", "register")}
    functions = [each for each in exported.values() if not isinstance(each, type)]
    classes = [each for each in exported.values() if isinstance(each, type)]
    errors, mirror = [each for each in classes if issubclass(each, Exception)], [package.Mirror, package.MirrorOptions]
    groups = {
        "Functions": [
            *(package.publish, package.mirror, package.follow, package.check),
            package.read_page,
        ],
        "Options": [package.options.MirrorOptions, package.options.SourceOptions, package.options.CheckOptions],
        "What they return": [package.destination.Following, *(each for each in classes if each not in errors + mirror)],
        "More of a mirror": [package.Mirror],
        "Errors": sorted(errors, key=lambda each: len(each.__mro__)),
    }
    assert {*functions} == {*groups["Functions"]}
    return "\n\n".join(f"## {title}\n\n" + "\n\n".join(map(described, each)) for title, each in groups.items())


def described(named: Any) -> str:
    """Return a function or a class: its name, how it is called, and what its docstrings say."""
    kind = pdoc.doc.Class if isinstance(named, type) else pdoc.doc.Function
    found = kind(named.__module__, named.__qualname__, named, (named.__module__, named.__qualname__))
    if isinstance(found, pdoc.doc.Function):
        lines, members = [f"def {found.name}{found.signature}"], []
    else:
        fields = getattr(named, "__dataclass_fields__", {})
        options = found.name.endswith("Options")
        members = [each for each in found.own_members if each.name in fields or not (options or each.name[0] == "_")]
        made = (
            ""
            if fields or issubclass(named, Exception | Iterator)
            else str(inspect.signature(named)).removesuffix(" -> None")
        )
        lines = [f"class {found.name}{made}" + "".join(f"({base[2]})" for base in found.bases)]
    for each in members:
        is_value = isinstance(each, pdoc.doc.Variable)
        lines.append(f"    {each.name}{each.annotation_str}" if is_value else f"    def {each.name}{each.signature}")
    notes = (f"- `{each.name}`: {' '.join(each.docstring.split())}" for each in members if each.docstring)
    return "\n\n".join([f"### `{found.name}`", code("\n".join(lines)), found.docstring, "\n".join(notes)])


def code(text: str) -> str:
    """Return Python in Markdown: names without modules, and a line for each of many parameters."""
    text = re.sub(r"\b(?:[a-z_]\w*\.)+(?=\w)", "", text)
    text = re.sub(r": '([^'\n]*)' =", r": \1 =", text)  # a type that is imported late
    text = re.sub(r"<function [^,\n]*>", "…", text)
    if any(len(line) > MOST for line in text.splitlines()):
        text = re.sub(r", (?=\w+: |\*, )", ",\n    ", text)
    return f"```python\n{text}\n```"


def page_of(name: str) -> str:
    """Return the path of a document's page."""
    return "index.html" if name == INDEX else f"{name.removesuffix('.md')}.html"


def slug(text: str, _separator: str = "-") -> str:
    """Return the anchor of a heading, as forges make it."""
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def sections() -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the sections of the documents, each with their names and titles, as the index lists them."""
    text = (DOCS / INDEX).read_text("utf-8")
    found = []
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        title, _, rest = section.partition("\n")
        links = re.findall(r"^- \[([^\]]+)\]\(([^)]+\.md)\)", rest, re.MULTILINE)
        found.append((title, [(name, title.replace("`", "")) for title, name in links]))
    return found


def add_navigation(pelican: Pelican) -> None:
    """Set what the theme shows: `SECTIONS` with their pages, `ORDER`, in which pages are read, and the project."""
    pelican.settings |= {"REPOSITORY": REPOSITORY, "VERSION": pelican_resourcesync.__version__}
    pelican.settings["SECTIONS"] = [
        (title, [(page_of(name), each) for name, each in pages]) for title, pages in sections()
    ]
    decisions = (path.relative_to(DOCS).as_posix() for path in sorted(DOCS.glob("decisions/*.md")))
    names = [INDEX, *(name for _, pages in sections() for name, _ in pages), *decisions]
    pelican.settings["ORDER"] = [page_of(name) for name in names]


def index_for_search(pelican: Pelican) -> None:
    """Write the index that the search reads."""
    subprocess.run([sys.executable, "-m", "pagefind", "--site", pelican.output_path, "--silent"], check=True)


def add_reader(readers: Readers) -> None:
    """Read Markdown with the reader of these documents."""
    readers.reader_classes["md"] = DocumentReader


def register() -> None:
    """Connect to Pelican."""
    signals.initialized.connect(add_navigation)
    signals.readers_init.connect(add_reader)
    signals.finalized.connect(index_for_search)
