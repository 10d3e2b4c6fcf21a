"""The options of the `mirror` command: its arguments, and what they mean for a mirror."""

import os
import re
from argparse import ArgumentParser, Namespace
from base64 import b64encode
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pelican_resourcesync.commands.arguments import add_jobs, add_max_documents, count, rate, seconds, size
from pelican_resourcesync.errors import ResourceSyncError, SettingsError

if TYPE_CHECKING:
    from datetime import datetime

    from pelican_resourcesync.destination import Options

USER, PASSWORD = "RESOURCESYNC_USER", "RESOURCESYNC_PASSWORD"


def add_arguments(verb: ArgumentParser) -> None:
    """Add the arguments of the command."""
    verb.add_argument("source", metavar="SOURCE", help="a site, a page, a Source Description, a list, or a folder")
    verb.add_argument(
        "folder",
        type=Path,
        nargs="?",
        metavar="FOLDER",
        help="the folder of the copy, where one is made",
    )
    _add_selection(verb)
    _add_tasks(verb)
    _add_requests(verb)
    _add_limits(verb)


def _add_selection(verb: ArgumentParser) -> None:
    what = verb.add_argument_group("what to copy")
    what.add_argument("--set", action="append", default=[], dest="sets", metavar="NAME", help="only this set")
    what.add_argument("--only", action="append", default=[], metavar="PATTERN", help="only URLs like '*/2024/*.pdf'")
    what.add_argument(
        "--type", action="append", default=[], dest="types", metavar="TYPE", help="only media types like image/*"
    )


def _add_tasks(verb: ArgumentParser) -> None:
    how = verb.add_argument_group("what to do")
    does = how.add_mutually_exclusive_group()
    does.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")
    does.add_argument(
        "--audit", action="store_true", help="compare the copy with the Source's list, and change nothing"
    )
    does.add_argument("--repair", action="store_true", help="compare the copy with the Source's list, and mend it")
    does.add_argument(
        "--every", type=seconds, metavar="TIME", help="keep running, and look again after TIME, such as 10m"
    )
    does.add_argument(
        "--list-times", action="store_true", help="list the times that --at can restore, and whether completely"
    )
    how.add_argument(
        "--at", type=moment, metavar="TIME", help="restore the Source as it was, into another folder: 2024-01-31T12:00Z"
    )
    how.add_argument(
        "--by",
        choices=("auto", "lists", "dumps"),
        default="auto",
        metavar="WAY",
        help="lists, dumps or auto: fetch files one by one, or in packages",
    )
    how.add_argument(
        "--atomic", action="store_true", help="build the next state beside the copy, and switch when it is complete"
    )
    how.add_argument("--keep", type=int, metavar="N", help="with --atomic, keep N earlier states (1)")
    how.add_argument(
        "--prove",
        type=Path,
        metavar="FILE",
        help="compare everything in the end, and write a proof that others can check",
    )
    how.add_argument("--exec", dest="command", metavar="COMMAND", help="make no copy, and run COMMAND for each change")
    how.add_argument(
        "--json-lines",
        action="store_true",
        help="make no copy, and write a line for each change",
    )
    how.add_argument("--cursor", type=Path, metavar="FILE", help="where these keep how far they have come")
    how.add_argument("--adopt", action="store_true", help="use what a folder has already that is not a copy yet")
    how.add_argument("--accept-older", action="store_true", help="follow a Source that was set back to an older state")
    how.add_argument(
        "--max-deletions", type=float, default=20.0, metavar="N", help="stop if more than N %% would go (20)"
    )
    how.add_argument("--json", action="store_true", help="report as JSON")


def _add_requests(verb: ArgumentParser) -> None:
    web = verb.add_argument_group("how to ask")
    add_jobs(web, 8)
    web.add_argument(
        "--rate", type=rate, default=(0.0, 0.0), metavar="N", help="requests (5) or bytes (2MB) per second"
    )
    web.add_argument("--user", metavar="NAME[:PASSWORD]", help=f"log in; without password, that of ${PASSWORD}")
    web.add_argument("--netrc", action="store_true", help="log in as ~/.netrc says")
    web.add_argument(
        "--header", action="append", default=[], metavar="NAME:VALUE", help="send this to the Source's origin"
    )
    web.add_argument("--allow-host", action="append", default=[], metavar="HOST", help="ask this other host, too")
    web.add_argument("--allow-private", action="store_true", help="such hosts may have private addresses")
    web.add_argument("--proxy", action="store_true", help="use the proxies of the environment")


