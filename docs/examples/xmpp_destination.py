"""Handle the changes of a Source as soon as a notification of them arrives at an XMPP PubSub node.

    XMPP_PASSWORD=… python xmpp_destination.py reader@example.net pubsub.example.org changes https://example.org cursor

Needs slixmpp, and `xmpp_source.py` beside it. A notification is only a hint: the changes come from the Change Lists of
the Source, in order, after the position in the file `cursor`. So none is lost if a notification is.
"""

import asyncio
import json
import sys
from contextlib import suppress
from pathlib import Path

from xmpp_source import arguments_of, connected

from pelican_resourcesync import ResourceSyncError, follow

EVERY = 600.0  # seconds after which it looks for changes without a notification


def handle(source: str, cursor: Path) -> None:
    """Handle all changes after a position: here, write a line for each."""
    since = cursor.read_text() if cursor.exists() else None
    try:
        for change in follow(source, since):
            sys.stdout.write(f"{json.dumps({'kind': change.kind, 'uri': change.uri})}\n")
            sys.stdout.flush()
            cursor.write_text(change.cursor)
    except ResourceSyncError as error:  # the host is down, say: the next run goes on
        sys.stderr.write(f"{error}\n")


async def main() -> None:
    """Handle the changes of a Source whenever there may be some."""
    arguments = arguments_of("source", "cursor")
    client = await connected(arguments.address, arguments.server)
    hint = asyncio.Event()  # many notifications at once are one hint
    client.add_event_handler("pubsub_publish", lambda _: hint.set())
    client.send_presence()
    await client.plugin["xep_0060"].subscribe(arguments.service, arguments.node)
    while True:
        hint.clear()
        await asyncio.to_thread(handle, arguments.source, Path(arguments.cursor))
        with suppress(TimeoutError):
            await asyncio.wait_for(hint.wait(), EVERY)


if __name__ == "__main__":
    asyncio.run(main())
