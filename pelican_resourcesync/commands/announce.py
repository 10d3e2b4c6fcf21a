"""The command `announce`: tell search engines and hubs what changed, after the site was deployed."""

import json
import logging
import shlex
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace, _SubParsersAction
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pelican_resourcesync.commands.follow import write_line
from pelican_resourcesync.commands.running import PROGRAM
from pelican_resourcesync.errors import DocumentError, IncompleteError, SettingsError, TransportError
from pelican_resourcesync.options import seconds
from pelican_resourcesync.system.command_line import add_command
from pelican_resourcesync.system.exits import DONE
from pelican_resourcesync.system.printable import get_logger, printable
from pelican_resourcesync.system.strict_json import parse_json

if TYPE_CHECKING:
    from pelican_resourcesync.delivery.announce import PublishedSite, Since
    from pelican_resourcesync.protocol import ChangeKind
    from pelican_resourcesync.settings import Hub


_logger = get_logger("pelican_resourcesync")
#: The receiver of lines, in the file of a cursor.
_LINES = "lines"


def add_verb(verbs: "_SubParsersAction[ArgumentParser]") -> None:
    """Add the command."""
    text = "tell search engines (by IndexNow) and hubs what changed"
    site = "https://manual.example --key 0123456789abcdef --since 2026-05-31T10:00:00Z"
    verb = add_command(verbs, "announce", text, run, "public", site)
    verb.add_argument("target", metavar="TARGET", help="the folder that was deployed, or the URL of the site")
    verb.add_argument(
        "--wait", type=seconds, default=600.0, metavar="TIME", help="how long to wait until the folder is live (10m)"
    )
    begin = verb.add_mutually_exclusive_group()
    begin.add_argument(
        "--since", type=_since, metavar="WHEN", help="all changes after a time or a generation (the publication before)"
    )
    begin.add_argument(
        "--cursor", type=Path, metavar="FILE", help="all changes since the last run with this file, which is updated"
    )
    verb.add_argument("--key", metavar="KEY", help="the IndexNow key (by default, from the key file in the folder)")
    verb.add_argument("--endpoint", metavar="URL", help="where to announce (https://api.indexnow.org/indexnow)")
    verb.add_argument(
        "--all-bytes", action="store_true", help="also pages of which only the navigation, a footer or the like changed"
    )
    verb.add_argument("--yes", action="store_true", help="also where more than half of all pages changed")
    verb.add_argument(
        "--json-lines", action="store_true", help="write a line of JSON for each change instead, once it is live"
    )


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
    """Notify hubs, announce the pages that changed, and print what was done."""
    from pelican_resourcesync.delivery.announce import NotAnnouncedError, PublishedSite
    from pelican_resourcesync.http import origin
    from pelican_resourcesync.terminal import answer

    if options.endpoint and origin(options.endpoint) is None:
        message = f"--endpoint must be an http(s) URL, not {options.endpoint!a}"
        raise SettingsError(message)
    site, failures = None, list[str]()
    done: _Done = {"pages": {}, "hubs": []}
    try:
        site = PublishedSite(options.target)
        position = _Position(options)
        if options.json_lines:
            _write_lines(site, position, options)
        else:
            failures.extend(_announce(site, position, options, done))
    except (TransportError, NotAnnouncedError, KeyboardInterrupt) as error:
        failures.append(f"nothing was announced: {str(error) or 'stopped'}")
    if options.json and not options.json_lines:
        answer(options, "", {**done, "failed": failures})
    if failures:
        *lines, last = [*failures, *([_catch_up(site, options)] if site else [])]
        sys.stderr.writelines(f"{PROGRAM}: {printable(line)}\n" for line in lines)
        raise IncompleteError(last)
    return DONE


#: The pages and hubs that were told, as `--json` prints them.
_Done = dict[str, Any]


