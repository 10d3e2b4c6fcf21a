"""A change of a resource: as an object, as an entry of a Change List, and as people read it; a history of them (CH)."""

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, Self

from pelican_resourcesync.errors import DocumentError
from pelican_resourcesync.protocol import (
    ChangeKind,
    EntryText,
    Link,
    attributes_in,
    is_news,
    parse_datetime,
    parse_links,
    render_datetime,
    split_content,
)
from pelican_resourcesync.publication.model.resource import EDITION, Representation, parse_representation, parse_time
from pelican_resourcesync.system.strict_json import parse_json
from pelican_resourcesync.system.titles import clean


class Change(NamedTuple):
    """One change (`CH02`): URI, time (UTC) and kind.

    `representation` describes the bytes at that publication. It is `None` for a deletion, and for a change before the
    first publication, whose bytes were never seen. `links` lead to related resources (LN). `content` is what the entry
    says about the content of a page. This is a tuple because there may be millions, and tuples are created faster.
    """

    time: datetime
    uri: str
    kind: ChangeKind
    representation: Representation | None = None
    links: tuple[Link, ...] = ()
    content: str = ""

    @property
    def news(self) -> bool:
        """Whether it is news for people."""
        return is_news(self.kind, self.content)


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """What leaves all packages, patches and versions: resources with all their states, and `states` of other resources.

    These are given by URI, with the SHA-256 of their bytes.
    """

    uris: Collection[str] = ()
    states: Mapping[str, Collection[str]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.uris or self.states)

    def has(self, uri: str, digest: str) -> bool:
        """Return whether this state of a resource is withdrawn."""
        return uri in self.uris or digest in self.states.get(uri, ())


#: The number of changes that a page about a Change List shows: the latest.
MOST_CHANGES = 1_000

_MD, _BARE = "    <rs:md", "/>\n"


def describe_change(kind: str, time: str, md: str, edition: int) -> str:
    """Return the `rs:md` of a change (`CH02`); `md` is the metadata of its resource as a text of a row, or empty."""
    datetime_ = f' datetime="{time}"' if edition == EDITION else ""
    return f'{_MD} change="{kind}"{datetime_}{md.removeprefix(_MD) or _BARE}'


def parse_change(text: EntryText) -> Change:
    """Return the change in an entry of a Change List. Raises `DocumentError` if there is none."""
    attributes = attributes_in(text.md)
    time, kind = parse_time(text.lastmod), attributes.get("change", "")
    if time is None or kind not in tuple(ChangeKind):
        message = f"the change of {text.loc} has no kind or no time"
        raise DocumentError(message)
    representation = parse_representation(text.md) if attributes.keys() & {"hash", "length", "type"} else None
    content = split_content(text.md)[1]
    return Change(time, text.loc, ChangeKind(kind), representation, parse_links(text.links), content)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeHistory:
    """The history of a set since its last publication.

    - `built`: the time of this build.
    - `changes`: the changes since the last publication, oldest first for each URI.
    - `complete`: false if there is no history to read changes from.
    - `past`: the changes up to the commit of the first publication, if that listed none; `None` if they are not known.
    - `explained`: returns what explains the deletion of a URI, such as `commits`, so that it needs no confirmation, and
      `""` if nothing does.
    - `withdrawn`: the URIs of resources that the last publication does not list any more, and are to be deleted now.
    - `touched`: whether anything, a commit or an uncommitted edit, may explain a change that `changes` does not list.
    - `commit` and `landed`: the commit built and its landing time.
    - `commits`: the commits that landed at these times, as far as a page is to link to them.
    - `objects`: returns the file with the bytes of a SHA-256, for changes whose resource has other bytes now; `None` if
      they are not available.
    - `times`: returns when the resources at these URIs, with the times of their rows, last changed or were deleted, as
      far as a source other than the history knows, read as of `read_as_of`, whose newest change is `last_modified`.
    """

    built: datetime
    read_as_of: datetime | None = None
    last_modified: datetime | None = None
    changes: Sequence[Change] = ()
    complete: bool = True
    past: Sequence[Change] | None = None
    explained: Callable[[str], str] | None = None
    withdrawn: Sequence[str] = ()
    touched: bool = False
    commit: str | None = None
    landed: datetime | None = None
    commits: Mapping[datetime, str] = field(default_factory=dict)
    postponed: Mapping[str, datetime] = field(default_factory=dict)
    objects: Callable[[str], Path | None] = field(default=lambda _digest: None)
    times: Callable[[Mapping[str, str]], Mapping[str, datetime]] = field(default=lambda _uris: {})


