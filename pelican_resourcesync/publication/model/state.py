"""`publication.json`: the state of a publication, read first by the next build, with the hashes of its documents."""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime, tzinfo
from functools import lru_cache, partial
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.protocol import parse_datetime, render_datetime
from pelican_resourcesync.publication.model.kinds import kind_of
from pelican_resourcesync.publication.model.layout import SET_NAME
from pelican_resourcesync.publication.model.options import PELICAN, SITE, is_repository
from pelican_resourcesync.publication.model.sanity_checks import START_OVER, is_public
from pelican_resourcesync.settings import Hub
from pelican_resourcesync.system.files import sha256
from pelican_resourcesync.system.printable import printable
from pelican_resourcesync.system.signing import SigningKey, signer
from pelican_resourcesync.system.strict_json import parse_json

FORMAT = 1

#: The number of earlier generations that a state lists by their SHA-256.
MOST_ANCESTORS = 100

_LONGEST = 500  # characters of a text, or of what a message shows of one
_SHOWN = 100  # characters of a path
_LARGEST = 2**53  # which every reader of JSON has as an integer
_SHA256 = re.compile(r"[0-9a-f]{64}")
_EARLIEST, _LATEST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)


@dataclass(slots=True, kw_only=True)
class Counts:
    """What a part of the Resource List comes to: the number of its entries, and for the page, what they are.

    `types` has for each media type the number of resources and of their bytes, `years` the number of those last changed
    in each year, and `last` is the last of these times.
    """

    entries: int = 0
    types: dict[str, tuple[int, int]] = field(default_factory=dict)
    years: dict[str, int] = field(default_factory=dict)
    last: str = ""

    def add(self, other: "Counts") -> None:
        """Add what other entries come to."""
        self.entries += other.entries
        for type_, (number, size) in other.types.items():
            before = self.types.get(type_, (0, 0))
            self.types[type_] = before[0] + number, before[1] + size
        for year, number in other.years.items():
            self.years[year] = self.years.get(year, 0) + number
        self.last = max(self.last, other.last, key=sortable)


def sortable(time: str) -> str:
    """Return a time as a text that sorts by time."""
    return time.removesuffix("Z")


class Part(NamedTuple):
    """A part of the Resource List, or the whole: the path of its document, the URI at which its range begins."""

    path: str
    first: str
    counts: Counts


@dataclass(frozen=True, slots=True)
class ChangeListSummary:
    """A Change List: its path, its interval (`until` is `None` while it is open), its number of changes by kind."""

    path: str
    start: datetime
    until: datetime | None
    created: int
    updated: int
    deleted: int

    @property
    def changes(self) -> int:
        """The number of all changes."""
        return self.created + self.updated + self.deleted


class FirstPublication(NamedTuple):
    """A first publication that listed no changes from before it: its commit.

    `past` is whether these changes have been added since.
    """

    commit: str
    past: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicationState:
    """One generation of a publication.

    - `siteurl` and `at`: those of its Resource List.
    - `commit` and `landed`: the commit built and its landing time, `None` without history.
    - `postponed`: by commit, the landing times that depend on when it was built: see `landing_times`.
    - `parts`: those of the Resource List, in the order of their URIs.
    - `change_lists`: all Change Lists, oldest first.
    - `restart_number`: how often the set was started over under new addresses, from 1.
    - `predecessor`: the SHA-256 of the previous state; `ancestors`: those of the states before it, newest first.
    - `began`: the `at` of the first publication under these addresses.
    - `earlier`: the `at` of the states before it, newest first.
    - `publisher`: who published the set; only this one removes it.
    - `documents`: the SHA-256 of every document of the set, by its path relative to the output.
    - `superseded`: likewise, documents of the previous generation that are kept only for its readers.
    - `packages`: the length in bytes of every package among them.
    - `unstable`: for each URI, in how many publications in a row its bytes changed although the history lists no
      change.
    - `sets`: the names of all sets published together, if there are several.
    - `former`: the addresses that the site had before `siteurl`, oldest first; its changes may name them.
    - `signed_by`: the public key that signs the state, or an empty text.
    - `first`: the first publication, if it listed no past, and nothing hinders from adding that.
    - `read_as_of`: the time as of which a repository was read. Earlier changes that were missed then get a later time.
    - `last_modified`: the newest change of an item in its database, by which an older copy of that is recognized.
    - `hubs`: those to which the change notifications of the set are sent.
    - `site_name`, `language`, `timezone` and `home`: of the pages for people, which a takedown writes again.
    - `digest`: the SHA-256 of the bytes that it was read from, by which later states know it.
    """

    generation: int
    siteurl: str
    at: datetime
    began: datetime
    documents: Mapping[str, str]
    parts: tuple[Part, ...] = ()
    change_lists: tuple[ChangeListSummary, ...] = ()
    predecessor: str | None = None
    commit: str | None = None
    landed: datetime | None = None
    postponed: Mapping[str, datetime] = field(default_factory=dict)
    restart_number: int = 1
    ancestors: tuple[str, ...] = ()
    earlier: tuple[datetime, ...] = ()
    superseded: Mapping[str, str] = field(default_factory=dict)
    packages: Mapping[str, int] = field(default_factory=dict)
    unstable: Mapping[str, int] = field(default_factory=dict)
    publisher: str = SITE
    sets: tuple[str, ...] = ()
    former: tuple[str, ...] = ()
    read_as_of: datetime | None = None
    last_modified: datetime | None = None
    signed_by: str = ""
    first: FirstPublication | None = None
    hubs: tuple[Hub, ...] = ()
    site_name: str = ""
    language: str = ""
    timezone: tzinfo = UTC
    home: str = ""
    digest: str = field(default="", compare=False)

    @property
    def of_repository(self) -> bool:
        """Whether a repository published the set."""
        return is_repository(self.publisher)

    @property
    def of_site(self) -> bool:
        """Whether it is a site, whatever built it."""
        return self.publisher in {SITE, PELICAN}

    @property
    def ancestry(self) -> tuple[str, ...]:
        """The SHA-256 of all known earlier states, newest first."""
        return () if self.predecessor is None else (self.predecessor, *self.ancestors)

    def continues(self, other: "PublicationState") -> bool:
        """Return whether it is known to be the other generation, or to descend from it."""
        return other.digest in (self.digest, *self.ancestry)


