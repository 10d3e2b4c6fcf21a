"""Options that several commands have, and what those for reading a Source mean."""

import argparse
import os
from argparse import Action, ArgumentParser, Namespace, _ActionsContainer
from dataclasses import fields
from typing import Any

from pelican_resourcesync.system.signing import parse_public
from pelican_resourcesync.system.units import rate, seconds, size

USER, PASSWORD = "RESOURCESYNC_USER", "RESOURCESYNC_PASSWORD"


def add_source(verb: ArgumentParser) -> Action:
    """Add the Source."""
    text = "a site, a page, a Source Description, a list, or a folder"
    return verb.add_argument("source", metavar="SOURCE", help=text)


def add_jobs(group: _ActionsContainer, default: int) -> None:
    """Add the option for the number of simultaneous requests."""
    text = f"the number of simultaneous requests to a host ({default})"
    group.add_argument("--jobs", type=count, default=default, metavar="N", help=text)


def add_max_documents(group: _ActionsContainer) -> None:
    """Add the option for the number of documents that are read."""
    text = "the maximum number of documents (10000)"
    group.add_argument("--max-documents", type=count, default=10_000, metavar="N", help=text)


def add_by(group: _ActionsContainer) -> None:
    """Add how resources are fetched."""
    text = "lists, dumps or auto: fetch files one by one, or in packages"
    group.add_argument("--by", choices=("auto", "lists", "dumps"), default="auto", metavar="ROUTE", help=text)


def add_reading(verb: ArgumentParser) -> None:
    """Add which resources of a Source are read, how, and within which limits; each is a field of `MirrorOptions`."""
    selection = verb.add_argument_group("selection")
    selection.add_argument("--set", action="append", default=[], metavar="NAME", help="only this set")
    selection.add_argument(
        "--only", action="append", default=[], metavar="PATTERN", help="only URLs that match, such as '*/2024/*.pdf'"
    )
    selection.add_argument(
        "--type", action="append", default=[], metavar="TYPE", help="only media types that match, such as image/*"
    )
    web = verb.add_argument_group("requests", argument_default=argparse.SUPPRESS)
    add_jobs(web, 8)
    web.add_argument("--rate", type=checked_rate, metavar="N", help="requests (5) or bytes (2MB) per second")
    web.add_argument(
        "--user", metavar="NAME[:PASSWORD]", help=f"log in; without a password, with the one in ${PASSWORD}"
    )
    web.add_argument("--netrc", action="store_true", help="log in as ~/.netrc says")
    web.add_argument(
        "--header", action="append", default=[], metavar="NAME:VALUE", help="send this to the Source's origin"
    )
    web.add_argument("--allow-host", action="append", default=[], metavar="HOST", help="request this other host, too")
    web.add_argument("--user-agent", type=agent, metavar="TEXT", help="introduce yourself by this name")
    web.add_argument("--allow-private", action="store_true", help="hosts of --allow-host may have private addresses")
    web.add_argument("--proxy", action="store_true", help="use the proxies of the environment")
    web.add_argument("--retries", type=number, metavar="N", help="attempts after a failure (4)")
    signed = verb.add_argument_group("signatures", argument_default=argparse.SUPPRESS)
    signed.add_argument(
        "--key", action="append", type=parse_public, metavar="KEY", help="the key that signs the Source"
    )
    signed.add_argument(
        "--max-age", type=seconds, metavar="TIME", help="refuse what was signed longer ago than TIME, such as 48h"
    )
    limits = verb.add_argument_group("limits", argument_default=argparse.SUPPRESS)
    limits.add_argument("--timeout", type=seconds, metavar="TIME", help="longest silence (30s)")
    limits.add_argument("--max-time", type=seconds, metavar="TIME", help="longest time of one file (1h)")
    limits.add_argument("--max-run", type=seconds, metavar="TIME", help="longest time of a run")
    limits.add_argument("--max-wait", type=seconds, metavar="TIME", help="longest pause for a host (5m)")
    limits.add_argument("--max-size", type=size, metavar="SIZE", help="largest file (10GB)")
    limits.add_argument("--max-total", type=size, metavar="SIZE", help="largest copy")
    limits.add_argument(
        "--min-free", type=size, metavar="SIZE", help="what stays free on the disk (1GB, but no more than 5 %%)"
    )
    limits.add_argument("--max-document-size", type=size, metavar="SIZE", help="largest list (100MB)")
    add_max_documents(limits)
    limits.add_argument("--max-resources", type=count, metavar="N", help="the maximum number of resources (10000000)")


def count(text: str) -> int:
    """Return a number of things, at least 1."""
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def checked_rate(text: str) -> str:
    """Return a rate as it is written. Raises `ArgumentTypeError` if it is not a rate."""
    rate(text)
    return text


def number(text: str) -> int:
    """Return a number of things, which may be 0."""
    found = int(text)
    if found < 0:
        raise ValueError
    return found


def agent(text: str) -> str:
    """Return the value of a header `User-Agent`. Raises `ValueError` if it cannot be sent."""
    if not text.strip() or not text.isascii() or not text.isprintable():
        raise ValueError
    return text


def options_of(arguments: Namespace) -> dict[str, Any]:
    """Return the options that were given, by the names that `mirror` and `follow` have for them."""
    from pelican_resourcesync.destination import MirrorOptions

    values = vars(arguments)
    known = {each.name: values[each.name] for each in fields(MirrorOptions) if each.name in values}
    user = values["user"] if "user" in values else os.environ.get(USER, "")
    if user and ":" not in user:
        user += f":{os.environ.get(PASSWORD, '')}"
    return known | {"user": user}
