"""The commands of a site that was published: `upload` and `serve` it, and `announce` what changed."""

import json
import logging
import shlex
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from pelican_resourcesync.commands.running import progress, write_line
from pelican_resourcesync.delivery.announce import (
    ENDPOINT,
    MOST_UNASKED,
    NotAnnouncedError,
    PublishedSite,
    Since,
    announce,
    change_time,
    notify,
)
from pelican_resourcesync.delivery.serve import FolderServer
from pelican_resourcesync.delivery.upload import step_files, upload
from pelican_resourcesync.errors import IncompleteError, SettingsError, TransportError
from pelican_resourcesync.http import Bucket, is_bucket, origin
from pelican_resourcesync.protocol import ChangeKind, Metadata, parse_datetime, render_datetime
from pelican_resourcesync.settings import Hub
from pelican_resourcesync.system.durable import replace_file
from pelican_resourcesync.system.exits import DONE, stopping
from pelican_resourcesync.system.printable import get_logger, printable
from pelican_resourcesync.system.strict_json import parse_json
from pelican_resourcesync.terminal import answer, format_bytes, format_count, read_answer
from pelican_resourcesync.version import PROGRAM

_logger = get_logger("pelican_resourcesync")
#: The receiver of lines, in the file of a cursor.
_LINES = "lines"


def run_upload(options: Namespace) -> int:
    """Upload, and print a summary."""
    if options.order:
        sys.stdout.writelines(f"{path}\n" for path in step_files(options.output, options.order))
        return DONE
    if not is_bucket(options.bucket):
        message = (
            f"{options.bucket!a} is not the URL of a bucket: write s3://bucket/prefix, gs://bucket/prefix or "
            "az://container/prefix"
        )
        raise SettingsError(message)
    try:
        with stopping(), progress(options, "comparing the output with the bucket", "files") as report:
            done = upload(
                options.output,
                Bucket(options.bucket),
                grace=options.grace,
                jobs=options.jobs,
                dry_run=options.dry_run,
                on_progress=report,
            )
    except (TransportError, KeyboardInterrupt) as error:
        raise IncompleteError(str(error) or "stopped; the next upload continues from here") from error
    lines = [f"upload {path}" for path in done.changed] + [f"remove {path}" for path in done.removed]
    did = ("would be uploaded", "would be removed") if options.dry_run else ("uploaded", "removed")
    later = f" ({done.waiting:,} later)" if done.waiting else ""
    summary = (
        f"{len(done.changed):,} of {format_count(done.files, 'file')} {did[0]} ({format_bytes(done.size)}), "
        f"{len(done.removed):,} {did[1]}{later}, in {format_count(done.requests, 'request')}."
    )
    answer(options, "\n".join([*lines * (options.dry_run or options.level < logging.WARNING), summary]), done)
    return DONE


def run_serve(options: Namespace) -> int:
    """Serve the folder until the user stops it."""
    if not options.folder.is_dir():
        message = f"{options.folder} is not a folder: pass the output of a site that was published"
        raise SettingsError(message)
    try:
        server = FolderServer((options.host, options.port), options.folder)
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", "") or str(error).rstrip(".")
        message = f"--host {options.host} --port {options.port} cannot be used: {why}: choose another host or port"
        raise SettingsError(message) from error
    with server:
        host = f"[{options.host}]" if ":" in options.host else options.host
        url = f"http://{host}:{server.server_port}/"
        answer(options, f"Serving {options.folder} at {url}", {"folder": str(options.folder), "url": url})
        sys.stdout.flush()
        with suppress(KeyboardInterrupt):
            server.serve_forever()
    return DONE


def run_announce(options: Namespace) -> int:
    """Notify hubs, announce the pages that changed, and print what was done."""
    if options.endpoint and origin(options.endpoint) is None:
        message = f"--endpoint must be an http(s) URL, not {options.endpoint!a}"
        raise SettingsError(message)
    failures, announcer = list[str](), None
    done: dict[str, Any] = {"pages": {}, "hubs": []}
    try:
        announcer = _Announcer(PublishedSite(options.target), options, done)
        if options.json_lines:
            announcer.write_lines()
        else:
            failures.extend(announcer.run())
    except (TransportError, NotAnnouncedError, KeyboardInterrupt) as error:
        failures.append(f"nothing was announced: {str(error) or 'stopped'}")
    if options.json and not options.json_lines:
        answer(options, "", {**done, "failed": failures})
    if failures:
        *lines, last = [*failures, *([announcer.how_to_catch_up()] if announcer else [])]
        sys.stderr.writelines(f"{PROGRAM}: {printable(line)}\n" for line in lines)
        raise IncompleteError(last)
    return DONE


