"""The script that builds one past commit: it runs Pelican with the commit's settings file, at its landing time.

It runs in a process of its own, and imports only the standard library before it stops the clock: for all modules that
import `datetime` or `time` after that, such as Pelican and plug-ins, the landing time is the current time. Nothing is
published here.
"""

import datetime  # noqa: ICN001 - the module itself is modified
import errno
import json
import os
import pkgutil
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

_OURS = ("pelican_resourcesync", "pelican.plugins.resourcesync", "resourcesync")
#: Errors for a full disk, which are not the commit's fault: it is built again when there is space.
_FULL = (errno.ENOSPC, errno.EDQUOT)
#: The maximum length of an error message.
_LONGEST = 400


def main(file: str) -> None:
    """Build by the request in a file, and write the result, or why the build failed, to the file that it names."""
    _end_with_parent()
    request = json.loads(Path(file).read_text("ascii"))
    sys.path[:] = request["imports"]
    sys.argv = ["pelican"]
    os.chdir(request["folder"])
    stop_clock(request["epoch"])
    random.seed(0)  # so that a page with a random choice is the same when a backfill is run again
    answer: dict[str, Any] = {"missing": []}
    try:
        answer["files"] = _build(request, answer["missing"])
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the site's code may raise anything
        full = isinstance(error, MemoryError) or getattr(error, "errno", None) in _FULL
        answer["full" if full else "failure"] = _message(error, request["folder"])
    Path(request["answer"]).write_text(json.dumps(answer), "ascii")


def _end_with_parent() -> None:
    """End this process and its children when its parent has ended, which closes the pipe to it."""
    pipe, nothing = os.dup(0), os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)

    def wait() -> None:
        os.read(pipe, 1)
        if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
            os.killpg(os.getpid(), signal.SIGKILL)
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def stop_clock(epoch: int) -> None:
    """Make `datetime` and `time` always return this time, in seconds since 1970, to all modules imported later."""
    real: dict[type, type] = {}

    class Kind(type):
        """The metaclass that makes objects of the real class instances too."""

        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, real.get(cls, ())) or super().__instancecheck__(instance)

        def __subclasscheck__(cls, other: type) -> bool:
            return issubclass(other, real.get(cls, ())) or super().__subclasscheck__(other)

    class StoppedDate(datetime.date, metaclass=Kind):
        @classmethod
        def today(cls) -> Any:
            return cls.fromtimestamp(epoch)

    class StoppedDatetime(datetime.datetime, metaclass=Kind):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> Any:
            return cls.fromtimestamp(epoch, tz)

        @classmethod
        def today(cls) -> Any:
            return cls.fromtimestamp(epoch)

        @classmethod
        def utcnow(cls) -> Any:
            return cls.fromtimestamp(epoch, datetime.UTC).replace(tzinfo=None)

        def date(self) -> Any:
            return StoppedDate(self.year, self.month, self.day)

    for stopped, was in ((StoppedDate, datetime.date), (StoppedDatetime, datetime.datetime)):
        real[stopped] = was
        stopped.__name__ = stopped.__qualname__ = was.__name__
        stopped.__module__ = datetime.__name__
        setattr(datetime, was.__name__, stopped)
    for name in ("localtime", "gmtime", "ctime"):
        setattr(time, name, _given(getattr(time, name), epoch))
    strftime, asctime = time.strftime, time.asctime
    time.strftime = lambda format, when=None: strftime(format, time.localtime() if when is None else when)  # noqa: A006
    time.asctime = lambda when=None: asctime(time.localtime() if when is None else when)
    time.time = lambda: float(epoch)
    time.time_ns = lambda: epoch * 1_000_000_000


def _given(function: Callable[[float], Any], epoch: int) -> Callable[..., Any]:
    return lambda seconds=None: function(epoch if seconds is None else seconds)


