"""Serve a folder over HTTP as static hosts do, and as a TimeGate (RFC 7089): with the version that was in force."""

import logging
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from http import HTTPStatus
from pathlib import Path
from threading import Lock
from typing import Any, cast
from urllib.parse import quote
from wsgiref.simple_server import WSGIRequestHandler

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.http import LimitedServer, is_plain, uri_of_path
from pelican_resourcesync.protocol import Version
from pelican_resourcesync.publication import (
    FOLDER,
    WELL_KNOWN,
    Layout,
    PreviousPublication,
    VersionIndex,
    headers_of,
    layouts_in,
    parse_time,
    publication_in,
)
from pelican_resourcesync.system.files import inside
from pelican_resourcesync.system.media_types import LINK_FORMAT, media_type
from pelican_resourcesync.system.printable import get_logger

#: Below this path, followed by the URI of a resource, are the versions of any resource, on whatever host.
TIMEGATE = "timegate/"
_VARY = ("Vary", "Accept-Datetime")
_URI = ":/@!$&'()*+,;=~"
_logger = get_logger("pelican_resourcesync")

_Headers = list[tuple[str, str]]
_Answer = tuple[HTTPStatus, _Headers, Path | bytes]


_LONGEST_HEAD = 30.0  # seconds until a request has been read


class _Handler(WSGIRequestHandler):
    def get_environ(self) -> dict[str, Any]:
        """Return the request, which was read."""
        cast("LimitedServer", self.server).note(self.connection)
        return super().get_environ()

    def log_message(self, *args: Any) -> None:
        """Log a request, unless only errors are wanted."""
        if _logger.isEnabledFor(logging.WARNING):
            super().log_message(*args)


class FolderServer(LimitedServer):
    """Serves a folder: see `ServedFolder`."""

    def __init__(self, address: tuple[str, int], folder: Path) -> None:
        """Listen at an address. Raises `OSError` or `OverflowError` if that cannot be used."""
        super().__init__(address, _Handler, _LONGEST_HEAD)
        self.set_app(ServedFolder(folder))


