"""Pelican's signals, and nothing else: when a build begins, what it writes, and when everyone has finished."""

import logging
from collections.abc import Callable, Mapping
from typing import Any

from pelican import Pelican, signals

from pelican_resourcesync.site.session import Session

logger = logging.getLogger(__name__)

#: The build under way; Pelican runs within Pelican where a plug-in makes sub-sites: those belong to the outer build.
_sessions: list[Session] = []


def connect() -> None:
    """Connect to the signals; safe to call again."""
    signals.initialized.connect(_initialized)
    signals.all_generators_finalized.connect(_all_generators_finalized)
    signals.content_written.connect(_content_written)
    signals.feed_written.connect(_feed_written)


def _initialized(pelican: Pelican) -> None:
    """Let this Pelican's `run` begin and end with ours.

    Plug-ins may rewrite pages in `finalized`, and no order among them is promised: what is published is what stands
    when `run` has returned, so it is there that we come in.
    """
    if not getattr(pelican.run, "publishes", False):
        pelican.run = _publishing(pelican, pelican.run)


def _publishing(pelican: Pelican, run: Callable[[], None]) -> Callable[[], None]:
    def run_and_publish() -> None:
        if _sessions:
            run()
            return
        _sessions.append(Session(pelican.settings))
        try:
            run()
            _sessions[0].publish()
        finally:
            _sessions.pop().close()

    run_and_publish.publishes = True  # type: ignore[attr-defined]  # marks it, so that none is wrapped twice
    return run_and_publish


def _all_generators_finalized(generators: list[Any]) -> None:
    for session in _sessions:
        session.generated(generators)


def _content_written(path: str, context: Mapping[str, Any]) -> None:
    for session in _sessions:
        session.content_written(path, context)


def _feed_written(path: str, **_: object) -> None:
    for session in _sessions:
        session.feed_written(path)