def _build(request: Mapping[str, Any], missing: list[str]) -> list[Any]:
    """Return a row for each file, and add to `missing` the plug-ins that were left out."""
    from pelican.settings import read_settings

    sys.path.insert(0, request["folder"])  # as for Pelican; added only now, so that no file of the site hides a module
    settings = read_settings(request["settings"], override=request["overrides"])
    if settings["PATH"] == os.curdir:  # the default; what is set is absolute
        message = "PATH is not set"
        raise ValueError(message)
    _leave_out_plugins(settings, missing)
    excluded = _own_exclude(settings)
    kind = settings["PELICAN_CLASS"]
    pelican = (pkgutil.resolve_name(kind) if isinstance(kind, str) else kind)(settings)

    from pelican_resourcesync.publishers.pelican.outputs import Run
    from pelican_resourcesync.publishers.static_site import SiteUrls

    run = Run(pelican.settings, SiteUrls(**request["urls"]))

    with run.listening():
        pelican.run()
    files = list(_files(run, excluded, Path(request["store"]), request["top"]))
    if not any(uri for _, uri, *_ in files):
        message = "nothing was built"
        raise ValueError(message)
    return files


def _leave_out_plugins(settings: dict[str, Any], missing: list[str]) -> None:
    """Remove this plug-in, and those that cannot be imported today, from `PLUGINS`; add the latter to `missing`."""
    from pelican.plugins._utils import get_namespace_plugins, get_plugin_name, load_legacy_plugin

    usable: list[Any] = []
    installed = get_namespace_plugins()
    for plugin in installed if settings["PLUGINS"] is None else settings["PLUGINS"]:
        name = plugin if isinstance(plugin, str) else str(get_plugin_name(plugin))
        if name in _OURS:
            continue
        if isinstance(plugin, str) and not {plugin, f"pelican.plugins.{plugin}"} & installed.keys():
            try:
                load_legacy_plugin(plugin, settings.get("PLUGIN_PATHS") or [])
            except ImportError:
                missing.append(name)
                continue
        usable.append(plugin)
    settings["PLUGINS"] = usable


def _own_exclude(settings: Mapping[str, Any]) -> list[str]:
    """Return the `exclude` patterns in the commit's own settings."""
    own = settings.get("RESOURCESYNC")
    patterns = own.get("exclude") if isinstance(own, Mapping) else None
    return (
        [pattern for pattern in patterns if isinstance(pattern, str) and pattern]
        if isinstance(patterns, list | tuple)
        else []
    )


def _files(run: Any, excluded: list[str], folder: Path, top_of_tree: str) -> Iterator[list[Any]]:
    """Yield a row for each file of the output. Files that are not resources have no URI, but belong to the site."""
    from pelican_resourcesync.publishers.pelican.backfill.builds import BuildStore
    from pelican_resourcesync.publishers.pelican.resources import facets_of, require_complete_copies
    from pelican_resourcesync.publishers.static_site import Facets, leads_outside, matches_pattern

    store = BuildStore(folder)
    public = [
        output
        for output in run.outputs()
        if output.public and not any(matches_pattern(output.path, pattern) for pattern in excluded)
    ]
    require_complete_copies(run.output, public)
    uris = {output.path: output.uri for output in public}
    content = Path(run.settings["PATH"])
    sources = {output.path: output.copy_of or (content / output.source if output.source else None) for output in public}
    facets = facets_of(run, public)
    for top, folders, names in os.walk(run.output):  # all files are served, whatever their names
        folders.sort()
        for file in (Path(top, name) for name in sorted(names)):
            path = file.relative_to(run.output).as_posix()
            if file.is_file() and not leads_outside(file, run.output, source := sources.get(path)):
                uri = uris.get(path)
                below = os.path.relpath(source, top_of_tree) if source else ""
                yield [path, uri, *store.put_file(file), facets.get(uri or "", Facets()), below]


def _message(error: BaseException, folder: str) -> str:
    """Return an error as one line, as Python shows it, with paths relative to the folder of the site."""
    what = f"exit status {error.code}" if isinstance(error, SystemExit) else f"{type(error).__name__}: {error}"
    line = " ".join(what.replace(f"{folder}/", "").split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main(sys.argv[1])
