"""Readers that read only the head of a source, on which its URL depends, and so are a hundred times faster.

Each replaces only Pelican's own reader of that format; readers of plug-ins are used unchanged.
"""

import re
from pathlib import Path
from typing import Any

from pelican.readers import (
    DUPLICATES_DEFINITIONS_ALLOWED,
    BaseReader,
    HTMLReader,
    MarkdownReader,
    Readers,
    RstReader,
)

#: A line that is neither blank, nor indented, nor a field (as defined by docutils) ends a reStructuredText docinfo.
_FIELD = re.compile(r":(?![: ])([^:\\]|\\.|:(?!([ `]|$)))*(?<! ):(\s|$)")
#: A possible reference to a definition elsewhere in a reStructuredText source: `|name|`, `name_`.
_REFERENCE = re.compile(r"\||[\w`]_(?!\w)")
#: The underline or overline of a title.
_ADORNMENT = re.compile(r"([!-/:-@[-`{-~])\1*")
#: First the constructs that may contain text that only looks like a tag, then the end of an HTML head.
_BODY = re.compile(
    r"<!--.*?-->|<(?P<raw>script|style)\b.*?</(?P=raw)\s*>|(?P<end></head\s*>|<body\b)", re.IGNORECASE | re.DOTALL
)
_BLANK = re.compile(r"\n[ \t\r]*\n")
_ENCODING = "utf-8-sig"
#: Metadata that Pelican converts, with values that many sources share; and how many values are cached.
_ALIKE = {"author", "authors", "category", "date", "modified", "tags"}
_MOST = 20_000


class InMemoryReader:
    """A reader that takes the source from `data`, so that past sources need no file."""

    data: bytes = b""

    def text(self) -> str:
        """Return the source as Pelican would read it from a file."""
        return self.data.decode(_ENCODING).replace("\r\n", "\n").replace("\r", "\n")


def head_of(reader: BaseReader, data: bytes) -> bytes:
    """Return the part of a source that determines its metadata: the whole source, unless `reader` is a `HeadReader`."""
    if not isinstance(reader, HeadReader):
        return data
    text = data.decode("utf-8", "surrogateescape").replace("\r\n", "\n").replace("\r", "\n")
    return reader.head(text).encode("utf-8", "surrogateescape")


class MarkdownHeadReader(InMemoryReader, MarkdownReader):  # type: ignore[misc]  # Pelican has no type hints
    """A reader of the metadata of Markdown sources, with Python-Markdown's own preprocessors."""

    def read(self, source_path: str) -> tuple[str, dict[str, Any]]:
        """Return no content, and the metadata that Pelican would find, except the summary, which is never in a URL."""
        del source_path
        return "", self._metadata(self._meta(self.head(self.text())))

    @staticmethod
    def head(text: str) -> str:
        """Return the part of a source before the first blank line."""
        end = _BLANK.search(text)
        return text[: end.end()] if end else text

    def _meta(self, text: str) -> dict[str, list[str]]:
        from markdown import Markdown

        if not hasattr(self, "_head"):
            self._head = Markdown(extensions=["markdown.extensions.meta"])
        lines = text.split("\n")
        if text.strip():
            for name in ("normalize_whitespace", "meta"):
                lines = self._head.preprocessors[name].run(lines)
            return dict(self._head.Meta)  # type: ignore[attr-defined]  # the preprocessor sets it
        return {}

    def _metadata(self, meta: dict[str, list[str]]) -> dict[str, Any]:
        found, formatted = {}, {}
        for name, values in meta.items():
            if name in self.settings["FORMATTED_FIELDS"]:
                formatted[name] = values
                continue
            several = len(values) > 1 and DUPLICATES_DEFINITIONS_ALLOWED.get(name, True)
            found[name] = self.process_metadata(name, values) if several else self._processed(name, values[0])
        formatted.pop("summary", None)
        return found | self._formatted(formatted) if formatted else found

    def _processed(self, name: str, value: str) -> Any:
        """Process metadata as Pelican does; results are cached."""
        if name not in _ALIKE:
            return self.process_metadata(name, value)
        known = self.__dict__.setdefault("_alike", {})
        if (name, value) not in known:
            if len(known) >= _MOST:
                known.clear()
            known[name, value] = self.process_metadata(name, value)
        found = known[name, value]
        return list(found) if isinstance(found, list) else found  # a copy, because the caller may change it

    def _formatted(self, meta: dict[str, list[str]]) -> dict[str, Any]:
        from markdown import Markdown

        self._md = Markdown(**self.settings["MARKDOWN"])
        return dict(self._parse_metadata(meta))


class HtmlHeadReader(InMemoryReader, HTMLReader):  # type: ignore[misc]  # Pelican has no type hints
    """A reader of the head of HTML sources: the title and the `meta` elements."""

    def read(self, source_path: str) -> tuple[str, dict[str, Any]]:
        """Return no content, and the metadata that Pelican would find."""
        parser = self._HTMLParser(self.settings, source_path)
        parser.feed(self.head(self.text()))
        parser.close()
        return "", {name: self.process_metadata(name, value) for name, value in parser.metadata.items()}

    @staticmethod
    def head(text: str) -> str:
        """Return the part of a source before its body."""
        return text[: next((token.start() for token in _BODY.finditer(text) if token["end"]), len(text))]


class RstHeadReader(RstReader):  # type: ignore[misc]  # Pelican has no type hints
    """A reader of the title and docinfo of reStructuredText sources, that is, of all before the first paragraph."""

    def read(self, source_path: str) -> tuple[str | None, dict[str, Any]]:
        """Return what Pelican would return for the head; for the whole source where the head alone does not parse."""
        path = Path(source_path)
        whole = path.read_bytes()
        path.write_bytes(self.head(whole.decode()).encode())
        try:
            return super().read(source_path)  # type: ignore[no-any-return]  # likewise
        except Exception:  # noqa: BLE001 - docutils may raise anything
            path.write_bytes(whole)
            return super().read(source_path)  # type: ignore[no-any-return]  # likewise

    @staticmethod
    def head(text: str) -> str:
        """Return a source up to the end of its docinfo; the whole source where the docinfo depends on what follows.

        A title is the document's title only if no other title has the same style. A reference may be defined later.
        """
        lines = text.splitlines(keepends=True)
        end = _end_of_docinfo(lines)
        styles = {line[0] for line in lines[:end] if _ADORNMENT.fullmatch(line.rstrip())}
        again = any(line[0] in styles and _ADORNMENT.fullmatch(line.rstrip()) for line in lines[end:])
        head = "".join(lines[:end])
        return text if again or _REFERENCE.search(head) else head


#: The readers that read only the head.
HeadReader = MarkdownHeadReader | RstHeadReader | HtmlHeadReader


def _end_of_docinfo(lines: list[str]) -> int:
    """Return the index of the line after the first block of fields of a reStructuredText source."""
    in_fields = False
    for number, line in enumerate(lines):
        if _FIELD.match(line):
            in_fields = True
        elif in_fields and line.strip() and not line[0].isspace():
            return number
    return len(lines)


def replace_readers(readers: Readers) -> None:
    """Replace Pelican's own readers in `readers` by those that read only the head."""
    quick = {MarkdownReader: MarkdownHeadReader, RstReader: RstHeadReader, HTMLReader: HtmlHeadReader}
    for extension, reader in readers.readers.items():
        if type(reader) in quick:
            readers.readers[extension] = quick[type(reader)](readers.settings)
