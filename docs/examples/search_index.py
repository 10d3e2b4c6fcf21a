"""Keep a full-text index of a Source: `python search_index.py https://example.org/ index.sqlite3`."""

import sqlite3
import sys
from contextlib import closing
from typing import Any

from pelican_resourcesync import ResourceSyncError, follow

TABLES = """
CREATE TABLE IF NOT EXISTS page (id INTEGER PRIMARY KEY, uri TEXT UNIQUE NOT NULL);
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(text);
CREATE TABLE IF NOT EXISTS progress (id INTEGER PRIMARY KEY CHECK (id = 1), cursor TEXT NOT NULL);
"""


def update(source: str, file: str, **options: Any) -> None:
    """Bring the index up to date. Each change and its cursor are one transaction, so that none comes twice."""
    with closing(sqlite3.connect(file)) as db:
        db.executescript(TABLES)
        row = db.execute("SELECT cursor FROM progress").fetchone()
        for change in follow(source, since=row and row[0], **options):
            with db:
                if change.kind == "reset":
                    db.execute("DELETE FROM page")
                    db.execute("DELETE FROM words")
                db.execute("DELETE FROM words WHERE rowid = (SELECT id FROM page WHERE uri = ?)", (change.uri,))
                db.execute("DELETE FROM page WHERE uri = ?", (change.uri,))
                if change.content:
                    page = db.execute("INSERT INTO page (uri) VALUES (?)", (change.uri,)).lastrowid
                    text = change.content.read().decode("utf-8", "replace")
                    db.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (page, text))
                db.execute("INSERT OR REPLACE INTO progress VALUES (1, ?)", (change.cursor,))


def search(file: str, words: str) -> list[str]:
    """Return the URIs of the pages with some words, the best first."""
    query = "SELECT uri FROM words JOIN page ON page.id = words.rowid WHERE words MATCH ? ORDER BY rank"
    with closing(sqlite3.connect(file)) as db:
        return [uri for (uri,) in db.execute(query, (words,))]


if __name__ == "__main__":
    try:
        update(*sys.argv[1:3])
    except ResourceSyncError as error:  # the host is down, say: what was handled is stored, and the next run goes on
        sys.exit(str(error))
