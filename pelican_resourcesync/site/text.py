"""What pages may show of a content beside its page: its metadata, how its text begins, and what it links to."""

import hashlib
import posixpath
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

from pelican.urlwrappers import URLWrapper

from pelican_resourcesync.site.content import Content
from pelican_resourcesync.site.excerpt import body, definitions, excerpt, references, summary
from pelican_resourcesync.site.view import Views, words_of

#: Metadata that no page shows, or that shows in the URL.
UNSEEN = {"reader", "save_as", "slug", "status", "summary", "template", "url"}


def with_text(content: Content, data: bytes, views: Views) -> Content:
    """Add what the text of a source says: how it begins, as far as pages show that, and what it refers to."""
    text = data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
    inner = body(text, posixpath.splitext(content.source)[1][1:])
    own = summary(text[: len(text) - len(inner)])
    own = own and own.rstrip() + definitions(own, inner, whole=True)
    words = words_of(views, summed_up=bool(own) or "summary" in content.metadata)
    return replace(
        content,
        metadata=dict(sorted({**content.metadata, **({"summary": own} if own else {})}.items())),
        excerpts={count: _excerpt(inner, count) for count in sorted(words)},
        refers=tuple(dict.fromkeys(references(inner, content.source))),
    )


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
