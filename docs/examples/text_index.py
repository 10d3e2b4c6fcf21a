"""Keep an index of what the pages of sites say: `python text_index.py https://example.org/ index.json`.

Only pages whose content changed come again, of any site. A store has `put`, which adds or replaces a text, `remove`,
`clear`, and a `cursor`: it is a view of the texts of one site, so that `clear` leaves those of others. Below are stores
for LangChain and LlamaIndex in memory; for others, keep `cursor` and `urls` with the texts.
"""

import json
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

from pelican_resourcesync import ResourceSyncError, follow


class LangChain:
    """Texts in a vector store of LangChain, such as `InMemoryVectorStore(embedding)`."""

    def __init__(self, store: Any) -> None:
        self.store, self.cursor, self.urls = store, "", set[str]()

    def put(self, url: str, text: str, about: dict[str, str]) -> None:
        """Add or replace the text of a page."""
        from langchain_core.documents import Document

        self.store.add_documents([Document(text, metadata=about)], ids=[url])
        self.urls.add(url)

    def remove(self, url: str) -> None:
        """Remove the text of a page."""
        self.store.delete([url])
        self.urls.discard(url)

    def clear(self) -> None:
        """Remove all texts of the site."""
        for url in [*self.urls]:
            self.remove(url)


class LlamaIndex(LangChain):
    """Texts in a document store of LlamaIndex, such as `SimpleDocumentStore()`."""

    def put(self, url: str, text: str, about: dict[str, str]) -> None:
        """Add or replace the text of a page."""
        from llama_index.core import Document

        self.store.add_documents([Document(text=text, id_=url, metadata=about)])
        self.urls.add(url)

    def remove(self, url: str) -> None:
        """Remove the text of a page."""
        self.store.delete_document(url, raise_error=False)
        self.urls.discard(url)


def update(source: str, store: Any, **options: Any) -> None:
    """Bring a store up to date. If a page or the site fails, its cursor covers what came before, and is stored, too."""
    changes = follow(source, since=store.cursor, content_changes=True, text=True, type=["text/html"], **options)
    try:
        for change in changes:
            if change.kind == "reset":
                store.clear()
            elif (page := change.page) and page.is_news:
                store.put(change.uri, page.markdown, {"title": page.title, "language": page.language})
            else:  # it is gone, is not to be found, or leads elsewhere
                store.remove(change.uri)
    finally:
        store.cursor = changes.cursor


class Texts(dict[str, str]):
    """A store that is a dictionary, and nothing else."""

    cursor = ""

    def put(self, url: str, text: str, about: dict[str, str]) -> None:
        """Add or replace the text of a page."""
        self[url] = f"{about['title']}\n\n{text}"

    def remove(self, url: str) -> None:
        """Remove the text of a page."""
        self.pop(url, None)


if __name__ == "__main__":
    if not sys.argv[2:]:
        sys.exit(__doc__)
    site, file = sys.argv[1], Path(sys.argv[2])
    saved = json.loads(file.read_text()) if file.exists() else {}
    texts = Texts(saved.get(site, {}).get("texts", {}))
    texts.cursor = saved.get(site, {}).get("cursor", "")
    try:
        update(site, texts, contents=f"{file}.{sha256(site.encode()).hexdigest()[:16]}.contents")
    except ResourceSyncError as error:  # the host is down, say: the next run goes on from the file
        sys.exit(str(error))
    finally:
        file.write_text(json.dumps({**saved, site: {"cursor": texts.cursor, "texts": texts}}))
