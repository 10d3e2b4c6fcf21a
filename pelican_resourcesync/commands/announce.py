"""The command `announce`: tell search engines which pages changed, after the site was deployed."""

import shlex
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace, _SubParsersAction
from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from pelican_resourcesync.commands.running import DONE, INCOMPLETE, PROGRAM
from pelican_resourcesync.errors import DocumentError, SettingsError, TransportError
from pelican_resourcesync.printable import printable
from pelican_resourcesync.units import seconds

if TYPE_CHECKING:
    from pelican_resourcesync.announce import PublishedSite
    from pelican_resourcesync.protocol import ChangeKind


def add_verb(verbs: "_SubParsersAction[ArgumentParser]") -> None:
    """Add the command."""
    text = "tell search engines which pages changed, by IndexNow"
    verb = verbs.add_parser("announce", help=text, description=f"{text[0].upper()}{text[1:]}.")
    verb.set_defaults(verb=run)
    verb.add_argument("target", metavar="TARGET", help="the folder that was deployed, or the URL of the site")
    verb.add_argument(
        "--wait", type=seconds, default=600.0, metavar="TIME", help="how long to wait until the folder is live (10m)"
    )
    verb.add_argument(
        "--since", type=_since, metavar="WHEN", help="all changes after a time or a generation (the publication before)"
    )
    verb.add_argument("--key", metavar="KEY", help="the IndexNow key (by default, from the key file in the folder)")
    verb.add_argument("--endpoint", metavar="URL", help="where to announce (https://api.indexnow.org/indexnow)")
    verb.add_argument("--dry-run", action="store_true", help="print the pages, and announce nothing")


def _since(text: str) -> datetime | int:
    from pelican_resourcesync.protocol import parse_datetime

    if text.isascii() and text.isdigit():
        return int(text)
    try:
        return parse_datetime(text)
    except DocumentError as error:
        message = f"{text!a} is neither a time such as 2026-05-31T10:00:00Z nor the number of a generation"
        raise ArgumentTypeError(message) from error


def run(options: Namespace) -> int:
    """Announce the pages that changed, and print how many."""
    from pelican_resourcesync.announce import ENDPOINT, NotAnnouncedError, PublishedSite, announce
    from pelican_resourcesync.http import origin

    if options.endpoint and origin(options.endpoint) is None:
        message = f"--endpoint is {options.endpoint!a}: it may be an http(s) URL"
        raise SettingsError(message)
    try:
        site = PublishedSite(options.target)
        pages = site.changed_pages(options.since)
    except TransportError as error:
        sys.stderr.write(f"{PROGRAM}: nothing was announced: {printable(error)}\n")
        return INCOMPLETE
    if options.dry_run:
        sys.stdout.writelines(f"{printable(kind)} {printable(uri)}\n" for uri, kind in pages.items())
        return DONE
    if not pages:
        sys.stdout.write(f"{printable(_nothing(site))}\n")
        return DONE
    key, endpoint, announced = options.key or site.find_key(), options.endpoint or ENDPOINT, 0
    try:
        if site.folder:
            site.wait_until_live(options.wait)
        for announced in announce(site.siteurl, key, [*pages], endpoint):  # noqa: B007 - the last is told below
            pass
    except (NotAnnouncedError, KeyboardInterrupt) as error:
        reached = f"{announced:,} of {len(pages):,} pages were announced: {str(error) or 'stopped'}"
        sys.stderr.writelines(f"{PROGRAM}: {printable(line)}\n" for line in (reached, _catch_up(site, options)))
        return INCOMPLETE
    sys.stdout.write(f"Announced to {printable(endpoint)}: {printable(_counts(pages))}.\n")
    return DONE


def _nothing(site: "PublishedSite") -> str:
    if not any(each.state.earlier for each in site.sets.values()):
        return "Nothing to announce: this is the first publication, which search engines find by the sitemap."
    return "Nothing to announce: no page has changed."


def _counts(pages: "Mapping[str, ChangeKind]") -> str:
    kinds = Counter(pages.values())
    each = ", ".join(f"{number:,} {kind}" for kind, number in sorted(kinds.items()))
    return f"{len(pages):,} {'page' if len(pages) == 1 else 'pages'} ({each})"


def _catch_up(site: "PublishedSite", options: Namespace) -> str:
    """Return how to announce later what was not announced now, also after further publications."""
    from pelican_resourcesync.protocol import render_datetime

    since = render_datetime(site.since) if site.since else None
    given = {"--since": since, "--key": options.key, "--endpoint": options.endpoint}
    words = [options.target, *(word for pair in given.items() if pair[1] for word in pair)]
    return f"to catch up later: {PROGRAM} announce {shlex.join(words)}"
