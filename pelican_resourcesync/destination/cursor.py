"""A cursor: how far a follower has come, as text that its caller stores."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, NamedTuple

from pelican_resourcesync.errors import MirrorError
from pelican_resourcesync.protocol import Link
from pelican_resourcesync.source import Position
from pelican_resourcesync.system.strict_json import parse_json

_VERSION = 1
_POSITION = (str, int, str, str, str, str, str, str)


class LatestState(NamedTuple):
    """The last state of a resource that is to be yielded, as a list describes it; `links` are in JSON."""

    uri: str
    kind: str
    hash: str
    length: int | None
    time: str
    type: str
    links: str

    def parsed_links(self) -> tuple[Link, ...]:
        """Return the links."""
        return parse_json(self.links, lambda links: tuple(map(_link, links)))

    def parsed_time(self) -> datetime | None:
        """Return the time, if it is known."""
        return datetime.fromisoformat(self.time) if self.time else None


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far each set was followed, by the URI of its document, with the selection that was followed.

    `read` is how far the lists were read, until all of that was yielded: it must still be listed then, because of
    several changes of a resource, only the last was to be yielded.

    `after`: the last resource of the Resource Lists that was yielded, in order of URIs; None if all were. `postponed`
    are resources that could not be fetched yet. `verified` is which keys and states of a signed Source are known, and
    `private` whether it was at a private address from the first. `contents` is the mark of the file with the contents.
    `count` is about how many resources the follower has.
    """

    selection: str
    sets: Mapping[str, Position]
    after: str | None = None
    read: Mapping[str, Position] = field(default_factory=dict)
    postponed: Mapping[str, LatestState] = field(default_factory=dict)
    verified: Mapping[str, Any] | None = None
    private: bool | None = None
    contents: tuple[str, int] | None = None
    count: int = 0

    def postponing(self, uri: str, latest: LatestState | None) -> "Cursor":
        """Return the cursor with a resource that is postponed, or with one that is no longer."""
        if latest is None and uri not in self.postponed:
            return self
        others = {key: latest for key, latest in self.postponed.items() if key != uri}
        return replace(self, postponed=others if latest is None else {**others, uri: latest})

    def encode(self) -> str:
        """Return the cursor as text."""
        whole: dict[str, Any] = {"version": _VERSION, "selection": self.selection, "sets": self.sets}
        if self.after is not None:
            whole["after"] = self.after
        if self.read:
            whole["read"] = self.read
        if self.postponed:
            whole["postponed"] = [list(latest) for latest in self.postponed.values()]
        if self.verified:
            whole["verified"] = self.verified
        if self.private is not None:
            whole["private"] = self.private
        if self.contents:
            whole["contents"] = self.contents
        if self.count:
            whole["count"] = self.count
        return json.dumps(whole, separators=(",", ":"))

    @classmethod
    def decode(cls, text: str) -> "Cursor":
        """Return the cursor that a text stands for. Raises `MirrorError` if it is none."""
        try:
            return parse_json(text, cls._parsed)
        except ValueError as error:
            message = "this is not a cursor that an earlier run gave: begin again without one, and with nothing known"
            raise MirrorError(message) from error

    @classmethod
    def _parsed(cls, whole: dict[str, Any]) -> "Cursor":
        if whole["version"] != _VERSION:
            raise ValueError
        sets, read = (
            {uri: Position(*_typed(position, *_POSITION)) for uri, position in positions.items()}
            for positions in (whole["sets"], whole.get("read", {}))
        )
        types = (str, str, str, int | None, str, str, str)
        states = [LatestState(*_typed(row, *types)) for row in whole.get("postponed", [])]
        selection, after, number = _typed(
            [whole["selection"], whole.get("after"), whole.get("count", 0)], str, str | None, int
        )
        verified, private = _typed([whole.get("verified"), whole.get("private")], dict | None, bool | None)
        contents = tuple(_typed(whole["contents"], str, int)) if "contents" in whole else None
        for state in states:
            state.parsed_links(), state.parsed_time()
        if verified is not None:
            _typed(verified["keys"], *(str for _ in verified["keys"]))
            [_typed(verified_state, int, int, str) for verified_state in verified["states"].values()]
        postponed = {state.uri: state for state in states}
        return cls(selection, sets, after, read, postponed, verified, private, contents, number)


def _link(content: list[Any]) -> Link:
    rel, href, kind, pri = _typed(content, str, str, str, int | None)
    return Link(rel=rel, href=href, type=kind or None, pri=pri)


def _typed(values: list[Any], *types: Any) -> list[Any]:
    """Return values that have these types. Raises `TypeError`."""
    if not all(isinstance(value, kind) for value, kind in zip(values, types, strict=True)):
        raise TypeError
    return values