def _say(options: Namespace, *lines: str) -> None:
    if not options.json and options.level < logging.ERROR:
        sys.stdout.writelines(f"{printable(line)}\n" for line in lines)


def _announce(site: "PublishedSite", position: "_Position", options: Namespace, done: _Done) -> Iterator[str]:
    """Announce to each receiver what it has not heard of; yield what failed."""
    from pelican_resourcesync.delivery.announce import ENDPOINT

    endpoint = options.endpoint or ENDPOINT
    known = {hub: site.changed_sets(position.since(hub.url), names) for hub, names in site.hubs(site.sets).items()}
    hubs = {hub: names for hub, names in known.items() if names}
    pages = site.changed(position.since(endpoint), all_bytes=options.all_bytes)
    if options.dry_run:
        done |= {"pages": pages, "hubs": [hub.url for hub in hubs]}
        lines = [*(f"{kind} {uri}" for uri, kind in pages.items()), *(f"notify {hub.url}" for hub in hubs)]
        _say(options, *(lines or [_nothing(site)]))
        return
    for receiver in [hub.url for hub in known if hub not in hubs] + ([] if pages else [endpoint]):
        position.reached(receiver, site)  # there is nothing that it has not heard of
    if not pages and not hubs:
        _say(options, _nothing(site))
    else:
        key = options.key or site.find_key() if pages else ""
        if site.folder:
            site.wait_until_live(options.wait)
        yield from _notify(site, hubs, position, options, done)
        if key and _are_suspiciously_many(site, pages, options):
            yield (
                f"more than half of {site.pages:,} pages changed at once, and no search engine was told: a template "
                "may have changed what all pages say; add --yes if that is right"
            )
        elif key:
            yield from _announce_pages(site, key, pages, position, options, done)