def _add_limits(verb: ArgumentParser) -> None:
    limits = verb.add_argument_group("limits")
    limits.add_argument("--retries", type=int, default=4, metavar="N", help="attempts after a failure (4)")
    limits.add_argument("--timeout", type=seconds, default=30.0, metavar="TIME", help="longest silence (30s)")
    limits.add_argument(
        "--max-time", type=seconds, default=3600.0, metavar="TIME", help="longest time of one file (1h)"
    )
    limits.add_argument("--max-wait", type=seconds, default=300.0, metavar="TIME", help="longest pause for a host (5m)")
    limits.add_argument("--max-size", type=size, default=10_000_000_000, metavar="SIZE", help="largest file (10GB)")
    limits.add_argument(
        "--max-document-size", type=size, default=100_000_000, metavar="SIZE", help="largest list (100MB)"
    )
    add_max_documents(limits)
    limits.add_argument(
        "--max-resources", type=count, default=10_000_000, metavar="N", help="most resources (10000000)"
    )


def moment(text: str) -> "datetime":
    """Return the time that a text names. Raises `ArgumentTypeError`."""
    from argparse import ArgumentTypeError

    from pelican_resourcesync.protocol import parse_datetime

    try:
        return parse_datetime(text)
    except ResourceSyncError as error:
        message = f"{text!a} is not a time like 2024-01-31 or 2024-01-31T12:00:00Z"
        raise ArgumentTypeError(message) from error


def options_of(arguments: Namespace) -> "Options":
    """Return the options of a mirror. Raises `SettingsError` for credentials that cannot be used."""
    from pelican_resourcesync.destination import Options

    return Options(
        sets=tuple(arguments.sets),
        only=tuple(arguments.only),
        types=tuple(arguments.types),
        hosts=tuple(arguments.allow_host),
        allow_private=arguments.allow_private,
        adopt=arguments.adopt,
        accept_older=arguments.accept_older,
        atomic=arguments.atomic,
        keep=1 if arguments.keep is None else arguments.keep,
        proxies=arguments.proxy,
        max_deletions=arguments.max_deletions,
        jobs=arguments.jobs,
        requests=arguments.rate[0],
        bandwidth=arguments.rate[1],
        retries=max(arguments.retries, 0),
        longest_wait=arguments.max_wait,
        timeout=arguments.timeout,
        resource_time=arguments.max_time,
        document_size=arguments.max_document_size,
        resource_size=arguments.max_size,
        max_documents=arguments.max_documents,
        max_resources=arguments.max_resources,
        credentials=_credentials(arguments),
        by=arguments.by,
        at=arguments.at,
    )


def _credentials(arguments: Namespace) -> dict[str, str]:
    """Return the headers that are sent to the Source's origin alone."""
    found = {}
    for each in arguments.header:
        name, colon, value = each.partition(":")
        if not colon or not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name) or not value.strip().isprintable():
            message = f"--header {name!a} cannot be used: write it as 'Name: value'"
            raise SettingsError(message)
        found[name] = value.strip()
    user = arguments.user or os.environ.get(USER)
    if user:
        name, colon, password = user.partition(":")
        found["Authorization"] = _basic(name, password if colon else os.environ.get(PASSWORD, ""))
    elif arguments.netrc:
        found |= _netrc(urlsplit(arguments.source).hostname or "")
    return found


def _netrc(host: str) -> dict[str, str]:
    import netrc

    try:
        known = netrc.netrc().authenticators(host)
    except (OSError, netrc.NetrcParseError) as error:
        message = f"the file .netrc cannot be used ({type(error).__name__})"
        raise SettingsError(message) from error
    return {"Authorization": _basic(known[0], known[2] or "")} if known else {}


def _basic(name: str, password: str) -> str:
    return f"Basic {b64encode(f'{name}:{password}'.encode()).decode('ascii')}"
