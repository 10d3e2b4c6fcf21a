"""What pages may show of a content beside its page: its metadata, how its text begins, and what it links to."""

import hashlib
import posixpath
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from pelican.urlwrappers import URLWrapper

from pelican_resourcesync.site.content import Content
from pelican_resourcesync.site.excerpt import KINDS, body, definitions, excerpt, references, summary

#: Metadata that no page shows, or that shows in the URL.
UNSEEN = {"reader", "save_as", "slug", "status", "summary", "template", "url"}


def with_text(content: Content, data: bytes, words: Mapping[bool, Iterable[int]]) -> Content:
    """Add what the text of a source says: how it begins, and what it refers to.

    Pages show so many of the first `words` of contents that are summed up by their authors (`True`) and of others.
    """
    text = data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
    inner = body(text, posixpath.splitext(content.source)[1][1:])
    own = summary(text[: len(text) - len(inner)])
    own = own and own.rstrip() + definitions(own, inner, whole=True)
    return replace(
        content,
        metadata=dict(sorted({**content.metadata, **({"summary": own} if own else {})}.items())),
        excerpts={count: _excerpt(inner, count) for count in words[bool(own)]},
        refers=tuple(dict.fromkeys(references(inner, content.source))),
    )


def may_refer(data: bytes) -> bool:
    """Tell whether a source may refer to others: its text has one of the words that do."""
    return any(kind.encode() in data for kind in KINDS)


def metadata_of(found: Any) -> Iterator[tuple[str, str | tuple[str, ...]]]:
    """Give the metadata that a page may show. A summary is not rendered here: its source stands for it."""
    for name, value in {"title": found.title, **found.metadata}.items():
        if name in UNSEEN:
            continue
        if isinstance(value, list | tuple):
            yield name, tuple(map(str, value))
        elif isinstance(value, str | int | float | datetime | URLWrapper):
            yield name, str(value)


def _excerpt(text: str, words: int) -> str:
    beginning = excerpt(text, words)
    return _digest(beginning + definitions(beginning, text[len(beginning) :]))


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
