"""`publication.json`: what the next build reads first, and what proves that documents are one publication."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pelican_resourcesync.errors import DocumentError, PublicationError
from pelican_resourcesync.protocol import parse_datetime, render_datetime

FORMAT = 1

_EARLIEST, _LATEST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """One generation of a publication.

    `siteurl` and `at` are those of its Resource List; `commit` is the commit built and `landed` its landing
    time, `None` where there was no history. `held` are the landing times of commits whose own time lay too far
    ahead, by commit name. `changes` is the number of all changes listed. `predecessor` is the SHA-256 of the state
    before. `documents` are the SHA-256 of every document by its path relative to the output.
    """

    generation: int
    siteurl: str
    at: datetime
    changes: int
    documents: Mapping[str, str]
    predecessor: str | None = None
    commit: str | None = None
    landed: datetime | None = None
    held: Mapping[str, datetime] = field(default_factory=dict)


def render_state(state: State, tool: str) -> bytes:
    """Write a state as JSON; `tool` names this version of the tool."""
    content = {
        "format": FORMAT,
        "tool": tool,
        "generation": state.generation,
        "predecessor": state.predecessor,
        "siteurl": state.siteurl,
        "at": render_datetime(state.at),
        "changes": state.changes,
        "commit": state.commit,
        "landed": None if state.landed is None else render_datetime(state.landed),
        "held": {commit: render_datetime(time) for commit, time in state.held.items()},
        "documents": dict(state.documents),
    }
    return json.dumps(content, indent=1, sort_keys=True, ensure_ascii=True).encode() + b"\n"


def parse_state(data: bytes, name: str) -> State:
    """Read a state; `PublicationError` names `name` where it is none, or one of a newer format."""
    try:
        content = json.loads(data)
        if content["format"] != FORMAT:
            message = f"{name} has the format {content['format']!r}, which this version does not know: update the tool"
            raise PublicationError(message)
        return _state(content)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError, DocumentError) as error:
        message = f"{name} is damaged ({error}): remove it, and the next build publishes anew"
        raise PublicationError(message) from error


def _state(content: Mapping[str, Any]) -> State:
    return State(
        generation=_count(content["generation"]),
        predecessor=content["predecessor"],
        siteurl=str(content["siteurl"]),
        at=_time(content["at"]),
        changes=_count(content["changes"]),
        commit=content["commit"],
        landed=None if content["landed"] is None else _time(content["landed"]),
        held={str(commit): _time(time) for commit, time in content["held"].items()},
        documents={str(path): str(digest) for path, digest in content["documents"].items()},
    )


def _time(text: str) -> datetime:
    """Read a time of a publication: later ones must still be possible."""
    time = parse_datetime(text)
    if not _EARLIEST <= time <= _LATEST:
        message = f"the time {text} is none of a publication"
        raise ValueError(message)
    return time


def _count(number: object) -> int:
    if not isinstance(number, int) or number < 0:
        message = f"{number!r} is no count"
        raise ValueError(message)
    return number