#: What a state may lack, and then is at its default.
_MAY_LACK = frozenset(
    ("sets", "former", "read_as_of", "last_modified", "first", "hubs", "site_name", "language", "timezone", "home")
)


def render_state(state: PublicationState, tool: str, key: SigningKey | None = None) -> bytes:
    """Return a state as JSON, signed if there is a key; `tool` is the name and version of this program."""
    content: dict[str, Any] = {"format": FORMAT, "tool": tool}
    for row in fields(state):
        value = getattr(state, row.name)
        is_written = value != row.default if row.name in _MAY_LACK else row.name not in {"signed_by", "digest"}
        if is_written:
            content[row.name] = _plain(value)
    if key:
        content = key.sign(content)
    return json.dumps(content, indent=1, sort_keys=True, ensure_ascii=True).encode() + b"\n"


def _plain(value: Any) -> Any:
    """Return a value of a state as JSON has it."""
    match value:
        case ChangeListSummary():
            interval = {"from": value.start, "until": value.until}
            numbers = {"created": value.created, "updated": value.updated, "deleted": value.deleted}
            value = {"path": value.path, **interval, **numbers}
        case Part():
            value = {"path": value.path, "first": value.first, **asdict(value.counts)}
        case Hub() | FirstPublication():
            value = value._asdict()
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [*map(_plain, value)]
    if isinstance(value, datetime):
        return render_datetime(value)
    return str(value) if isinstance(value, tzinfo) else value


@lru_cache(maxsize=16)  # each build asks for the states in its output several times
def parse_state(data: bytes, name: str) -> PublicationState:
    """Parse a state. Raises `PublicationError`, which contains `name`, if it is invalid or has a newer format."""
    try:
        return parse_json(data, partial(_state, name, sha256(data)))
    except ValueError as error:
        why = printable(str(error)[:_LONGEST])
        message = f"{name} is damaged ({why}): upload it again, or {START_OVER}"
        raise PublicationError(message) from error


