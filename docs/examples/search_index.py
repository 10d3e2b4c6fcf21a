"""Keep a full-text index of the pages of Sources: `python search_index.py https://example.org/ index.sqlite3`.

Needs `pip install 'pelican-resourcesync[text]'`.
"""

import sqlite3
import sys
from contextlib import closing
from typing import Any

from pelican_resourcesync import ResourceSyncError, follow

TABLES = """
CREATE TABLE IF NOT EXISTS page (id INTEGER PRIMARY KEY, source TEXT NOT NULL, uri TEXT NOT NULL, UNIQUE (source, uri));
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(text);
CREATE TABLE IF NOT EXISTS progress (source TEXT PRIMARY KEY, cursor TEXT NOT NULL);
"""


def update(source: str, file: str, **options: Any) -> None:
    """Bring the index up to date. Each change and its cursor are one transaction, so that none comes twice."""
    with closing(sqlite3.connect(file)) as db:
        db.executescript(TABLES)
        row = db.execute("SELECT cursor FROM progress WHERE source = ?", (source,)).fetchone()
        for change in follow(source, since=row and row[0], text=True, type=["text/html"], **options):
            which, values = "source = ?", [source]  # after a reset: all pages of this Source, and of no other
            if change.kind != "reset":
                which, values = "source = ? AND uri = ?", [source, change.uri]
            with db:
                db.execute(f"DELETE FROM words WHERE rowid IN (SELECT id FROM page WHERE {which})", values)
                db.execute(f"DELETE FROM page WHERE {which}", values)
                if change.page and change.page.is_news:
                    page = db.execute("INSERT INTO page (source, uri) VALUES (?, ?)", values).lastrowid
                    text = f"{change.page.title}\n\n{change.page.markdown}"
                    db.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (page, text))
                db.execute("INSERT OR REPLACE INTO progress VALUES (?, ?)", (source, change.cursor))


def search(file: str, words: str) -> list[str]:
    """Return the URIs of the pages with some words, the best first."""
    query = "SELECT uri FROM words JOIN page ON page.id = words.rowid WHERE words MATCH ? ORDER BY rank"
    with closing(sqlite3.connect(file)) as db:
        return [uri for (uri,) in db.execute(query, (words,))]


if __name__ == "__main__":
    if not sys.argv[2:]:
        sys.exit(__doc__)
    try:
        update(*sys.argv[1:3])
    except ResourceSyncError as error:  # the host is down, say: what was handled is stored, and the next run goes on
        sys.exit(str(error))
