"""The collector: builds one commit in a process of its own, and writes down what came of it.

It is a build of Pelican by the settings file of that commit, with its plug-ins but ours, up to the inventory. Nothing
is published.
"""

import errno
import importlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pelican import signals
from pelican.plugins._utils import get_plugin_name
from pelican.settings import read_settings

from pelican_resourcesync.publication.layout import Layout
from pelican_resourcesync.publication.media_types import media_type
from pelican_resourcesync.settings import Settings, parse_settings, parse_siteurl
from pelican_resourcesync.site.backfill.objects import Objects
from pelican_resourcesync.site.backfill.record import File, Record
from pelican_resourcesync.site.backfill.request import Request
from pelican_resourcesync.site.sets import Collected, collect
from pelican_resourcesync.site.written import Run

_OURS = "pelican_resourcesync"
#: What fails so is no fault of the commit: it is to be built when there is room.
_FULL = (errno.ENOSPC, errno.EDQUOT)


def main(file: str) -> None:
    """Do what the request in a file asks; the answer is a record, or the reason why there is none, or what is full."""
    request = Request.load(Path(file))
    os.chdir(request.folder)
    sys.path.insert(0, request.folder)
    sys.argv = ["pelican"]
    try:
        answer = _build(request).render()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the site's own code may raise anything
        full = isinstance(error, MemoryError) or getattr(error, "errno", None) in _FULL
        answer = json.dumps({"full" if full else "reason": _reason(error, request)})
    Path(request.answer).write_text(answer, "ascii")


def _build(request: Request) -> Record:
    settings = _settings_of(request)
    plugin = _plugin_settings(request.plugin, settings.get("RESOURCESYNC"))
    pelican = _pelican(settings)
    run = Run(pelican.settings, parse_siteurl(request.siteurl))
    _connect(run)
    pelican.run()
    layouts = {name: Layout(run.siteurl, name, start) for name, start in request.starts.items()}
    collected = collect(run, plugin, layouts)
    record = Record([*_files(run.output, collected, Objects(Path(request.objects)))])
    if not collected.written:
        message = "nothing was built"
        raise ValueError(message)
    return record


def _settings_of(request: Request) -> dict[str, Any]:
    """Read the settings file of the commit; the address is today's, and Pelican's cache is of no commit."""
    own = {
        "SITEURL": request.siteurl,
        "OUTPUT_PATH": request.output,
        "CACHE_CONTENT": False,
        "LOAD_CONTENT_CACHE": False,
    }
    settings: dict[str, Any] = read_settings(request.settings, override=own)
    if settings["PLUGINS"] is not None:
        settings["PLUGINS"] = [each for each in settings["PLUGINS"] if _name(each) != _OURS]
    return settings


def _plugin_settings(today: Mapping[str, Any], then: object) -> Settings:
    """Give the plug-in's settings of today; what was no resource then, by the commit's own word, is none either."""
    settings = parse_settings(today)
    hidden = then.get("exclude") if isinstance(then, Mapping) else None
    if isinstance(hidden, list | tuple):
        own = parse_settings({"exclude": hidden}).exclude
        settings = replace(settings, exclude=tuple(dict.fromkeys([*settings.exclude, *own])))
    return settings


def _pelican(settings: dict[str, Any]) -> Any:
    kind = settings["PELICAN_CLASS"]
    if isinstance(kind, str):
        module, _, name = kind.rpartition(".")
        kind = getattr(importlib.import_module(module), name)
    return kind(settings)


def _connect(run: Run) -> None:
    def feed_written(path: str, **_: object) -> None:
        run.feed_written(path)

    signals.all_generators_finalized.connect(run.generators.extend, weak=False)
    signals.content_written.connect(run.content_written, weak=False)
    signals.feed_written.connect(feed_written, weak=False)


def _files(output: Path, collected: Collected, objects: Objects) -> Iterator[File]:
    """Give every file of the output, what is no resource too: all of it is to be served."""
    uris = {each.path: each.uri for each in collected.written}
    sets: dict[str, list[str]] = {}
    for each in collected.sets:
        for written in each.written:
            sets.setdefault(written.path, []).append(each.settings.name)
    for folder, folders, names in os.walk(output):
        folders.sort()
        for file in (Path(folder, name) for name in sorted(names)):
            if file.is_file():
                path = file.relative_to(output).as_posix()
                digest, length = objects.put(file)
                within = tuple(sets.get(path, ()))
                yield File(path, uris.get(path), digest, length, media_type(file.name), within)


def _name(plugin: object) -> str:
    return str(get_plugin_name(plugin)) if not isinstance(plugin, str) else plugin


def _reason(error: BaseException, request: Request) -> str:
    """Say in one line what went wrong, by the paths of the repository."""
    what = f"exit status {error.code}" if isinstance(error, SystemExit) else f"{type(error).__name__}: {error}"
    return " ".join(what.replace(f"{request.folder}/", "").split())
