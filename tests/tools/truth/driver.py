"""Builds a site again and again, each time in a fork of one process that has imported Pelican and what it needs.

Runs as a script under the interpreter that has the site's needs, so it imports the standard library and Pelican alone.
A request comes in as a line of JSON; its answer lies in the file that it names when the exit status goes out.
"""

import ctypes
import datetime as dt
import gc
import hashlib
import importlib
import json
import logging
import os
import posixpath
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

PLUGIN = "pelican_resourcesync"

#: What a build imports in the end, if it is there: a fork has it already.
_WARM = (
    "pelican.generators", "pelican.rstdirectives", "pelican.server", "docutils.core", "docutils.parsers.rst",
    "docutils.writers.html4css1", "docutils.writers.html5_polyglot", "docutils.languages.en",
    "docutils.parsers.rst.languages.en", "jinja2.ext", "markdown.extensions.codehilite", "markdown.extensions.extra",
    "markdown.extensions.meta", "markdown.extensions.toc", "pygments.formatters.html", "pygments.lexers", "smartypants",
    "typogrify.filters",
)  # fmt: skip

_CONTENTS = (
    *("articles", "translations", "hidden_articles", "hidden_translations", "drafts", "drafts_translations"),
    *("pages", "hidden_pages", "draft_pages", "draft_translations"),
)


def serve() -> None:
    """Answer requests until there are no more."""
    sys.path.pop(0)  # this folder: what lies beside us is no module of the site
    answers = os.fdopen(os.dup(1), "w")
    for name in _WARM:
        with suppress(ImportError):
            importlib.import_module(name)
    for line in sys.stdin:
        child = os.fork()
        if not child:
            answers.close()
            _build_and_exit(json.loads(line))
        _, status = os.waitpid(child, 0)
        answers.write(f"{os.waitstatus_to_exitcode(status)}\n")
        answers.flush()


def _build_and_exit(request: dict[str, Any]) -> None:
    """Build, in a child: whatever happens, it ends here."""
    status = 1
    try:
        log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        if request["epoch"] is not None:
            stop_clock(request["epoch"])
        answer = build(request)
        Path(request["answer"]).write_text(json.dumps(answer), "ascii")
        status = 0
    except BaseException:  # noqa: BLE001  # a child must not go on as its parent
        traceback.print_exc()
    finally:
        with suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


def stop_clock(epoch: int) -> None:
    """Let every clock that a site may show stand at a time, for good: those of Python, and those of other tools."""
    os.environ["SOURCE_DATE_EPOCH"] = str(epoch)
    time.time = lambda: float(epoch)
    time.time_ns = lambda: epoch * 10**9
    for name in ("ctime", "gmtime", "localtime"):
        setattr(time, name, _defaulting(getattr(time, name), epoch))
    time.strftime = _defaulting(time.strftime, time.gmtime(epoch), 1)
    time.asctime = _defaulting(time.asctime, time.gmtime(epoch))
    # Of a type written in C no method can be set, but what has been imported from it is to stand still as well.
    namespace = gc.get_referents(dt.datetime.__dict__)[0]
    namespace["now"] = classmethod(lambda cls, tz=None: cls.fromtimestamp(epoch, tz))
    namespace["utcnow"] = classmethod(lambda cls: cls.fromtimestamp(epoch, dt.UTC).replace(tzinfo=None))
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(dt.datetime))


def _defaulting(function: Callable[..., Any], default: Any, place: int = 0) -> Callable[..., Any]:
    return lambda *given: function(*given, default) if len(given) <= place else function(*given)


def build(request: dict[str, Any]) -> dict[str, Any]:
    """Build as the command `pelican` does; return what came of it: each output file, or why there is none."""
    import pelican

    os.chdir(request["folder"])
    sys.argv = ["pelican", *request["arguments"]]
    errors, observer = Errors(), Observer()
    logging.getLogger().addHandler(errors)
    observer.connect()
    _prepare(pelican, request)
    try:
        pelican.main(request["arguments"])
    except SystemExit as leaving:
        if leaving.code:
            return {"reason": errors.last or f"exit status {leaving.code}"}
    except Exception as error:  # noqa: BLE001  # the site's code may raise anything
        return {"reason": f"{type(error).__name__}: {error}"}
    files = observer.files(request["output"])
    return {"files": files}


def _prepare(pelican: Any, request: dict[str, Any]) -> None:
    """Let the command read its arguments and settings as always, and then have the URL and the plug-ins we ask for."""
    parse, read = pelican.parse_arguments, pelican.read_settings

    def parse_arguments(argv: Any = None) -> Any:
        arguments = parse(argv)
        arguments.overrides = {**arguments.overrides, "SITEURL": request["siteurl"]}
        return arguments

    def read_settings(*arguments: Any, **named: Any) -> Any:
        settings = read(*arguments, **named)
        settings["PLUGINS"] = _plugins(settings.get("PLUGINS"), publish=request["publish"])
        settings["CACHE_CONTENT"] = settings["LOAD_CONTENT_CACHE"] = False
        return settings

    pelican.parse_arguments, pelican.read_settings = parse_arguments, read_settings


