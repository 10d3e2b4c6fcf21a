"""Keep the texts of a Source in an index of Elasticsearch or OpenSearch, here the index `pages`.

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
    position = send(f"{index}-cursor/_doc/1")
    cursor = position and position["_source"]["cursor"]
    if cursor is None:
        clear(index)
    lines: list[Any] = []
    try:
        for change in follow(source, since=cursor, **options):
            if change.kind == "reset":
                lines.clear()
                clear(index)
            elif change.content:
                text = change.content.read().decode("utf-8", "replace")
                time = change.time and change.time.isoformat()
                lines += [{"index": key(change.uri)}, {"uri": change.uri, "time": time, "text": text}]
            else:
                lines.append({"delete": key(change.uri)})
            cursor = change.cursor
            if len(lines) >= BATCH:
                store(index, lines, cursor)
    except ResourceSyncError:  # something cannot be fetched now: keep what came before it
        store(index, lines, cursor)
        raise
    store(index, lines, cursor)


def key(uri: str) -> dict[str, str]:
    """Return what identifies the document of a URI, which may be longer than an identifier."""
    return {"_id": sha256(uri.encode()).hexdigest()}


def clear(index: str) -> None:
    """Remove all documents."""
    send(f"{index}/_delete_by_query?conflicts=proceed", {"query": {"match_all": {}}})


def store(index: str, lines: list[Any], cursor: str | None) -> None:
    """Send changes, and then the cursor after the last of them."""
    if lines:
        answer = send(f"{index}/_bulk?refresh=true", *lines) or {}
        for done in (action for item in answer.get("items", ()) for action in item.values()):
            if "error" in done:
                message = f"{index} refused a change: {done['error']}"
                raise OSError(message)
        lines.clear()
    if cursor:
        send(f"{index}-cursor/_doc/1", {"cursor": cursor})


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
    try:
        update(*sys.argv[1:3], type=["text/*"])
    except (ResourceSyncError, OSError) as error:  # a host is down, say: the next run goes on from the stored cursor
        sys.exit(str(error))
