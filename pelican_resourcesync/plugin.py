"""What Pelican calls when a build starts: it is published when it is finished."""

import logging
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from pelican import Pelican, signals
from pelican.log import DEFAULT_LOG_HANDLER

from pelican_resourcesync.errors import ResourceSyncError
from pelican_resourcesync.publishers.should_publish import NO_ADDRESS, PAGE_URL, published_names, why_not_to_publish
from pelican_resourcesync.system import WORK_FOLDER, frozen_heap
from pelican_resourcesync.system.lock import locked
from pelican_resourcesync.system.printable import get_logger, make_printable, print_line

if TYPE_CHECKING:
    from pelican_resourcesync.publishers.pelican import Session

logger = get_logger(__name__)

#: The names of the plug-in in Pelican's `PLUGINS`: as listed by the user, or as found by Pelican itself.
NAMES = frozenset({"pelican_resourcesync", "pelican.plugins.resourcesync"})

_PREFIX = "ResourceSync: "

#: The current build. A plug-in that makes sub-sites runs Pelican within Pelican: these belong to the outer build.
_builds: list[Pelican] = []


def connect() -> None:
    """Connect to the signals; safe to call again."""
    signals.initialized.connect(_initialized)
    logging.getLogger("pelican").addFilter(_one_sentence)
    DEFAULT_LOG_HANDLER.addFilter(_print_our_own)


def _one_sentence(record: logging.LogRecord) -> bool:
    """Turn Pelican's record of one of our errors into our message, without a traceback: it says what to do."""
    given = record.args if isinstance(record.args, tuple) else ()
    if error := next((error for error in given if isinstance(error, ResourceSyncError)), None):
        record.msg, record.args, record.exc_info = f"{_PREFIX}{error}", (), None
        make_printable(record)
    return True


def _print_our_own(record: logging.LogRecord) -> bool:
    """Print our messages as the lines of a build that they are; Pelican would fold them beside names of our files."""
    message = record.getMessage()
    if not message.startswith(_PREFIX):
        return True
    level = ("error: " if record.levelno > logging.WARNING else "warning: ") if record.levelno > logging.INFO else ""
    print_line(f"{_PREFIX}{level}{message.removeprefix(_PREFIX)}")
    return False


def _initialized(pelican: Pelican) -> None:
    """Wrap this Pelican's `run`, so that the site is published after it returns.

    Other plug-ins may rewrite pages in `finalized`, and their order is not defined. Only when `run` has returned are
    the pages final.
    """
    if not NAMES.isdisjoint(pelican.settings["PLUGINS"]) and not getattr(pelican.run, "publishes", False):
        pelican.run = _publishing(pelican, pelican.run)


def _publishing(pelican: Pelican, run: Callable[[], None]) -> Callable[[], None]:
    def run_and_publish() -> None:
        if _builds:
            run()
            return
        session = _begin(pelican)
        _builds.append(pelican)
        try:
            # A draft would clean away what another build publishes. A session has its own lock.
            with nullcontext() if session else locked(Path(pelican.settings["OUTPUT_PATH"])):
                run()
            if session:
                with frozen_heap():
                    session.publish()
        finally:
            _builds.pop()
            if session:
                session.close()

    run_and_publish.publishes = True  # type: ignore[attr-defined]  # a mark, so that `run` is not wrapped twice
    return run_and_publish


def _begin(pelican: Pelican) -> "Session | None":
    """Begin a build; return `None` where nothing is published. Pelican keeps the documents that are in the output."""
    began = time.perf_counter()
    settings = pelican.settings
    settings["IGNORE_FILES"] = list(dict.fromkeys([*settings["IGNORE_FILES"], WORK_FOLDER]))
    why_not = why_not_to_publish(settings, os.environ, sys.argv)
    if why_not:
        output = Path(settings["OUTPUT_PATH"])
        line, has_documents = f"nothing is published, because {why_not}", (output / "resourcesync").is_dir()
        if has_documents:  # they describe other pages
            line += (
                f": the documents in {output} are from an earlier build, so publish again before you upload the folder"
            )
        if has_documents or why_not == NO_ADDRESS:
            print_line(f"ResourceSync: {line}.")
        else:
            logger.info("ResourceSync: %s", line)
        _retain(pelican, published_names(output))
        return None
    settings["RESOURCESYNC_URL"] = PAGE_URL
    with frozen_heap():
        from pelican_resourcesync.publishers.pelican import Session

        session = Session(settings, began=began)
    _retain(pelican, session.output_retention)
    return session


def _retain(pelican: Pelican, names: Sequence[str]) -> None:
    """Let Pelican keep these names when it cleans the output, and not read them where that is among its sources."""
    pelican.output_retention = list(dict.fromkeys([*pelican.output_retention, *names]))
    settings = pelican.settings
    output = Path(settings["OUTPUT_PATH"]).resolve()
    for kind in ("ARTICLE", "PAGE", "STATIC"):
        for path in settings[f"{kind}_PATHS"]:
            folder = Path(settings["PATH"], path).resolve()
            if output.is_relative_to(folder):
                place = os.path.join(path, output.relative_to(folder))  # noqa: PTH118 - has to begin as it is set
                excluded = [f"{place}/{name}" for name in names]
                settings[f"{kind}_EXCLUDES"] = [*settings[f"{kind}_EXCLUDES"], *excluded]
