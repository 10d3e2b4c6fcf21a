"""A cursor: how far a follower has come, as text that its caller keeps."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from pelican_resourcesync.destination.options import MirrorError

_VERSION = 1


class Position(NamedTuple):
    """How far a set was followed: the first `number` changes listed at the time `at`, the last of them of `mark`.

    `reach` is when the Resource List that it began with was completed, or the time from which its Change Lists began.
    `digest` is that of the Resource List, for a set that has no Change Lists.
    """

    at: str
    number: int = 0
    mark: str = ""
    reach: str = ""
    digest: str = ""


class Row(NamedTuple):
    """The last state of a resource that is to be yielded, as a list describes it; `links` are in JSON."""

    uri: str
    kind: str
    hash: str
    length: int | None
    time: str
    type: str
    links: str


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far each set was followed, by the URI of its document, with the selection that was followed.

    `after`: the last resource of the Resource Lists that was yielded, in order of URIs; None if all were. `owed` are
    resources that could not be fetched yet.
    """

    selection: str
    sets: Mapping[str, Position]
    after: str | None = None
    owed: Mapping[str, Row] = field(default_factory=dict)

    def with_owed(self, uri: str, row: Row | None) -> "Cursor":
        """Return the cursor with a resource that is owed, or with one that is no longer."""
        if row is None and uri not in self.owed:
            return self
        owed = {key: each for key, each in self.owed.items() if key != uri}
        return replace(self, owed=owed if row is None else {**owed, uri: row})

    def encode(self) -> str:
        """Return the cursor as text."""
        sets = {uri: list(position) for uri, position in self.sets.items()}
        whole = {"version": _VERSION, "selection": self.selection, "sets": sets}
        if self.after is not None:
            whole["after"] = self.after
        if self.owed:
            whole["owed"] = [list(row) for row in self.owed.values()]
        return json.dumps(whole, ensure_ascii=True, separators=(",", ":"))

    @classmethod
    def decode(cls, text: str) -> "Cursor":
        """Read a cursor. Raises `MirrorError` if it is none."""
        try:
            whole = json.loads(text)
            if whole["version"] != _VERSION:
                raise ValueError  # noqa: TRY301
            sets = {_text(uri): _position(*each) for uri, each in whole["sets"].items()}
            after = None if whole.get("after") is None else _text(whole["after"])
            owed = {row.uri: row for row in (_row(*each) for each in whole.get("owed", []))}
            return cls(_text(whole["selection"]), sets, after, owed)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            message = "this is not a cursor that an earlier run gave: begin again without one, and with nothing known"
            raise MirrorError(message) from error


def _position(at: object, number: object, *texts: object) -> Position:
    if not isinstance(number, int):
        raise TypeError
    mark, reach, digest = map(_text, texts)
    return Position(_text(at), number, mark, reach, digest)


def _row(uri: object, kind: object, digest: object, length: object, *texts: object) -> Row:
    if not (length is None or isinstance(length, int)):
        raise TypeError
    time, media_type, links = map(_text, texts)
    for each in json.loads(links):
        _, _, _ = map(_text, each)
    return Row(_text(uri), _text(kind), _text(digest), length, time, media_type, links)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value
