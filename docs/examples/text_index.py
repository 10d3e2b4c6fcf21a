"""Keep an index of what the pages of a site say: `python text_index.py https://example.org/ index.json`.

Only pages whose content changed come again, of any site. A store has `put`, which adds or replaces a text, `remove` and
`clear`. Below are adapters for those of LangChain and LlamaIndex that are in memory; others differ in a few lines.
"""

import json
import sys
from pathlib import Path
from typing import Any

from pelican_resourcesync import ResourceSyncError, follow


class LangChain:
    """A vector store of LangChain, such as `InMemoryVectorStore(embedding)`, which has `delete` for a list of ids."""

    def __init__(self, store: Any) -> None:
        self.store, self.urls = store, set[str]()

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
        """Remove all texts."""
        self.store.delete([*self.urls])
        self.urls.clear()


class LlamaIndex:
    """A document store of LlamaIndex, such as `SimpleDocumentStore()`."""

    def __init__(self, store: Any) -> None:
        self.store = store

    def put(self, url: str, text: str, about: dict[str, str]) -> None:
        """Add or replace the text of a page."""
        from llama_index.core import Document

        self.store.add_documents([Document(text=text, id_=url, metadata=about)])

    def remove(self, url: str) -> None:
        """Remove the text of a page."""
        self.store.delete_document(url, raise_error=False)

    def clear(self) -> None:
        """Remove all texts."""
        for url in [*self.store.docs]:
            self.remove(url)


def update(source: str, store: Any, since: str | None = None, **options: Any) -> str:
    """Bring a store up to date, and return the cursor from which the next update goes on."""
    changes = follow(source, since=since, content_changes=True, text=True, type=["text/html"], **options)
    for change in changes:
        if change.kind == "reset":
            store.clear()
        elif (page := change.page) and page.is_news:
            store.put(change.uri, page.markdown, {"title": page.title, "language": page.language})
        else:  # it is gone, is not to be found, or leads elsewhere
            store.remove(change.uri)
    return changes.cursor


class Texts(dict[str, str]):
    """A store that is a dictionary, and nothing else."""

    def put(self, url: str, text: str, about: dict[str, str]) -> None:
        """Add or replace the text of a page."""
        self[url] = f"{about['title']}\n\n{text}"

    def remove(self, url: str) -> None:
        """Remove the text of a page."""
        self.pop(url, None)


if __name__ == "__main__":
    site, file = sys.argv[1], Path(sys.argv[2])
    saved = json.loads(file.read_text()) if file.exists() else {"cursor": None, "texts": {}}
    texts = Texts(saved["texts"])
    try:
        cursor = update(site, texts, saved["cursor"], contents=f"{file}.contents")
    except ResourceSyncError as error:  # the host is down, say: the next run goes on from the file
        sys.exit(str(error))
    file.write_text(json.dumps({"cursor": cursor, "texts": texts}))
