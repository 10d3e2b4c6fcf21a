"""The handlers of Pelican's signals, and nothing else: a build starts, writes files, and is finished."""

import logging
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pelican import Pelican, signals

from pelican_resourcesync.errors import ResourceSyncError
from pelican_resourcesync.printable import get_logger, make_printable

if TYPE_CHECKING:
    from pelican_resourcesync.site import Session

logger = get_logger(__name__)

#: The names of the plug-in in Pelican's `PLUGINS`: as listed by the user, or as found by Pelican itself.
NAMES = frozenset({"pelican_resourcesync", "pelican.plugins.resourcesync"})

#: The current build. A plug-in that makes sub-sites runs Pelican within Pelican: these belong to the outer build.
_sessions: "list[Session]" = []


def connect() -> None:
    """Connect to the signals; safe to call again."""
    signals.initialized.connect(_initialized)
    signals.all_generators_finalized.connect(_all_generators_finalized)
    signals.content_written.connect(_content_written)
    signals.feed_written.connect(_feed_written)
    logging.getLogger("pelican").addFilter(_one_sentence)


def _one_sentence(record: logging.LogRecord) -> bool:
    """Drop the traceback where Pelican logs one of our errors: the message already says what to do."""
    if record.exc_info and isinstance(record.exc_info[1], ResourceSyncError):
        record.exc_info = None
        make_printable(record)
    return True


def _initialized(pelican: Pelican) -> None:
    """Wrap this Pelican's `run`, so that the site is published after it returns.

    Other plug-ins may rewrite pages in `finalized`, and their order is not defined. Only when `run` has returned are
    the pages final.
    """
    if not NAMES.isdisjoint(pelican.settings["PLUGINS"]) and not getattr(pelican.run, "publishes", False):
        pelican.run = _publishing(pelican, pelican.run)


def _publishing(pelican: Pelican, run: Callable[[], None]) -> Callable[[], None]:
    def run_and_publish() -> None:
        if _sessions:
            run()
            return
        began = time.perf_counter()
        from pelican_resourcesync.site import Session

        session = Session(pelican.settings, began)
        pelican.output_retention = list(dict.fromkeys([*pelican.output_retention, *session.output_retention]))
        _sessions.append(session)
        try:
            run()
            session.publish()
        finally:
            _sessions.pop().close()

    run_and_publish.publishes = True  # type: ignore[attr-defined]  # a mark, so that `run` is not wrapped twice
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