def _state(name: str, digest: str, content: Mapping[str, Any]) -> PublicationState:
    if content["format"] != FORMAT:
        found = printable(json.dumps(content["format"])[:_LONGEST])
        message = f"{name} has the format {found}, which this version cannot read: update pelican-resourcesync"
        raise PublicationError(message)
    return PublicationState(
        generation=_count(content["generation"]),
        predecessor=_text_or_none(content["predecessor"]),
        siteurl=_text(content["siteurl"]),
        at=_time(content["at"]),
        began=_time(content["began"]),
        commit=_text_or_none(content["commit"]),
        landed=None if content["landed"] is None else _time(content["landed"]),
        postponed={str(commit): _time(time) for commit, time in content["postponed"].items()},
        restart_number=_count(content["restart_number"], least=1),
        ancestors=tuple(_text(digest) for digest in content["ancestors"]),
        earlier=tuple(map(_time, content["earlier"])),
        unstable={str(uri): _count(count) for uri, count in content["unstable"].items()},
        documents=_digests(content["documents"]),
        parts=tuple(map(_part, content["parts"])),
        change_lists=tuple(map(_change_list, content["change_lists"])),
        superseded=_digests(content["superseded"]),
        packages={_path(path): _count(length) for path, length in content["packages"].items()},
        publisher=_text(content["publisher"]),
        sets=tuple(_name(name) for name in content.get("sets", ())),
        former=tuple(_address(address) for address in content.get("former", ())),
        read_as_of=_time(content["read_as_of"]) if "read_as_of" in content else None,
        last_modified=_time(content["last_modified"]) if "last_modified" in content else None,
        signed_by=_text(signer(content)),
        first=_first(content["first"]) if "first" in content else None,
        hubs=tuple(Hub(_text(each["url"]), bool(each["fat"])) for each in content.get("hubs", ())),
        site_name=_string(content.get("site_name", "")),
        language=_string(content.get("language", "")),
        timezone=_zone(_string(content.get("timezone", ""))),
        home=_string(content.get("home", "")),
        digest=digest,
    )


def _zone(name: str) -> tzinfo:
    """Return a time zone, or UTC if this system does not know it."""
    with suppress(ZoneInfoNotFoundError, ValueError, OSError):
        return ZoneInfo(name)
    return UTC


def _first(content: Mapping[str, Any]) -> FirstPublication:
    return FirstPublication(_text(content["commit"]), past=bool(content["past"]))


def _part(content: Mapping[str, Any]) -> Part:
    counts = Counts(
        entries=_count(content["entries"]),
        types={str(type_): (_count(number), _count(size)) for type_, (number, size) in content["types"].items()},
        years={str(int(year)): _count(number) for year, number in content["years"].items()},
        last=_text(content["last"]),
    )
    if counts.last:
        parse_datetime(counts.last)
    return Part(path=_path(content["path"]), first=str(content["first"]), counts=counts)


def _change_list(content: Mapping[str, Any]) -> ChangeListSummary:
    until = content["until"]
    return ChangeListSummary(
        _path(content["path"]),
        parse_datetime(content["from"]),
        None if until is None else parse_datetime(until),
        *(_count(content[kind]) for kind in ("created", "updated", "deleted")),
    )


def _digests(content: Mapping[str, Any]) -> dict[str, str]:
    for path, digest in content.items():
        if not isinstance(digest, str) or not _SHA256.fullmatch(digest):
            message = f"{path[:_SHOWN]} has {str(digest)[:_SHOWN]!a}, which is not a SHA-256"
            raise ValueError(message)
    return {_path(path): digest for path, digest in content.items()}


def _path(path: object) -> str:
    """Check and return the path of a document."""
    if not isinstance(path, str) or not kind_of(path).listed:
        message = f"{str(path)[:_SHOWN]!a} is listed, but is not a document of a publication"
        raise ValueError(message)
    return path


def _text(value: object) -> str:
    """Check and return a short printable text."""
    if not isinstance(value, str) or len(value) > _LONGEST or not value.isprintable():
        message = f"{value!r} is not a printable text of at most {_LONGEST} characters"
        raise ValueError(message)
    return value


def _string(value: object) -> str:
    """Check and return a text of any length, which is shown on pages alone."""
    if not isinstance(value, str):
        message = f"{value!r} is not a text"
        raise ValueError(message)  # noqa: TRY004 - as every other value that is wrong
    return value


def _address(value: object) -> str:
    """Check and return an address that a site had."""
    address = _text(value)
    if not is_public(address):
        message = f"the former address {address!r} is not a valid site URL"
        raise ValueError(message)
    return address


def _text_or_none(value: object) -> str | None:
    return None if value is None else _text(value)


def _name(name: object) -> str:
    """Check and return the name of a set, which is also the name of a folder."""
    if not isinstance(name, str) or not SET_NAME.fullmatch(name):
        message = f"{name!r} is not a valid set name"
        raise ValueError(message)
    return name


def _time(text: str) -> datetime:
    """Parse the time of a publication, in a range that leaves room for later ones."""
    time = parse_datetime(text)
    if not _EARLIEST <= time <= _LATEST:
        message = f"the time {text} is not between {_EARLIEST.year} and {_LATEST.year}"
        raise ValueError(message)
    return time


def _count(number: object, *, least: int = 0) -> int:
    if not isinstance(number, int) or isinstance(number, bool) or not least <= number <= _LARGEST:
        message = f"{number!r} is not a number from {least} to {_LARGEST}"
        raise ValueError(message)
    return number
