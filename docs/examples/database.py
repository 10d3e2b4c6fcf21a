"""Keep the resources of a Source in a database table: `python database.py https://example.org/ sqlite:///copy.db`."""

import sys
from typing import Any

import sqlalchemy as sa

from pelican_resourcesync import ResourceSyncError, follow

metadata = sa.MetaData()
resources = sa.Table(
    "resource",
    metadata,
    sa.Column("uri", sa.String(2000), primary_key=True),
    sa.Column("time", sa.DateTime(timezone=True)),
    sa.Column("hash", sa.String(200), nullable=False),
    sa.Column("type", sa.String(200), nullable=False),
    sa.Column("content", sa.LargeBinary, nullable=False),
)
progress = sa.Table("progress", metadata, sa.Column("cursor", sa.Text, nullable=False))


def update(source: str, url: str, **options: Any) -> None:
    """Bring the table up to date. Each change and its cursor are one transaction, so that none comes twice."""
    engine = sa.create_engine(url)
    metadata.create_all(engine)
    with engine.begin() as connection:
        cursor = connection.scalar(sa.select(progress.c.cursor))
    for change in follow(source, since=cursor, **options):
        with engine.begin() as connection:
            if change.kind == "reset":
                connection.execute(sa.delete(resources))
            connection.execute(sa.delete(resources).where(resources.c.uri == change.uri))
            if change.content:
                row = {"uri": change.uri, "time": change.time, "hash": change.hash, "type": change.type}
                connection.execute(sa.insert(resources).values(content=change.content.read(), **row))
            connection.execute(sa.delete(progress))
            connection.execute(sa.insert(progress).values(cursor=change.cursor))
    engine.dispose()


if __name__ == "__main__":
    try:
        update(*sys.argv[1:3])
    except ResourceSyncError as error:  # the host is down, say: what was handled is stored, and the next run goes on
        sys.exit(str(error))
