"""Options that several commands have, what those for reading a Source mean, and values with units."""

import argparse
import os
import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace, _ActionsContainer
from base64 import b64encode
from dataclasses import fields
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pelican_resourcesync.errors import SettingsError
from pelican_resourcesync.signing import parse_public

if TYPE_CHECKING:
    from pelican_resourcesync.destination import MirrorOptions

USER, PASSWORD = "RESOURCESYNC_USER", "RESOURCESYNC_PASSWORD"
_UNITS = {"": 1, "k": 1_000, "m": 1_000_000, "g": 1_000_000_000, "t": 1_000_000_000_000}
_TIMES = {"": 1, "s": 1, "m": 60, "h": 3_600, "d": 86_400}


def add_source(verb: ArgumentParser) -> None:
    """Add the Source."""
    verb.add_argument("source", metavar="SOURCE", help="a site, a page, a Source Description, a list, or a folder")


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
    selection.add_argument("--set", action="append", default=[], dest="sets", metavar="NAME", help="only this set")
    selection.add_argument(
        "--only", action="append", default=[], metavar="PATTERN", help="only URLs like '*/2024/*.pdf'"
    )
    selection.add_argument(
        "--type", action="append", default=[], dest="types", metavar="TYPE", help="only media types like image/*"
    )
    web = verb.add_argument_group("requests", argument_default=argparse.SUPPRESS)
    add_jobs(web, 8)
    web.add_argument("--rate", type=rate, metavar="N", help="requests (5) or bytes (2MB) per second")
    web.add_argument("--user", metavar="NAME[:PASSWORD]", help=f"log in; without password, that of ${PASSWORD}")
    web.add_argument("--netrc", action="store_true", help="log in as ~/.netrc says")
    web.add_argument(
        "--header", action="append", default=[], metavar="NAME:VALUE", help="send this to the Source's origin"
    )
    web.add_argument(
        "--allow-host", action="append", default=[], dest="hosts", metavar="HOST", help="request this other host, too"
    )
    web.add_argument("--user-agent", type=agent, metavar="TEXT", help="introduce yourself by this name")
    web.add_argument("--allow-private", action="store_true", help="such hosts may have private addresses")
    web.add_argument("--proxy", action="store_true", dest="proxies", help="use the proxies of the environment")
    web.add_argument("--retries", type=number, metavar="N", help="attempts after a failure (4)")
    signed = verb.add_argument_group("signatures", argument_default=argparse.SUPPRESS)
    signed.add_argument(
        "--key", action="append", type=parse_public, dest="keys", metavar="KEY", help="the key that signs the Source"
    )
    signed.add_argument(
        "--max-age", type=seconds, metavar="TIME", help="refuse what was signed longer ago than TIME like 48h"
    )
    limits = verb.add_argument_group("limits", argument_default=argparse.SUPPRESS)
    limits.add_argument("--timeout", type=seconds, metavar="TIME", help="longest silence (30s)")
    limits.add_argument(
        "--max-time", type=seconds, dest="resource_time", metavar="TIME", help="longest time of one file (1h)"
    )
    limits.add_argument(
        "--max-wait", type=seconds, dest="longest_wait", metavar="TIME", help="longest pause for a host (5m)"
    )
    limits.add_argument("--max-size", type=size, dest="resource_size", metavar="SIZE", help="largest file (10GB)")
    limits.add_argument(
        "--max-document-size", type=size, dest="document_size", metavar="SIZE", help="largest list (100MB)"
    )
    add_max_documents(limits)
    limits.add_argument("--max-resources", type=count, metavar="N", help="most resources (10000000)")


def count(text: str) -> int:
    """Return a number of things, at least 1."""
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def size(text: str) -> int:
    """Return a number of bytes, from text like `2MB`."""
    return int(_number(text.lower().removesuffix("b"), _UNITS))


def seconds(text: str) -> float:
    """Return a number of seconds, from text like `10m`."""
    return _number(text, _TIMES)


def rate(text: str) -> tuple[float, float]:
    """Return requests per second, and bytes per second, of which one is 0."""
    plain = text.lower().removesuffix("/s")
    if plain.endswith("b") or plain[-1:] in "kmg":
        return 0.0, _number(plain.removesuffix("b"), _UNITS)
    return _number(plain, {"": 1}), 0.0


def _number(text: str, units: dict[str, int]) -> float:
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([a-z]?)", text.strip())
    if not found or found[2] not in units or not float(found[1]):
        message = f"{text!a} is not a number with one of the units {', '.join(filter(None, units)) or 'none'}"
        raise ArgumentTypeError(message)
    return float(found[1]) * units[found[2]]


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


def options_of(arguments: Namespace) -> "MirrorOptions":
    """Return the options of a mirror. Raises `SettingsError` for credentials that cannot be used."""
    from pelican_resourcesync.destination import MirrorOptions

    values = vars(arguments)
    known = {each.name: values[each.name] for each in fields(MirrorOptions) if each.name in values}
    known |= {name: tuple(value) for name, value in known.items() if isinstance(value, list)}
    known["requests"], known["bandwidth"] = values.get("rate", (0.0, 0.0))
    return MirrorOptions(**known, credentials=_credentials(arguments))


def _credentials(arguments: Namespace) -> dict[str, str]:
    """Return the headers that are sent to the Source's origin alone."""
    found = {}
    for each in arguments.header:
        name, colon, value = each.partition(":")
        if not colon or not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name) or not value.strip().isprintable():
            message = f"--header {name!a} cannot be used: write it as 'Name: value'"
            raise SettingsError(message)
        found[name] = value.strip()
    user = getattr(arguments, "user", "") or os.environ.get(USER)
    if user:
        name, colon, password = user.partition(":")
        found["Authorization"] = _basic(name, password if colon else os.environ.get(PASSWORD, ""))
    elif "netrc" in arguments:
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