def _are_suspiciously_many(site: "PublishedSite", pages: "Mapping[str, ChangeKind]", options: Namespace) -> bool:
    """Return whether so many pages changed that a user has to say that this is right, and does not."""
    from pelican_resourcesync.delivery.announce import MOST_UNASKED
    from pelican_resourcesync.protocol import ChangeKind
    from pelican_resourcesync.terminal import read_answer

    updated = Counter(pages.values())[ChangeKind.UPDATED]
    if options.yes or updated <= max(MOST_UNASKED, site.pages // 2):
        return False
    if not sys.stdin.isatty():
        return True
    answer = read_answer(f"{updated:,} of {site.pages:,} pages changed. Announce them? [y/N] ")
    return not answer.strip().lower().startswith("y")


def _notify(
    site: "PublishedSite", hubs: "Mapping[Hub, Sequence[str]]", position: "_Position", options: Namespace, done: _Done
) -> Iterator[str]:
    from pelican_resourcesync.delivery.announce import NotAnnouncedError, notify

    for hub, names in hubs.items():
        try:
            notify(site, hub, names)
        except (NotAnnouncedError, KeyboardInterrupt) as error:
            yield f"a hub was not notified: {str(error) or f'{hub.url}: stopped'}"
        else:
            position.reached(hub.url, site)
            done["hubs"].append(hub.url)
            _say(options, f"Notified {hub.url} of changes: {', '.join(names)}.")


def _announce_pages(  # noqa: PLR0913, PLR0917 - the pages, the receiver and the report
    site: "PublishedSite",
    key: str,
    pages: "Mapping[str, ChangeKind]",
    position: "_Position",
    options: Namespace,
    done: _Done,
) -> Iterator[str]:
    from pelican_resourcesync.delivery.announce import ENDPOINT, NotAnnouncedError, announce

    announced, endpoint = 0, options.endpoint or ENDPOINT
    try:
        for announced in announce(site.siteurl, key, [*pages], endpoint):  # noqa: B007 - the last is printed below
            pass
    except (NotAnnouncedError, KeyboardInterrupt) as error:
        yield f"{announced:,} of {len(pages):,} pages were announced: {str(error) or 'stopped'}"
    else:
        position.reached(endpoint, site)
        done["pages"] = pages
        for uri, kind in pages.items():
            _logger.info("%s %s", kind, uri)
        _say(options, f"Announced to {endpoint}: {_counts(pages)}.")


def _write_lines(site: "PublishedSite", position: "_Position", options: Namespace) -> None:
    """Write a line of JSON for each change, described as `follow` does, as soon as they are live."""
    from pelican_resourcesync.delivery.announce import NotAnnouncedError, change_time
    from pelican_resourcesync.protocol import Metadata, render_datetime

    changes = site.changes(position.since(_LINES))
    if site.folder and not options.dry_run:
        site.wait_until_live(options.wait)
    for name, entry in changes:
        md, changed = entry.md or Metadata(), change_time(entry)
        described = {
            "set": name,
            "uri": entry.loc,
            "kind": md.change,
            "time": render_datetime(changed) if changed else None,
            "hash": next((f"{hash_.algorithm}:{hash_.digest}" for hash_ in md.hash), ""),
            "length": md.length,
            "type": md.type or "",
            "links": [{"rel": link.rel, "href": link.href, "type": link.type} for link in entry.links],
        }
        try:
            write_line(described)
        except OSError as error:
            message = f"the lines cannot be written: {error.strerror}"
            raise NotAnnouncedError(message) from error
    if not options.dry_run:
        position.reached(_LINES, site)


class _Position:
    """Up to when each receiver has heard of the changes of each set: as a file says, if there is one."""

    def __init__(self, options: Namespace) -> None:
        self._file: Path | None = options.cursor
        self._since: Since = options.since
        self._known = _read_cursor(self._file) if self._file else {}

    def since(self, receiver: str) -> "Since":
        return self._known.get(receiver) if self._file else self._since

    def reached(self, receiver: str, site: "PublishedSite") -> None:
        """Save that a receiver has heard of all changes."""
        from pelican_resourcesync.protocol import render_datetime
        from pelican_resourcesync.system.durable import replace_file

        if self._file:
            self._known[receiver] = {name: known.at for name, known in site.sets.items()}
            texts = {
                receiver: {name: render_datetime(time) for name, time in times.items()}
                for receiver, times in self._known.items()
            }
            replace_file(self._file, f"{json.dumps(texts)}\n".encode())


def _read_cursor(cursor: Path) -> dict[str, dict[str, datetime]]:
    from pelican_resourcesync.protocol import parse_datetime

    try:
        return parse_json(
            cursor.read_bytes(),
            lambda known: {
                receiver: {name: parse_datetime(time) for name, time in times.items()}
                for receiver, times in known.items()
            },
        )
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", "") or "it is not a file of announce"
        message = f"{cursor} cannot be read ({why}): use the file of an earlier run, or a new one"
        raise SettingsError(message) from error


def _nothing(site: "PublishedSite") -> str:
    if not any(state.earlier for state in site.sets.values()):
        return "Nothing to announce: this is the first publication, which search engines find by the sitemap."
    return "Nothing to announce: no page has changed."


def _counts(pages: "Mapping[str, ChangeKind]") -> str:
    kinds = Counter(pages.values())
    by_kind = ", ".join(f"{number:,} {kind}" for kind, number in sorted(kinds.items()))
    return f"{len(pages):,} {'page' if len(pages) == 1 else 'pages'} ({by_kind})"


def _catch_up(site: "PublishedSite", options: Namespace) -> str:
    """Return how to announce later what was not announced now, also after further publications."""
    from pelican_resourcesync.protocol import render_datetime

    if options.cursor:
        return "to catch up, run it again"
    since = render_datetime(site.since) if site.since else None
    given = {"--since": since, "--key": options.key, "--endpoint": options.endpoint}
    words = [options.target, *(word for pair in given.items() if pair[1] for word in pair)]
    return f"to catch up later: {PROGRAM} announce {shlex.join(words)}"