_TEXTS = ("uri", "title", "href", "version", "before", "commit", "moved")


@dataclass(frozen=True, slots=True)
class TitledChange:
    """A change for people: `title` is empty for a file that they do not read, and `href` for what is gone.

    `version` is the address of the resource as it was after the change, if that stays public, and `words` say how the
    text of a page differs from the version `before`. `earlier` are the times of the last changes before it that people
    see, the latest first. `commit` is the address of the commit that it came with, and `moved` that of the page to
    which this one only leads now. What is withdrawn has no `uri`: it is counted, and not named.
    """

    uri: str
    kind: ChangeKind
    time: datetime
    title: str
    href: str
    version: str = ""
    before: str = ""
    words: Sequence[tuple[str, str]] = ()
    earlier: Sequence[datetime] = ()
    commit: str = ""
    moved: str = ""

    @property
    def has_history(self) -> bool:
        """Whether more is known than that it changed."""
        return bool(self.words or self.earlier or self.commit)

    def anchor(self, time: datetime) -> str:
        """Return the name of the place, on the page about a Change List, of the change of the same URI at a time."""
        return f"c{sha256(f'{self.uri} {render_datetime(time)}'.encode()).hexdigest()[:12]}"

    def described(self) -> dict[str, Any]:
        """Return it as a JSON object, without what is empty."""
        values: dict[str, Any] = {
            **{name: getattr(self, name) for name in _TEXTS},
            "earlier": [*map(render_datetime, self.earlier)],
            "kind": self.kind.value,
            "time": render_datetime(self.time),
            "words": self.words,
        }
        return {name: value for name, value in values.items() if value}

    @classmethod
    def parse(cls, change: dict[str, Any]) -> Self:
        """Return what was described. Raises `ValueError` for anything else."""
        texts = {name: change.get(name, "") for name in _TEXTS}
        words = tuple((sign, text) for sign, text in change.get("words", ()))
        if {*map(type, chain(texts.values(), *words))} != {str}:
            message = f"not all of {texts} and {words} are texts"
            raise ValueError(message)
        texts["title"] = clean(texts["title"])
        earlier = tuple(map(parse_datetime, change.get("earlier", ())))
        return cls(
            kind=ChangeKind(change["kind"]), time=parse_datetime(change["time"]), words=words, earlier=earlier, **texts
        )


def latest_first(changes: Iterable[TitledChange]) -> list[TitledChange]:
    """Return changes in the order in which people read them."""
    return sorted(changes, key=lambda each: (each.time, each.uri), reverse=True)


_render = json.JSONEncoder(sort_keys=True).encode


class ShownChanges(NamedTuple):
    """The changes on the page about a Change List, the latest first, and the number of earlier ones that it lacks.

    `around` is the number of those that are no news.
    """

    changes: Sequence[TitledChange] = ()
    more: int = 0
    around: int = 0

    def after(self, new: "ShownChanges", hidden: Collection[str]) -> "ShownChanges":
        """Return these with `new` ones before them; those of `hidden` URIs are not named any more."""
        known = (*new.changes, *self.changes)
        changes = latest_first(
            TitledChange("", change.kind, change.time, "", "") if change.uri in hidden else change for change in known
        )
        more = self.more + new.more + len(changes[MOST_CHANGES:])
        return ShownChanges(changes[:MOST_CHANGES], more, self.around + new.around)

    def render(self) -> bytes:
        """Return these as JSON, which the next publication reads."""
        changes = ",\n".join([_render(change.described()) for change in self.changes])
        return f'{{"around": {self.around},\n"changes": [\n{changes}\n],\n"more": {self.more}}}\n'.encode()

    @classmethod
    def parse(cls, data: bytes) -> "ShownChanges":
        """Return what was rendered. Raises `ValueError` for anything else."""
        return parse_json(
            data,
            lambda content: cls(
                [*map(TitledChange.parse, content["changes"])], int(content["more"]), int(content["around"])
            ),
        )