class ServedFolder:
    """A folder with a publication, as a WSGI application.

    A request with `Accept-Datetime` gets the version of the resource that was in force then, also of one that is gone.
    What is the state of a resource at a time, however it was asked for, says so by `Memento-Datetime`.
    """

    def __init__(self, folder: Path) -> None:
        """Serve this folder."""
        self._folder = folder
        self._lock = Lock()
        self._states: dict[Path, int] = {}
        self._sets: list[tuple[PreviousPublication, VersionIndex]] = []

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer a request."""
        path = environ["PATH_INFO"].encode("latin-1").decode("utf-8", "replace").removeprefix("/")
        query = environ.get("QUERY_STRING", "")
        if environ["REQUEST_METHOD"] in {"GET", "HEAD"}:
            status, headers, body = self._answer(path, query and f"?{query}", environ.get("HTTP_ACCEPT_DATETIME"))
        else:
            status, headers, body = HTTPStatus.METHOD_NOT_ALLOWED, [("Allow", "GET, HEAD")], b""
        length = body.stat().st_size if isinstance(body, Path) else len(body)
        start_response(f"{status.value} {status.phrase}", [*headers, ("Content-Length", str(length))])
        if environ["REQUEST_METHOD"] == "HEAD":
            return []
        return environ["wsgi.file_wrapper"](body.open("rb")) if isinstance(body, Path) else [body]

    def _answer(self, path: str, query: str, asked: str | None) -> _Answer:
        if path.startswith(TIMEGATE):
            uri = quote(path.removeprefix(TIMEGATE), safe=_URI) + query
            return self._negotiated(uri, asked or _date(datetime.now(UTC)), leads=True)
        siteurls = (publication.layout.siteurl for publication, _ in self._publications())
        uri = next((uri_of_path(siteurl, path) + query for siteurl in siteurls), "")
        found = self._versions_of(uri)
        if asked is not None and uri and (found or not path.startswith(f"{FOLDER}/")):  # where records are resources
            return self._negotiated(uri, asked)
        file = self._file(path)
        if file is None:
            return _said(HTTPStatus.NOT_FOUND, f"/{path} was not found.")
        path = file.relative_to(self._folder).as_posix()
        typed, headers = headers_of(path)["Content-Type"], [_VARY, _links(*found[:2], uri)] if found else []
        for publication, index in self._publications():
            folder, _, name = path.rpartition("/")
            if folder == publication.layout.versions and name in index.first_uses:
                uri, version = index.first_uses[name]
                typed = version.type or typed
                headers = [_links(publication.layout, index, uri), _began(version)]
        return HTTPStatus.OK, [("Content-Type", _type(typed)), *headers], file

    def _negotiated(self, uri: str, asked: str, *, leads: bool = False) -> _Answer:
        """Return the memento of a time: the state in force, or the first one for a time before it (section 4.5.3).

        Of a time at which the resource had been deleted, the memento is one of the answer 404 (section 4.5.5). What
        `leads` to mementos does so where their file has the same headers by itself.
        """
        found = self._versions_of(uri)
        if found is None:
            return _said(HTTPStatus.NOT_FOUND, f"No version of {uri} was found.")
        layout, index, versions = found
        headers = [_VARY, _links(layout, index, uri)]
        time = _parse_date(asked)
        if time is None:
            now = _date(datetime.now(UTC))
            advice = f"Accept-Datetime {asked!a} is not a valid date: write it like {now}."
            return _said(HTTPStatus.BAD_REQUEST, advice, headers)
        version = _selected(versions, time)
        path = f"{layout.versions}/{version.name}"
        if not version.name:
            return _said(HTTPStatus.NOT_FOUND, f"{uri} did not exist at {asked}.", [*headers, _began(version)])
        url = layout.uri(path)
        headers = [_VARY, _links(layout, index, uri, f', <{url}>; rel="memento"; datetime="{_began(version)[1]}"')]
        if leads and index.first_uses[version.name] == (uri, version):
            return _said(HTTPStatus.FOUND, url, [*headers, ("Location", url)])
        file = inside(self._folder, path)
        if file is None:
            return _said(HTTPStatus.NOT_FOUND, f"The version of {uri} at {asked} is missing.", headers)
        typed = ("Content-Type", _type(version.type or media_type(version.name)))
        return HTTPStatus.OK, [typed, *headers, ("Content-Location", url), _began(version)], file

    def _versions_of(self, uri: str) -> tuple[Layout, VersionIndex, list[Version]] | None:
        """Return the versions of a resource, with the layout and the index of a set that has them."""
        found = ((publication.layout, index, index.versions(uri)) for publication, index in self._publications())
        return next((listed for listed in found if listed[-1]), None)

    def _publications(self) -> list[tuple[PreviousPublication, VersionIndex]]:
        """Return the publications in the folder, read again if they changed; a damaged one is none, with a warning."""
        files = (self._folder / layout.state for layout in layouts_in(self._folder))
        states = {file: file.stat().st_mtime_ns for file in files if file.is_file()}
        with self._lock:
            if states != self._states:
                self._sets, self._states = [], states
                for layout in layouts_in(self._folder):
                    try:
                        if found := publication_in(self._folder, layout):
                            self._sets.append((found, VersionIndex(found)))
                    except (PublicationError, OSError) as error:
                        _logger.warning("the set %s is served without versions: %s", layout.set_name, error)
            return self._sets

    def _file(self, path: str) -> Path | None:
        """Return the file at a path, the index of a folder, or the page of a URL without an ending."""
        if any(name.startswith(".") for name in path.removeprefix(WELL_KNOWN).split("/")):
            return None  # such as the state of a copy
        names = (path, f"{path}index.html" if path.endswith("/") or not path else f"{path}.html")
        for name in names:
            if is_plain(name) and (file := inside(self._folder, name)):
                return file
        return None


def _selected(versions: list[Version], time: datetime) -> Version:
    """Return the version for a time; its seconds count, because `Accept-Datetime` has no parts of them."""
    times = ((version, parse_time(version.time)) for version in versions)
    begun = [version for version, begin in times if begin and begin.replace(microsecond=0) <= time]
    return begun[-1] if begun else next(version for version in versions if version.name)


def _links(layout: Layout, index: VersionIndex, uri: str, more: str = "") -> tuple[str, str]:
    """Return the links of a resource and of its mementos: to it, its TimeGate, which may be itself, and its TimeMap."""
    timegate, timemap = index.timegate, layout.uri(layout.timemap(uri))
    original = f'<{uri}>; rel="original", <{timegate}{uri}>; rel="timegate"' if timegate else ""
    itself = f'<{uri}>; rel="original timegate"'
    return "Link", f'{original or itself}, <{timemap}>; rel="timemap"; type="{LINK_FORMAT}"{more}'


def _began(version: Version) -> tuple[str, str]:
    return "Memento-Datetime", _date(parse_time(version.time) or datetime.now(UTC))


def _said(status: HTTPStatus, text: str, headers: Iterable[tuple[str, str]] = ()) -> _Answer:
    return status, [("Content-Type", "text/plain; charset=utf-8"), *headers], f"{text}\n".encode()


def _type(media_type: str) -> str:
    if not (media_type.isascii() and media_type.isprintable()):  # no header can have it
        return "application/octet-stream"
    return f"{media_type}; charset=utf-8" if media_type.startswith("text/") else media_type


def _parse_date(text: str) -> datetime | None:
    """Return the time that a header has, if it is in the one form that RFC 7089 accepts."""
    try:
        time = parsedate_to_datetime(text).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return time if _date(time) == text else None


def _date(time: datetime) -> str:
    return format_datetime(time, usegmt=True)
