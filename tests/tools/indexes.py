"""The adapters of the example `text_index.py`, with the stores that they are for: `python -m tests.tools.indexes`.

Needs `langchain-core` and `llama-index-core`, which no other test needs.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores import InMemoryVectorStore
from llama_index.core.storage.docstore import SimpleDocumentStore

from tests.destination.test_examples import example
from tests.kit.publications import Source


def main() -> int:
    """Keep both stores equal to a site of which pages are added, changed and removed; return the exit status."""
    index = example("text_index")
    vectors, documents = InMemoryVectorStore(DeterministicFakeEmbedding(size=8)), SimpleDocumentStore()
    stores = [index.LangChain(vectors), index.LlamaIndex(documents)]
    with TemporaryDirectory() as folder:
        source = Source(Path(folder))
        for day, pages in enumerate(({"a": "one", "b": "two"}, {"a": "new", "c": "three"}), start=1):
            source.publish(
                {f"{name}.html": f"<p>{text}</p>".encode() for name, text in pages.items()}, f"2026-01-0{day}T10:00"
            )
            for store in stores:
                index.update(folder, store, max_deletions=100)
            expected = {f"https://example.org/{name}.html": text for name, text in pages.items()}
            found = [
                {each["id"]: each["text"] for each in vectors.store.values()},
                {name: document.text for name, document in documents.docs.items()},
            ]
            if found != [expected, expected]:
                sys.stderr.write(f"expected {expected}, found {found}\n")
                return 1
    sys.stdout.write("LangChain and LlamaIndex: equal after each publication\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
