"""Publish changes at an XMPP PubSub node, as change notifications, as soon as they are live.

    pelican-resourcesync announce public --json-lines --cursor announced |
        XMPP_PASSWORD=… python xmpp_source.py source@example.org pubsub.example.org changes

Needs slixmpp. The node is created if there is none. It keeps no items, which makes it faster: the Change Lists have all
changes. With `--server HOST:PORT`, that server is used without encryption: only for one on the same machine.
"""

import asyncio
import json
import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any
from xml.etree import ElementTree as ET

from slixmpp import ClientXMPP
from slixmpp.exceptions import IqError

SITEMAP, RS = "{http://www.sitemaps.org/schemas/sitemap/0.9}", "{http://www.openarchives.org/rs/terms/}"
CONFIGURATION = {
    "FORM_TYPE": "http://jabber.org/protocol/pubsub#node_config",
    "pubsub#persist_items": "0",
    "pubsub#access_model": "open",
}
MOST = 100  # changes in a notification


def arguments_of(*more: str) -> Namespace:
    """Return the arguments that both programs take, and more."""
    parser = ArgumentParser()
    for name in ("address", "service", "node", *more):
        parser.add_argument(name)
    parser.add_argument("--server", default="", metavar="HOST:PORT")
    return parser.parse_args()


async def publish(client: ClientXMPP, service: str, node: str, lines: Iterable[str]) -> None:
    """Publish the changes in lines of JSON at a node."""
    pubsub, form = client.plugin["xep_0060"], client.plugin["xep_0004"].make_form("submit")
    for name, value in CONFIGURATION.items():
        form.add_field(var=name, ftype="hidden" if name == "FORM_TYPE" else None, value=value)
    try:
        await pubsub.create_node(service, node, config=form)
    except IqError as error:
        if error.condition != "conflict":  # it is there already
            raise
    for payload in notifications(map(json.loads, lines)):
        await pubsub.publish(service, node, payload=payload)


def notifications(changes: Iterator[dict[str, Any]]) -> Iterator[ET.Element]:
    """Yield notifications of changes, each from the time of the last change before."""
    last = ""
    while some := [*islice(changes, MOST)]:
        yield notification(some, last or some[0]["time"])
        last = some[-1]["time"]


def notification(changes: Sequence[dict[str, Any]], begin: str) -> ET.Element:
    """Return a notification of changes."""
    root = ET.Element(f"{SITEMAP}urlset")
    interval = {"capability": "change-notification", "from": begin, "until": changes[-1]["time"]}
    ET.SubElement(root, f"{RS}md", interval)
    for change in changes:
        entry = ET.SubElement(root, f"{SITEMAP}url")
        ET.SubElement(entry, f"{SITEMAP}loc").text = change["uri"]
        md = {"change": change["kind"], "datetime": change["time"]}
        md |= {name: str(change[name]) for name in ("hash", "length", "type") if change[name]}
        ET.SubElement(entry, f"{RS}md", md)
    return root


async def connected(address: str, server: str) -> ClientXMPP:
    """Return a client that is connected to the server of its address, or to one on this machine without encryption."""
    client = ClientXMPP(address, os.environ["XMPP_PASSWORD"])
    client.register_plugin("xep_0060")
    host, _, port = server.rpartition(":")
    if server:
        client.enable_starttls = client.enable_direct_tls = False
        client.enable_plaintext = client.plugin["feature_mechanisms"].unencrypted_scram = True
    started = asyncio.get_running_loop().create_future()
    client.add_event_handler("session_start", lambda _: started.done() or started.set_result(None))
    for event in ("failed_all_auth", "connection_failed"):
        client.add_event_handler(event, lambda why: started.done() or started.set_exception(ConnectionError(why)))
    client.connect(*((host, int(port)) if server else ()))
    await started
    return client


async def main() -> None:
    """Publish the changes on standard input."""
    arguments = arguments_of()
    client = await connected(arguments.address, arguments.server)
    await publish(client, arguments.service, arguments.node, sys.stdin)
    await client.disconnect()


if __name__ == "__main__":
    asyncio.run(main())