def _plugins(named: Any, *, publish: bool) -> Any:
    """Return the site's own plug-ins, with ours if it is to publish, without it if not."""
    if named is None and not publish:
        return None
    if named is None:
        from pelican.plugins._utils import get_namespace_plugins

        named = get_namespace_plugins()
    others = [each for each in named if getattr(each, "__name__", each) != PLUGIN]
    return [*others, PLUGIN] if publish else others


class Errors(logging.Handler):
    """Keeps the last line of the last error that Pelican logs."""

    def __init__(self) -> None:
        """Begin with none."""
        super().__init__(logging.ERROR)
        self.last = ""

    def emit(self, record: logging.LogRecord) -> None:
        """Take note of an error, and show it as Pelican would."""
        self.last = record.getMessage().strip().rpartition("\n")[2]
        print(record.levelname, record.getMessage(), file=sys.stderr)
        if record.exc_info:
            traceback.print_exception(*record.exc_info)


class Observer:
    """Sees by Pelican's public signals which output files are hidden."""

    def __init__(self) -> None:
        """Begin with nothing seen."""
        self._seen: dict[str, bool] = {}
        self._fixed: set[str] = set()
        self._generators: list[Any] = []

    def connect(self) -> None:
        """Connect to the signals."""
        from pelican import signals

        signals.all_generators_finalized.connect(self._finalized, weak=False)
        signals.content_written.connect(self._content_written, weak=False)

    def files(self, output: str) -> dict[str, tuple[str, bool]]:
        """Return the hash of each output file, and whether it is hidden, by path."""
        hidden: dict[str, bool] = {}
        for generator in self._generators:
            hidden.update(_copied(generator))
        hidden.update(self._seen)
        for generator in self._generators:
            hidden.update(_statics(generator, self._contents()))
        real = os.path.realpath(output)
        files = (file for file in Path(output).rglob("*") if file.is_file())
        paths = {file.relative_to(output).as_posix(): file for file in files}
        return {
            path: (hashlib.sha256(file.read_bytes()).hexdigest(), hidden.get(f"{real}/{path}", False))
            for path, file in paths.items()
        }

    def _finalized(self, generators: list[Any]) -> None:
        """Take note of the generators; a plug-in's own need not be like those of Pelican."""
        self._generators += [each for each in generators if hasattr(each, "settings") and hasattr(each, "output_path")]

    def _content_written(self, path: str, context: Any) -> None:
        """Take note of a page. What a content overrides, a later page of that path only pretends to write."""
        file = os.path.realpath(path)
        if file in self._fixed:
            return
        for sort in ("article", "page"):
            content = context.get(sort)
            if hasattr(content, "save_as") and hasattr(content, "status"):
                self._seen[file] = content.status != "published"
                if content.save_as == context.get("output_file") and hasattr(content, "override_save_as"):
                    self._fixed.add(file)
                return
        self._seen[file] = False

    def _contents(self) -> list[Any]:
        found = [each for generator in self._generators for name in _CONTENTS for each in getattr(generator, name, ())]
        return [each for each in found if hasattr(each, "source_path")]


def _copied(generator: Any) -> Iterator[tuple[str, bool]]:
    """Return the sources of contents that are copied (`OUTPUT_SOURCES`), which no signal tells."""
    settings, output = generator.settings, os.path.realpath(generator.output_path)
    if settings["OUTPUT_SOURCES"]:
        for name in _CONTENTS:
            for content in getattr(generator, name, ()):
                file = posixpath.splitext(content.save_as)[0] + settings["OUTPUT_SOURCES_EXTENSION"]
                yield posixpath.normpath(f"{output}/{file}"), content.status != "published"


def _statics(generator: Any, contents: list[Any]) -> Iterator[tuple[str, bool]]:
    """Return the static files: hidden is a source of what is hidden, and what that alone attaches or brings along."""
    statics = getattr(generator, "staticfiles", ())
    if not statics:
        return
    hidden = [each for each in contents if each.status != "published"]
    sources = {each.source_path for each in hidden}
    links = _links(hidden) - _links([each for each in contents if each.status == "published"])
    settings = generator.settings
    found = generator.get_files(settings["STATIC_PATHS"], exclude=settings["STATIC_EXCLUDES"], extensions=False)
    below = set(map(posixpath.normpath, found))
    for static in statics:
        source = posixpath.normpath(static.get_relative_source_path())
        alone = source in links and (source not in below or hasattr(static, "override_save_as"))
        file = posixpath.normpath(f"{os.path.realpath(generator.output_path)}/{static.save_as}")
        yield file, alone or static.source_path in sources


def _links(contents: list[Any]) -> set[str]:
    links: set[str] = set()
    for content in contents:
        with suppress(Exception):  # a plug-in's content may have none to give
            links |= {posixpath.normpath(link) for link in content.get_static_links()}
    return links


if __name__ == "__main__":
    serve()
