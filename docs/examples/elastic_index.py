"""Keep the texts of one or more Sources in an index of Elasticsearch or OpenSearch, here the index `pages`.

`python elastic_index.py https://example.org/ http://localhost:9200/pages`; `$API_KEY` is sent, if it is set.
"""

import json
import os
import sys
from hashlib import sha256
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from pelican_resourcesync import ResourceSyncError, follow

BATCH = 200


def update(source: str, index: str, **options: Any) -> None:
    """Bring the index up to date.

    A cursor is stored when all changes before it are in the index. So after a crash a change may come again, which
    changes nothing, and none is lost.
    """
    name = key(source)
    position = send(f"{index}-cursor/_doc/{name}")
    cursor = position and position["_source"]["cursor"]
    if cursor is None:
        clear(index, name)
    lines: list[Any] = []
    try:
        for change in follow(source, since=cursor, **options):
            if change.kind == "reset":
                lines.clear()
                clear(index, name)
            elif change.content:
                text = change.content.read().decode("utf-8", "replace")
                time = change.time and change.time.isoformat()
                document = {"source": name, "uri": change.uri, "time": time, "text": text}
                lines += [{"index": {"_id": key(source, change.uri)}}, document]
            else:
                lines.append({"delete": {"_id": key(source, change.uri)}})
            cursor = change.cursor
            if len(lines) >= BATCH:
                store(index, name, lines, cursor)
    except ResourceSyncError:  # something cannot be fetched now: keep what came before it
        store(index, name, lines, cursor)
        raise
    store(index, name, lines, cursor)


def key(*uris: str) -> str:
    """Return an identifier for URIs, which may be longer than one."""
    return sha256("\n".join(uris).encode()).hexdigest()


def clear(index: str, name: str) -> None:
    """Remove all documents of a Source."""
    send(f"{index}/_delete_by_query?conflicts=proceed", {"query": {"match": {"source": name}}})


def store(index: str, name: str, lines: list[Any], cursor: str | None) -> None:
    """Send changes, and then the cursor after the last of them."""
    if lines:
        answer = send(f"{index}/_bulk?refresh=true", *lines) or {}
        for done in (action for item in answer.get("items", ()) for action in item.values()):
            if "error" in done:
                message = f"{index} refused a change: {done['error']}"
                raise OSError(message)
        lines.clear()
    if cursor:
        send(f"{index}-cursor/_doc/{name}", {"cursor": cursor})


def send(url: str, *lines: Any) -> dict[str, Any] | None:
    """Send a request, with a line of JSON for each of `lines`, and return the answer; `None` if nothing is there."""
    data = "".join(f"{json.dumps(each)}\n" for each in lines).encode()
    headers = {"Content-Type": "application/x-ndjson" if "/_bulk" in url else "application/json"}
    if "API_KEY" in os.environ:
        headers["Authorization"] = f"ApiKey {os.environ['API_KEY']}"
    try:
        with urlopen(Request(url, data or None, headers)) as response:
            return json.load(response)
    except HTTPError as error:
        if error.code == 404:  # noqa: PLR2004 - nothing there yet
            return None
        raise


if __name__ == "__main__":
    if not sys.argv[2:]:
        sys.exit(__doc__)
    try:
        update(*sys.argv[1:3], type=["text/*"])
    except (ResourceSyncError, OSError) as error:  # a host is down, say: the next run goes on from the stored cursor
        sys.exit(str(error))