class _Announcer:
    """Announces to each receiver the changes that it has not heard of, by the file of a cursor, if there is one.

    `done` gets the pages and hubs that were told, as `--json` prints them.
    """

    def __init__(self, site: PublishedSite, options: Namespace, done: dict[str, Any]) -> None:
        self._site, self._options, self._done = site, options, done
        self._endpoint = options.endpoint or ENDPOINT
        self._known = _read_cursor(options.cursor) if options.cursor else {}

    def run(self) -> Iterator[str]:
        """Announce to hubs and the search engines; yield what failed."""
        site, options = self._site, self._options
        known = {hub: site.changed_sets(self._since(hub.url), names) for hub, names in site.hubs(site.sets).items()}
        hubs = {hub: names for hub, names in known.items() if names}
        pages = site.changed(self._since(self._endpoint), all_bytes=options.all_bytes)
        if options.dry_run:
            self._done |= {"pages": pages, "hubs": [hub.url for hub in hubs]}
            lines = [*(f"{kind} {uri}" for uri, kind in pages.items()), *(f"notify {hub.url}" for hub in hubs)]
            self._say(*(lines or [_nothing(site)]))
            return
        for receiver in [hub.url for hub in known if hub not in hubs] + ([] if pages else [self._endpoint]):
            self._reached(receiver)  # there is nothing that it has not heard of
        if not pages and not hubs:
            self._say(_nothing(site))
            return
        key = options.key or site.find_key() if pages else ""
        if site.folder:
            site.wait_until_live(options.wait)
        yield from self._notify(hubs)
        if key and self._are_suspiciously_many(pages):
            yield (
                f"more than half of {site.pages:,} pages changed at once, so no search engine was notified: a template "
                "may have changed the text of all pages. Add --yes if the changes are intended"
            )
        elif key:
            yield from self._announce_pages(key, pages)

    def write_lines(self) -> None:
        """Write a line of JSON for each change, described as `follow` does, as soon as they are live."""
        changes = self._site.changes(self._since(_LINES))
        if self._site.folder and not self._options.dry_run:
            self._site.wait_until_live(self._options.wait)
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
        if not self._options.dry_run:
            self._reached(_LINES)

    def how_to_catch_up(self) -> str:
        """Return how to announce later what was not announced now, also after further publications."""
        site, options = self._site, self._options
        if options.cursor:
            return "to announce the rest, run the command again"
        since = render_datetime(site.since) if site.since else None
        given = {"--since": since, "--key": options.key, "--endpoint": options.endpoint}
        words = [options.target, *(word for pair in given.items() if pair[1] for word in pair)]
        return f"to announce the rest later, run {PROGRAM} announce {shlex.join(words)}"

    def _say(self, *lines: str) -> None:
        if not self._options.json and self._options.level < logging.ERROR:
            sys.stdout.writelines(f"{printable(line)}\n" for line in lines)

    def _since(self, receiver: str) -> Since:
        return self._known.get(receiver) if self._options.cursor else self._options.since

    def _reached(self, receiver: str) -> None:
        """Save that a receiver has heard of all changes."""
        if self._options.cursor:
            self._known[receiver] = {name: known.at for name, known in self._site.sets.items()}
            texts = {
                receiver: {name: render_datetime(time) for name, time in times.items()}
                for receiver, times in self._known.items()
            }
            replace_file(self._options.cursor, f"{json.dumps(texts)}\n".encode())

    def _are_suspiciously_many(self, pages: Mapping[str, ChangeKind]) -> bool:
        """Return whether so many pages changed that a user has to say that this is right, and does not."""
        updated, number = Counter(pages.values())[ChangeKind.UPDATED], self._site.pages
        if self._options.yes or updated <= max(MOST_UNASKED, number // 2):
            return False
        if not sys.stdin.isatty():
            return True
        answer = read_answer(f"{updated:,} of {number:,} pages changed. Announce them? [y/N] ")
        return not answer.strip().lower().startswith("y")

    def _notify(self, hubs: Mapping[Hub, Sequence[str]]) -> Iterator[str]:
        for hub, names in hubs.items():
            try:
                notify(self._site, hub, names)
            except (NotAnnouncedError, KeyboardInterrupt) as error:
                yield f"a hub was not notified: {str(error) or f'{hub.url}: stopped'}"
            else:
                self._reached(hub.url)
                self._done["hubs"].append(hub.url)
                self._say(f"Notified {hub.url} of changes: {', '.join(names)}.")

    def _announce_pages(self, key: str, pages: Mapping[str, ChangeKind]) -> Iterator[str]:
        announced = 0
        try:
            for announced in announce(self._site.siteurl, key, [*pages], self._endpoint):  # noqa: B007 - printed below
                pass
        except (NotAnnouncedError, KeyboardInterrupt) as error:
            yield f"{announced:,} of {len(pages):,} pages were announced: {str(error) or 'stopped'}"
        else:
            self._reached(self._endpoint)
            self._done["pages"] = pages
            for uri, kind in pages.items():
                _logger.info("%s %s", kind, uri)
            kinds = ", ".join(f"{number:,} {kind}" for kind, number in sorted(Counter(pages.values()).items()))
            self._say(f"Announced to {self._endpoint}: {format_count(len(pages), 'page')} ({kinds}).")


def _read_cursor(cursor: Path) -> dict[str, dict[str, datetime]]:
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
        why = getattr(error, "strerror", "") or "announce did not write it"
        message = f"the cursor file {cursor} cannot be read ({why}): pass the file of an earlier run, or a new file"
        raise SettingsError(message) from error


def _nothing(site: PublishedSite) -> str:
    if not any(state.earlier for state in site.sets.values()):
        return "Nothing to announce: this is the first publication, which search engines find through the sitemap."
    return "Nothing to announce: no page has changed."
