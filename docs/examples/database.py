"""Keep the resources of Sources in a database table: `python database.py https://example.org/ sqlite:///copy.db`."""

import sys
from typing import Any

import sqlalchemy as sa

from pelican_resourcesync import ResourceSyncError, follow

metadata = sa.MetaData()
resources = sa.Table(
    "resource",
    metadata,
    sa.Column("source", sa.String(200), primary_key=True),
    sa.Column("uri", sa.String(2000), primary_key=True),
    sa.Column("time", sa.DateTime(timezone=True)),
    sa.Column("hash", sa.String(200), nullable=False),
    sa.Column("type", sa.String(200), nullable=False),
    sa.Column("content", sa.LargeBinary, nullable=False),
)
progress = sa.Table(
    "progress",
    metadata,
    sa.Column("source", sa.String(200), primary_key=True),
    sa.Column("cursor", sa.Text, nullable=False),
)


def update(source: str, url: str, **options: Any) -> None:
    """Bring the table up to date. Each change and its cursor are one transaction, so that none comes twice."""
    engine = sa.create_engine(url)
    metadata.create_all(engine)
    with engine.begin() as connection:
        cursor = connection.scalar(sa.select(progress.c.cursor).where(progress.c.source == source))
    for change in follow(source, since=cursor, **options):
        with engine.begin() as connection:
            gone = sa.delete(resources).where(resources.c.source == source)  # of a reset, all of this Source
            connection.execute(gone if change.kind == "reset" else gone.where(resources.c.uri == change.uri))
            if change.content:
                row = {"uri": change.uri, "time": change.time, "hash": change.hash, "type": change.type}
                connection.execute(sa.insert(resources).values(source=source, content=change.content.read(), **row))
            connection.execute(sa.delete(progress).where(progress.c.source == source))
            connection.execute(sa.insert(progress).values(source=source, cursor=change.cursor))
    engine.dispose()


if __name__ == "__main__":
    if not sys.argv[2:]:
        sys.exit(__doc__)
    try:
        update(*sys.argv[1:3])
    except ResourceSyncError as error:  # the host is down, say: what was handled is stored, and the next run goes on
        sys.exit(str(error))
